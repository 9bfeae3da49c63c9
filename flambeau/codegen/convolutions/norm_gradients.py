"""Gradients of norms of channels as launches for groups of plans, and of arrays."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from functools import cache, partial
from math import prod
from typing import Any, Final

import numpy as np

from flambeau.codegen.convolutions import channel_norms, column_norms
from flambeau.codegen.convolutions.launches import result_of
from flambeau.codegen.convolutions.norms import (
    LEAST_COPIED,
    NANOSECONDS,
    as_planes,
    from_planes,
    has_planes,
    is_native,
    launch_by_channels,
)
from flambeau.codegen.convolutions.problem import Array
from flambeau.codegen.convolutions.run import Code, address
from flambeau.codegen.convolutions.words import NORM, NORM_BACK, NORM_BACK_AT, NORM_BACK_WORDS
from flambeau.codegen.kernel.dtypes import KernelError
from flambeau.codegen.launches import Launch
from flambeau.codegen.routines.lying import Lying
from flambeau.codegen.routines.memory import Memory
from flambeau.codegen.routines.numbers import bits_of
from flambeau.codegen.routines.recording import Recordable
from flambeau.codegen.routines.table import (
    Operands,
    Prepare,
    Routine,
    operands_of,
    results_wanted,
    routines,
    single_node,
)
from flambeau.ir.graph import Graph

_NOTHING: Final = NORM_BACK_AT - 1
"""A word of the block that is always 0."""
_RESULTS: Final = ("y", "scale", "bias")
"""The gradients of the input, the weight and the bias, as the words call them."""


@cache
def _code(character: str) -> Code:
    """The code for a dtype."""
    return Code(channel_norms.backward_text, character, channel_norms.BACKWARD)


@routines("flambeau::batch_norm_gradients")
def _batch_norm_gradients(graph: Graph) -> Prepare:
    operands = operands_of(graph, single_node(graph))
    return Recordable(partial(_make, operands, results_wanted(graph), float(operands.constants["eps"])))


def _make(
    operands: Operands, wanted: Sequence[int], eps: float, arrays: Sequence[Lying], memory: Memory
) -> Launch:
    """The launch for arrays like these. Raises `KernelError` for others than planes that lie in one piece."""
    slope, x, weight = (operands.array(name, arrays) for name in ("grad", "input", "weight"))
    if slope is None or x is None or slope.shape != x.shape or not has_planes(x, slope) or not _fits(weight, x):
        raise KernelError("no gradients of such a norm")
    output, strides = result_of(x, x.shape, keeps_order=False)
    norm = _norm(slope, x, strides, eps, memory)
    numbers = {"x": operands.inputs["input"], "slope": operands.inputs["grad"]}
    numbers |= {} if weight is None else {"weight": operands.inputs["weight"]}
    numbers |= {_RESULTS[number]: len(arrays) + at for at, number in enumerate(wanted)}
    words = [0] * NORM_BACK_WORDS
    words[NORM_BACK_AT] = memory.struct(NORM_BACK, norm=norm, **_words(numbers))
    vector, _ = result_of(x, x.shape[1:2], keeps_order=False)
    routine = Routine(_code(x.dtype.char).native, channel_norms.BACKWARD, memory.kept)
    return launch_by_channels(x, [vector if number else output for number in wanted], words, routine)


def gradients(slope: Array, x: Array, weight: Array | None, eps: float) -> tuple[Array, Array, Array] | None:
    """Those of the input, row-major, of the weight and of the bias; None where there is no code."""
    if not _fits(weight, x):
        return None
    if column_norms.are_columns(x, slope) and x.size >= LEAST_COPIED:
        return column_norms.gradients(slope, x, weight, eps)
    if not is_native(x, slope):
        planes = [as_planes(a) if a.ndim > 1 and a.size >= LEAST_COPIED else a for a in (slope, x)]
        of_planes = gradients(planes[0], planes[1], weight, eps) if is_native(*planes) else None
        return None if of_planes is None else (from_planes(of_planes[0], x), *of_planes[1:])
    results = np.empty(x.shape, x.dtype), np.empty(x.shape[1], x.dtype), np.empty(x.shape[1], x.dtype)
    memory = Memory()
    norm = _norm(Lying.of(slope), Lying.of(x), results[0].strides, eps, memory)
    arrays = {"x": x, "slope": slope} | ({} if weight is None else {"weight": weight})
    arrays |= dict(zip(_RESULTS, results, strict=True))
    numbers = _words({name: at for at, name in enumerate(arrays)})
    words = array("q", bytes(NORM_BACK_WORDS * 8))
    for at, one in enumerate(arrays.values()):
        words[1 + at] = address(one)
    words[NORM_BACK_AT] = memory.struct(NORM_BACK, norm=norm, **numbers)
    _code(x.dtype.char).run(words, x.shape[1], x.size * NANOSECONDS)
    return results


def _fits(weight: Array | Lying | None, x: Array | Lying) -> bool:
    return weight is None or (weight.shape, weight.dtype, weight.strides) == (x.shape[1:2], x.dtype, (x.itemsize,))


def _words(numbers: dict[str, int]) -> dict[str, int]:
    """Which words of the block have the addresses of the arrays of these numbers."""
    return {name: 1 + numbers[name] if name in numbers else _NOTHING for name in ("x", "slope", "weight", *_RESULTS)}


def _norm(slope: Lying, x: Lying, strides: Sequence[Any], eps: float, memory: Memory) -> Any:
    return memory.struct(
        NORM, images=x.shape[0], plane=prod(x.shape[2:]), x_image=x.strides[0], x_channel=x.strides[1],
        slope_image=slope.strides[0], slope_channel=slope.strides[1], y_image=strides[0], y_channel=strides[1],
        eps=bits_of(eps, x.itemsize),
    )  # fmt: skip
