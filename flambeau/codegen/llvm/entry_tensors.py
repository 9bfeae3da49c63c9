"""The same entry for tensors: takes them apart, lets `attempt` serve their arrays, and makes tensors of the results.

A tensor goes in only if its launch can be told from its array: of the class itself, without gradients, not standing for
a Python number. What is no tensor goes in as it is: launches say which types or which very objects they serve. A second
entry, for whoever has looked at gradients already, takes tensors that ask for them too.
"""

from __future__ import annotations

from collections.abc import Callable

from flambeau.codegen.layouts import LAUNCH, ObjectLayouts
from flambeau.codegen.llvm.builder import FunctionBuilder, ModuleBuilder
from flambeau.codegen.llvm.checked_emitter import NULL, word
from flambeau.codegen.llvm.emitter import Value
from flambeau.codegen.llvm.entry import ARGUMENT_COUNT, Results, add_attempt, call_slowly, new_module, pack_tuple
from flambeau.codegen.llvm.entry_geometry import FILLED, WRITTEN
from flambeau.codegen.llvm.entry_ready import add_ready
from flambeau.codegen.llvm.tensor_objects import add_constructors, add_may_write, add_note_write, any_array, plain_array


def tensors_module(layouts: ObjectLayouts, *, by_rows: bool = False) -> ModuleBuilder:
    """A module with ``tensors``, a function of the vectorcall signature; ``by_rows`` is as in ``add_attempt``."""
    m = new_module()
    add_attempt(m, layouts, TensorResults(layouts), by_rows=by_rows)
    add_note_write(m, layouts)
    if by_rows:
        _add_axes_of_list(m, layouts)
    _add_unwrap(m, layouts, plain_array, "unwrap", by_rows=by_rows)
    _add_tensors(m, layouts, "tensors", "unwrap")
    if by_rows:
        _add_unwrap(m, layouts, any_array, "unwrap_any", by_rows=by_rows, with_parameters=True)
        _add_tensors(m, layouts, "any_tensors", "unwrap_any")
        add_may_write(m, layouts)
        _add_tensors(m, layouts, "writing_tensors", "unwrap", writes=True)
    return m


def inner_module(layouts: ObjectLayouts) -> ModuleBuilder:
    """A module with ``inner``, of the same signature, which takes parameters too, and what asks for gradients."""
    m = new_module()
    add_attempt(m, layouts, TensorResults(layouts))
    add_note_write(m, layouts)
    _add_unwrap(m, layouts, any_array, "unwrap", with_subclasses=True)
    _add_tensors(m, layouts, "inner", "unwrap")
    return m


class TensorResults(Results):
    """Tensors of the results' arrays; markers where the result was written into an argument."""

    def __init__(self, layouts: ObjectLayouts) -> None:
        self._layouts = layouts

    def add_functions(self, m: ModuleBuilder) -> None:
        """Also adds ``wrap(array, storage)``: the tensor of an array and its storage, null for a new one; takes over
        both references. Null, with MemoryError, if there is none.
        """
        add_constructors(m, self._layouts)
        add_ready(m, self._layouts)
        f = m.function("ptr wrap", "ptr array", "ptr storage")
        array, known = f.parameters
        storage = f.choose(f.is_null(known), lambda: f.call("storage_of", array), lambda: known)
        f.ret(f.call("tensor_of", array, storage))

    def deliver(self, f: FunctionBuilder, launch: Value, arrays: Value, storages: Value, n_out: Value) -> None:
        """The tensor, or a tuple of all; ``False`` for a result in the first argument, None for one in the last."""
        m = f.module
        geometry = f.get(launch, LAUNCH, "geometry")
        with f.when(f.op("or", f.compare("eq", geometry, WRITTEN), f.compare("eq", geometry, FILLED))):
            is_first = f.compare("eq", f.get(launch, LAUNCH, "target"), 0)
            f.ret(f.pick(is_first, m.symbol("false"), m.symbol("none"), "ptr"))
        with f.when(f.compare("eq", n_out, 1)):
            tensor = f.call("wrap", f.load(arrays, "ptr"), f.load(storages, "ptr"))
            f.return_if(f.compare("ne", tensor, NULL), tensor)
            f.branch("raise")
        result, is_broken = pack_tuple(
            f, n_out, lambda k: f.call("wrap", f.word_of(arrays, k, "ptr"), f.word_of(storages, k, "ptr"))
        )
        f.return_unless(is_broken, result)
        f.call("Py_DecRef", result)
        f.branch("raise")


Look = Callable[[FunctionBuilder, ObjectLayouts, Value], tuple[Value, Value]]
"""Builds a tensor's array, and whether the entry takes the tensor."""


