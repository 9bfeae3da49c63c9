"""What is there and where, in native code: `nonzero`, the distinct elements of a tensor, and how many lie in each bin.

How large results are only the elements tell: these are looked at twice.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from flambeau.codegen.graph import memory
from flambeau.codegen.graph.containers import lists
from flambeau.codegen.graph.emitted_function import EmittedFunction
from flambeau.codegen.graph.interpreter_calls import either
from flambeau.codegen.graph.literals import literal_of
from flambeau.codegen.graph.loops.control import each
from flambeau.codegen.graph.memory import number
from flambeau.codegen.graph.named_operands import operands_by_name
from flambeau.codegen.graph.native_values import ArrayValue, CannotCompileError, Scalar, TupleValue
from flambeau.codegen.graph.numbers.scalars import Registers, as_operand
from flambeau.codegen.graph.representation import Array
from flambeau.codegen.graph.routines.library import call_routine
from flambeau.codegen.graph.routines.places import COUNT, PLACES, kind_of
from flambeau.codegen.graph.tensors import arrays
from flambeau.codegen.graph.tensors.arrays import array, fill, view_on
from flambeau.codegen.graph.tensors.ordered_lines import (
    axis_of_lines,
    begins_run,
    each_line,
    place_of,
    with_flat,
    with_row_major,
)
from flambeau.codegen.llvm.emitter import Value as Register
from flambeau.ir.graph import Node
from flambeau.schema import dtype as dtypes


class Counter:
    """A number in memory that goes up."""

    def __init__(self, fn: EmittedFunction, first: int = 0) -> None:
        self._e = fn.e
        self._slot = fn.e.slot("i64", 8)
        self.set(first)

    def set(self, value: int) -> None:
        """Set the count."""
        self._e.raw(f"store i64 {value}, ptr {self._slot}")

    def now(self) -> Register:
        """The count so far."""
        return self._e.define(f"load i64, ptr {self._slot}", "i64", 1)

    def count(self, condition: Register) -> None:
        """One more where a condition holds."""
        self.add(self._e.convert("zext", condition, "i64"))

    def counted(self, condition: Register) -> Register:
        """The count after one more where a condition holds."""
        self.count(condition)
        return self.now()

    def add(self, more: Register) -> None:
        """Raise the count by `more`."""
        self._e.raw(f"store i64 {self._e.binary('add', self.now(), more)}, ptr {self._slot}")


# -- places -----------------------------------------------------------------------------------------------------------


def nonzero(fn: EmittedFunction, node: Node) -> None:
    """`nonzero`, `argwhere`: the places of elements other than zero, a row each; its columns lie in one piece."""
    x = _looked_at(fn, node)
    counted = _count(fn, x)
    columns = arrays.new(fn, dtypes.int64, (number(x.rep.rank), counted), node)
    step = columns.strides[0]
    starts = [memory.offset_address(fn.e, columns.data, number(k), step, 8) for k in range(x.rep.rank)]
    _write_places(fn, x, counted, starts)
    is_none = fn.e.icmp("eq", counted, number(0))  # whose columns are no step apart
    strides = [number(8), fn.e.select(is_none, number(0), step)]
    result = view_on(columns, columns.data, [counted, number(x.rep.rank)], strides, 0)
    fn.values.set_new(node.result(), result)


def nonzero_by_axes(fn: EmittedFunction, node: Node) -> None:
    """`nonzero` as NumPy has it: a vector of places for each axis."""
    x = _looked_at(fn, node)
    if not lists.stays_apart(fn, node.result()):
        raise CannotCompileError("a list of places that is kept or changed")
    counted = _count(fn, x)
    vectors = [arrays.new(fn, dtypes.int64, (counted,), node) for _ in x.sizes]
    _write_places(fn, x, counted, [v.data for v in vectors])
    fn.values.set_new(node.result(), TupleValue(tuple(vectors)))


def _looked_at(fn: EmittedFunction, node: Node) -> ArrayValue:
    x = array(fn, node.operand(0))
    if not x.rep.rank or x.rep.dtype.is_complex or fn.e.lanes > 1:
        raise CannotCompileError("a tensor without axes, or of complex numbers")
    return x


def _count(fn: EmittedFunction, x: ArrayValue) -> Register:
    """How many elements are not zero."""
    total = Counter(fn)
    (flat,) = arrays.flattened(fn, [x])
    each_line(fn, flat.rep.rank - 1, [flat], lambda at: total.add(_call(fn, COUNT, flat, at[0])))
    return total.now()


def _call(fn: EmittedFunction, symbol: str, x: ArrayValue, line: Register, *more: Register) -> Register:
    """A call of a routine for a line along the last axis."""
    return call_routine(fn, symbol, line, x.strides[-1], x.sizes[-1], number(kind_of(x.rep.dtype)), *more)


def _write_places(fn: EmittedFunction, x: ArrayValue, counted: Register, starts: Sequence[Register]) -> None:
    """Write where the elements are that are not zero, of each axis to where it begins."""
    counter = Counter(fn)
    *outer, last = starts

    def line(address: Register, indices: list[Register]) -> None:
        axis, before = len(indices), counter.now()
        if axis < x.rep.rank - 1:
            itemsize = memory.itemsize(x.rep.dtype)
            each(fn, x.sizes[axis], lambda k: line(
                memory.offset_address(fn.e, address, k, x.strides[axis], itemsize), [*indices, k]
            ))  # fmt: skip
            return
        room = fn.e.binary("sub", counted, before)
        here = _call(fn, PLACES, x, address, memory.offset_address(fn.e, last, before, number(8), 8), room)
        for start, k in zip(outer, indices, strict=True):
            first = memory.offset_address(fn.e, start, before, number(8), 8)
            own = ArrayValue(Array(dtypes.int64, 1, 1), Register("null", "ptr", 1), first, (here,), (number(8),))
            fill(fn, own, k)
        counter.add(here)

    line(x.data, [])


# -- distinct elements ------------------------------------------------------------------------------------------------


def unique(fn: EmittedFunction, node: Node) -> None:
    """`unique` of all elements: in order, which one each is, and how many of each there are."""
    x = array(fn, node.operand(0))
    axis_of_lines(fn, x, 0)
    wants = _wanted(fn, node)
    with_flat(fn, node, x, lambda line, pairs: _runs(
        fn, node, x, line, wants, lambda k: begins_run(fn, x.rep.dtype, pairs, k), lambda k: place_of(fn, pairs, k)
    ))  # fmt: skip


def unique_consecutive(fn: EmittedFunction, node: Node) -> None:
    """`unique_consecutive` of all elements: those that are unlike the one before."""
    x, wants = array(fn, node.operand(0)), _wanted(fn, node)
    axis_of_lines(fn, x, 0)
    if literal_of(operands_by_name(fn, node)["dim"]) is not None:
        raise CannotCompileError("slices along an axis")

    def runs(line: ArrayValue) -> None:
        _runs(fn, node, x, line, wants, lambda k: _is_unlike(fn, line, k), lambda k: k)

    with_row_major(fn, node, x, runs)


def _is_unlike(fn: EmittedFunction, line: ArrayValue, k: Register) -> Register:
    """Whether an element is the first, or unlike the one before it."""
    e, dtype = fn.e, line.rep.dtype
    is_first = e.icmp("eq", k, number(0))
    before = e.select(is_first, number(0), e.binary("sub", k, number(1)))
    a, b = (
        memory.load_element(e, memory.offset_address(e, line.data, at, line.strides[0], memory.itemsize(dtype)), dtype)
        for at in (k, before)
    )
    return e.binary("or", is_first, e.fcmp("une", a, b) if dtype.is_floating_point else e.icmp("ne", a, b))


def _wanted(fn: EmittedFunction, node: Node) -> tuple[bool, bool]:
    """Whether it is asked which one each element is, and how many of each there are."""
    operands = operands_by_name(fn, node)
    inverse, counts = (operands.get(name) for name in ("return_inverse", "return_counts"))
    wants = [False if one is None else literal_of(one) for one in (inverse, counts)]
    if not all(isinstance(one, bool) for one in wants):
        raise CannotCompileError("results that may be wanted or not")
    return wants[0], wants[1]


def _runs(
    fn: EmittedFunction, node: Node, x: ArrayValue, line: ArrayValue, wants: tuple[bool, bool],
    begins: Callable[[Register], Register], index_of: Callable[[Register], Register],
) -> None:  # fmt: skip
    """The results for elements in an order, of which some begin a run: ``index_of`` says where the k-th of them is."""
    e, dtype = fn.e, x.rep.dtype
    runs = Counter(fn)
    each(fn, line.sizes[0], lambda k: runs.count(begins(k)))
    count = runs.now()
    values = arrays.new(fn, dtype, (count,), node)
    numbers = arrays.new(fn, dtypes.int64, x.sizes if wants[0] else (number(0),), node)
    lengths = arrays.new(fn, dtypes.int64, (count if wants[1] else number(0),), node)
    if wants[1]:
        fill(fn, lengths, number(0))
    runs.set(-1)

    def look(k: Register) -> None:
        first, at, kept, after = begins(k), index_of(k), e.label("kept"), e.label("after")
        run = runs.counted(first)
        e.branch_if(first, kept, after)
        e.start(kept)
        source = memory.offset_address(e, line.data, at, line.strides[0], memory.itemsize(dtype))
        memory.move_element(e, _at(fn, values, run), source, dtype)
        e.branch(after)
        e.start(after)
        if wants[0]:
            memory.store_element(e, _at(fn, numbers, at), run, dtypes.int64)
        if wants[1]:
            length = _at(fn, lengths, run)
            more = memory.add(e, memory.load_element(e, length, dtypes.int64), number(1))
            memory.store_element(e, length, more, dtypes.int64)

    each(fn, line.sizes[0], look)
    for result, output in zip(node.results, (values, numbers, lengths), strict=False):
        fn.values.set_new(result, output)
    if len(node.results) < 3:
        e.raw(f"call void @drop_block(ptr {lengths.owner})")


def _at(fn: EmittedFunction, x: ArrayValue, k: Register) -> Register:
    """The k-th element of a tensor that lies in one piece."""
    itemsize = memory.itemsize(x.rep.dtype)
    return memory.offset_address(fn.e, x.data, k, number(itemsize), itemsize)


# -- bins -------------------------------------------------------------------------------------------------------------


def histc(fn: EmittedFunction, node: Node) -> None:
    """`histc` between two bounds that differ: how many elements lie in each of equal bins."""
    e, x, operands = fn.e, array(fn, node.operand(0)), operands_by_name(fn, node)
    dtype, bins, bounds = x.rep.dtype, operands["bins"], [operands["min"], operands["max"]]
    if not dtype.is_floating_point or not isinstance(bins, Scalar) or fn.e.lanes > 1:
        raise CannotCompileError("a histogram of other tensors than of floats")
    s = Registers(fn, node, is_exact=True)
    low, high = (s.cast(as_operand(b), dtypes.float64) for b in bounds if isinstance(b, Scalar))
    count = bins.register
    span = e.binary("fsub", high.register, low.register)
    is_wrong = e.binary("or", e.icmp("sle", count, number(0)), e.fcmp("ogt", low.register, high.register))
    fn.exits.fail_if(is_wrong, node)
    differ = e.fcmp("une", low.register, high.register)
    is_finite = e.fcmp("one", e.binary("fsub", span, span), e.like(span, 1.0))  # nan of an infinite one
    wide = e.convert("sitofp", count, "double")
    first, last, scale = (
        s.cast(type(low)(register, dtypes.float64), dtype).register
        for register in (low.register, high.register, e.binary("fdiv", wide, span))
    )

    def counted() -> ArrayValue:
        counts = arrays.new(fn, dtypes.int64, (count,), node)
        fill(fn, counts, number(0))

        def look(at: list[Register]) -> None:
            value, inside, after = memory.load_element(e, at[0], dtype), e.label("inside"), e.label("after")
            fits = e.binary("and", e.fcmp("oge", value, first), e.fcmp("ole", value, last))
            e.branch_if(fits, inside, after)
            e.start(inside)
            bin_number = e.convert("fptosi", e.binary("fmul", e.binary("fsub", value, first), scale), "i64")
            bin_ = _at(fn, counts, e.intrinsic("smin", bin_number, e.binary("sub", count, number(1))))
            memory.store_element(e, bin_, memory.add(e, memory.load_element(e, bin_, dtypes.int64), number(1)),
                                 dtypes.int64)  # fmt: skip
            e.branch(after)
            e.start(after)

        arrays.each_element(fn, x.sizes, [x], look)
        result = arrays.new(fn, dtype, (count,), node)
        each(fn, count, lambda k: memory.store_element(e, _at(fn, result, k), e.convert(
            "sitofp", memory.load_element(e, _at(fn, counts, k), dtypes.int64), memory.element(dtype).memory
        ), dtype))  # fmt: skip
        e.raw(f"call void @drop_block(ptr {counts.owner})")
        return result

    either(fn, node, e.binary("and", differ, is_finite), Array(dtype, 1, 1), counted)
