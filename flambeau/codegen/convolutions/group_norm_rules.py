"""Norms of groups of channels, and of single channels, as launches for groups of plans."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from functools import cache, partial
from math import prod
from typing import Any, Final

import numpy as np

from flambeau.codegen.convolutions import group_norms
from flambeau.codegen.convolutions.launches import result_of
from flambeau.codegen.convolutions.norms import NANOSECONDS
from flambeau.codegen.convolutions.problem import Array
from flambeau.codegen.convolutions.run import TYPES, Code, address, pieces_of
from flambeau.codegen.convolutions.words import GROUPS, GROUPS_AT, GROUPS_WORDS, NORM
from flambeau.codegen.kernel.dtypes import KernelError
from flambeau.codegen.launches import Launch
from flambeau.codegen.routines.lying import Lying
from flambeau.codegen.routines.memory import Memory
from flambeau.codegen.routines.numbers import bits_of
from flambeau.codegen.routines.recording import Recordable
from flambeau.codegen.routines.table import Operands, Prepare, Routine, operands_of, routines, single_node
from flambeau.ir.graph import Graph

_NOTHING: Final = GROUPS_AT - 1
"""A word of the block that is always 0."""


@cache
def _code(character: str) -> Code:
    """The code for a dtype."""
    return Code(group_norms.groups_text, character, group_norms.SYMBOL)


@routines("aten::group_norm")
def _group_norm(graph: Graph) -> Prepare:
    operands = operands_of(graph, single_node(graph))
    return Recordable(partial(_make, operands, int(operands.constants["num_groups"])))


@routines("aten::instance_norm")
def _instance_norm(graph: Graph) -> Prepare:
    operands = operands_of(graph, single_node(graph))
    if not operands.constants["use_input_stats"] or {"running_mean", "running_var"} & operands.inputs.keys():
        raise KernelError("a norm by known statistics, or one that keeps them")
    return Recordable(partial(_make, operands, 0))


def _make(operands: Operands, groups: int, arrays: Sequence[Lying], memory: Memory) -> Launch:
    """The launch for arrays like these; a group for each channel where `groups` is 0."""
    x = operands.array("input", arrays)
    if x is None:
        raise KernelError("no norm of groups of such a tensor")
    groups = _checked_groups(x, [operands.array(name, arrays) for name in ("weight", "bias")], groups)
    norm = _norm(x, groups, float(operands.constants["eps"]), memory)
    word = dict.fromkeys(("input", "weight", "bias"), _NOTHING) | {k: 1 + at for k, at in operands.inputs.items()}
    call = memory.struct(
        GROUPS, norm=norm, x=word["input"], weight=word["weight"], bias=word["bias"], y=1 + len(arrays),
        groups=groups,
    )  # fmt: skip
    words = [0] * GROUPS_WORDS
    words[GROUPS_AT] = call
    output, _ = result_of(x, x.shape, keeps_order=False)
    units, nanoseconds = x.shape[0] * groups, x.size * NANOSECONDS
    step, pieces = pieces_of(units, nanoseconds)
    return Launch(
        (output,), words, units, None, step, pieces, nanoseconds,
        routine=Routine(_code(x.dtype.char).native, group_norms.SYMBOL, memory.kept),
    )  # fmt: skip


def normalise(x: Array, weight: Array | None, bias: Array | None, groups: int, eps: float) -> Array | None:
    """Each group of channels with mean 0 and variance 1, times weights plus biases; None where there is no code."""
    try:
        vectors = [None if v is None else Lying.of(v) for v in (weight, bias)]
        groups = _checked_groups(Lying.of(x), vectors, groups)
    except KernelError:
        return None
    memory = Memory()
    norm, y = _norm(Lying.of(x), groups, eps, memory), np.empty(x.shape, x.dtype)
    words = array("q", bytes(GROUPS_WORDS * 8))
    numbers: dict[str, int] = {}
    for at, (name, one) in enumerate((("x", x), ("weight", weight), ("bias", bias), ("y", y)), 1):
        numbers[name] = _NOTHING if one is None else at
        if one is not None:
            words[at] = address(one)
    words[GROUPS_AT] = memory.struct(GROUPS, norm=norm, groups=groups, **numbers)
    _code(x.dtype.char).run(words, len(x) * groups, x.size * NANOSECONDS)
    return y


def _checked_groups(x: Lying, vectors: Sequence[Lying | None], groups: int) -> Any:
    """How many groups there are, as many as channels where `groups` is 0. Raises `KernelError` for what has no code."""
    if x.ndim < 3 or x.dtype.char not in TYPES or x.size == 0 or not x.is_dense():
        raise KernelError("no norm of groups of such a tensor")
    channels = x.shape[1]
    groups = groups or channels
    if groups < 1 or channels % groups != 0:
        raise KernelError("groups that do not divide the channels")
    asked = (channels,), x.dtype, (x.itemsize,)
    if any(v is not None and (v.shape, v.dtype, v.strides) != asked for v in vectors):
        raise KernelError("other vectors than one number for each channel, side by side")
    if channels // groups * prod(x.shape[2:]) == 1:
        raise KernelError("groups of one number")
    return groups


def _norm(x: Lying, groups: Any, eps: float, memory: Memory) -> Any:
    """The address of the words of a norm of groups."""
    plane, each = prod(x.shape[2:]), x.shape[1] // groups
    return memory.struct(
        NORM, images=each, plane=plane, x_image=plane * x.itemsize, x_channel=each * plane * x.itemsize,
        eps=bits_of(eps, x.itemsize),
    )  # fmt: skip
