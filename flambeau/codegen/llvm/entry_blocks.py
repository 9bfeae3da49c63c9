"""Blocks of whole-graph functions: made for arguments, made tensors of as results, freed when a call ends."""

from __future__ import annotations

from flambeau.codegen.layouts import BLOCK_DATA, BLOCK_PADDING, ENTRY_CONTEXT, FOREVER, LEAF, LIST
from flambeau.codegen.llvm.entry_plan import Offsets
from flambeau.codegen.llvm.entry_tensors import Slots

COPIED_UP_TO = 2048
"""Bytes of a result from which its block becomes the array's memory instead of being copied: an owner takes longer to
make than so few bytes to copy."""


def blocks_text(o: Offsets, slots: Slots) -> str:
    """LLVM text of ``new_block``, ``new_list``, ``finish``, ``box_element`` and ``box_array``."""
    marshalling = _box_element(o) + _box_array(o) + _of_argument(o, slots) + _around_taken(slots) + _taken(slots)
    return _blocks() + _same_look(o) + _dense_bytes() + marshalling


def _word(base: str, place: int, name: str, kind: str = "ptr") -> str:
    return f"  %{name}.p = getelementptr i64, ptr %{base}, i64 {place}\n  %{name} = load {kind}, ptr %{name}.p\n"


def _put(base: str, place: int, value: str, name: str) -> str:
    kind = "i64" if value.isdigit() or value in ("%n", "%n_room") else "ptr"
    return f"  %{name}.q = getelementptr i64, ptr %{base}, i64 {place}\n  store {kind} {value}, ptr %{name}.q\n"


def _blocks() -> str:
    """`new_block(context, bytes)`, `new_list(context, length, words of an item)`: null if there is no memory.

    `finish(context)` frees all blocks of the ring, and lets go of the leaves' arrays.
    """
    return f"""
define ptr @new_block(ptr %context, i64 %bytes) {{
entry:
  %padded = add i64 %bytes, {BLOCK_PADDING}
  %raw = call ptr @flambeau_PyMem_RawMalloc(i64 %padded)
  %failed = icmp eq ptr %raw, null
  br i1 %failed, label %none, label %got
got:
  %raw.i = ptrtoint ptr %raw to i64
  %up = add i64 %raw.i, 71
  %down = and i64 %up, -64
  %block = inttoptr i64 %down to ptr
{_word("context", 2, "first")}{_put("block", -1, "%raw", "raw")}{_put("block", 0, "1", "count")}\
{_put("block", 1, "%context", "previous")}{_put("block", 2, "%first", "next")}{_put("block", 3, "0", "origin")}\
{_put("first", 1, "%block", "back")}{_put("context", 2, "%block", "forth")}  ret ptr %block
none:
  ret ptr null
}}
define ptr @new_list(ptr %context, i64 %n, i64 %width) {{
entry:
  %some = icmp sgt i64 %n, 4
  %n_room = select i1 %some, i64 %n, i64 4
  %bytes = mul i64 %width, 8
  %all = mul i64 %bytes, %n_room
  %items = call ptr @new_block(ptr %context, i64 %all)
  %no_items = icmp eq ptr %items, null
  br i1 %no_items, label %none, label %second
second:
  %list = call ptr @new_block(ptr %context, i64 0)
  %no_list = icmp eq ptr %list, null
  br i1 %no_list, label %none, label %fill
fill:
{_put("list", 0, str(FOREVER), "count")}{_put("list", LIST.word("length"), "%n", "length")}\
{_put("list", LIST.word("capacity"), "%n_room", "room")}\
{_put("list", LIST.word("items"), "%items", "items")}  ret ptr %list
none:
  ret ptr null
}}
define void @finish(ptr %context) {{
entry:
{_word("context", 2, "first")}  br label %ring
ring:
  %block = phi ptr [%first, %entry], [%following, %free]
  %is_end = icmp eq ptr %block, %context
  br i1 %is_end, label %leaves, label %free
free:
{_word("block", 2, "following")}{_word("block", -1, "raw")}  call void @flambeau_PyMem_RawFree(ptr %raw)
  br label %ring
leaves:
{_word("context", ENTRY_CONTEXT.word("leaves"), "head")}  br label %chain
chain:
  %leaf = phi ptr [%head, %leaves], [%before, %drop]
  %is_none = icmp eq ptr %leaf, null
  br i1 %is_none, label %done, label %drop
drop:
{_word("leaf", LEAF.word("chain"), "before")}\
{_word("leaf", LEAF.word("array"), "array")}  call void @flambeau_Py_DecRef(ptr %array)
  br label %chain
done:
  ret void
}}
define internal ptr @make_array(ptr %descr, i64 %rank, ptr %dims, ptr %strides, ptr %data, i32 %flags) {{
  call void @flambeau_Py_IncRef(ptr %descr)
  %rank32 = trunc i64 %rank to i32
  %a = call ptr @flambeau_new_array(ptr @flambeau_ndarray, ptr %descr, i32 %rank32, ptr %dims, ptr %strides,
    ptr %data, i32 %flags, ptr null)
  ret ptr %a
}}
"""


