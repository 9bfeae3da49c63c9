"""Objects into the words of compiled graphs, and what entry stubs of all signatures share.

A tensor or array that is passed in stands as a leaf: a block (see ``graph/representation.py``) with more words, which
say what it is the block of. Leaves are chained in the context, and have references to their arrays during the call.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from flambeau.codegen.layouts import BLOCK, BLOCK_DATA, ENTRY_CONTEXT, FOREVER, LEAF, TEXT, TEXT_DATA, ObjectLayouts
from flambeau.codegen.llvm.builder import FunctionBuilder, ModuleBuilder
from flambeau.codegen.llvm.c_interface import ALIGNED, C_INTERFACE, NUMPY_INTERFACE
from flambeau.codegen.llvm.checked_emitter import FALSE, NULL, TRUE
from flambeau.codegen.llvm.emitter import Value
from flambeau.codegen.llvm.entry_blocks import add_blocks
from flambeau.codegen.llvm.entry_results import add_results
from flambeau.codegen.llvm.tensor_objects import add_may_write, add_note_write, any_array, plain_array

EXPORTS = {
    "unmarshal_array": "i1 (ptr, ptr, ptr, ptr, i64, ptr, i64, i64, i64, i64, i64)",
    "unmarshal_element": "i1 (ptr, ptr, ptr, i64)",
    "unmarshal_int": "i1 (ptr, ptr)", "unmarshal_float": "i1 (ptr, ptr)",
    "unmarshal_text": "i1 (ptr, ptr, ptr)", "length": "i64 (ptr)", "item": "ptr (ptr, i64)",
    "new_block": "ptr (ptr, i64)", "new_list": "ptr (ptr, i64, i64)", "marshal_array": "ptr (ptr, i64, ptr, i64)",
    "marshal_element": "ptr (ptr, ptr, i64)", "bump": "void (ptr, i64)", "may_bump": "i1 (ptr, i64)",
    "fail": "ptr (ptr, i64, ptr)",
    "start_bins": "void (ptr)", "end_bins": "void (ptr)", "finish": "void (ptr)",
}  # fmt: skip
"""What it offers, with LLVM types."""
ELEMENT_SIZES = (1, 2, 4, 8)
ASKING = 1 << 30
"""Beside the flags of an array that must be set: tensors that ask for gradients, and parameters, are taken too."""


def objects_module(layouts: ObjectLayouts) -> ModuleBuilder:
    """A module with all functions of ``EXPORTS``."""
    m = ModuleBuilder(C_INTERFACE | NUMPY_INTERFACE)
    add_blocks(m)
    add_results(m, layouts)
    _add_array_of(m, layouts)
    _add_unmarshal_array(m, layouts)
    _add_start_leaf(m)
    _add_unmarshal_element(m, layouts)
    _add_unmarshal_numbers(m, layouts)
    _add_unmarshal_text(m, layouts)
    _add_sequences(m, layouts)
    add_note_write(m, layouts)
    add_may_write(m, layouts)
    _add_bump(m, layouts)
    _add_fail(m)
    return m


def _add_array_of(m: ModuleBuilder, layouts: ObjectLayouts) -> None:
    """``array_of(object)``: the array of a tensor that may be taken apart, or an array itself; null for all else. And
    ``array_of_asking(object)``, which takes tensors that ask for gradients, and those of derived classes, too.
    """
    f = m.function("ptr array_of", "ptr object")
    (object_,) = f.parameters
    kind, ndarray = f.get(object_, layouts.object, "type"), m.symbol("ndarray")
    with f.when(f.compare("eq", kind, m.symbol("tensor_type"))):
        array, is_plain = plain_array(f, layouts, object_)
        f.return_unless(is_plain, NULL)
        is_exact = f.compare("eq", f.get(array, layouts.object, "type"), ndarray)
        f.ret(f.pick(is_exact, array, NULL, "ptr"))
    f.ret(f.pick(f.compare("eq", kind, ndarray), object_, NULL, "ptr"))
    f = m.function("ptr array_of_asking", "ptr object")
    (object_,) = f.parameters
    kind, tensor = f.get(object_, layouts.object, "type"), m.symbol("tensor_type")
    is_derived = f.compare("eq", f.get(kind, layouts.type, "base"), tensor)
    f.return_unless(f.op("or", f.compare("eq", kind, tensor), is_derived), NULL)
    array, is_plain = any_array(f, layouts, object_)
    f.return_unless(is_plain, NULL)
    is_exact = f.compare("eq", f.get(array, layouts.object, "type"), m.symbol("ndarray"))
    f.ret(f.pick(is_exact, array, NULL, "ptr"))


def _add_unmarshal_array(m: ModuleBuilder, layouts: ObjectLayouts) -> None:
    """``unmarshal_array(context, object, words, leaf, origin, descr, rank, itemsize, flags, dense, ones)``: if it fits.

    ``flags`` must all be set, but for ``ASKING``. Of the last ``dense`` axes each lies in the one before it without
    gaps. ``ones`` has a bit for each axis that is 1, and the sign bit if that was not asked for.
    """
    m.own("start_leaf", "void (ptr, ptr, i64, ptr, ptr)")
    f = m.function(
        "i1 unmarshal_array", "ptr context", "ptr object", "ptr words", "ptr leaf", "i64 origin", "ptr descr",
        "i64 rank", "i64 itemsize", "i64 flags", "i64 dense", "i64 ones", exported=True,
    )  # fmt: skip
    context, object_, words, leaf, origin, descr, rank, itemsize, flags, dense, ones = f.parameters
    asks = f.compare("ne", f.op("and", flags, ASKING), 0)
    array = f.choose(asks, lambda: f.call("array_of_asking", object_), lambda: f.call("array_of", object_))
    f.return_if(f.is_null(array), FALSE)
    wanted = f.convert("trunc", f.op("and", flags, ASKING - 1), "i32")
    fits = f.all_of(
        f.compare("eq", f.get(array, layouts.array, "descr"), descr),
        f.compare("eq", f.convert("sext", f.get(array, layouts.array, "rank"), "i64"), rank),
        f.compare("eq", f.op("and", f.get(array, layouts.array, "flags"), wanted), wanted),
    )
    f.return_unless(fits, FALSE)
    f.set_word(words, 0, leaf)
    f.set_word(words, 1, f.get(array, layouts.array, "data"))
    dims, strides = f.get(array, layouts.array, "dims"), f.get(array, layouts.array, "strides")
    my_dims = f.at(words, 2)
    my_strides = f.at(my_dims, rank)
    loop = f.loop(rank, itemsize)
    with loop as k:
        axis = f.op("sub", f.op("sub", rank, 1), k)
        size, stride = f.word_of(dims, axis), f.word_of(strides, axis)
        f.set_word(my_dims, axis, size)
        f.set_word(my_strides, axis, stride)
        may_gap = f.compare("slt", axis, f.op("sub", rank, dense))
        is_dense = f.compare("eq", stride, loop.values[0])
        lies_well = f.op("or", f.op("or", may_gap, f.compare("sle", size, 1)), is_dense)
        f.return_unless(
            f.all_of(lies_well, _is_one_as_expected(f, size, axis, ones), _is_plain(f, stride, itemsize)), FALSE
        )
        loop.carry(f.op("mul", loop.values[0], size))
    f.call("start_leaf", context, leaf, origin, object_, array)
    f.ret(TRUE)


def _is_one_as_expected(f: FunctionBuilder, size: Value, axis: Value, ones: Value) -> Value:
    """Whether an axis has size 1 exactly where that was asked for."""
    expected = f.op("and", f.op("lshr", ones, axis), 1)
    is_one = f.convert("zext", f.compare("eq", size, 1), "i64")
    return f.op("or", f.compare("slt", ones, 0), f.compare("eq", is_one, expected))


def _is_plain(f: FunctionBuilder, stride: Value, itemsize: Value) -> Value:
    """Whether a stride is a multiple of the size of an element, and not negative."""
    bad_bits = f.op("or", f.op("sub", itemsize, 1), -(1 << 63))
    return f.compare("eq", f.op("and", stride, bad_bits), 0)


def _add_start_leaf(m: ModuleBuilder) -> None:
    f = m.function("void start_leaf", "ptr context", "ptr leaf", "i64 origin", "ptr object", "ptr array")
    context, leaf, origin, object_, array = f.parameters
    before = f.get(context, ENTRY_CONTEXT, "leaves")
    tensor = f.pick(f.compare("eq", object_, array), NULL, object_, "ptr")
    f.put(leaf, BLOCK, references=FOREVER, previous=NULL, next=NULL, origin=origin)
    f.put(leaf, LEAF, object=object_, array=array, chain=before, storage=NULL, tensor=tensor)
    f.put(context, ENTRY_CONTEXT, leaves=leaf)
    f.call("Py_IncRef", array)
    f.ret()


def _add_unmarshal_element(m: ModuleBuilder, layouts: ObjectLayouts) -> None:
    """``unmarshal_element(object, word, descr, itemsize)``: the bits of a tensor without axes."""
    f = m.function("i1 unmarshal_element", "ptr object", "ptr word", "ptr descr", "i64 itemsize", exported=True)
    object_, target, descr, itemsize = f.parameters
    array = f.call("array_of", object_)
    f.return_if(f.is_null(array), FALSE)
    fits = f.all_of(
        f.compare("eq", f.get(array, layouts.array, "descr"), descr),
        f.compare("eq", f.get(array, layouts.array, "rank"), 0),
        f.compare("ne", f.op("and", f.get(array, layouts.array, "flags"), ALIGNED), 0),
    )
    f.return_unless(fits, FALSE)
    data = f.get(array, layouts.array, "data")
    labels = {size: f.label(f"size{size}_") for size in ELEMENT_SIZES}
    f.switch(itemsize, "no", labels)
    for size, label in labels.items():
        f.start(label, falls_through=False)
        bits = f.load(data, f"i{8 * size}")
        f.store(target, f.convert("zext", bits, "i64") if size < 8 else bits)
        f.ret(TRUE)
    f.start("no", falls_through=False)
    f.ret(FALSE)


def _add_unmarshal_numbers(m: ModuleBuilder, layouts: ObjectLayouts) -> None:
    """``unmarshal_int(object, word)``; ``unmarshal_float(object, word)``, for no float: an int may stand for one.
    NumPy's int64 and float64 are such numbers where a program declares them.
    """
    f = m.function("i1 unmarshal_int", "ptr object", "ptr word", exported=True)
    object_, target = f.parameters
    overflow = f.slot("i32", 4)
    with f.when(f.compare("eq", f.get(object_, layouts.object, "type"), m.symbol("numpy_int_type"))):
        f.store(target, f.get(object_, layouts.numpy_int, "value"))
        f.ret(TRUE)
    f.return_unless(f.compare("eq", f.get(object_, layouts.object, "type"), m.symbol("int_type")), FALSE)
    f.store(overflow, 0, "i32")
    f.store(target, f.call("PyLong_AsLongLongAndOverflow", object_, overflow))
    f.ret(f.compare("eq", f.load(overflow, "i32"), 0))
    f = m.function("i1 unmarshal_float", "ptr object", "ptr word", exported=True)
    object_, target = f.parameters
    with f.when(f.compare("eq", f.get(object_, layouts.object, "type"), m.symbol("numpy_float_type"))):
        f.store(target, f.get(object_, layouts.float, "value"))
        f.ret(TRUE)
    f.return_unless(f.compare("eq", f.get(object_, layouts.object, "type"), m.symbol("int_type")), FALSE)
    f.store(target, f.call("PyLong_AsDouble", object_))
    f.return_if(f.is_null(f.call("PyErr_Occurred")), TRUE)
    f.call("PyErr_Clear")
    f.ret(FALSE)


def _add_unmarshal_text(m: ModuleBuilder, layouts: ObjectLayouts) -> None:
    """``unmarshal_text(context, object, words)``: the code points of a str, in a block of the call."""
    f = m.function("i1 unmarshal_text", "ptr context", "ptr object", "ptr words", exported=True)
    context, object_, words = f.parameters
    f.return_unless(f.compare("eq", f.get(object_, layouts.object, "type"), m.symbol("str_type")), FALSE)
    count = f.call("PyUnicode_GetLength", object_)
    room = f.op("add", count, 1)
    size = f.op("add", f.op("mul", room, 4), TEXT_DATA - BLOCK_DATA)
    block = f.call("new_block", context, size)
    f.return_if(f.is_null(block), FALSE)
    f.put(block, BLOCK, references=FOREVER)
    f.put(f.at(block, BLOCK_DATA, "i8"), TEXT, used=count, room=count)
    data = f.at(block, TEXT_DATA, "i8")
    with f.when(f.is_null(f.call("PyUnicode_AsUCS4", object_, data, room, 0))):
        f.call("PyErr_Clear")
        f.ret(FALSE)
    f.store(words, block)
    f.set_word(words, 1, data)
    f.set_word(words, 2, count)
    f.ret(TRUE)


def _add_sequences(m: ModuleBuilder, layouts: ObjectLayouts) -> None:
    """``length(object)`` of a list or tuple, -1 for all else; ``item(object, k)`` of one, no reference."""
    f = m.function("i64 length", "ptr object", exported=True)
    (object_,) = f.parameters
    for name in ("List", "Tuple"):
        kind = f.get(object_, layouts.object, "type")
        with f.when(f.compare("eq", kind, m.symbol(f"{name.lower()}_type"))):
            f.ret(f.call(f"Py{name}_Size", object_))
    f.ret(-1)
    f = m.function("ptr item", "ptr object", "i64 k", exported=True)
    object_, k = f.parameters
    with f.when(f.compare("eq", f.get(object_, layouts.object, "type"), m.symbol("list_type"))):
        f.ret(f.call("PyList_GetItem", object_, k))
    f.ret(f.call("PyTuple_GetItem", object_, k))


def _add_bump(m: ModuleBuilder, layouts: ObjectLayouts) -> None:
    """``bump(context, origin)``: note that the memory of an argument's tensors was written; ``may_bump``: whether that
    may be."""
    f = m.function("void bump", "ptr context", "i64 origin", exported=True)
    with _tensors_of(f, layouts) as object_:
        f.call("note_write", object_)
    f.ret()
    f = m.function("i1 may_bump", "ptr context", "i64 origin", exported=True)
    with _tensors_of(f, layouts) as object_:
        f.return_unless(f.call("may_write", object_), FALSE)
    f.ret(TRUE)


@contextmanager
def _tensors_of(f: FunctionBuilder, layouts: ObjectLayouts) -> Iterator[Value]:
    """The tensors of the argument of a number, one by one; the function's parameters are context and number."""
    context, origin = f.parameters
    chain = f.follow(f.get(context, ENTRY_CONTEXT, "leaves"), lambda leaf: f.get(leaf, LEAF, "chain"))
    with chain as leaf:
        object_ = f.get(leaf, LEAF, "object")
        is_tensor = f.compare("eq", f.get(object_, layouts.object, "type"), f.module.symbol("tensor_type"))
        is_written = f.compare("eq", f.get(leaf, LEAF, "origin"), origin)
        with f.when(f.op("and", is_tensor, is_written)):
            yield object_


def _add_fail(m: ModuleBuilder) -> None:
    """``fail(context, code, error)``: calls ``error(code, address of the context)``, which raises; null."""
    f = m.function("ptr fail", "ptr context", "i64 code", "ptr error", exported=True)
    context, code, error = f.parameters
    f.return_unless(f.is_null(f.call("PyErr_Occurred")), NULL)
    numbers = [f.call("PyLong_FromLongLong", v) for v in (code, f.convert("ptrtoint", context, "i64"))]
    before, ask, drop = f.block, f.label("ask"), f.label("drop")
    f.branch_if(f.op("or", *map(f.is_null, numbers)), drop, ask)
    f.start(ask)
    pair = f.slot("[2 x ptr]", 8)
    for k, number in enumerate(numbers):
        f.set_word(pair, k, number)
    answer = f.call("PyObject_Vectorcall", error, pair, 2, NULL)
    f.start(drop)
    result = f.joined_value([(NULL, before), (answer, ask)])
    for number in numbers:
        f.call("Py_DecRef", number)
    f.ret(result)
