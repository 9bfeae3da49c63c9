"""Calls of machine code that others made, by the calling convention of Numba's compiled functions.

``i32 function(ptr result, ptr exception, arguments...)``: numbers travel in registers, an array as a holder and its
parent (both null: the caller holds it), its number of elements, their size, the data, sizes and strides in bytes. The
status is 0, or -2 for None; -1 says that a Python exception is set; a positive one that ``exception`` describes one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, runtime_checkable

from flambeau.codegen.graph import memory, native_values
from flambeau.codegen.graph.emitted_function import EmittedFunction
from flambeau.codegen.graph.entry.abi import INTERRUPTED
from flambeau.codegen.graph.entry.foreign_code import ForeignCode
from flambeau.codegen.graph.interpreter_calls import call_python
from flambeau.codegen.graph.native_values import ArrayValue, CannotCompileError, FixedValue, Native, Scalar, TupleValue
from flambeau.codegen.graph.representation import Array, Bool, Fixed, Float, Int, Representation, Tupled
from flambeau.codegen.llvm.emitter import Value as Register
from flambeau.codegen.llvm.emitter import int_constant
from flambeau.ir.graph import Graph, Node
from flambeau.schema.types import IntType

CALLABLE = "callable"
"""The attribute of a `^python_function` node that holds what it calls."""
NULL = Register("null", "ptr", 1)
_NONE = -2


@runtime_checkable
class Foreign(Protocol):
    """What the `callable` of a node is if native code can call it."""

    raiser: Callable[[int], Any]
    """Raises the exception that the words at an address describe."""

    def native(self, arguments: Sequence[Representation]) -> ForeignCode | Array:
        """The function for such arguments; an `Array` if Python has to call it and it gives such a tensor.

        Raises `CannotCompileError` with the reason where it has no machine code for them.
        """


def call(fn: EmittedFunction, node: Node) -> None:
    """A `^python_function` node."""
    foreign = node.attributes.get(CALLABLE)
    if not isinstance(foreign, Foreign):
        raise CannotCompileError("it has no native form")
    natives = [fn.values.get(v) for v in node.operands]
    code = foreign.native([n.rep for n in natives])
    if isinstance(code, Array):
        (words,) = call_python(fn, node, (code,))
        fn.values.set_new(node.result(), native_values.from_words(code, words))
        return
    result = _call(fn, node, foreign, code, natives)
    for value in node.results:
        fn.values.set(value, result)


def _call(fn: EmittedFunction, node: Node, foreign: Foreign, code: ForeignCode, natives: Sequence[Native]) -> Native:
    e = fn.e
    if e.lanes > 1:
        raise CannotCompileError("it is called for one iteration of a loop at a time")
    result, exception = e.slot(code.layout, 16), e.slot("ptr", 8)
    e.raw(f"store ptr null, ptr {exception}")
    words = [w for n, kind in zip(natives, code.arguments, strict=True) for w in _argument(fn, n, kind)]
    arguments = ", ".join(f"{w.type} {w}" for w in (result, exception, *words))
    e.declarations[f"declare i32 @{code.symbol}(ptr, ptr{''.join(f', {w.type}' for w in words)})"] = None
    fn.parts.foreign[code.symbol] = code
    status = e.define(f"call i32 @{code.symbol}({arguments})", "i32", 1)
    failed = e.icmp("ne", status, int_constant(0, "i32", 1))
    if code.result == Fixed(None):
        failed = e.binary("and", failed, e.icmp("ne", status, int_constant(_NONE, "i32", 1)))
    is_set = e.icmp("eq", status, int_constant(-1, "i32", 1))
    fn.exits.leave_unless_zero(e.select(is_set, memory.number(INTERRUPTED), memory.number(0)))
    described = e.define(f"load ptr, ptr {exception}", "ptr", 1)
    fn.exits.fail_if(failed, _raising(fn, node, foreign, described))
    return _result(fn, code, result)


def _raising(fn: EmittedFunction, node: Node, foreign: Foreign, described: Register) -> Node:
    """A node that raises what the function raised, instead of calling it again: it may have written to its arrays."""
    graph = Graph()
    address = graph.add_parameter(IntType(), "exception")
    fn.values.set(address, Scalar(Int(), fn.e.define(f"ptrtoint ptr {described} to i64", "i64", 1)))
    raising = graph.create(node.op, (address,), (), callable=foreign.raiser)
    raising.range, raising.call_chain = node.range, node.call_chain
    return raising


def _argument(fn: EmittedFunction, native: Native, kind: str) -> list[Register]:
    """The registers of one argument."""
    e = fn.e
    if isinstance(native, ArrayValue):
        count = memory.number(1)
        for size in native.sizes:
            count = memory.multiply(e, count, size)
        itemsize = memory.number(memory.itemsize(native.rep.dtype))
        return [NULL, NULL, count, itemsize, native.data, *native.sizes, *native.strides]
    if not isinstance(native, Scalar):
        raise CannotCompileError(f"it is given {native_values.describe(native.rep)}")
    register = native.register
    if register.type == kind:
        return [register]
    change = {
        ("i1", "i8"): "zext", ("i1", "i64"): "zext", ("i1", "double"): "uitofp", ("i64", "double"): "sitofp",
        ("double", "float"): "fptrunc",
    }.get((register.type, kind))  # fmt: skip
    if change is None:
        raise CannotCompileError(f"it takes {kind} for {native_values.describe(native.rep)}")
    return [e.define(f"{change} {register.type} {register} to {kind}", kind, 1)]


def _result(fn: EmittedFunction, code: ForeignCode, memory_: Register) -> Native:
    if isinstance(code.result, Fixed):
        return FixedValue(code.result)
    if not isinstance(code.result, Tupled):
        return _number(fn, code.result, code.layout, memory_)
    items = []
    kinds = _parts(code.layout)
    for index, (rep, kind) in enumerate(zip(code.result.items, kinds, strict=True)):
        at = fn.e.define(f"getelementptr {code.layout}, ptr {memory_}, i32 0, i32 {index}", "ptr", 1)
        items.append(_number(fn, rep, kind, at))
    return TupleValue(tuple(items))


def _parts(layout: str) -> list[str]:
    """The types in ``{a, b}`` or ``[n x a]``."""
    if layout.startswith("["):
        count, kind = layout.strip("[]").split(" x ")
        return [kind] * int(count)
    return layout.strip("{}").replace(" ", "").split(",")


def _number(fn: EmittedFunction, rep: Representation, kind: str, at: Register) -> Scalar:
    """A number in memory as the program's."""
    e = fn.e
    if isinstance(rep, Bool):
        byte = e.define(f"load i8, ptr {at}", "i8", 1)
        return Scalar(rep, e.icmp("ne", byte, int_constant(0, "i8", 1)))
    assert isinstance(rep, Int | Float)
    wide = "i64" if isinstance(rep, Int) else "double"
    loaded = e.define(f"load {kind}, ptr {at}", kind, 1)
    if kind != wide:
        change = "fpext" if wide == "double" else "sext"
        loaded = e.define(f"{change} {kind} {loaded} to {wide}", wide, 1)
    return Scalar(rep, loaded)
