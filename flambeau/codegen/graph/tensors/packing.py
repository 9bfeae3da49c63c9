"""Batches of sequences of different lengths, packed step by step and padded again, in native code.

Lengths that the operators refuse, and batches without elements, are Python's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from flambeau.codegen.graph import memory
from flambeau.codegen.graph.emitted_function import EmittedFunction
from flambeau.codegen.graph.interpreter_calls import either_of
from flambeau.codegen.graph.literals import literal_of
from flambeau.codegen.graph.loops.control import each
from flambeau.codegen.graph.memory import number
from flambeau.codegen.graph.named_operands import operands_by_name
from flambeau.codegen.graph.native_values import ArrayValue, CannotCompileError, Scalar
from flambeau.codegen.graph.numbers.scalars import Registers, as_operand
from flambeau.codegen.graph.representation import Array, Float, Int
from flambeau.codegen.graph.tensors import arrays
from flambeau.codegen.graph.tensors.arrays import array, copy_elements, new, view_on
from flambeau.codegen.llvm.emitter import Value as Register
from flambeau.ir.graph import Node
from flambeau.schema import dtype as dtypes

MOST_AXES = 4
"""Of a padded batch; the results of more may lie as images do, channels last."""
FILLED = frozenset({"float32", "float64"})
"""Dtypes of padding."""


def pack(fn: EmittedFunction, node: Node) -> None:
    """`_pack_padded_sequence`: the rows of all steps, one step after the other, and how many each has."""
    e, (x, lengths) = fn.e, _tensors(fn, node)
    by_time = _by_time(fn, node, x)
    steps, batch, *rest = by_time.sizes
    fits = e.icmp("eq", lengths.sizes[0], batch)
    fits = e.binary("and", fits, e.icmp("ne", arrays.product(fn, x.sizes), number(0)))
    fits, total = _sum_if(fn, lengths, fits, lambda size, before: e.binary(
        "and", e.icmp("sgt", size, number(0)), e.icmp("sle", size, before)
    ), steps)  # fmt: skip

    def packed() -> Sequence[ArrayValue]:
        data = new(fn, x.rep.dtype, (total, *rest), node)
        sizes = new(fn, dtypes.int64, (_number(fn, lengths, number(0)),), node)
        first = e.slot("i64", 8)
        e.raw(f"store i64 0, ptr {first}")

        def step(time: Register) -> None:
            going = _longer(fn, lengths, time)
            memory.store_element(e, arrays.selected(fn, sizes, 0, time).data, going, dtypes.int64)
            at = e.define(f"load i64, ptr {first}", "i64", 1)
            _copy_rows(fn, data, at, arrays.selected(fn, by_time, 0, time), number(0), going)
            e.raw(f"store i64 {memory.add(e, at, going)}, ptr {first}")

        each(fn, sizes.sizes[0], step)
        return data, sizes

    rank = x.rep.rank - 1
    either_of(fn, node, fits, [Array(x.rep.dtype, rank, rank), Array(dtypes.int64, 1, 1)], packed)


def pad(fn: EmittedFunction, node: Node) -> None:
    """`_pad_packed_sequence`: the steps of each sequence with padding behind them, and how many there are."""
    e, (data, sizes) = fn.e, _tensors(fn, node)
    steps, rows, rest = sizes.sizes[0], data.sizes[0], data.sizes[1:]
    fill, wanted = _fill(fn, node, data), operands_by_name(fn, node)["total_length"]
    if not isinstance(wanted, Scalar):
        raise CannotCompileError("a length that is not known to be an int")
    is_asked = e.icmp("sgt", wanted.register, number(0))
    length = e.select(is_asked, wanted.register, steps)
    fits = e.binary("and", e.icmp("sle", steps, length), e.icmp("ne", arrays.product(fn, data.sizes), number(0)))
    fits, total = _sum_if(fn, sizes, fits, lambda size, before: e.binary(
        "and", e.icmp("sge", size, number(0)), e.icmp("sle", size, before)
    ), rows)  # fmt: skip
    fits = e.binary("and", fits, e.icmp("eq", total, rows))

    def padded() -> Sequence[ArrayValue]:
        batch = _number(fn, sizes, number(0))
        is_batch_first = literal_of(operands_by_name(fn, node)["batch_first"])
        result = new(fn, data.rep.dtype, (*((batch, length) if is_batch_first else (length, batch)), *rest), node)
        arrays.fill(fn, result, fill)
        by_time, first = _by_time(fn, node, result), e.slot("i64", 8)
        e.raw(f"store i64 0, ptr {first}")

        def step(time: Register) -> None:
            going, at = _number(fn, sizes, time), e.define(f"load i64, ptr {first}", "i64", 1)
            _copy_rows(fn, arrays.selected(fn, by_time, 0, time), number(0), data, at, going)
            e.raw(f"store i64 {memory.add(e, at, going)}, ptr {first}")

        each(fn, steps, step)
        lengths = new(fn, dtypes.int64, (batch,), node)
        each(fn, batch, lambda k: memory.store_element(
            e, arrays.selected(fn, lengths, 0, k).data, _longer(fn, sizes, k), dtypes.int64
        ))  # fmt: skip
        return result, lengths

    rank = data.rep.rank + 1
    either_of(fn, node, fits, [Array(data.rep.dtype, rank, rank), Array(dtypes.int64, 1, 1)], padded)


def _tensors(fn: EmittedFunction, node: Node) -> tuple[ArrayValue, ArrayValue]:
    """The batch, and the numbers that say which steps there are."""
    x, numbers = (array(fn, v) for v in node.operands[:2])
    if numbers.rep.rank != 1 or numbers.rep.dtype is not dtypes.int64 or fn.e.lanes > 1:
        raise CannotCompileError("numbers of another rank or dtype than int64")
    is_padded = node.op != "aten::_pad_packed_sequence"
    if not is_padded + 1 <= x.rep.rank <= MOST_AXES - 1 + is_padded or x.rep.dtype.is_complex:
        raise CannotCompileError("a batch of another rank, or of complex numbers")
    return x, numbers


def _by_time(fn: EmittedFunction, node: Node, x: ArrayValue) -> ArrayValue:
    """A padded batch with its times first."""
    is_batch_first = literal_of(operands_by_name(fn, node)["batch_first"])
    if not isinstance(is_batch_first, bool):
        raise CannotCompileError("a batch that may come first or not")
    if not is_batch_first:
        return x
    (a, b, *sizes), (c, d, *strides) = x.sizes, x.strides
    return view_on(x, x.data, (b, a, *sizes), (d, c, *strides), x.rep.rank - 2 if x.rep.dense else 0)


def _fill(fn: EmittedFunction, node: Node, data: ArrayValue) -> Register:
    """What stands where sequences have ended."""
    value, s = operands_by_name(fn, node)["padding_value"], Registers(fn, node, is_exact=False)
    if data.rep.dtype.name not in FILLED or not isinstance(value, Scalar) or value.rep not in (Float(), Int()):
        raise CannotCompileError("padding that is not a number among floats")
    return s.cast(as_operand(value), data.rep.dtype).register


def _number(fn: EmittedFunction, numbers: ArrayValue, k: Register) -> Register:
    return memory.load_element(fn.e, arrays.selected(fn, numbers, 0, k).data, dtypes.int64)


def _sum_if(
    fn: EmittedFunction, numbers: ArrayValue, condition: Register, fits: Callable[[Register, Register], Register],
    most: Register,
) -> tuple[Register, Register]:  # fmt: skip
    """Whether a condition holds and each number fits what is before it, the first `most`, and there is one; their sum.

    Sums of numbers that fit do not overflow before there are 2**63 rows.
    """
    e = fn.e
    answer, before, total = e.slot("i1", 1), e.slot("i64", 8), e.slot("i64", 8)
    e.raw(f"store i1 {e.binary('and', condition, e.icmp('sgt', numbers.sizes[0], number(0)))}, ptr {answer}")
    e.raw(f"store i64 {most}, ptr {before}")
    e.raw(f"store i64 0, ptr {total}")

    def look(k: Register) -> None:
        one = _number(fn, numbers, k)
        so_far, last = e.define(f"load i1, ptr {answer}", "i1", 1), e.define(f"load i64, ptr {before}", "i64", 1)
        e.raw(f"store i1 {e.binary('and', so_far, fits(one, last))}, ptr {answer}")
        e.raw(f"store i64 {one}, ptr {before}")
        summed = e.define(f"load i64, ptr {total}", "i64", 1)
        e.raw(f"store i64 {e.binary('add', summed, one)}, ptr {total}")

    each(fn, numbers.sizes[0], look)
    return e.define(f"load i1, ptr {answer}", "i1", 1), e.define(f"load i64, ptr {total}", "i64", 1)


def _longer(fn: EmittedFunction, numbers: ArrayValue, than: Register) -> Register:
    """How many of some numbers are larger than another."""
    e, count = fn.e, fn.e.slot("i64", 8)
    e.raw(f"store i64 0, ptr {count}")

    def look(k: Register) -> None:
        more = e.convert("zext", e.icmp("sgt", _number(fn, numbers, k), than), "i64")
        e.raw(f"store i64 {e.binary('add', e.define(f'load i64, ptr {count}', 'i64', 1), more)}, ptr {count}")

    each(fn, numbers.sizes[0], look)
    return e.define(f"load i64, ptr {count}", "i64", 1)


def _copy_rows(
    fn: EmittedFunction, target: ArrayValue, to: Register, source: ArrayValue, start: Register, count: Register
) -> None:
    """Copy neighbouring rows of one tensor to another."""
    rows = []
    for x, first in ((target, to), (source, start)):
        data = memory.offset_address(fn.e, x.data, first, x.strides[0], memory.itemsize(x.rep.dtype))
        rows.append(view_on(x, data, (count, *x.sizes[1:]), x.strides, x.rep.rank if x.rep.dense == x.rep.rank else 0))
    copy_elements(fn, rows[0], rows[1])
