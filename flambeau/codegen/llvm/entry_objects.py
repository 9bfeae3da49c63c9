"""Objects into the words of whole-graph functions and back, as LLVM text: what entries of all signatures share.

A tensor or array that is passed in stands as a leaf: a block (see ``graph/representation.py``) with more words, which
say what it is the block of. Leaves are chained in the context, and hold their arrays during the call.
"""

from __future__ import annotations

from flambeau.codegen.layouts import ENTRY_CONTEXT, FOREVER, LEAF
from flambeau.codegen.llvm.entry_blocks import blocks_text
from flambeau.codegen.llvm.entry_plan import Offsets
from flambeau.codegen.llvm.entry_tensors import NEW_STORAGE, NEW_TENSOR, Slots

MUST_BE_ALIGNED, MUST_BE_WRITEABLE = 0x100, 0x400
"""Flags of arrays, as NumPy numbers them."""

OBJECT_IMPORTS = (
    "Py_IncRef", "Py_DecRef", "PyMem_RawMalloc", "PyMem_RawFree", "PyCapsule_New", "PyCapsule_GetPointer",
    "PyType_GenericAlloc", "PyLong_FromLongLong", "PyLong_AsLongLongAndOverflow", "PyLong_AsDouble", "PyErr_Occurred",
    "PyErr_Clear", "PyObject_Vectorcall", "PyList_Size", "PyList_GetItem", "PyTuple_Size", "PyTuple_GetItem",
)  # fmt: skip
OBJECTS = ("ndarray", "tensor_type", "storage_type", "int_type", "list_type", "tuple_type", "none", "false", "zero")
EXPORTS = {
    "unbox_array": "i1 (ptr, ptr, ptr, ptr, i64, ptr, i64, i64, i64, i64, i64)",
    "unbox_element": "i1 (ptr, ptr, ptr, i64)",
    "unbox_int": "i1 (ptr, ptr)", "unbox_float": "i1 (ptr, ptr)", "length": "i64 (ptr)", "item": "ptr (ptr, i64)",
    "new_block": "ptr (ptr, i64)", "new_list": "ptr (ptr, i64, i64)", "box_array": "ptr (ptr, i64, ptr, i64)",
    "box_element": "ptr (ptr, ptr, i64)", "bump": "void (ptr, i64)", "fail": "ptr (ptr, i64, ptr)",
    "finish": "void (ptr)",
}  # fmt: skip
"""What it offers, with LLVM types."""
_DECLARED = {
    "Py_IncRef": "void (ptr)", "Py_DecRef": "void (ptr)", "PyMem_RawMalloc": "ptr (i64)", "PyMem_RawFree": "void (ptr)",
    "PyCapsule_New": "ptr (ptr, ptr, ptr)", "PyCapsule_GetPointer": "ptr (ptr, ptr)",
    "PyType_GenericAlloc": "ptr (ptr, i64)", "PyLong_FromLongLong": "ptr (i64)",
    "PyLong_AsLongLongAndOverflow": "i64 (ptr, ptr)", "PyLong_AsDouble": "double (ptr)", "PyErr_Occurred": "ptr ()",
    "PyErr_Clear": "void ()", "PyObject_Vectorcall": "ptr (ptr, ptr, i64, ptr)", "PyList_Size": "i64 (ptr)",
    "PyList_GetItem": "ptr (ptr, i64)", "PyTuple_Size": "i64 (ptr)", "PyTuple_GetItem": "ptr (ptr, i64)",
    "new_array": "ptr (ptr, ptr, i32, ptr, ptr, ptr, i32, ptr)", "set_base": "i32 (ptr, ptr)",
}  # fmt: skip


def declare(name: str, kind: str) -> str:
    """The declaration of an imported function."""
    result, _, arguments = kind.partition(" ")
    return f"declare {result} @flambeau_{name}{arguments}\n"


def objects_text(o: Offsets, slots: Slots) -> str:
    """LLVM text of all functions of ``EXPORTS``."""
    declared = "".join(declare(name, kind) for name, kind in _DECLARED.items())
    declared += "".join(f"@flambeau_{name} = external global i8\n" for name in OBJECTS)
    unboxing = _unbox_array(o, slots) + _unbox_numbers(o) + _sequences(o)
    return declared + blocks_text(o, slots) + unboxing + _made(slots) + _bump(o, slots) + _FAIL