def _same_look(o: Offsets) -> str:
    """`same_look(array, words, rank, descr)`: whether the words of a value say what the array says."""
    fields = (("data", "ptr"), ("dims", "ptr"), ("strides", "ptr"), ("descr", "ptr"), ("rank", "i32"))
    loads = "".join(
        f"  %my_{name}.p = getelementptr i8, ptr %array, i64 {getattr(o, name)}\n"
        f"  %my_{name} = load {kind}, ptr %my_{name}.p\n"
        for name, kind in fields
    )
    return f"""
define internal i1 @same_look(ptr %array, ptr %words, i64 %rank, ptr %descr) {{
entry:
{loads}{_word("words", 1, "data")}  %same_data = icmp eq ptr %data, %my_data
  %same_descr = icmp eq ptr %descr, %my_descr
  %wide = sext i32 %my_rank to i64
  %same_rank = icmp eq i64 %wide, %rank
  %ok1 = and i1 %same_data, %same_descr
  %ok2 = and i1 %ok1, %same_rank
  br i1 %ok2, label %axes, label %no
axes:
  %k = phi i64 [0, %entry], [%k1, %one]
  %ok = phi i1 [true, %entry], [%so_far, %one]
  %more = icmp slt i64 %k, %rank
  br i1 %more, label %one, label %done
one:
  %k1 = add i64 %k, 1
  %dim.p = getelementptr i64, ptr %my_dims, i64 %k
  %dim = load i64, ptr %dim.p
  %stride.p = getelementptr i64, ptr %my_strides, i64 %k
  %stride = load i64, ptr %stride.p
  %place = add i64 %k, 2
  %want_dim.p = getelementptr i64, ptr %words, i64 %place
  %want_dim = load i64, ptr %want_dim.p
  %place2 = add i64 %place, %rank
  %want_stride.p = getelementptr i64, ptr %words, i64 %place2
  %want_stride = load i64, ptr %want_stride.p
  %same_dim = icmp eq i64 %dim, %want_dim
  %same_stride = icmp eq i64 %stride, %want_stride
  %same = and i1 %same_dim, %same_stride
  %so_far = and i1 %ok, %same
  br label %axes
done:
  ret i1 %ok
no:
  ret i1 false
}}
"""


def _dense_bytes() -> str:
    """`dense_bytes(words, rank, itemsize)`: the bytes of a value in row-major order without gaps; -1 for another."""
    return """
define internal i64 @dense_bytes(ptr %words, i64 %rank, i64 %itemsize) {
entry:
  %dims = getelementptr i64, ptr %words, i64 2
  %strides = getelementptr i64, ptr %dims, i64 %rank
  br label %axes
axes:
  %k = phi i64 [%rank, %entry], [%at, %fits]
  %step = phi i64 [%itemsize, %entry], [%larger, %fits]
  %more = icmp sgt i64 %k, 0
  br i1 %more, label %one, label %done
one:
  %at = sub i64 %k, 1
  %dim.p = getelementptr i64, ptr %dims, i64 %at
  %dim = load i64, ptr %dim.p
  %stride.p = getelementptr i64, ptr %strides, i64 %at
  %stride = load i64, ptr %stride.p
  %larger = mul i64 %step, %dim
  %same = icmp eq i64 %stride, %step
  br i1 %same, label %fits, label %no
fits:
  br label %axes
done:
  ret i64 %step
no:
  ret i64 -1
}
"""


