"""Norms over batches in training as launches for groups of plans: results, means and unbiased variances of channels."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, partial
from math import prod
from typing import Final

from flambeau.codegen.convolutions import channel_norms
from flambeau.codegen.convolutions.launches import result_of
from flambeau.codegen.convolutions.norms import has_planes, launch_by_channels
from flambeau.codegen.convolutions.run import Code
from flambeau.codegen.convolutions.words import NORM, NORM_THERE, NORM_THERE_AT, NORM_THERE_WORDS
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

_NOTHING: Final = NORM_THERE_AT - 1
"""A word of the block that is always 0."""
_RESULTS: Final = ("y", "mean", "variance")
"""As the words call them."""
_VECTORS: Final = ("weight", "bias", "running_mean", "running_var")


@cache
def _code(character: str) -> Code:
    """The code for a dtype."""
    return Code(channel_norms.training_text, character, channel_norms.TRAINING)


@routines("flambeau::batch_norm_training")
def _batch_norm_training(graph: Graph) -> Prepare:
    operands = operands_of(graph, single_node(graph))
    return Recordable(partial(_make, operands, results_wanted(graph), float(operands.constants["eps"])))


def _make(
    operands: Operands, wanted: Sequence[int], eps: float, arrays: Sequence[Lying], memory: Memory
) -> Launch:
    """The launch for arrays like these. Raises `KernelError` for others than planes that lie in one piece, with vectors
    of one number for each channel, side by side.
    """
    x = operands.array("input", arrays)
    vectors = [operands.array(name, arrays) for name in _VECTORS]
    if x is None or not has_planes(x):
        raise KernelError("no norm of such channels")
    asked = x.shape[1:2], x.dtype, (x.itemsize,)
    if any(v is not None and (v.shape, v.dtype, v.strides) != asked for v in vectors):
        raise KernelError("other vectors than one number for each channel, side by side")
    output, strides = result_of(x, x.shape, keeps_order=False)
    norm = memory.struct(
        NORM, images=x.shape[0], plane=prod(x.shape[2:]), x_image=x.strides[0], x_channel=x.strides[1],
        y_image=strides[0], y_channel=strides[1], eps=bits_of(eps, x.itemsize),
    )  # fmt: skip
    numbers = dict.fromkeys(("x", "y", "weight", "bias", "mean", "variance", "scale"), _NOTHING)
    numbers["x"] = 1 + operands.inputs["input"]
    numbers |= {name: 1 + operands.inputs[name] for name in ("weight", "bias") if name in operands.inputs}
    numbers |= {_RESULTS[number]: 1 + len(arrays) + at for at, number in enumerate(wanted)}
    words = [0] * NORM_THERE_WORDS
    words[NORM_THERE_AT] = memory.struct(NORM_THERE, norm=norm, **numbers)
    vector, _ = result_of(x, x.shape[1:2], keeps_order=False)
    routine = Routine(_code(x.dtype.char).native, channel_norms.TRAINING, memory.kept)
    return launch_by_channels(x, [vector if number else output for number in wanted], words, routine)