def _field(object_: str, offset: int, name: str, kind: str = "ptr") -> str:
    return f"  %{name}.p = getelementptr i8, ptr %{object_}, i64 {offset}\n  %{name} = load {kind}, ptr %{name}.p\n"


def _array_of(o: Offsets, slots: Slots) -> str:
    """`array_of`: the array of a tensor that may be taken apart, or an array itself; null for all else."""
    text = f"""
define internal ptr @array_of(ptr %object) {{
entry:
{_field("object", o.type, "type")}  %is_tensor = icmp eq ptr %type, @flambeau_tensor_type
  br i1 %is_tensor, label %tensor, label %other
tensor:
{_field("object", slots.tensor["_array"], "held")}  %ok = icmp ne ptr %held, null
"""
    last = "%ok"
    plain = (("_requires_grad", "false"), ("grad_fn", "none"), ("is_wrapped_number", "false"))
    for k, (name, value) in enumerate(plain):
        text += _field("object", slots.tensor[name], f"v{k}")
        text += f"  %c{k} = icmp eq ptr %v{k}, @flambeau_{value}\n  %ok{k} = and i1 {last}, %c{k}\n"
        last = f"%ok{k}"
    return f"""{text}  br i1 {last}, label %inside, label %no
inside:
{_field("held", o.type, "inner")}  %is_exact = icmp eq ptr %inner, @flambeau_ndarray
  br i1 %is_exact, label %give, label %no
give:
  ret ptr %held
other:
  %is_array = icmp eq ptr %type, @flambeau_ndarray
  br i1 %is_array, label %itself, label %no
itself:
  ret ptr %object
no:
  ret ptr null
}}
"""