def _box_element(o: Offsets) -> str:
    """`box_element(word, descr, itemsize)`: a tensor of no axes."""
    cases = "".join(
        f"size{n}:\n  %v{n} = load i{8 * n}, ptr %word\n  store i{8 * n} %v{n}, ptr %data\n  br label %wrap\n"
        for n in (1, 2, 4, 8)
    )
    return f"""
define ptr @box_element(ptr %word, ptr %descr, i64 %itemsize) {{
entry:
  %array = call ptr @make_array(ptr %descr, i64 0, ptr null, ptr null, ptr null, i32 0)
  %none = icmp eq ptr %array, null
  br i1 %none, label %failed, label %fill
fill:
  %data.p = getelementptr i8, ptr %array, i64 {o.data}
  %data = load ptr, ptr %data.p
  switch i64 %itemsize, label %wrap [ i64 1, label %size1 i64 2, label %size2 i64 4, label %size4 i64 8, label %size8 ]
{cases}wrap:
  %storage = call ptr @storage_of(ptr %array)
  %tensor = call ptr @tensor_of(ptr %array, ptr %storage)
  ret ptr %tensor
failed:
  ret ptr null
}}
"""


def _box_array(o: Offsets) -> str:
    """`box_array(words, rank, descr, itemsize)`: a tensor on a new block, on its copy, or on an argument's memory."""
    return f"""
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
define ptr @box_array(ptr %words, i64 %rank, ptr %descr, i64 %itemsize) {{
entry:
  %block = load ptr, ptr %words
{_word("block", 3, "origin", "i64")}  %is_new = icmp eq i64 %origin, 0
  br i1 %is_new, label %new, label %argument
argument:
  %given = call ptr @of_argument(ptr %words, i64 %rank, ptr %descr)
  ret ptr %given
new:
{_word("block", 2, "next")}  %is_taken = icmp eq ptr %next, null
  br i1 %is_taken, label %take, label %measure
measure:
  %count = load i64, ptr %block
  %bytes = call i64 @dense_bytes(ptr %words, i64 %rank, i64 %itemsize)
  %is_small = icmp ule i64 %bytes, {COPIED_UP_TO}
  %is_alone = icmp eq i64 %count, 1
  %has_any = icmp ne i64 %bytes, 0
  %is_owned = and i1 %is_alone, %has_any
  %is_copied = and i1 %is_small, %is_owned
  br i1 %is_copied, label %copy, label %take
copy:
  %dims = getelementptr i64, ptr %words, i64 2
  %array = call ptr @make_array(ptr %descr, i64 %rank, ptr %dims, ptr null, ptr null, i32 0)
  %none = icmp eq ptr %array, null
  br i1 %none, label %failed, label %fill
fill:
  %target.p = getelementptr i8, ptr %array, i64 {o.data}
  %target = load ptr, ptr %target.p
{_word("words", 1, "data")}  call void @llvm.memcpy.p0.p0.i64(ptr %target, ptr %data, i64 %bytes, i1 false)
  %storage = call ptr @storage_of(ptr %array)
  %tensor = call ptr @tensor_of(ptr %array, ptr %storage)
  ret ptr %tensor
take:
  %on_block = call ptr @taken(ptr %words, i64 %rank, ptr %descr, i64 %itemsize)
  ret ptr %on_block
failed:
  ret ptr null
}}
define internal ptr @view(ptr %words, i64 %rank, ptr %descr, ptr %base, i32 %flags) {{
entry:
  %dims = getelementptr i64, ptr %words, i64 2
  %strides = getelementptr i64, ptr %dims, i64 %rank
{_word("words", 1, "data")}\
  %array = call ptr @make_array(ptr %descr, i64 %rank, ptr %dims, ptr %strides, ptr %data, i32 %flags)
  %none = icmp eq ptr %array, null
  br i1 %none, label %failed, label %based
based:
  call void @flambeau_Py_IncRef(ptr %base)
  %set = call i32 @flambeau_set_base(ptr %array, ptr %base)
  ret ptr %array
failed:
  ret ptr null
}}
"""


