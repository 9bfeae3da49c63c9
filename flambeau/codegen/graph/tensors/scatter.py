"""Tensors changed at places that other tensors name, in memory of their own or where they are: scatter, index_add,
index_copy.

Whatever an operator refuses is refused before anything is written. Values go to their places in row-major order of the
index, as the operators' own kernels put them there.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence

from flambeau.codegen.graph import memory
from flambeau.codegen.graph.emitted_function import EmittedFunction
from flambeau.codegen.graph.interpreter_calls import call_python
from flambeau.codegen.graph.literals import literal_of
from flambeau.codegen.graph.loops.control import each
from flambeau.codegen.graph.memory import number
from flambeau.codegen.graph.named_operands import values_by_name
from flambeau.codegen.graph.native_values import ArrayValue, CannotCompileError
from flambeau.codegen.graph.numbers.scalars import Operand, Registers, constant
from flambeau.codegen.graph.overlap import overlaps, repeats
from flambeau.codegen.graph.representation import Array
from flambeau.codegen.graph.tensors.arrays import (
    array,
    axis_of,
    broadcast_to,
    copy_elements,
    each_element,
    new,
    product,
)
from flambeau.codegen.kernel.dtypes import ELEMENT_TYPES
from flambeau.codegen.llvm.emitter import Value as Register
from flambeau.ir.graph import Node, Value
from flambeau.ops.families.scalars import exact_scalar
from flambeau.schema.dtype import DType

REDUCTIONS = {"add": "add", "multiply": "mul"}


def scatter(fn: EmittedFunction, node: Node) -> None:
    """`scatter`: an index with as many axes as the tensor."""
    _scatter(fn, node, _reduction(fn, values_by_name(node)))


def scatter_add(fn: EmittedFunction, node: Node) -> None:
    """`scatter_add`, the same with sums."""
    _scatter(fn, node, "add")


def _scatter(fn: EmittedFunction, node: Node, op: str) -> None:
    e, operands = fn.e, values_by_name(node)
    x, index = array(fn, operands["self"]), of_integers(array(fn, operands["index"]))
    rank, dim = x.rep.rank, axis_of(fn, operands["dim"], x.rep.rank)
    if index.rep.rank != rank:
        raise CannotCompileError("an index of another rank")
    source = _same_kind(array(fn, operands["src"]), x, rank) if "src" in operands else None
    value = _constant(fn, operands["value"], x.rep.dtype) if source is None else None
    change = Change(fn, node, x, [index] if source is None else [index, source])
    is_larger = [e.icmp("sgt", index.sizes[k], x.sizes[k]) for k in range(rank) if k != dim]
    if source is not None:
        is_larger += [e.icmp("sgt", mine, own) for mine, own in zip(index.sizes, source.sizes, strict=True)]
    has_indexes = e.icmp("ne", product(fn, index.sizes), number(0))
    fn.exits.fail_if(e.binary("and", any_of(fn, is_larger), has_indexes), node)
    each_element(fn, index.sizes, [index], lambda at: change.check(index_at(fn, index, at[0]), dim))

    def write(target: ArrayValue) -> None:
        strides = (*target.strides[:dim], number(0), *target.strides[dim + 1 :])
        seen = ArrayValue(Array(x.rep.dtype, rank, 0), target.owner, target.data, index.sizes, strides)

        def one(at: list[Register]) -> None:
            size = memory.itemsize(x.rep.dtype)
            address = memory.offset_address(e, at[0], index_at(fn, index, at[1]), target.strides[dim], size)
            change.put(address, value or memory.load_element(e, at[2], x.rep.dtype), op)

        each_element(fn, index.sizes, [seen, *change.read], one)

    change.apply(write)


def index_add(fn: EmittedFunction, node: Node) -> None:
    """`index_add`: slices of one axis are added to those that a vector of indexes says."""
    operands = values_by_name(node)
    slices = _Slices(fn, node)
    is_one = literal_of(fn.values.get(operands["alpha"])) == 1
    alpha = None if is_one else _constant(fn, operands["alpha"], slices.x.rep.dtype)
    change, x, dim = slices.change(), slices.x, slices.dim
    for k in range(x.rep.rank):
        if k != dim:
            fn.exits.fail_if(fn.e.icmp("ne", x.sizes[k], slices.source.sizes[k]), node)
    slices.write(change, alpha, "add")


def index_copy(fn: EmittedFunction, node: Node) -> None:
    """`index_copy`: slices of one axis take the place of those that a vector of indexes says."""
    slices = _Slices(fn, node)
    change, x, dim = slices.change(), slices.x, slices.dim
    sizes = (*x.sizes[:dim], slices.index.sizes[0], *x.sizes[dim + 1 :])
    slices.source = broadcast_to(fn, slices.source, sizes, node)
    slices.write(change, None, "")


class _Slices:
    """The slices of one axis of a tensor that a vector of indexes says, and those of a source that they change by."""

    def __init__(self, fn: EmittedFunction, node: Node) -> None:
        operands = values_by_name(node)
        self.fn, self.node = fn, node
        self.x, self.index = array(fn, operands["self"]), of_integers(array(fn, operands["index"]))
        self.source = _same_kind(array(fn, operands["source"]), self.x, self.x.rep.rank)
        self.dim = axis_of(fn, operands["dim"], self.x.rep.rank)
        if self.index.rep.rank != 1:
            raise CannotCompileError("an index of another rank")

    def change(self) -> Change:
        """Begin; leaves the function where there are not as many indexes as slices."""
        change = Change(self.fn, self.node, self.x, [self.index, self.source])
        is_other = self.fn.e.icmp("ne", self.index.sizes[0], self.source.sizes[self.dim])
        self.fn.exits.fail_if(is_other, self.node)
        return change

    def number_at(self, k: Register) -> Register:
        """Which slice the index says."""
        return index_at(self.fn, self.index, _at(self.fn, self.index, 0, k))

    def write(self, change: Change, alpha: Register | None, op: str) -> None:
        """Check all indexes, then go through the slices."""
        fn, e, dim = self.fn, self.fn.e, self.dim
        each(fn, self.index.sizes[0], lambda k: change.check(self.number_at(k), dim))

        def write(target: ArrayValue) -> None:
            def one_slice(k: Register) -> None:
                parts = [_slice(fn, target, dim, self.number_at(k)), _slice(fn, self.source, dim, k)]

                def one(addresses: list[Register]) -> None:
                    value = memory.load_element(e, addresses[1], self.x.rep.dtype)
                    change.put(addresses[0], value if alpha is None else change.together("mul", value, alpha), op)

                each_element(fn, parts[0].sizes, parts, one)

            each(fn, self.index.sizes[0], one_slice)

        change.apply(write)


class Change:
    """One node: the tensor it changes, and what it reads meanwhile."""

    def __init__(
        self, fn: EmittedFunction, node: Node, x: ArrayValue, read: Sequence[ArrayValue], *, moves: bool = False
    ) -> None:
        """``moves``: whether elements are only put in the place of others, which is all that complex ones may be."""
        self.fn, self.node, self.x, self.read = fn, node, x, list(read)
        self.in_place = _is_in_place(node)
        if not self.in_place and x.rep.dense != x.rep.rank:
            raise CannotCompileError("a tensor whose order in memory is not known")
        if x.rep.dtype.name not in ELEMENT_TYPES and not (moves and x.rep.dtype.is_complex):
            raise CannotCompileError(f"elements of {x.rep.dtype}")
        self.s = Registers(fn, node, is_exact=False)

    def check(self, index: Register, dim: int) -> None:
        """Leave where an index is out of range."""
        self.fn.exits.fail_if(self.fn.e.icmp("uge", index, self.x.sizes[dim]), self.node)

    def together(self, op: str, a: Register, b: Register) -> Register:
        """Two elements by `add` or `mul`."""
        dtype = self.x.rep.dtype
        result: Operand = getattr(self.s, op)(Operand(a, dtype), Operand(b, dtype))
        return result.register

    def put(self, address: Register, value: Register, op: str) -> None:
        """Write an element, or put it together with what is there."""
        e, dtype = self.fn.e, self.x.rep.dtype
        if op:
            value = self.together(op, memory.load_element(e, address, dtype), value)
        memory.store_element(e, address, value, dtype)

    def apply(self, write: Callable[[ArrayValue], None]) -> None:
        """Write into a copy, or where the tensor is; by Python where that is also what is read."""
        fn, e, node, x = self.fn, self.fn.e, self.node, self.x
        if not self.in_place:
            copied = new(fn, x.rep.dtype, x.sizes, node)
            copy_elements(fn, copied, x)
            write(copied)
            fn.values.set_new(node.result(), copied)
            return
        shares, apart, after = e.label("shares"), e.label("apart"), e.label("after")
        is_shared = any_of(fn, [*repeats(fn, x), *([overlaps(fn, x, self.read)] if self.read else [])])
        e.raw(f"br i1 {is_shared}, label %{shares}, label %{apart}")
        e.start(shares)
        call_python(fn, node, (), is_rare=True)
        e.branch(after)
        e.start(apart)
        write(x)
        e.branch(after)
        e.start(after)
        fn.values.set_view(node.result(), x)


def _is_in_place(node: Node) -> bool:
    """Whether an operator writes to its first operand."""
    assert node.definition is not None
    alias = node.definition.schema.arguments[0].alias
    return alias is not None and alias.is_write


def of_integers(index: ArrayValue) -> ArrayValue:
    """The index itself. Raises `CannotCompileError` unless it has integers."""
    if index.rep.dtype.name not in ("int64", "int32"):
        raise CannotCompileError("an index of other numbers")
    return index


def _same_kind(source: ArrayValue, x: ArrayValue, rank: int) -> ArrayValue:
    if source.rep.rank != rank or source.rep.dtype is not x.rep.dtype:
        raise CannotCompileError("values of another rank or dtype")
    return source


def _reduction(fn: EmittedFunction, operands: dict[str, Value]) -> str:
    if "reduce" not in operands:
        return ""
    reduction = literal_of(fn.values.get(operands["reduce"]))
    if reduction not in REDUCTIONS:
        raise CannotCompileError("a reduction that is not known")
    return REDUCTIONS[reduction]


def _constant(fn: EmittedFunction, value: Value, dtype: DType) -> Register:
    """A literal as an element."""
    literal = literal_of(fn.values.get(value))
    if not isinstance(literal, int | float):
        raise CannotCompileError("a number that is not known")
    try:
        return constant(exact_scalar(literal, dtype).item(), dtype)
    except RuntimeError as error:
        raise CannotCompileError(str(error)) from None


def any_of(fn: EmittedFunction, conditions: Sequence[Register]) -> Register:
    """Whether one of some conditions holds."""
    if not conditions:
        return Register("false", "i1", 1)
    return functools.reduce(lambda a, b: fn.e.binary("or", a, b), conditions)


def _at(fn: EmittedFunction, x: ArrayValue, dim: int, index: Register) -> Register:
    return memory.offset_address(fn.e, x.data, index, x.strides[dim], memory.itemsize(x.rep.dtype))


def index_at(fn: EmittedFunction, index: ArrayValue, address: Register) -> Register:
    """The element of an index, as an int64."""
    at = memory.load_element(fn.e, address, index.rep.dtype)
    return at if at.type == "i64" else fn.e.convert("sext", at, "i64")


def _slice(fn: EmittedFunction, x: ArrayValue, dim: int, index: Register) -> ArrayValue:
    """One slice of a tensor, without its axis."""
    sizes, strides = x.sizes[:dim] + x.sizes[dim + 1 :], x.strides[:dim] + x.strides[dim + 1 :]
    return ArrayValue(Array(x.rep.dtype, len(sizes), 0), x.owner, _at(fn, x, dim, index), sizes, strides)