def _unbox_array(o: Offsets, slots: Slots) -> str:
    """`unbox_array(context, object, words, leaf, origin, descr, rank, itemsize, flags, dense, ones)`: whether it fits.

    ``flags`` must all be set. Of the last ``dense`` axes each lies in the one before it without gaps. ``ones`` has a
    bit for each axis that is 1, and the sign bit if that was not asked for.
    """
    return (
        _array_of(o, slots)
        + f"""
define i1 @unbox_array(ptr %context, ptr %object, ptr %words, ptr %leaf, i64 %origin, ptr %descr, i64 %rank,
    i64 %itemsize, i64 %flags, i64 %dense, i64 %ones) {{
entry:
  %array = call ptr @array_of(ptr %object)
  %no_array = icmp eq ptr %array, null
  br i1 %no_array, label %no, label %look
look:
{_field("array", o.descr, "my_descr")}{_field("array", o.rank, "rank32", "i32")}\
{_field("array", o.flags, "has", "i32")}  %my_rank = sext i32 %rank32 to i64
  %same_descr = icmp eq ptr %my_descr, %descr
  %same_rank = icmp eq i64 %my_rank, %rank
  %flags32 = trunc i64 %flags to i32
  %both = and i32 %has, %flags32
  %has_flags = icmp eq i32 %both, %flags32
  %ok1 = and i1 %same_descr, %same_rank
  %ok2 = and i1 %ok1, %has_flags
  br i1 %ok2, label %numbers, label %no
numbers:
{_field("array", o.data, "data")}{_field("array", o.dims, "dims")}{_field("array", o.strides, "strides")}\
  store ptr %leaf, ptr %words
  %data_word = getelementptr i64, ptr %words, i64 1
  store ptr %data, ptr %data_word
  %my_dims = getelementptr i64, ptr %words, i64 2
  %my_strides = getelementptr i64, ptr %my_dims, i64 %rank
  %gaps_from = sub i64 %rank, %dense
  %less = sub i64 %itemsize, 1
  %bad_bits = or i64 %less, {-(1 << 63)}
  %any_ones = icmp slt i64 %ones, 0
  br label %axis
axis:
  %k = phi i64 [%rank, %numbers], [%at, %next]
  %step = phi i64 [%itemsize, %numbers], [%larger, %next]
  %more = icmp sgt i64 %k, 0
  br i1 %more, label %one, label %take
one:
  %at = sub i64 %k, 1
  %dim.p = getelementptr i64, ptr %dims, i64 %at
  %dim = load i64, ptr %dim.p
  %stride.p = getelementptr i64, ptr %strides, i64 %at
  %stride = load i64, ptr %stride.p
  %dim_word = getelementptr i64, ptr %my_dims, i64 %at
  store i64 %dim, ptr %dim_word
  %stride_word = getelementptr i64, ptr %my_strides, i64 %at
  store i64 %stride, ptr %stride_word
  %larger = mul i64 %step, %dim
  %bad = and i64 %stride, %bad_bits
  %is_plain = icmp eq i64 %bad, 0
  %may_gap = icmp slt i64 %at, %gaps_from
  %is_short = icmp sle i64 %dim, 1
  %is_dense = icmp eq i64 %stride, %step
  %fits1 = or i1 %may_gap, %is_short
  %fits2 = or i1 %fits1, %is_dense
  %shifted = lshr i64 %ones, %at
  %wanted = and i64 %shifted, 1
  %is_one = icmp eq i64 %dim, 1
  %one64 = zext i1 %is_one to i64
  %as_wanted = icmp eq i64 %one64, %wanted
  %fits3 = or i1 %any_ones, %as_wanted
  %fits4 = and i1 %fits2, %fits3
  %fits = and i1 %fits4, %is_plain
  br i1 %fits, label %next, label %no
next:
  br label %axis
take:
  call void @start_leaf(ptr %context, ptr %leaf, i64 %origin, ptr %object, ptr %array)
  ret i1 true
no:
  ret i1 false
}}
define internal void @start_leaf(ptr %context, ptr %leaf, i64 %origin, ptr %object, ptr %array) {{
  store i64 {FOREVER}, ptr %leaf
  %previous.p = getelementptr i64, ptr %leaf, i64 1
  store i64 0, ptr %previous.p
  %next.p = getelementptr i64, ptr %leaf, i64 2
  store i64 0, ptr %next.p
  %origin.p = getelementptr i64, ptr %leaf, i64 3
  store i64 %origin, ptr %origin.p
  %object.p = getelementptr i64, ptr %leaf, i64 {LEAF.word("object")}
  store ptr %object, ptr %object.p
  %array.p = getelementptr i64, ptr %leaf, i64 {LEAF.word("array")}
  store ptr %array, ptr %array.p
  %head.p = getelementptr i64, ptr %context, i64 {ENTRY_CONTEXT.word("leaves")}
  %head = load ptr, ptr %head.p
  %chain.p = getelementptr i64, ptr %leaf, i64 {LEAF.word("chain")}
  store ptr %head, ptr %chain.p
  store ptr %leaf, ptr %head.p
  %storage.p = getelementptr i64, ptr %leaf, i64 {LEAF.word("storage")}
  store ptr null, ptr %storage.p
  %is_array = icmp eq ptr %object, %array
  %tensor = select i1 %is_array, ptr null, ptr %object
  %tensor.p = getelementptr i64, ptr %leaf, i64 {LEAF.word("tensor")}
  store ptr %tensor, ptr %tensor.p
  call void @flambeau_Py_IncRef(ptr %array)
  ret void
}}
"""
    )