def _of_argument(o: Offsets, slots: Slots) -> str:
    """`of_argument(words, rank, descr)`: the very tensor that was passed in, or another on the same storage."""
    return f"""
define internal ptr @of_argument(ptr %words, i64 %rank, ptr %descr) {{
entry:
  %leaf = load ptr, ptr %words
{_word("leaf", LEAF.word("array"), "array")}{_word("leaf", LEAF.word("tensor"), "tensor")}\
{_word("leaf", LEAF.word("object"), "object")}\
  %same = call i1 @same_look(ptr %array, ptr %words, i64 %rank, ptr %descr)
  %is_array = icmp eq ptr %object, %array
  %no_tensor = icmp eq ptr %tensor, null
  br i1 %same, label %whole, label %part
whole:
  br i1 %no_tensor, label %first, label %known
known:
  call void @flambeau_Py_IncRef(ptr %tensor)
  ret ptr %tensor
first:
  %storage1 = call ptr @storage_of_leaf(ptr %leaf)
  call void @flambeau_Py_IncRef(ptr %array)
  %made1 = call ptr @tensor_of(ptr %array, ptr %storage1)
{_put("leaf", LEAF.word("tensor"), "%made1", "made1")}  ret ptr %made1
part:
  %storage2 = call ptr @storage_of_leaf(ptr %leaf)
  %no_storage = icmp eq ptr %storage2, null
  br i1 %no_storage, label %failed, label %look
look:
  %flags.p = getelementptr i8, ptr %array, i64 {o.flags}
  %has = load i32, ptr %flags.p
  %writeable = and i32 %has, 1024
  %flags = or i32 %writeable, 257
  %view = call ptr @view(ptr %words, i64 %rank, ptr %descr, ptr %array, i32 %flags)
  %made2 = call ptr @tensor_of(ptr %view, ptr %storage2)
  ret ptr %made2
failed:
  ret ptr null
}}
define internal ptr @storage_of_leaf(ptr %leaf) {{
entry:
{_word("leaf", LEAF.word("array"), "array")}{_word("leaf", LEAF.word("object"), "object")}\
  %is_array = icmp eq ptr %object, %array
  br i1 %is_array, label %plain, label %tensor
tensor:
  %own.p = getelementptr i8, ptr %object, i64 {slots.tensor["_storage"]}
  %own = load ptr, ptr %own.p
  call void @flambeau_Py_IncRef(ptr %own)
  ret ptr %own
plain:
{_word("leaf", LEAF.word("storage"), "known")}  %none = icmp eq ptr %known, null
  br i1 %none, label %make, label %give
give:
  call void @flambeau_Py_IncRef(ptr %known)
  ret ptr %known
make:
  %made = call ptr @storage_of(ptr %array)
{_put("leaf", LEAF.word("storage"), "%made", "made")}  ret ptr %made
}}
"""


def _around_taken(slots: Slots) -> str:
    """`free_block(capsule)`, `extent(words, rank, itemsize)` and `storage_or_null(array)`."""
    return """
define void @free_block(ptr %capsule) {
  %raw = call ptr @flambeau_PyCapsule_GetPointer(ptr %capsule, ptr null)
  call void @flambeau_PyMem_RawFree(ptr %raw)
  ret void
}
define internal i64 @extent(ptr %words, i64 %rank, i64 %itemsize) {
entry:
  %dims = getelementptr i64, ptr %words, i64 2
  %strides = getelementptr i64, ptr %dims, i64 %rank
  br label %axes
axes:
  %k = phi i64 [0, %entry], [%k1, %longer]
  %sum = phi i64 [%itemsize, %entry], [%longer_sum, %longer]
  %more = icmp slt i64 %k, %rank
  br i1 %more, label %one, label %done
one:
  %k1 = add i64 %k, 1
  %dim.p = getelementptr i64, ptr %dims, i64 %k
  %dim = load i64, ptr %dim.p
  %stride.p = getelementptr i64, ptr %strides, i64 %k
  %stride = load i64, ptr %stride.p
  %steps = sub i64 %dim, 1
  %is_empty = icmp slt i64 %steps, 0
  br i1 %is_empty, label %nothing, label %longer
longer:
  %reach = mul i64 %steps, %stride
  %longer_sum = add i64 %sum, %reach
  br label %axes
done:
  ret i64 %sum
nothing:
  ret i64 0
}
define internal ptr @storage_or_null(ptr %array) {
entry:
  %none = icmp eq ptr %array, null
  br i1 %none, label %no, label %yes
yes:
  %storage = call ptr @storage_of(ptr %array)
  ret ptr %storage
no:
  ret ptr null
}
"""


