"""Tensors and storages as entry stubs take them apart and make them."""

from __future__ import annotations

from flambeau.codegen.layouts import Layout, ObjectLayouts
from flambeau.codegen.llvm.builder import FunctionBuilder, ModuleBuilder
from flambeau.codegen.llvm.checked_emitter import NULL, TRUE
from flambeau.codegen.llvm.emitter import Value

NEW_TENSOR = {
    "_array": "array", "_storage": "storage", "_requires_grad": "false", "_grad": "none", "_leaf": "none",
    "_node": "none", "_base": "none", "_made_in": "none", "is_wrapped_number": "false", "output_nr": "zero",
}  # fmt: skip
"""What `Tensor(array)` puts into each slot."""
LEFT_EMPTY = frozenset({"_wrapped"})
"""Slots that it puts nothing into."""
NEW_STORAGE = {"base": "array", "_bytes": "none", "version": "version"}
"""What `Storage(array)` puts into each slot."""
_PLAIN = (("_requires_grad", "false"), ("_node", "none"), ("is_wrapped_number", "false"))
"""What a tensor has in its slots if all that counts of it is its array; the first two also what it is a view of."""


def plain_array(f: FunctionBuilder, layouts: ObjectLayouts, tensor: Value) -> tuple[Value, Value]:
    """The array of a tensor, no reference; and whether a launch can be told from it: there are no gradients, and it
    does not stand for a Python number.
    """
    array = f.get(tensor, layouts.tensor, "_array")
    is_plain = f.compare("ne", array, NULL)
    for slot, value in _PLAIN:
        is_same = f.compare("eq", f.get(tensor, layouts.tensor, slot), f.module.symbol(value))
        is_plain = f.op("and", is_plain, is_same)
    base = f.get(tensor, layouts.tensor, "_base")
    is_no_view = f.op("or", f.is_null(base), f.compare("eq", base, f.module.symbol("none")))
    shown = f.pick(is_no_view, tensor, base, "ptr")
    for slot, value in _PLAIN[:2]:
        is_same = f.compare("eq", f.get(shown, layouts.tensor, slot), f.module.symbol(value))
        is_plain = f.op("and", is_plain, is_same)
    return array, is_plain


def any_array(f: FunctionBuilder, layouts: ObjectLayouts, tensor: Value) -> tuple[Value, Value]:
    """What `plain_array` gives, for tensors that ask for gradients too."""
    array = f.get(tensor, layouts.tensor, "_array")
    is_number = f.compare("ne", f.get(tensor, layouts.tensor, "is_wrapped_number"), f.module.symbol("false"))
    return array, f.op("and", f.compare("ne", array, NULL), f.negated(is_number))


def add_constructors(m: ModuleBuilder, layouts: ObjectLayouts) -> None:
    """Add ``first_version()``, the version of memory that is made now, and what makes objects.

    That is ``storage_of(array)``, which does not take over the reference, and ``tensor_of(array, storage)``, which
    takes both: without one of them, or without memory, it gives them back and gives null.
    """
    _add_first_version(m)
    f = m.function("ptr storage_of", "ptr array")
    (array,) = f.parameters
    storage = f.call("PyType_GenericAlloc", m.symbol("storage_type"), 0)
    f.return_if(f.is_null(storage), NULL)
    f.call("Py_IncRef", array)
    _fill(f, storage, layouts.storage, NEW_STORAGE, {"array": array, "version": f.call("first_version")})
    f.ret(storage)
    f = m.function("ptr tensor_of", "ptr array", "ptr storage")
    array, storage = f.parameters
    is_missing = f.op("or", f.is_null(array), f.is_null(storage))
    f.require(f.negated(is_missing), "drop")
    tensor = f.call("PyType_GenericAlloc", m.symbol("tensor_type"), 0)
    f.require(f.compare("ne", tensor, NULL), "drop")
    _fill(f, tensor, layouts.tensor, NEW_TENSOR, {"array": array, "storage": storage})
    f.ret(tensor)
    f.start("drop", falls_through=False)
    f.call("Py_DecRef", array)
    f.call("Py_DecRef", storage)
    f.ret(NULL)


def _fill(
    f: FunctionBuilder, target: Value, layout: Layout, contents: dict[str, str], references: dict[str, Value]
) -> None:
    """Fill the slots of a new object, which takes over references to what is no constant."""
    for slot, name in contents.items():
        value = references.get(name)
        if value is None:
            value = f.module.symbol(name)
            f.call("Py_IncRef", value)
        f.put(target, layout, **{slot: value})


def _add_first_version(m: ModuleBuilder) -> None:
    """``first_version()``: a new reference to what `tensor.grad_mode` says: 0 but for threads in `inference_mode()`."""
    f = m.function("ptr first_version")
    zero = m.symbol("zero")
    is_any = f.compare("ne", f.load(m.symbol("inference_blocks", "i64")), 0)
    with f.when(is_any):
        version = f.call("PyObject_GetAttr", m.symbol("grad_mode"), m.symbol("first_version_name"))
        f.return_unless(f.is_null(version), version)
        f.call("PyErr_Clear")
    f.call("Py_IncRef", zero)
    f.ret(zero)


def add_may_write(m: ModuleBuilder, layouts: ObjectLayouts) -> None:
    """Add ``may_write(tensor)``: whether its memory may be written on this thread: see `grad_mode.refuse_writing`.
    ``first_version`` is there already.
    """
    f = m.function("i1 may_write", "ptr tensor")
    overflow = f.slot("i32", 4)
    storage = f.get(f.parameters[0], layouts.tensor, "_storage")
    version = f.get(storage, layouts.storage, "version")
    f.return_if(f.compare("sge", f.call("PyLong_AsLongLongAndOverflow", version, overflow), 0), TRUE)
    now = f.call("first_version")
    is_inside = f.compare("ne", now, m.symbol("zero"))
    f.call("Py_DecRef", now)
    f.ret(is_inside)


def add_note_write(m: ModuleBuilder, layouts: ObjectLayouts) -> None:
    """Add ``note_write(tensor)``: its memory was written, which the version of its storage counts."""
    f = m.function("void note_write", "ptr tensor")
    overflow = f.slot("i32", 4)
    storage = f.get(f.parameters[0], layouts.tensor, "_storage")
    version = f.get(storage, layouts.storage, "version")
    following = f.call("PyLong_FromLongLong", f.op("add", f.call("PyLong_AsLongLongAndOverflow", version, overflow), 1))
    with f.when(f.is_null(following)):
        f.call("PyErr_Clear")
        f.ret()
    f.put(storage, layouts.storage, version=following)
    f.call("Py_DecRef", version)
    f.ret()
