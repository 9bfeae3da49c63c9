"""Words of compiled graphs into tensors: on a new block, on its copy, or on an argument's memory."""

from __future__ import annotations

from flambeau.codegen.layouts import BLOCK, LEAF, ObjectLayouts
from flambeau.codegen.llvm.builder import FunctionBuilder, ModuleBuilder
from flambeau.codegen.llvm.c_interface import ALIGNED, C_CONTIGUOUS, WRITEABLE
from flambeau.codegen.llvm.checked_emitter import FALSE, NULL, TRUE
from flambeau.codegen.llvm.emitter import Value
from flambeau.codegen.llvm.entry_memory import add_make_array
from flambeau.codegen.llvm.entry_shared_blocks import add_on_block, add_view
from flambeau.codegen.llvm.tensor_objects import add_constructors

COPIED_UP_TO = 2048
"""Bytes of a result from which its block becomes the array's memory instead of being copied: an owner takes longer to
make than so few bytes to copy."""
_ELEMENT_SIZES = (1, 2, 4, 8)


def add_results(m: ModuleBuilder, layouts: ObjectLayouts) -> None:
    """Add ``marshal_array(words, rank, descr, itemsize)``; ``marshal_element(word, descr, itemsize)``, of no axes."""
    add_make_array(m)
    add_constructors(m, layouts)
    add_view(m)
    add_on_block(m, layouts)
    _add_same_look(m, layouts)
    _add_dense_bytes(m)
    _add_storage_of_leaf(m, layouts)
    _add_of_argument(m, layouts)
    _add_marshal_element(m, layouts)
    _add_marshal_array(m, layouts)


def _add_same_look(m: ModuleBuilder, layouts: ObjectLayouts) -> None:
    """``same_look(array, words, rank, descr)``: whether the words of a value say what the array says."""
    f = m.function("i1 same_look", "ptr array", "ptr words", "i64 rank", "ptr descr")
    array, words, rank, descr = f.parameters
    is_same = f.all_of(
        f.compare("eq", f.get(array, layouts.array, "data"), f.word_of(words, 1, "ptr")),
        f.compare("eq", f.get(array, layouts.array, "descr"), descr),
        f.compare("eq", f.convert("sext", f.get(array, layouts.array, "rank"), "i64"), rank),
    )
    f.return_unless(is_same, FALSE)
    dims, strides = f.get(array, layouts.array, "dims"), f.get(array, layouts.array, "strides")
    loop = f.loop(rank, TRUE)
    with loop as k:
        word = f.op("add", k, 2)
        same_size = f.compare("eq", f.word_of(dims, k), f.word_of(words, word))
        same_stride = f.compare("eq", f.word_of(strides, k), f.word_of(words, f.op("add", word, rank)))
        loop.carry(f.all_of(loop.values[0], same_size, same_stride))
    f.ret(loop.values[0])


def _add_dense_bytes(m: ModuleBuilder) -> None:
    """``dense_bytes(words, rank, itemsize)``: the bytes of a value in row-major order without gaps; -1 for another."""
    f = m.function("i64 dense_bytes", "ptr words", "i64 rank", "i64 itemsize")
    words, rank, itemsize = f.parameters
    dims = f.at(words, 2)
    strides = f.at(dims, rank)
    loop = f.loop(rank, itemsize)
    with loop as k:
        axis = f.op("sub", f.op("sub", rank, 1), k)
        size = f.word_of(dims, axis)
        f.return_unless(f.compare("eq", f.word_of(strides, axis), loop.values[0]), -1)
        loop.carry(f.op("mul", loop.values[0], size))
    f.ret(loop.values[0])


