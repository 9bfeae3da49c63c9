"""Gradients of norms of rows as launches for groups of plans, and of arrays."""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from functools import cache, partial
from math import prod
from typing import Any, Final

import numpy as np

from flambeau.codegen.convolutions import row_norms
from flambeau.codegen.convolutions.launches import result_of
from flambeau.codegen.convolutions.problem import Array
from flambeau.codegen.convolutions.run import TYPES, Code, address, pieces_of
from flambeau.codegen.convolutions.words import NORM, ROWS, ROWS_AT, ROWS_WORDS
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
from flambeau.ops.layer_norm_gradients import rows_of_part

NANOSECONDS: Final = 1.0
"""Of a number, about."""
_NOTHING: Final = ROWS_AT - 1
"""A word of the block that is always 0."""


@cache
def _code(character: str) -> Code:
    """The code for a dtype."""
    return Code(row_norms.rows_text, character, row_norms.SYMBOL)


@routines("flambeau::layer_norm_gradients")
def _layer_norm_gradients(graph: Graph) -> Prepare:
    operands, wanted = operands_of(graph, single_node(graph)), results_wanted(graph)
    dims, eps = int(operands.constants["dims"]), float(operands.constants["eps"])
    return Recordable(partial(_make, operands, wanted, dims, eps))


def _make(
    operands: Operands, wanted: Sequence[int], dims: int, eps: float, arrays: Sequence[Lying], memory: Memory
) -> Launch:
    """The launch for arrays like these. Raises `KernelError` for others than rows that lie in one piece."""
    slope, x, weight = (operands.array(name, arrays) for name in ("grad", "input", "weight"))
    if slope is None or x is None or not _is_native(slope, x, weight, dims):
        raise KernelError("no gradients of such a norm")
    call, units = _call(x, dims, eps, memory)
    inputs = dict.fromkeys(("grad", "input", "weight"), _NOTHING) | {k: 1 + at for k, at in operands.inputs.items()}
    results = [_NOTHING] * 3
    for at, number in enumerate(wanted):
        results[number] = 1 + len(arrays) + at
    names = {"x": inputs["input"], "slope": inputs["grad"], "factors": inputs["weight"]}
    packed = memory.struct(ROWS, **call, **names, y=results[0], of_weight=results[1], of_bias=results[2])
    words = [0] * ROWS_WORDS
    words[ROWS_AT] = packed
    parts = (units, *x.shape[x.ndim - dims :])
    shapes = x.shape, parts, parts
    outputs = tuple([result_of(x, shapes[number], keeps_order=False)[0] for number in wanted])
    nanoseconds = x.size * NANOSECONDS
    step, pieces = pieces_of(units, nanoseconds)
    routine = Routine(_code(x.dtype.char).native, row_norms.SYMBOL, memory.kept)
    return Launch(outputs, words, units, None, step, pieces, nanoseconds, routine=routine)


def gradients(
    slope: Array, x: Array, weight: Array | None, dims: int, eps: float
) -> tuple[Array, Array, Array] | None:
    """Those of the input, of the weight and of the bias, the last two in parts; None where there is no code."""
    slope, x = np.ascontiguousarray(slope), np.ascontiguousarray(x)
    if not _is_native(Lying.of(slope), Lying.of(x), None if weight is None else Lying.of(weight), dims):
        return None
    memory = Memory()
    call, units = _call(Lying.of(x), dims, eps, memory)
    of_input = np.empty_like(x)
    of_weight, of_bias = (np.empty((units, *x.shape[x.ndim - dims :]), x.dtype) for _ in range(2))
    arrays = {"x": x, "slope": slope, "factors": weight, "y": of_input, "of_weight": of_weight, "of_bias": of_bias}
    words = array("q", bytes(ROWS_WORDS * 8))
    numbers = {name: _NOTHING if one is None else 1 + k for k, (name, one) in enumerate(arrays.items())}
    for name, one in arrays.items():
        if one is not None:
            words[numbers[name]] = address(one)
    words[ROWS_AT] = memory.struct(ROWS, **call, **numbers)
    _code(x.dtype.char).run(words, units, x.size * NANOSECONDS)
    return of_input, of_weight, of_bias


def _is_native(slope: Lying, x: Lying, weight: Lying | None, dims: int) -> bool:
    inner = x.shape[x.ndim - dims :]
    alike = slope.shape == x.shape and slope.dtype == x.dtype and slope.is_dense()
    plain = x.dtype.char in TYPES and x.is_dense() and 0 < dims <= x.ndim and x.size > 0
    of_weight = weight is None or (weight.shape == inner and weight.dtype == x.dtype and weight.is_dense())
    return bool(alike and plain and of_weight)


def _call(x: Lying, dims: int, eps: float, memory: Memory) -> tuple[Mapping[str, Any], Any]:
    """The words of a call but for its arrays, and how many parts there are."""
    rows, count = prod(x.shape[: x.ndim - dims]), prod(x.shape[x.ndim - dims :])
    step = count * x.itemsize
    norm = memory.struct(
        NORM, images=1, plane=count, x_channel=step, slope_channel=step, y_channel=step, eps=bits_of(eps, x.itemsize)
    )
    ones, each = memory.constant(np.ones(int(count), x.dtype)), rows_of_part(rows)
    return {"norm": norm, "rows": rows, "each": each, "ones": ones}, -(-rows // each)
