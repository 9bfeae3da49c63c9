"""Plans that serve any size: what native code needs to see that a call fits one, as LLVM text.

Such a plan is for pointwise kernels whose arrays all lie row-major and have one shape, beside numbers and arrays
without axes. Its sizes are taken from the call: it has one word for the number of elements, and its records say no
dimensions (0) but the size of an element in place of the strides.
"""

from __future__ import annotations

from flambeau.codegen.layouts import INPUT, OUTPUT, PLAN

ALIGNED_FROM = 1 << 18
"""Outputs of at least this many bytes start on a 64-byte boundary."""


def sizes_text() -> str:
    """LLVM text of ``common_size(plan, inputs, n, shape)``, and of ``sized(record, room, shape, count)``.

    The first gives the number of elements of inputs that fit such a plan and leaves the address of their dimensions in
    ``shape``; -1 for others. It asks ``dims_of(input)`` and ``strides_of(input, rank)``. The second gives an output's
    record with its sizes, for which there is ``room``; the record itself where ``shape`` is null.
    """
    return _common_size() + _sized()


def _common_size() -> str:
    def word(name: str, kind: str = "i64") -> str:
        return (
            f"  %{name}.p = getelementptr i64, ptr %plan, i64 {PLAN.word(name)}\n  %{name} = load {kind}, ptr %{name}.p"
        )

    return f"""
define internal i64 @common_size(ptr %plan, ptr %args, i64 %n, ptr %shape) {{
entry:
{word("inputs", "ptr")}
{word("least")}
{word("most")}
  br label %each
each:
  %i = phi i64 [0, %entry], [%i1, %following]
  %known = phi ptr [null, %entry], [%known1, %following]
  %count = phi i64 [-1, %entry], [%count1, %following]
  %more = icmp slt i64 %i, %n
  br i1 %more, label %one, label %done
one:
  %i1 = add i64 %i, 1
  %arg.p = getelementptr ptr, ptr %args, i64 %i
  %arg = load ptr, ptr %arg.p
  %record.o = mul i64 %i, {INPUT.words}
  %record = getelementptr i64, ptr %inputs, i64 %record.o
  %descr = load ptr, ptr %record
  %rank.p = getelementptr i64, ptr %record, i64 1
  %rank = load i64, ptr %rank.p
  %is_number = icmp eq ptr %descr, null
  %is_alone = icmp eq i64 %rank, 0
  %is_passed = or i1 %is_number, %is_alone
  br i1 %is_passed, label %following, label %array
array:
  %dims = call ptr @dims_of(ptr %arg)
  %strides = call ptr @strides_of(ptr %arg, i64 %rank)
  %itemsize.p = getelementptr i64, ptr %record, i64 3
  %itemsize = load i64, ptr %itemsize.p
  %is_first = icmp eq ptr %known, null
  %wanted = select i1 %is_first, ptr %dims, ptr %known
  %same = call i1 @same_numbers(ptr %dims, ptr %wanted, i64 %rank)
  br i1 %same, label %axes, label %no
axes:
  %axis = phi i64 [%rank, %array], [%before, %go_on]
  %step = phi i64 [%itemsize, %array], [%larger, %go_on]
  %product = phi i64 [1, %array], [%product1, %go_on]
  %left = icmp sgt i64 %axis, 0
  br i1 %left, label %look, label %following
look:
  %before = sub i64 %axis, 1
  %dim.p = getelementptr i64, ptr %dims, i64 %before
  %dim = load i64, ptr %dim.p
  %stride.p = getelementptr i64, ptr %strides, i64 %before
  %stride = load i64, ptr %stride.p
  %is_row_major = icmp eq i64 %stride, %step
  br i1 %is_row_major, label %go_on, label %no
go_on:
  %is_empty = icmp eq i64 %dim, 0
  %factor = select i1 %is_empty, i64 1, i64 %dim
  %larger = mul i64 %step, %factor
  %product1 = mul i64 %product, %dim
  br label %axes
following:
  %known1 = phi ptr [%known, %one], [%wanted, %axes]
  %count1 = phi i64 [%count, %one], [%product, %axes]
  br label %each
done:
  store ptr %known, ptr %shape
  %enough = icmp sge i64 %count, %least
  %few = icmp sle i64 %count, %most
  %fits = and i1 %enough, %few
  br i1 %fits, label %yes, label %no
yes:
  ret i64 %count
no:
  store ptr null, ptr %shape
  ret i64 -1
}}
"""


def _sized() -> str:
    return f"""
define internal ptr @sized(ptr %record, ptr %room, ptr %shape, i64 %count) {{
entry:
  %is_exact = icmp eq ptr %shape, null
  br i1 %is_exact, label %given, label %made
given:
  ret ptr %record
made:
  call void @llvm.memcpy.p0.p0.i64(ptr align 8 %room, ptr align 8 %record, i64 {OUTPUT.words * 8}, i1 false)
  %dims.p = getelementptr i64, ptr %room, i64 2
  store ptr %shape, ptr %dims.p
  %bytes.p = getelementptr i64, ptr %room, i64 4
  %itemsize = load i64, ptr %bytes.p
  %bytes = mul i64 %itemsize, %count
  store i64 %bytes, ptr %bytes.p
  %is_large = icmp sge i64 %bytes, {ALIGNED_FROM}
  %large = zext i1 %is_large to i64
  %large.p = getelementptr i64, ptr %room, i64 5
  store i64 %large, ptr %large.p
  ret ptr %room
}}
"""