def _add_unwrap(
    m: ModuleBuilder, layouts: ObjectLayouts, look: Look, name: str, *, by_rows: bool = False,
    with_subclasses: bool = False, with_parameters: bool = False,
) -> None:  # fmt: skip
    """``unwrap(value)``: a tensor's array, no reference, or what is no tensor itself; null for tensors that the slow
    callable must look at. With ``by_rows``, a list of one int, which says which axis is meant, is that int, an empty
    one the type of lists, and one of two or three what `ops.families.rows` has for it. With ``with_subclasses``, an
    object of a class derived from tensors is one too, with ``with_parameters`` a parameter.
    """
    f = m.function(f"ptr {name}", "ptr value")
    (value,) = f.parameters
    kind = f.get(value, layouts.object, "type")
    is_tensor = f.compare("eq", kind, m.symbol("tensor_type"))
    if with_subclasses:
        is_derived = f.compare("eq", f.get(kind, layouts.type, "base"), m.symbol("tensor_type"))
        is_tensor = f.op("or", is_tensor, is_derived)
    if with_parameters:
        is_tensor = f.op("or", is_tensor, f.compare("eq", kind, m.symbol("parameter_type")))
    with f.when(is_tensor):
        array, is_plain = look(f, layouts, value)
        f.ret(f.pick(is_plain, array, NULL, "ptr"))
    if by_rows:
        list_type = m.symbol("list_type")
        with f.when(f.compare("eq", kind, list_type)):
            length = f.call("PyList_Size", value)
            f.return_if(f.compare("eq", length, 0), list_type)
            with f.when(f.compare("ule", f.op("sub", length, 2), 1)):
                f.ret(f.call("axes_of_list", value, length))
            f.return_unless(f.compare("eq", length, 1), NULL)
            item = f.call("PyList_GetItem", value, 0)
            is_index = f.compare("eq", f.get(item, layouts.object, "type"), m.symbol("int_type"))
            f.ret(f.pick(is_index, item, NULL, "ptr"))
    f.ret(value)


def _add_axes_of_list(m: ModuleBuilder, layouts: ObjectLayouts) -> None:
    """``axes_of_list(list, length)``: what stands for two or three small ints, see `ops.families.rows.code_of`; null
    for other lists."""
    f = m.function("ptr axes_of_list", "ptr value", "i64 length")
    value, length = f.parameters
    overflow = f.slot("i32", 4)
    code = f.loop(length, word(1))
    with code as k:
        item = f.call("PyList_GetItem", value, k)
        f.return_unless(f.compare("eq", f.get(item, layouts.object, "type"), m.symbol("int_type")), NULL)
        digit = f.op("add", f.call("PyLong_AsLongLongAndOverflow", item, overflow), 8)
        f.return_unless(f.compare("ult", digit, 16), NULL)
        code.carry(f.op("or", f.op("shl", code.values[0], 4), digit))
    f.ret(f.word_of(m.symbol("listed_axes"), code.values[0], "ptr"))


def _add_tensors(m: ModuleBuilder, layouts: ObjectLayouts, name: str, unwrap: str, *, writes: bool = False) -> None:
    """An entry; of one that ``writes``, no tensor may be such that this thread may not write it."""
    f = m.function(f"ptr {name}", "ptr self", "ptr args", "i64 nargsf", "ptr names", exported=True)
    self, args, nargsf, names = f.parameters
    f.require(f.is_null(names), "slow")
    n = f.op("and", nargsf, ARGUMENT_COUNT)
    arrays = f.array("ptr", n)
    with f.loop(n) as k:
        array = f.call(unwrap, f.word_of(args, k, "ptr"))
        f.require(f.compare("ne", array, NULL), "slow")
        f.set_word(arrays, k, array)
        if writes:
            value = f.word_of(args, k, "ptr")
            with f.when(f.compare("eq", f.get(value, layouts.object, "type"), m.symbol("tensor_type"))):
                f.require(f.call("may_write", value), "slow")
    answer = f.call("attempt", f.get(self, layouts.callable, "cell"), arrays, n)
    f.require(f.compare("ne", answer, NULL), "slow")
    is_first = f.compare("eq", answer, m.symbol("false"))
    is_written = f.op("or", is_first, f.compare("eq", answer, m.symbol("none")))
    f.return_unless(is_written, answer)
    target = f.word_of(args, f.pick(is_first, 0, f.op("sub", n, 1)), "ptr")
    f.call("note_write", target)
    f.call("Py_IncRef", target)
    f.ret(target)
    f.start("slow", falls_through=False)
    call_slowly(f, layouts)