def _add_storage_of_leaf(m: ModuleBuilder, layouts: ObjectLayouts) -> None:
    """``storage_of_leaf(leaf)``: a new reference to the storage of what was passed in."""
    f = m.function("ptr storage_of_leaf", "ptr leaf")
    (leaf,) = f.parameters
    array, object_ = f.get(leaf, LEAF, "array"), f.get(leaf, LEAF, "object")
    with f.when(f.compare("ne", object_, array)):
        storage = f.get(object_, layouts.tensor, "_storage")
        f.call("Py_IncRef", storage)
        f.ret(storage)
    known = f.get(leaf, LEAF, "storage")
    with f.when(f.compare("ne", known, NULL)):
        f.call("Py_IncRef", known)
        f.ret(known)
    storage = f.call("storage_of", array)
    f.put(leaf, LEAF, storage=storage)
    f.ret(storage)


def _add_of_argument(m: ModuleBuilder, layouts: ObjectLayouts) -> None:
    """``of_argument(words, rank, descr)``: the very tensor that was passed in, or another on the same storage."""
    f = m.function("ptr of_argument", "ptr words", "i64 rank", "ptr descr")
    words, rank, descr = f.parameters
    leaf = f.word_of(words, 0, "ptr")
    array, tensor = f.get(leaf, LEAF, "array"), f.get(leaf, LEAF, "tensor")
    with f.when(f.call("same_look", array, words, rank, descr)):
        with f.when(f.compare("ne", tensor, NULL)):
            f.call("Py_IncRef", tensor)
            f.ret(tensor)
        storage = f.call("storage_of_leaf", leaf)
        f.call("Py_IncRef", array)
        result = f.call("tensor_of", array, storage)
        f.put(leaf, LEAF, tensor=result)
        f.ret(result)
    storage = f.call("storage_of_leaf", leaf)
    f.return_if(f.is_null(storage), NULL)
    flags = f.op("or", f.op("and", f.get(array, layouts.array, "flags"), WRITEABLE), ALIGNED | C_CONTIGUOUS)
    f.ret(f.call("tensor_of", f.call("view", words, rank, descr, array, flags), storage))


def _on_new_memory(f: FunctionBuilder, array: Value) -> None:
    """Return the tensor of a new array, to which nothing else refers."""
    storage = f.call("storage_of", array)
    f.ret(f.call("tensor_of", array, storage))


def _add_marshal_element(m: ModuleBuilder, layouts: ObjectLayouts) -> None:
    f = m.function("ptr marshal_element", "ptr word", "ptr descr", "i64 itemsize", exported=True)
    source, descr, itemsize = f.parameters
    array = f.call("make_array", descr, 0, NULL, NULL, NULL, 0)
    f.return_if(f.is_null(array), NULL)
    data = f.get(array, layouts.array, "data")
    labels = {size: f.label(f"size{size}_") for size in _ELEMENT_SIZES}
    f.switch(itemsize, "wrap", labels)
    for size, label in labels.items():
        f.start(label, falls_through=False)
        f.store(data, f.load(source, f"i{8 * size}"))
        f.branch("wrap")
    f.start("wrap", falls_through=False)
    _on_new_memory(f, array)


def _add_marshal_array(m: ModuleBuilder, layouts: ObjectLayouts) -> None:
    f = m.function("ptr marshal_array", "ptr words", "i64 rank", "ptr descr", "i64 itemsize", exported=True)
    words, rank, descr, itemsize = f.parameters
    block = f.word_of(words, 0, "ptr")
    with f.when(f.compare("ne", f.get(block, BLOCK, "origin"), 0)):
        f.ret(f.call("of_argument", words, rank, descr))
    f.require(f.compare("ne", f.get(block, BLOCK, "next"), NULL), "take")
    size = f.call("dense_bytes", words, rank, itemsize)
    is_alone = f.compare("eq", f.get(block, BLOCK, "references"), 1)
    is_small = f.op("and", f.compare("ule", size, COPIED_UP_TO), f.compare("ne", size, 0))
    f.require(f.op("and", is_alone, is_small), "take")
    array = f.call("make_array", descr, rank, f.at(words, 2), NULL, NULL, 0)
    f.return_if(f.is_null(array), NULL)
    f.copy(f.get(array, layouts.array, "data"), f.word_of(words, 1, "ptr"), size)
    _on_new_memory(f, array)
    f.start("take", falls_through=False)
    f.ret(f.call("on_block", words, rank, descr, itemsize))