def _unbox_numbers(o: Offsets) -> str:
    """`unbox_element(object, word, descr, itemsize)`, `unbox_int(object, word)`, `unbox_float(object, word)`.

    The last is for what is no float: an int may stand for one.
    """
    cases = "".join(
        f"size{n}:\n  %b{n} = load i{8 * n}, ptr %data\n"
        + (f"  %w{n} = zext i{8 * n} %b{n} to i64\n" if n < 8 else "")
        + f"  store i64 %{'w' if n < 8 else 'b'}{n}, ptr %word\n  ret i1 true\n"
        for n in (1, 2, 4, 8)
    )
    return f"""
define i1 @unbox_element(ptr %object, ptr %word, ptr %descr, i64 %itemsize) {{
entry:
  %array = call ptr @array_of(ptr %object)
  %no_array = icmp eq ptr %array, null
  br i1 %no_array, label %no, label %look
look:
{_field("array", o.descr, "my_descr")}{_field("array", o.rank, "rank", "i32")}\
{_field("array", o.flags, "flags", "i32")}{_field("array", o.data, "data")}  %same_descr = icmp eq ptr %my_descr, %descr
  %same_rank = icmp eq i32 %rank, 0
  %aligned = and i32 %flags, {MUST_BE_ALIGNED}
  %is_aligned = icmp ne i32 %aligned, 0
  %ok1 = and i1 %same_descr, %same_rank
  %ok2 = and i1 %ok1, %is_aligned
  br i1 %ok2, label %read, label %no
read:
  switch i64 %itemsize, label %no [ i64 1, label %size1 i64 2, label %size2 i64 4, label %size4 i64 8, label %size8 ]
{cases}no:
  ret i1 false
}}
define i1 @unbox_int(ptr %object, ptr %word) {{
entry:
  %overflow = alloca i32
{_field("object", o.type, "type")}  %is_int = icmp eq ptr %type, @flambeau_int_type
  br i1 %is_int, label %read, label %no
read:
  store i32 0, ptr %overflow
  %number = call i64 @flambeau_PyLong_AsLongLongAndOverflow(ptr %object, ptr %overflow)
  store i64 %number, ptr %word
  %over = load i32, ptr %overflow
  %fits = icmp eq i32 %over, 0
  ret i1 %fits
no:
  ret i1 false
}}
define i1 @unbox_float(ptr %object, ptr %word) {{
entry:
{_field("object", o.type, "type")}  %is_int = icmp eq ptr %type, @flambeau_int_type
  br i1 %is_int, label %read, label %no
read:
  %number = call double @flambeau_PyLong_AsDouble(ptr %object)
  store double %number, ptr %word
  %error = call ptr @flambeau_PyErr_Occurred()
  %fine = icmp eq ptr %error, null
  br i1 %fine, label %yes, label %clear
clear:
  call void @flambeau_PyErr_Clear()
  ret i1 false
yes:
  ret i1 true
no:
  ret i1 false
}}
"""


def _sequences(o: Offsets) -> str:
    """`length(object)` of a list or tuple, -1 for all else; `item(object, k)` of one, not held."""
    return f"""
define i64 @length(ptr %object) {{
entry:
{_field("object", o.type, "type")}  %is_list = icmp eq ptr %type, @flambeau_list_type
  br i1 %is_list, label %list, label %other
list:
  %n = call i64 @flambeau_PyList_Size(ptr %object)
  ret i64 %n
other:
  %is_tuple = icmp eq ptr %type, @flambeau_tuple_type
  br i1 %is_tuple, label %tuple, label %no
tuple:
  %m = call i64 @flambeau_PyTuple_Size(ptr %object)
  ret i64 %m
no:
  ret i64 -1
}}
define ptr @item(ptr %object, i64 %k) {{
entry:
{_field("object", o.type, "type")}  %is_list = icmp eq ptr %type, @flambeau_list_type
  br i1 %is_list, label %list, label %tuple
list:
  %a = call ptr @flambeau_PyList_GetItem(ptr %object, i64 %k)
  ret ptr %a
tuple:
  %b = call ptr @flambeau_PyTuple_GetItem(ptr %object, i64 %k)
  ret ptr %b
}}
"""


def _made(slots: Slots) -> str:
    """`storage_of(array)`, which does not take over the reference; `tensor_of(array, storage)`, which takes both."""

    def fill(target: str, given: dict[str, int], contents: dict[str, str]) -> str:
        lines = []
        for name, what in contents.items():
            value = f"%{what}" if what in ("array", "storage") else f"@flambeau_{what}"
            lines.append(f"  %at.{name} = getelementptr i8, ptr %{target}, i64 {given[name]}")
            lines.append(f"  store ptr {value}, ptr %at.{name}")
            if value[0] == "@" or target == "made_storage":
                lines.append(f"  call void @flambeau_Py_IncRef(ptr {value})")
        return "\n".join(lines)

    return f"""
define internal ptr @storage_of(ptr %array) {{
entry:
  %made_storage = call ptr @flambeau_PyType_GenericAlloc(ptr @flambeau_storage_type, i64 0)
  %none = icmp eq ptr %made_storage, null
  br i1 %none, label %failed, label %fill
fill:
{fill("made_storage", slots.storage, NEW_STORAGE)}
  ret ptr %made_storage
failed:
  ret ptr null
}}
define internal ptr @tensor_of(ptr %array, ptr %storage) {{
entry:
  %no_array = icmp eq ptr %array, null
  %no_storage = icmp eq ptr %storage, null
  %missing = or i1 %no_array, %no_storage
  br i1 %missing, label %drop, label %make
make:
  %made = call ptr @flambeau_PyType_GenericAlloc(ptr @flambeau_tensor_type, i64 0)
  %none = icmp eq ptr %made, null
  br i1 %none, label %drop, label %fill
fill:
{fill("made", slots.tensor, NEW_TENSOR)}
  ret ptr %made
drop:
  call void @flambeau_Py_DecRef(ptr %array)
  call void @flambeau_Py_DecRef(ptr %storage)
  ret ptr null
}}
"""


