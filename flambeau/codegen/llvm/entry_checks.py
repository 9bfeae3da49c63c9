"""Whether a call's arguments look like the inputs of a plan, as LLVM text."""

from __future__ import annotations

from flambeau.codegen.layouts import IDENTITY
from flambeau.codegen.llvm.entry_plan import Offsets


def checks_text(o: Offsets) -> str:
    """LLVM text of ``matches``, ``same_numbers``, ``dims_of``, ``strides_of``, ``data_of`` and ``is_writeable``."""
    return _guards(o) + same_numbers_text() + _places(o)


def _guards(o: Offsets) -> str:
    return f"""
define internal i1 @matches(ptr %array, ptr %record) alwaysinline {{
entry:
  %type.p = getelementptr i8, ptr %array, i64 {o.type}
  %type = load ptr, ptr %type.p
  %want_descr = load ptr, ptr %record
  %is_number = icmp eq ptr %want_descr, null
  br i1 %is_number, label %number, label %object
number:
  %want_type.p = getelementptr i64, ptr %record, i64 2
  %want_type = load ptr, ptr %want_type.p
  %kind.p = getelementptr i64, ptr %record, i64 1
  %kind = load i64, ptr %kind.p
  %is_object = icmp eq i64 %kind, {IDENTITY}
  %looked_at = select i1 %is_object, ptr %array, ptr %type
  %same_type = icmp eq ptr %looked_at, %want_type
  ret i1 %same_type
object:
  %is_array = icmp eq ptr %type, @flambeau_ndarray
  br i1 %is_array, label %fields, label %no
fields:
  %descr.p = getelementptr i8, ptr %array, i64 {o.descr}
  %descr = load ptr, ptr %descr.p
  %same_descr = icmp eq ptr %descr, %want_descr
  %rank.p = getelementptr i8, ptr %array, i64 {o.rank}
  %rank32 = load i32, ptr %rank.p
  %rank = sext i32 %rank32 to i64
  %want_rank.p = getelementptr i64, ptr %record, i64 1
  %want_rank = load i64, ptr %want_rank.p
  %same_rank = icmp eq i64 %rank, %want_rank
  %flags.p = getelementptr i8, ptr %array, i64 {o.flags}
  %flags = load i32, ptr %flags.p
  %aligned_bit = and i32 %flags, 256
  %is_aligned = icmp ne i32 %aligned_bit, 0
  %ok1 = and i1 %same_descr, %same_rank
  %ok2 = and i1 %ok1, %is_aligned
  %want_dims.p = getelementptr i64, ptr %record, i64 2
  %want_dims = load ptr, ptr %want_dims.p
  br i1 %ok2, label %sizes, label %no
sizes:
  %any_size = icmp eq ptr %want_dims, null
  br i1 %any_size, label %yes, label %numbers
yes:
  ret i1 true
numbers:
  %dims.p = getelementptr i8, ptr %array, i64 {o.dims}
  %dims = load ptr, ptr %dims.p
  %same_dims = call i1 @same_numbers(ptr %dims, ptr %want_dims, i64 %rank)
  %strides.p = getelementptr i8, ptr %array, i64 {o.strides}
  %strides = load ptr, ptr %strides.p
  %want_strides.p = getelementptr i64, ptr %record, i64 3
  %want_strides = load ptr, ptr %want_strides.p
  %same_strides = call i1 @same_numbers(ptr %strides, ptr %want_strides, i64 %rank)
  %ok3 = and i1 %same_dims, %same_strides
  ret i1 %ok3
no:
  ret i1 false
}}
"""


def same_numbers_text() -> str:
    """LLVM text of ``same_numbers(a, b, n)``."""
    return """
define internal i1 @same_numbers(ptr %a, ptr %b, i64 %n) alwaysinline {
entry:
  br label %head
head:
  %i = phi i64 [0, %entry], [%i1, %body]
  %more = icmp slt i64 %i, %n
  br i1 %more, label %body, label %yes
body:
  %pa = getelementptr i64, ptr %a, i64 %i
  %pb = getelementptr i64, ptr %b, i64 %i
  %x = load i64, ptr %pa
  %y = load i64, ptr %pb
  %i1 = add i64 %i, 1
  %same = icmp eq i64 %x, %y
  br i1 %same, label %head, label %no
yes:
  ret i1 true
no:
  ret i1 false
}
"""


def _places(o: Offsets) -> str:
    """Where an array has its dimensions, strides and elements, and whether these may be written."""
    return f"""
define internal ptr @dims_of(ptr %array) alwaysinline {{
  %dims.p = getelementptr i8, ptr %array, i64 {o.dims}
  %dims = load ptr, ptr %dims.p
  ret ptr %dims
}}
define internal ptr @strides_of(ptr %array, i64 %rank) alwaysinline {{
  %strides.p = getelementptr i8, ptr %array, i64 {o.strides}
  %strides = load ptr, ptr %strides.p
  ret ptr %strides
}}
define internal i64 @data_of(ptr %array) alwaysinline {{
  %data.p = getelementptr i8, ptr %array, i64 {o.data}
  %data = load i64, ptr %data.p
  ret i64 %data
}}
define internal i1 @is_writeable(ptr %array) alwaysinline {{
  %flags.p = getelementptr i8, ptr %array, i64 {o.flags}
  %flags = load i32, ptr %flags.p
  %bit = and i32 %flags, 1024
  %is = icmp ne i32 %bit, 0
  ret i1 %is
}}
"""
