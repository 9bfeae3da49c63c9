"""`index_put` in native code: a tensor changed where integers, or a mask, name elements or slices.

    x[rows] = v    x[:, rows, columns] += v    x[mask] = v

Integers stand side by side, behind axes that stay, and are broadcast together; a mask stands alone in front.
"""

from __future__ import annotations

from collections.abc import Sequence

from flambeau.codegen.graph import memory
from flambeau.codegen.graph.emitted_function import EmittedFunction
from flambeau.codegen.graph.literals import literal_of
from flambeau.codegen.graph.lowering_tables import lowers_on_tensors
from flambeau.codegen.graph.memory import number
from flambeau.codegen.graph.named_operands import values_by_name
from flambeau.codegen.graph.native_values import ArrayValue, CannotCompileError, FixedValue, Native, Scalar, TupleValue
from flambeau.codegen.graph.representation import Array, Element, Fixed
from flambeau.codegen.graph.tensors.arrays import array, broadcast_to, each_element, load
from flambeau.codegen.graph.tensors.distinct import Counter
from flambeau.codegen.graph.tensors.scatter import Change, any_of, index_at, of_integers
from flambeau.codegen.llvm.emitter import Value as Register
from flambeau.ir.graph import Node
from flambeau.schema import dtype as dtypes


@lowers_on_tensors("aten::index_put")
def index_put(fn: EmittedFunction, node: Node) -> None:
    """`x[indexes] = values`, or `+=`."""
    operands = values_by_name(node)
    x, values = array(fn, operands["self"]), fn.values.get(operands["values"])
    named, axis, mentioned = _named(fn.values.get(operands["indices"]))
    if not isinstance(values, Scalar | ArrayValue) or not isinstance(values.rep, Array | Element):
        raise CannotCompileError("values that are no tensor")
    if values.rep.dtype is not x.rep.dtype or not x.rep.rank:
        raise CannotCompileError("values of another dtype")
    accumulate = literal_of(fn.values.get(operands["accumulate"]))
    if accumulate not in (True, False) or mentioned > x.rep.rank:
        raise CannotCompileError("whether values are added is not known")
    if any(index.rep.dtype is dtypes.bool_ for index in named if isinstance(index.rep, Array | Element)):
        if len(named) > 1 or axis:
            raise CannotCompileError("a mask beside other indexes")
        _put_where(fn, node, x, named[0], values, "add" * accumulate)
        return
    indexes = [of_integers(index) for index in named if isinstance(index, ArrayValue) and index.rep.rank]
    if len(indexes) < len(named):
        raise CannotCompileError("elements beside other indexes")
    _Places(fn, node, x, indexes, axis).put(values, "add" * accumulate)


def _put_where(
    fn: EmittedFunction, node: Node, x: ArrayValue, mask: Scalar | ArrayValue, values: Scalar | ArrayValue, op: str
) -> None:
    if isinstance(mask, ArrayValue) and mask.rep.rank:
        _put_by_mask(fn, node, x, mask, values, op)
    else:
        _put_if(fn, node, x, load(fn, mask).register, values, op)


def _named(indices: Native) -> tuple[list[Scalar | ArrayValue], int, int]:
    """The tensors of a list of indexes, which stand side by side, the axis of the first, and how many axes the list
    says something of.
    """
    if not isinstance(indices, TupleValue):
        raise CannotCompileError("an index by other things than tensors")
    said = [k for k, item in enumerate(indices.items) if not (isinstance(item, FixedValue) and item.rep == Fixed(None))]
    if not said or said != list(range(said[0], said[0] + len(said))):
        raise CannotCompileError("an index by tensors apart from each other")
    named = [item for k in said if isinstance(item := indices.items[k], ArrayValue) or _is_flag(item)]
    if len(named) < len(said):
        raise CannotCompileError("an index by other things than tensors")
    return [item for item in named if isinstance(item, Scalar | ArrayValue)], said[0], len(indices.items)


def _is_flag(native: Native) -> bool:
    return isinstance(native, Scalar) and native.rep == Element(dtypes.bool_)


def _put_if(fn: EmittedFunction, node: Node, x: ArrayValue, mask: Register, values: Native, op: str) -> None:
    """All of a tensor or nothing, by a mask without axes."""
    if not isinstance(values, Scalar) and values.rep != Array(x.rep.dtype, 0):
        raise CannotCompileError("a mask without axes, and several values")
    assert isinstance(values, Scalar | ArrayValue)
    e, value = fn.e, load(fn, values).register
    change = Change(fn, node, x, [])

    def write(target: ArrayValue) -> None:
        chosen, passed = e.label("chosen"), e.label("passed")
        e.branch_if(mask, chosen, passed)
        e.start(chosen)
        each_element(fn, x.sizes, [target], lambda at: change.put(at[0], value, op))
        e.branch(passed)
        e.start(passed)

    change.apply(write)


