"""Tensors changed at places that other tensors name, in memory of their own or where they are: scatter, index_add,
index_copy, index_put.

Whatever an operator refuses is refused before anything is written. Values go to their places in row-major order of the
index, as the operators' own kernels put them there.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence

from flambeau.codegen.graph import memory
from flambeau.codegen.graph.arrays import (
    array,
    axis_of,
    broadcast_to,
    copy_elements,
    each_element,
    load,
    new,
    product,
)
from flambeau.codegen.graph.control import each
from flambeau.codegen.graph.emitted_function import EmittedFunction
from flambeau.codegen.graph.interpreter_calls import call_python
from flambeau.codegen.graph.memory import number
from flambeau.codegen.graph.native_values import ArrayValue, CannotCompileError, FixedValue, Native, Scalar, TupleValue
from flambeau.codegen.graph.overlap import overlaps, repeats
from flambeau.codegen.graph.pointwise import literal_of
from flambeau.codegen.graph.representation import Array, Element, Fixed
from flambeau.codegen.graph.scalars import Operand, Registers, constant
from flambeau.codegen.kernel.dtypes import ELEMENT_TYPES
from flambeau.codegen.llvm.emitter import Value as Register
from flambeau.ir.node import Node
from flambeau.ir.value import Value
from flambeau.ops.families.scalars import exact_scalar
from flambeau.schema import dtype as dtypes
from flambeau.schema.dtype import DType

REDUCTIONS = {"add": "add", "multiply": "mul"}


def scatter(fn: EmittedFunction, node: Node) -> None:
    """`scatter` and `scatter_add`: an index with as many axes as the tensor."""
    e, given = fn.e, _arguments(node)
    x, index = array(fn, given["self"]), _index(array(fn, given["index"]))
    rank, dim = x.rep.rank, axis_of(fn, given["dim"], x.rep.rank)
    if index.rep.rank != rank:
        raise CannotCompileError("an index of another rank")
    op = "add" if _plain(node).endswith("_add") else _reduction(fn, given)
    source = _same_kind(array(fn, given["src"]), x, rank) if "src" in given else None
    value = _constant(fn, given["value"], x.rep.dtype) if source is None else None
    change = _Change(fn, node, x, [index] if source is None else [index, source])
    is_larger = [e.icmp("sgt", index.sizes[k], x.sizes[k]) for k in range(rank) if k != dim]
    if source is not None:
        is_larger += [e.icmp("sgt", mine, own) for mine, own in zip(index.sizes, source.sizes, strict=True)]
    has_places = e.icmp("ne", product(fn, index.sizes), number(0))
    fn.exits.fail_if(e.binary("and", _any(fn, is_larger), has_places), node)
    each_element(fn, index.sizes, [index], lambda at: change.check(_place(fn, index, at[0]), dim))

    def write(target: ArrayValue) -> None:
        strides = (*target.strides[:dim], number(0), *target.strides[dim + 1 :])
        seen = ArrayValue(Array(x.rep.dtype, rank, 0), target.owner, target.data, index.sizes, strides)

        def one(at: list[Register]) -> None:
            size = memory.element(x.rep.dtype).itemsize
            address = memory.offset_address(e, at[0], _place(fn, index, at[1]), target.strides[dim], size)
            change.put(address, value or memory.load_element(e, at[2], x.rep.dtype), op)

        each_element(fn, index.sizes, [seen, *change.read], one)

    change.apply(write)


def slices(fn: EmittedFunction, node: Node) -> None:
    """`index_add` and `index_copy`: a vector of places along one axis."""
    e, given = fn.e, _arguments(node)
    x, index = array(fn, given["self"]), _index(array(fn, given["index"]))
    source, dim = _same_kind(array(fn, given["source"]), x, x.rep.rank), axis_of(fn, given["dim"], x.rep.rank)
    if index.rep.rank != 1:
        raise CannotCompileError("an index of another rank")
    adds = _plain(node).endswith("_add")
    alpha = (
        _constant(fn, given["alpha"], x.rep.dtype) if adds and literal_of(fn.values.get(given["alpha"])) != 1 else None
    )
    change = _Change(fn, node, x, [index, source])
    fn.exits.fail_if(e.icmp("ne", index.sizes[0], source.sizes[dim]), node)
    if adds:
        for k in range(x.rep.rank):
            if k != dim:
                fn.exits.fail_if(e.icmp("ne", x.sizes[k], source.sizes[k]), node)
    else:
        source = broadcast_to(fn, source, (*x.sizes[:dim], index.sizes[0], *x.sizes[dim + 1 :]), node)
    each(fn, index.sizes[0], lambda k: change.check(_place(fn, index, _at(fn, index, 0, k)), dim))

    def write(target: ArrayValue) -> None:
        def one_slice(k: Register) -> None:
            at = _place(fn, index, _at(fn, index, 0, k))
            parts = [_slice(fn, target, dim, at), _slice(fn, source, dim, k)]

            def one(places: list[Register]) -> None:
                value = memory.load_element(e, places[1], x.rep.dtype)
                change.put(places[0], value if alpha is None else change.together("mul", value, alpha), "add" * adds)

            each_element(fn, parts[0].sizes, parts, one)

        each(fn, index.sizes[0], one_slice)

    change.apply(write)


def index_put(fn: EmittedFunction, node: Node) -> None:
    """`x[places] = values` and `x[mask] = value`, or `+=`, with one tensor along the first axes."""
    given = _arguments(node)
    x, indices, values = array(fn, given["self"]), fn.values.get(given["indices"]), fn.values.get(given["values"])
    if not isinstance(indices, TupleValue) or not indices.items:
        raise CannotCompileError("an index by other things than one tensor")
    by = indices.items[0]
    if not isinstance(by, ArrayValue) and not (isinstance(by, Scalar) and by.rep == Element(dtypes.bool_)):
        raise CannotCompileError("an index by other things than one tensor")
    if any(not (isinstance(i, FixedValue) and i.rep == Fixed(None)) for i in indices.items[1:]):
        raise CannotCompileError("an index by several tensors")
    accumulate = literal_of(fn.values.get(given["accumulate"]))
    if not isinstance(values.rep, Array | Element) or values.rep.dtype is not x.rep.dtype or not x.rep.rank:
        raise CannotCompileError("values of another dtype")
    if accumulate not in (True, False) or len(indices.items) > x.rep.rank:
        raise CannotCompileError("whether values are added is not known")
    op = "add" * accumulate
    if isinstance(by, Scalar) or by.rep == Array(dtypes.bool_, 0):
        _put_if(fn, node, x, load(fn, by).register, values, op)
    elif by.rep.dtype.name == "bool" and (isinstance(values, Scalar) or values.rep == Array(x.rep.dtype, 0)):
        assert isinstance(values, Scalar | ArrayValue)
        _put_by_mask(fn, node, x, by, load(fn, values).register, op)
    elif by.rep.rank == 1 and isinstance(values, Scalar | ArrayValue):
        _put_at_places(fn, node, x, _index(by), values, op)
    else:
        raise CannotCompileError("an index of another rank or dtype")


def _put_if(fn: EmittedFunction, node: Node, x: ArrayValue, mask: Register, values: Native, op: str) -> None:
    """All of a tensor or nothing, by a mask without axes."""
    if not isinstance(values, Scalar) and values.rep != Array(x.rep.dtype, 0):
        raise CannotCompileError("a mask without axes, and several values")
    assert isinstance(values, Scalar | ArrayValue)
    e, value = fn.e, load(fn, values).register
    change = _Change(fn, node, x, [])

    def write(target: ArrayValue) -> None:
        chosen, passed = e.label("chosen"), e.label("passed")
        e.branch_if(mask, chosen, passed)
        e.start(chosen)
        each_element(fn, x.sizes, [target], lambda at: change.put(at[0], value, op))
        e.branch(passed)
        e.start(passed)

    change.apply(write)


def _put_by_mask(fn: EmittedFunction, node: Node, x: ArrayValue, mask: ArrayValue, value: Register, op: str) -> None:
    e, rank = fn.e, mask.rep.rank
    if not 0 < rank <= x.rep.rank:
        raise CannotCompileError("a mask of another rank")
    change = _Change(fn, node, x, [mask])
    fn.exits.fail_if(_any(fn, [e.icmp("ne", m, own) for m, own in zip(mask.sizes, x.sizes, strict=False)]), node)

    def write(target: ArrayValue) -> None:
        dtype, owner = x.rep.dtype, target.owner
        front = ArrayValue(Array(dtype, rank, 0), owner, target.data, x.sizes[:rank], target.strides[:rank])

        def one(at: list[Register]) -> None:
            chosen, passed = e.label("chosen"), e.label("passed")
            e.branch_if(memory.load_element(e, at[1], mask.rep.dtype), chosen, passed)
            e.start(chosen)
            rest = ArrayValue(Array(dtype, x.rep.rank - rank, 0), owner, at[0], x.sizes[rank:], target.strides[rank:])
            each_element(fn, rest.sizes, [rest], lambda places: change.put(places[0], value, op))
            e.branch(passed)
            e.start(passed)

        each_element(fn, mask.sizes, [front, mask], one)

    change.apply(write)


def _put_at_places(
    fn: EmittedFunction, node: Node, x: ArrayValue, index: ArrayValue, values: Scalar | ArrayValue, op: str
) -> None:
    e = fn.e
    if isinstance(values, ArrayValue) and values.rep.rank > x.rep.rank:
        raise CannotCompileError("values of more axes than the tensor has")
    sources = [values] if isinstance(values, ArrayValue) and values.rep.rank else []
    change = _Change(fn, node, x, [index, *sources])
    sources = [broadcast_to(fn, s, (index.sizes[0], *x.sizes[1:]), node) for s in sources]
    value = None if sources else load(fn, values).register

    def place(k: Register) -> Register:
        at = _place(fn, index, _at(fn, index, 0, k))
        return e.select(e.icmp("slt", at, number(0)), e.binary("add", at, x.sizes[0]), at)

    each(fn, index.sizes[0], lambda k: change.check(place(k), 0))

    def write(target: ArrayValue) -> None:
        def one_row(k: Register) -> None:
            parts = [_slice(fn, target, 0, place(k)), *(_slice(fn, s, 0, k) for s in sources)]

            def one(at: list[Register]) -> None:
                change.put(at[0], value or memory.load_element(e, at[1], x.rep.dtype), op)

            each_element(fn, parts[0].sizes, parts, one)

        each(fn, index.sizes[0], one_row)

    change.apply(write)


class _Change:
    """One node: the tensor it changes, and what it reads meanwhile."""

    def __init__(self, fn: EmittedFunction, node: Node, x: ArrayValue, read: Sequence[ArrayValue]) -> None:
        self.fn, self.node, self.x, self.read = fn, node, x, list(read)
        self.in_place = node.op.endswith("_")
        if not self.in_place and x.rep.dense != x.rep.rank:
            raise CannotCompileError("a tensor whose order in memory is not known")
        if x.rep.dtype.name not in ELEMENT_TYPES:
            raise CannotCompileError(f"elements of {x.rep.dtype}")
        self.s = Registers(fn, node, is_exact=False)

    def check(self, place: Register, dim: int) -> None:
        """Leave where a place is outside."""
        self.fn.exits.fail_if(self.fn.e.icmp("uge", place, self.x.sizes[dim]), self.node)

    def together(self, op: str, a: Register, b: Register) -> Register:
        """Two elements by `add` or `mul`."""
        dtype = self.x.rep.dtype
        found: Operand = getattr(self.s, op)(Operand(a, dtype), Operand(b, dtype))
        return found.register

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
            made = new(fn, x.rep.dtype, x.sizes, node)
            copy_elements(fn, made, x)
            write(made)
            fn.values.set_new(node.result(), made)
            return
        shares, apart, after = e.label("shares"), e.label("apart"), e.label("after")
        is_shared = _any(fn, [*repeats(fn, x), *([overlaps(fn, x, self.read)] if self.read else [])])
        e.raw(f"br i1 {is_shared}, label %{shares}, label %{apart}")
        e.start(shares)
        call_python(fn, node, (), is_rare=True)
        e.branch(after)
        e.start(apart)
        write(x)
        e.branch(after)
        e.start(after)
        fn.values.set_view(node.result(), x)


def _arguments(node: Node) -> dict[str, Value]:
    assert node.definition is not None
    return dict(zip((a.name for a in node.definition.schema.arguments), node.operands, strict=True))


def _plain(node: Node) -> str:
    return node.op.removesuffix("_")


def _index(index: ArrayValue) -> ArrayValue:
    if index.rep.dtype.name not in ("int64", "int32"):
        raise CannotCompileError("an index of other numbers")
    return index


def _same_kind(source: ArrayValue, x: ArrayValue, rank: int) -> ArrayValue:
    if source.rep.rank != rank or source.rep.dtype is not x.rep.dtype:
        raise CannotCompileError("values of another rank or dtype")
    return source


def _reduction(fn: EmittedFunction, given: dict[str, Value]) -> str:
    if "reduce" not in given:
        return ""
    found = literal_of(fn.values.get(given["reduce"]))
    if found not in REDUCTIONS:
        raise CannotCompileError("a reduction that is not known")
    return REDUCTIONS[found]


def _constant(fn: EmittedFunction, value: Value, dtype: DType) -> Register:
    """A known number as an element."""
    known = literal_of(fn.values.get(value))
    if not isinstance(known, int | float):
        raise CannotCompileError("a number that is not known")
    try:
        return constant(exact_scalar(known, dtype).item(), dtype)
    except RuntimeError as error:
        raise CannotCompileError(str(error)) from None


def _any(fn: EmittedFunction, conditions: Sequence[Register]) -> Register:
    if not conditions:
        return Register("false", "i1", 1)
    return functools.reduce(lambda a, b: fn.e.binary("or", a, b), conditions)


def _at(fn: EmittedFunction, x: ArrayValue, dim: int, index: Register) -> Register:
    return memory.offset_address(fn.e, x.data, index, x.strides[dim], memory.element(x.rep.dtype).itemsize)


def _place(fn: EmittedFunction, index: ArrayValue, address: Register) -> Register:
    """The place that an element of an index says."""
    at = memory.load_element(fn.e, address, index.rep.dtype)
    return at if at.type == "i64" else fn.e.convert("sext", at, "i64")


def _slice(fn: EmittedFunction, x: ArrayValue, dim: int, index: Register) -> ArrayValue:
    """One slice of a tensor, without its axis."""
    sizes, strides = x.sizes[:dim] + x.sizes[dim + 1 :], x.strides[:dim] + x.strides[dim + 1 :]
    return ArrayValue(Array(x.rep.dtype, len(sizes), 0), x.owner, _at(fn, x, dim, index), sizes, strides)