def _taken(slots: Slots) -> str:
    """`taken(words, rank, descr, itemsize)`: a tensor on a block, which leaves the ring and lives with its arrays.

    The block then has its storage in the place of the block before it and 0 in that of the next. The storage's array
    begins where the block's elements do, so that offsets into it are counted from there.
    """
    return f"""
define internal ptr @taken(ptr %words, i64 %rank, ptr %descr, i64 %itemsize) {{
entry:
  %room = alloca i64
  %block = load ptr, ptr %words
{_word("block", 2, "next")}{_word("block", 1, "previous")}  %is_taken = icmp eq ptr %next, null
  br i1 %is_taken, label %again, label %take
again:
  %base1.p = getelementptr i8, ptr %previous, i64 {slots.storage["base"]}
  %base1 = load ptr, ptr %base1.p
  call void @flambeau_Py_IncRef(ptr %previous)
  %array1 = call ptr @view(ptr %words, i64 %rank, ptr %descr, ptr %base1, i32 1281)
  %tensor1 = call ptr @tensor_of(ptr %array1, ptr %previous)
  ret ptr %tensor1
take:
{_word("block", -1, "raw")}  %owner = call ptr @flambeau_PyCapsule_New(ptr %raw, ptr null, ptr @free_block)
  %no_owner = icmp eq ptr %owner, null
  br i1 %no_owner, label %failed, label %unlink
unlink:
{_put("previous", 2, "%next", "forth")}{_put("next", 1, "%previous", "back")}{_word("words", 1, "data", "i64")}\
  %start = getelementptr i8, ptr %block, i64 {BLOCK_DATA}
  %start.i = ptrtoint ptr %start to i64
  %offset = sub i64 %data, %start.i
  %count = load i64, ptr %block
  %at_start = icmp eq i64 %offset, 0
  %is_alone = icmp eq i64 %count, 1
  %is_whole = and i1 %at_start, %is_alone
  br i1 %is_whole, label %simple, label %larger
simple:
  %array2 = call ptr @view(ptr %words, i64 %rank, ptr %descr, ptr %owner, i32 1281)
  %storage2 = call ptr @storage_or_null(ptr %array2)
  br label %finish
larger:
  %reach = call i64 @extent(ptr %words, i64 %rank, i64 %itemsize)
  %bytes = add i64 %offset, %reach
  %elements = sdiv i64 %bytes, %itemsize
  store i64 %elements, ptr %room
  %flat = call ptr @make_array(ptr %descr, i64 1, ptr %room, ptr null, ptr %start, i32 1281)
  %no_flat = icmp eq ptr %flat, null
  br i1 %no_flat, label %drop, label %hold
hold:
  call void @flambeau_Py_IncRef(ptr %owner)
  %set = call i32 @flambeau_set_base(ptr %flat, ptr %owner)
  %storage3 = call ptr @storage_of(ptr %flat)
  %array3 = call ptr @view(ptr %words, i64 %rank, ptr %descr, ptr %flat, i32 1281)
  call void @flambeau_Py_DecRef(ptr %flat)
  br label %finish
finish:
  %array = phi ptr [%array2, %simple], [%array3, %hold]
  %storage = phi ptr [%storage2, %simple], [%storage3, %hold]
  call void @flambeau_Py_DecRef(ptr %owner)
  %no_array = icmp eq ptr %array, null
  %no_storage = icmp eq ptr %storage, null
  %missing = or i1 %no_array, %no_storage
  br i1 %missing, label %lost, label %note
note:
{_put("block", 1, "%storage", "storage")}{_put("block", 2, "0", "mark")}\
  %tensor = call ptr @tensor_of(ptr %array, ptr %storage)
  ret ptr %tensor
lost:
  %nothing = call ptr @tensor_of(ptr %array, ptr %storage)
  ret ptr null
drop:
  call void @flambeau_Py_DecRef(ptr %owner)
  ret ptr null
failed:
  ret ptr null
}}
"""
