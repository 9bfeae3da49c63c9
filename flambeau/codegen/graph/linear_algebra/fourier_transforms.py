"""Fourier transforms along one axis of tensors, in native code: NumPy's loops, called as they are.

Many points are left to Python, and so is what has no result, for Python to say why.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from flambeau.codegen.graph import memory
from flambeau.codegen.graph.emitted_function import EmittedFunction
from flambeau.codegen.graph.interpreter_calls import attempt
from flambeau.codegen.graph.literals import literal_of
from flambeau.codegen.graph.lowering_tables import lowers_on_complex_tensors, lowers_on_tensors
from flambeau.codegen.graph.memory import number
from flambeau.codegen.graph.named_operands import operands_by_name
from flambeau.codegen.graph.native_values import ArrayValue, CannotCompileError, FixedValue, Scalar
from flambeau.codegen.graph.numbers import complex_elements
from flambeau.codegen.graph.representation import Array, Int
from flambeau.codegen.graph.routines.library import call_loop
from flambeau.codegen.graph.routines.transforms import PREFIX, SINGLE, loop_addresses
from flambeau.codegen.graph.tensors import arrays
from flambeau.codegen.graph.tensors.arrays import array, view_on
from flambeau.codegen.llvm.emitter import Value as Register
from flambeau.codegen.llvm.emitter import float_literal
from flambeau.ir.graph import Node
from flambeau.schema.dtype import DType, complex64, complex128, float32, float64
from flambeau.util.record import dataclass

LONGEST: Final = 1 << 16
"""Points of signals up to which their transform is not left to Python, which polls for signals of another kind."""


@lowers_on_tensors("aten::fft_fft", "aten::fft_ifft")
@lowers_on_complex_tensors("aten::fft_fft", "aten::fft_ifft")
def transform(fn: EmittedFunction, node: Node) -> None:
    """Of complex signals."""
    _transform(fn, node, takes_real=False, gives_real=False)


@lowers_on_tensors("aten::fft_rfft")
def transform_of_reals(fn: EmittedFunction, node: Node) -> None:
    """Of real signals, the half that determines it."""
    _transform(fn, node, takes_real=True, gives_real=False)


@lowers_on_complex_tensors("aten::fft_irfft")
def transform_to_reals(fn: EmittedFunction, node: Node) -> None:
    """The real signals that such halves belong to."""
    _transform(fn, node, takes_real=False, gives_real=True)


@dataclass(frozen=True, slots=True)
class _Loops:
    """What a transform calls: one loop, or one for an even number of points and one for an odd one."""

    symbols: tuple[str, ...]
    part: DType
    """Of the factor."""


def _transform(fn: EmittedFunction, node: Node, *, takes_real: bool, gives_real: bool) -> None:
    x, e, axis = array(fn, node.operand(0)), fn.e, _axis(fn, node)
    if x.rep.dtype not in (float32, float64, complex64, complex128) or (takes_real and x.rep.dtype.is_complex):
        raise CannotCompileError(f"a transform of {x.rep.dtype.name}")
    assert node.definition is not None
    name, own = node.definition.name.partition("fft_")[2], x.rep.dtype.to_real()
    scale = _scale(fn, node, name)
    part = float64 if scale == "none" else own  # without a factor, NumPy computes in double precision
    loops = _loops(fn, name, part)
    target = own if gives_real else own.to_complex()
    length = x.sizes[axis]
    points = _points(fn, node, length, gives_real=gives_real)
    size = e.binary("add", e.binary("lshr", points, number(1)), number(1)) if takes_real else points
    total = arrays.product(fn, [*x.sizes[:axis], points, *x.sizes[axis + 1 :]])
    usable = e.binary("and", e.icmp("sgt", points, number(0)), e.icmp("ule", total, number(LONGEST)))
    usable = e.binary("and", usable, e.icmp("ne", total, number(0)))
    usable = e.binary("and", usable, e.icmp("ule", length, number(LONGEST)))
    usable = e.binary("and", usable, e.icmp("ne", length, number(0)))
    computed = part if gives_real else part.to_complex()

    def native() -> tuple[list[ArrayValue], None]:
        signal = _converted(fn, node, x, part if takes_real else part.to_complex())
        values = arrays.new(fn, computed, [*x.sizes[:axis], size, *x.sizes[axis + 1 :]], node)
        factor = _factor(fn, scale, points, part)
        lines = [_axis_last(t, axis) for t in (signal, values)]
        of_one = (length, points, size)
        _each_line(fn, lines, lambda count, at, steps: _run(fn, loops, (count, *of_one), (at, factor), steps))
        result = _converted(fn, node, values, target)
        for passed in [signal] * (signal is not x) + [values] * (values is not result):
            e.raw(f"call void @drop_block(ptr {passed.owner})")
        return [result], None

    attempt(fn, node, usable, [Array(target, x.rep.rank, x.rep.rank)], native)


def _axis(fn: EmittedFunction, node: Node) -> int:
    """The axis of a transform."""
    options, rank = operands_by_name(fn, node), array(fn, node.operand(0)).rep.rank
    axis = literal_of(options["dim"])
    if not isinstance(axis, int) or not -rank <= axis < rank:
        raise CannotCompileError("a transform along an axis that is not known")
    return axis % rank


def _scale(fn: EmittedFunction, node: Node, name: str) -> str:
    """What a transform is multiplied with: `none`, `points` for their reciprocal, `root` for that of their root."""
    norm = operands_by_name(fn, node)["norm"]
    chosen = literal_of(norm)
    if chosen is None and isinstance(norm, FixedValue):
        chosen = "backward"
    if chosen not in ("backward", "forward", "ortho"):
        raise CannotCompileError("a transform with a factor that is not known")
    if chosen == "ortho":
        return "root"
    return "points" if (chosen == "backward") is name.startswith("i") else "none"


def _points(fn: EmittedFunction, node: Node, length: Register, *, gives_real: bool) -> Register:
    """How many points there are: signals are cut, or go on with zeros, to as many as an argument says."""
    e, count = fn.e, operands_by_name(fn, node)["n"]
    if isinstance(count, Scalar) and isinstance(count.rep, Int):
        return count.register
    if literal_of(count) is not None or not isinstance(count, FixedValue):
        raise CannotCompileError("it is not known whether a number of points is given")
    return memory.multiply(e, number(2), e.binary("sub", length, number(1))) if gives_real else length


def _loops(fn: EmittedFunction, name: str, part: DType) -> _Loops:
    names = ("rfft_n_even", "rfft_n_odd") if name == "rfft" else (name,)
    symbols = tuple([PREFIX + one + SINGLE * (part is float32) for one in names])
    if not all(s in loop_addresses() for s in symbols) or fn.e.lanes > 1:
        raise CannotCompileError("NumPy has no such transform, or one in each of several lanes")
    return _Loops(symbols, part)


def _factor(fn: EmittedFunction, scale: str, points: Register, part: DType) -> Register:
    """The address of what a transform is multiplied with."""
    e, kind = fn.e, memory.element(part).llvm
    slot, factor = e.slot(kind, 8), float_literal(1.0, kind)
    if scale != "none":
        divisor = e.convert("uitofp", points, kind)
        divisor = e.intrinsic("sqrt", divisor) if scale == "root" else divisor
        factor = str(e.define(f"fdiv {kind} {factor}, {divisor}", kind, 1))
    e.raw(f"store {kind} {factor}, ptr {slot}")
    return slot


def _axis_last(x: ArrayValue, axis: int) -> ArrayValue:
    """A tensor with one axis behind all others."""
    sizes, strides = ([*p[:axis], *p[axis + 1 :], p[axis]] for p in (x.sizes, x.strides))
    return view_on(x, x.data, sizes, strides, 0)


Lines = Callable[[Register, Sequence[Register], Sequence[tuple[Register, Register]]], None]
"""Runs a loop over some signals: how many, where the first and its transform lie, and of both the bytes from one signal
to the next and from one point to the next."""


def _each_line(fn: EmittedFunction, lines: Sequence[ArrayValue], run: Lines) -> None:
    """All signals: those along the last axis but one in one call."""
    if lines[0].rep.rank == 1:
        run(number(1), [x.data for x in lines], [(number(0), x.strides[0]) for x in lines])
        return
    outer = [view_on(x, x.data, x.sizes[:-2], x.strides[:-2], 0) for x in lines]
    steps = [(x.strides[-2], x.strides[-1]) for x in lines]
    arrays.each_element(fn, outer[0].sizes, outer, lambda at: run(lines[0].sizes[-2], at, steps))


def _run(
    fn: EmittedFunction, loops: _Loops, counts: tuple[Register, Register, Register, Register],
    operands: tuple[Sequence[Register], Register], steps: Sequence[tuple[Register, Register]],
) -> None:  # fmt: skip
    """A call of a loop, by the number of points where there are two."""
    e, (count, length, points, size) = fn.e, counts
    (source, target), factor = operands
    (outer_source, along_source), (outer_target, along_target) = steps
    addresses = [source, factor, target]
    words = [outer_source, number(0), outer_target, along_source, along_target]

    def call(symbol: str) -> None:
        call_loop(fn, symbol, addresses, [count, length, size], words)

    if len(loops.symbols) == 1:
        call(loops.symbols[0])
        return
    odd, even, after = e.label("odd"), e.label("even"), e.label("transformed")
    e.branch_if(e.icmp("ne", e.binary("and", points, number(1)), number(0)), odd, even)
    for label, symbol in ((even, loops.symbols[0]), (odd, loops.symbols[1])):
        e.start(label)
        call(symbol)
        e.branch(after)
    e.start(after)


def _converted(fn: EmittedFunction, node: Node, x: ArrayValue, dtype: DType) -> ArrayValue:
    """A tensor in another dtype, in memory of its own; in its own itself."""
    if x.rep.dtype is dtype:
        return x
    copy, s = arrays.new(fn, dtype, x.sizes, node), complex_elements.ComplexRegisters(fn, node)

    def one(at: list[Register]) -> None:
        complex_elements.store(fn, at[0], s.cast(complex_elements.load(fn, at[1], x.rep.dtype), dtype))

    arrays.each_element(fn, x.sizes, [copy, x], one)
    return copy