def _put_by_mask(
    fn: EmittedFunction, node: Node, x: ArrayValue, mask: ArrayValue, values: Scalar | ArrayValue, op: str
) -> None:
    """Slices where a mask holds: of one value, or in order of several."""
    e, rank = fn.e, mask.rep.rank
    if not 0 < rank <= x.rep.rank:
        raise CannotCompileError("a mask of another rank")
    sources = [values] if isinstance(values, ArrayValue) and values.rep.rank else []
    sources = _alone(values) or sources
    change, counter = Change(fn, node, x, [mask, *sources], moves=not op), Counter(fn)
    wrong = [e.icmp("ne", m, own) for m, own in zip(mask.sizes, x.sizes, strict=False)]
    fn.exits.fail_if(any_of(fn, wrong), node)
    if sources:
        each_element(
            fn, mask.sizes, [mask], lambda at: counter.count(memory.load_element(e, at[0], mask.rep.dtype))
        )
        sources = [broadcast_to(fn, s, (counter.now(), *x.sizes[rank:]), node) for s in sources]
    value = None if sources else load(fn, values).register

    def write(target: ArrayValue) -> None:
        dtype = x.rep.dtype
        front = ArrayValue(Array(dtype, rank, 0), target.owner, target.data, x.sizes[:rank], target.strides[:rank])
        counter.set(0)

        def one(at: list[Register]) -> None:
            chosen, passed = e.label("chosen"), e.label("passed")
            e.branch_if(memory.load_element(e, at[1], mask.rep.dtype), chosen, passed)
            e.start(chosen)
            starts = [at[0], *(memory.offset_address(
                e, s.data, counter.now(), s.strides[0], memory.itemsize(dtype)
            ) for s in sources)]  # fmt: skip
            _put_slice(change, starts, [target.strides[rank:], *(s.strides[1:] for s in sources)], value, op)
            if sources:
                counter.add(number(1))
            e.branch(passed)
            e.start(passed)

        each_element(fn, mask.sizes, [front, mask], one)

    change.apply(write)


def _alone(values: Scalar | ArrayValue) -> list[ArrayValue]:
    """A complex number in memory, which is moved from there to every place."""
    return [values] if isinstance(values, ArrayValue) and values.rep.dtype.is_complex else []


def _put_slice(
    change: Change, starts: Sequence[Register], strides: Sequence[Sequence[Register]], value: Register | None, op: str
) -> None:
    """Change a slice of the last axes by a value, or by the slice that begins at the second of two addresses."""
    x = change.x
    rank = len(strides[0])
    sizes = x.sizes[x.rep.rank - rank :]
    parts = [
        ArrayValue(Array(x.rep.dtype, rank, 0), x.owner, start, sizes, tuple(steps))
        for start, steps in zip(starts, strides, strict=True)
    ]

    def one(at: list[Register]) -> None:
        if x.rep.dtype.is_complex:
            memory.move_element(change.fn.e, at[0], at[1], x.rep.dtype)
            return
        change.put(at[0], value or memory.load_element(change.fn.e, at[1], x.rep.dtype), op)

    each_element(change.fn, sizes, parts, one)


class _Places:
    """The places of a tensor that integers name along axes side by side."""

    def __init__(
        self, fn: EmittedFunction, node: Node, x: ArrayValue, indexes: Sequence[ArrayValue], axis: int
    ) -> None:
        self.fn, self.node, self.x, self.axis = fn, node, x, axis
        self.named = indexes
        self.sizes = (*x.sizes[:axis], *self._common_sizes(indexes))
        """Of the axes in front, then of the indexes together."""
        self.indexes = [broadcast_to(fn, index, self.sizes, node) for index in indexes]
        self.rest = axis + len(indexes)
        """The first axis behind."""

    def _common_sizes(self, indexes: Sequence[ArrayValue]) -> list[Register]:
        e, rank = self.fn.e, max(index.rep.rank for index in indexes)
        sizes: list[Register] = [number(1)] * rank
        for index in indexes:
            for k, own in enumerate(index.sizes, rank - index.rep.rank):
                sizes[k] = own if sizes[k] == number(1) else e.select(e.icmp("eq", own, number(1)), sizes[k], own)
        return sizes

    def _place(self, k: int, address: Register) -> Register:
        """Where one of the indexes names a slice, counted from the front."""
        e, at = self.fn.e, index_at(self.fn, self.named[k], address)
        return e.select(e.icmp("slt", at, number(0)), e.binary("add", at, self.x.sizes[self.axis + k]), at)

    def put(self, values: Scalar | ArrayValue, op: str) -> None:
        """Change what they name, by one value or by several."""
        fn, e, x, rank = self.fn, self.fn.e, self.x, len(self.sizes)
        sources = [values] if isinstance(values, ArrayValue) and values.rep.rank else []
        sources = _alone(values) or sources
        change = Change(fn, self.node, x, [*self.named, *sources], moves=not op)
        sources = [broadcast_to(fn, s, (*self.sizes, *x.sizes[self.rest :]), self.node) for s in sources]
        value = None if sources else load(fn, values).register

        def check(at: list[Register]) -> None:
            for k, address in enumerate(at):
                change.check(self._place(k, address), self.axis + k)

        common = self.sizes[self.axis :]
        own = [broadcast_to(fn, index, common, self.node) for index in self.named]
        each_element(fn, common, own, check)

        def write(target: ArrayValue) -> None:
            still = (*target.strides[: self.axis], *[number(0)] * len(common))
            front = ArrayValue(Array(x.rep.dtype, rank, 0), target.owner, target.data, self.sizes, still)
            outer = [ArrayValue(Array(x.rep.dtype, rank, 0), s.owner, s.data, self.sizes, s.strides[:rank])
                     for s in sources]  # fmt: skip

            def one(at: list[Register]) -> None:
                start = at[0]
                for k, address in enumerate(at[1 : 1 + len(self.named)]):
                    step = target.strides[self.axis + k]
                    start = memory.offset_address(
                        e, start, self._place(k, address), step, memory.itemsize(x.rep.dtype)
                    )
                starts = [start, *at[1 + len(self.named) :]]
                steps = [target.strides[self.rest :], *(s.strides[rank:] for s in sources)]
                _put_slice(change, starts, steps, value, op)

            each_element(fn, self.sizes, [front, *self.indexes, *outer], one)

        change.apply(write)
