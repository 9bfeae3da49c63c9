"""Sums and squared deviations of columns in one pass over memory.

A variance is two passes: the sum, then the squares of what is left without the mean. Of columns that no cache holds,
the second pass costs as much as the first. Here the first pass also keeps, for each column, the mean of what it has met
and the squares around it, and moves both with each row (B. P. Welford, Technometrics 4(3), 1962).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from flambeau.codegen.kernel.dtypes import element_type
from flambeau.codegen.kernel.nest import Accumulate, Carry, Const, Extent, Kernel, Let, Load, Loop, Statement, walk
from flambeau.codegen.llvm import reduce
from flambeau.codegen.llvm.definitions import Scope
from flambeau.codegen.llvm.emitter import Emitter, int_constant
from flambeau.codegen.schedule import Schedule
from flambeau.util.record import dataclass


@dataclass(frozen=True, slots=True)
class Moments:
    """Two passes that become one."""

    total: Loop
    """The pass over the rows, which sums them."""
    spread: Loop
    """The pass that the first one also does."""
    value: str
    """What is summed, in the first pass."""

    @property
    def squares(self) -> Carry:
        """What the second pass leaves behind."""
        return self.spread.carries[0]

    @property
    def mean(self) -> str:
        """The state in which the mean so far is kept; no statement has such a name."""
        return f"{self.squares.name}.mean"


class Emitting(Protocol):
    """The emitter of a kernel, as far as it is needed here."""

    e: Emitter

    def no_value(self, carry: Carry, lanes: int) -> reduce.State: ...
    def finish(self, carry: Carry, state: reduce.State, scope: Scope) -> None: ...


def joined_passes(kernel: Kernel, main: Loop | None, schedule: Schedule) -> Moments | None:
    """The two passes of a variance of columns that are worth joining: where memory is asked for ahead, it is slow."""
    if main is None or not schedule.prefetch or main.axes[:1] != (schedule.vector_axis,) or schedule.jam > 1:
        return None
    joined = moments_of(kernel, main.body)
    return joined if joined is not None and joined.total.axes[0] not in dict(schedule.fixed) else None


def moments_of(kernel: Kernel, body: Sequence[Statement]) -> Moments | None:
    """The first sum over rows among some statements of a kernel, if the next loop sums squared deviations from its
    mean.
    """
    loops = [s for s in body if isinstance(s, Loop)][:2]
    summed = [_summed(loop) for loop in loops]
    if len(loops) < 2 or summed[0] is None or summed[1] is None or not _go_together(*loops):
        return None
    (total, spread), (values, value), (squares, square) = loops, summed[0], summed[1]
    names = _same_values(values, squares)
    if names is None or value not in names:
        return None
    deviations = [(names[value], mean) for mean in _means(kernel, total)]
    return Moments(total, spread, value) if _squared(squares[len(values) :], square) in deviations else None


def _go_together(total: Loop, spread: Loop) -> bool:
    """Whether both go over the same rows, and sum floats of the same kind."""
    dtype = total.carries[0].dtype
    return total.axes == spread.axes and len(total.axes) == 1 and spread.carries[0].dtype == dtype and (
        element_type(dtype).is_float
    )


def _squared(statements: list[Statement], square: str) -> tuple[str, ...] | None:
    """What the operands of a difference are of which nothing but the square is computed."""
    match statements:
        case [Let(op="sub") as deviation, Let(op="mul") as squared]:
            is_square = squared.args == (deviation.name, deviation.name) and squared.name == square
            return deviation.args if is_square else None
    return None


def _summed(loop: Loop) -> tuple[list[Statement], str] | None:
    """What a loop computes, and the value of it that it sums; None where it does anything else."""
    last = loop.body[-1] if loop.body else None
    computed = list(loop.body[:-1])
    is_sum = len(loop.carries) == 1 and loop.carries[0].reducer == "sum" and isinstance(last, Accumulate)
    if not is_sum or not all(isinstance(s, Load | Let | Const) for s in computed):
        return None
    assert isinstance(last, Accumulate)
    return computed, last.value


def _same_values(first: list[Statement], second: list[Statement]) -> dict[str, str] | None:
    """The names that the second has for what the first computes, where it begins with that."""
    names: dict[str, str] = {}
    for a, b in zip(first, second, strict=False):
        match a, b:
            case Load(), Load() if (a.buffer, a.dtype, a.at, b.at) == (b.buffer, b.dtype, (), ()):
                pass
            case Const(), Const() if (a.dtype, repr(a.value)) == (b.dtype, repr(b.value)):
                pass
            case Let(), Let() if (a.op, a.dtype, tuple(names.get(x, x) for x in a.args)) == (b.op, b.dtype, b.args):
                pass
            case _:
                return None
        names[a.name] = b.name
    return names if len(second) >= len(first) else None


def _means(kernel: Kernel, total: Loop) -> set[str]:
    """The names of the quotients of a sum and the number of its rows."""
    body = walk(kernel.body)
    numbers = {s.name for s in body if isinstance(s, Extent) and s.axes == total.axes}
    numbers |= {s.name for s in body if isinstance(s, Let) and s.op == "cast" and s.args[0] in numbers}
    quotients = (s for s in body if isinstance(s, Let) and s.op == "div" and s.args[0] == total.carries[0].name)
    return {s.name for s in quotients if s.args[1] in numbers}


def begin(emitting: Emitting, moments: Moments, scope: Scope, lanes: int) -> None:
    """Both states before the first row."""
    for name in (moments.mean, moments.squares.name):
        scope.carries[name] = emitting.no_value(moments.squares, lanes)


def row(emitting: Emitting, moments: Moments, scope: Scope) -> None:
    """Both states after one more row."""
    e = emitting.e
    [mean], [squares] = scope.carries[moments.mean], scope.carries[moments.squares.name]
    value = e.splat(scope.values[moments.value], mean.lanes)
    count = e.binary("add nsw", scope.index[moments.total.axes[0]], int_constant(1, "i64", 1))
    rows = e.convert("sitofp", count, mean.type)
    part = e.splat(e.fdiv(e.like(rows, 1.0), rows), mean.lanes)
    before = e.fsub(value, mean)
    new_mean = e.fadd(mean, e.fmul(before, part))
    new = [new_mean, e.fadd(squares, e.fmul(before, e.fsub(value, new_mean)))]
    if scope.mask is not None:
        new = [e.select(scope.mask, n, o) for n, o in zip(new, (mean, squares), strict=True)]
    scope.carries[moments.mean], scope.carries[moments.squares.name] = [new[0]], [new[1]]


def end(emitting: Emitting, moments: Moments, inside: Scope, scope: Scope) -> None:
    """Make the squares readable, as the second pass would."""
    inside.carries.pop(moments.mean)
    emitting.finish(moments.squares, inside.carries.pop(moments.squares.name), scope)
