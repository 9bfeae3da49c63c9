"""Calls of operators on the samples of their declarations, as functions of the floating tensors among the arguments."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

import flambeau
from flambeau.schema import registry
from flambeau.schema.opdef import Effect, OpDef
from flambeau.tensor import dispatch
from flambeau.util.trees import flatten

Tensor = flambeau.Tensor
WITHOUT_SAMPLES = frozenset({"language", "metadata", "query", "creation", "random", "out", "quantized"})
MOST = 12
"""Samples of an operator that are looked at."""


@dataclass
class SampleCall:
    """One call."""

    function: Callable[..., list[Tensor]]
    """From the floating tensors of the arguments to the tensors among the results."""
    values: list[Tensor]
    label: str


@functools.cache
def operators() -> dict[str, list[OpDef]]:
    """The operators with samples whose results follow from their arguments."""
    by_name: dict[str, list[OpDef]] = {}
    for definition in registry.all_definitions():
        is_plain = definition.effect is not Effect.RANDOM and not definition.schema.is_mutable
        has_samples = definition.samples is not None and definition.family not in WITHOUT_SAMPLES
        if definition.name.startswith("aten::") and is_plain and has_samples and definition.schema.concerns_tensors:
            by_name.setdefault(definition.name, []).append(definition)
    return by_name


def calls(name: str) -> Iterator[SampleCall]:
    """The sample calls of an operator that work."""
    samples: list[Any] = []
    for source in {id(d.samples): d.samples for d in operators()[name]}.values():
        samples += list(source())  # type: ignore[misc]
    for sample in samples[:: max(1, len(samples) // MOST)]:
        if "out" in sample.kwargs or "generator" in sample.kwargs:
            continue
        call = _call(name, [_wide(a) for a in sample.args], {k: _wide(v) for k, v in sample.kwargs.items()})
        if call is not None:
            yield call


def _call(name: str, args: list[Any], kwargs: dict[str, Any]) -> SampleCall | None:
    leaves, structure = flatten(args)
    positions = [n for n, leaf in enumerate(leaves) if is_floating(leaf)]

    def function(*values: Tensor) -> list[Tensor]:
        replaced = list(leaves)
        for position, value in zip(positions, values, strict=True):
            replaced[position] = value
        results = flatten(dispatch.call(name, *structure.unflatten(replaced), **kwargs))[0]
        return [result for result in results if isinstance(result, Tensor)]

    values = [leaves[n].detach().clone() for n in positions]
    try:
        results = function(*values) if values else []
    except Exception:  # samples that are refused are for other tests
        return None
    return SampleCall(function, values, f"{[tuple(v.shape) for v in values]} {kwargs}") if results else None


def is_floating(value: Any) -> bool:
    """Whether it is a tensor of single precision or more."""
    return isinstance(value, Tensor) and value.numpy(force=True).dtype.kind in "fc" and value.itemsize >= 4


def _wide(value: Any) -> Any:
    if isinstance(value, Tensor):
        kind = value.numpy(force=True).dtype
        wide = {np.dtype(np.float32): flambeau.float64, np.dtype(np.complex64): flambeau.complex128}.get(kind)
        return value.clone() if wide is None else value.to(wide)
    return type(value)(map(_wide, value)) if isinstance(value, list | tuple) else value


def like(draw: np.random.Generator, tensor: Tensor) -> Tensor:
    """Random numbers of a tensor's sizes and dtype."""
    array = draw.uniform(-1, 1, tuple(tensor.shape))
    if tensor.is_complex():
        array = array + 1j * draw.uniform(-1, 1, tuple(tensor.shape))
    return flambeau.tensor(array, dtype=tensor.dtype)