def _bump(o: Offsets, slots: Slots) -> str:
    """`bump(context, origin)`: note that the memory of an argument's tensors was written."""
    return f"""
define void @bump(ptr %context, i64 %origin) {{
entry:
  %overflow = alloca i32
  %head.p = getelementptr i64, ptr %context, i64 {ENTRY_CONTEXT.word("leaves")}
  %head = load ptr, ptr %head.p
  br label %look
look:
  %leaf = phi ptr [%head, %entry], [%before, %next]
  %is_none = icmp eq ptr %leaf, null
  br i1 %is_none, label %done, label %one
one:
{_leaf_word(LEAF.word("chain"), "before")}{_leaf_word(LEAF.word("object"), "object")}\
{_leaf_word(LEAF.word("origin"), "mine", "i64")}\
{_field("object", o.type, "type")}  %is_tensor = icmp eq ptr %type, @flambeau_tensor_type
  %is_written = icmp eq i64 %mine, %origin
  %is_counted = and i1 %is_tensor, %is_written
  br i1 %is_counted, label %tensor, label %next
tensor:
{_field("object", slots.tensor["_storage"], "storage")}{_field("storage", slots.storage["version"], "version")}\
  %count = call i64 @flambeau_PyLong_AsLongLongAndOverflow(ptr %version, ptr %overflow)
  %more = add i64 %count, 1
  %new = call ptr @flambeau_PyLong_FromLongLong(i64 %more)
  %failed = icmp eq ptr %new, null
  br i1 %failed, label %clear, label %put
put:
  store ptr %new, ptr %version.p
  call void @flambeau_Py_DecRef(ptr %version)
  br label %next
clear:
  call void @flambeau_PyErr_Clear()
  br label %next
next:
  br label %look
done:
  ret void
}}
"""


def _leaf_word(place: int, name: str, kind: str = "ptr") -> str:
    return f"  %{name}.p = getelementptr i64, ptr %leaf, i64 {place}\n  %{name} = load {kind}, ptr %{name}.p\n"


_FAIL = """
define ptr @fail(ptr %context, i64 %code, ptr %error) {
entry:
  %pending = call ptr @flambeau_PyErr_Occurred()
  %is_raised = icmp ne ptr %pending, null
  br i1 %is_raised, label %raised, label %prepare
raised:
  ret ptr null
prepare:
  %pair = alloca [2 x ptr]
  %address = ptrtoint ptr %context to i64
  %a = call ptr @flambeau_PyLong_FromLongLong(i64 %code)
  %b = call ptr @flambeau_PyLong_FromLongLong(i64 %address)
  %no_a = icmp eq ptr %a, null
  %no_b = icmp eq ptr %b, null
  %missing = or i1 %no_a, %no_b
  br i1 %missing, label %drop, label %ask
ask:
  store ptr %a, ptr %pair
  %second = getelementptr ptr, ptr %pair, i64 1
  store ptr %b, ptr %second
  %answer = call ptr @flambeau_PyObject_Vectorcall(ptr %error, ptr %pair, i64 2, ptr null)
  br label %drop
drop:
  %result = phi ptr [null, %prepare], [%answer, %ask]
  call void @flambeau_Py_DecRef(ptr %a)
  call void @flambeau_Py_DecRef(ptr %b)
  ret ptr %result
}
"""
"""`fail(context, code, error)`: calls ``error(code, address of the context)``, which raises."""
