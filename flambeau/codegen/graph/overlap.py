"""Tensors whose elements, or whose memory and that of others, may be the same: asked before they are written."""

from __future__ import annotations

from collections.abc import Sequence

from flambeau.codegen.graph import memory
from flambeau.codegen.graph.emitted_function import EmittedFunction
from flambeau.codegen.graph.memory import number
from flambeau.codegen.graph.native_values import ArrayValue
from flambeau.codegen.llvm.emitter import Value as Register


def repeats(fn: EmittedFunction, x: ArrayValue) -> list[Register]:
    """Whether elements of a tensor are one in memory, for each axis of which that is not known."""
    e, repeated = fn.e, []
    for size, stride in zip(x.sizes[: x.rep.rank - x.rep.dense], x.strides, strict=False):
        if memory.literal(stride) in (None, 0):
            repeated.append(e.binary("and", e.icmp("eq", stride, number(0)), e.icmp("sgt", size, number(1))))
    return repeated


def overlaps(fn: EmittedFunction, target: ArrayValue, others: Sequence[ArrayValue]) -> Register:
    """Whether the stretch of memory of one tensor meets that of another."""
    e = fn.e
    low, high = _stretch(fn, target)
    answer: Register | None = None
    for other in others:
        start, end = _stretch(fn, other)
        meets = e.binary("and", e.icmp("ult", low, end), e.icmp("ult", start, high))
        answer = meets if answer is None else e.binary("or", answer, meets)
    assert answer is not None
    return answer


def _stretch(fn: EmittedFunction, x: ArrayValue) -> tuple[Register, Register]:
    e = fn.e
    start = e.convert("ptrtoint", x.data, "i64")
    low, high = start, memory.add(e, start, number(memory.itemsize(x.rep.dtype)))
    for size, stride in zip(x.sizes, x.strides, strict=True):
        reach = memory.multiply(e, memory.subtract(e, size, number(1)), stride)
        known = memory.literal(stride)
        if known is None or known < 0:
            low = e.binary("add", low, e.intrinsic("smin", reach, number(0)))
            reach = e.intrinsic("smax", reach, number(0))
        high = memory.add(e, high, reach)
    return low, high
