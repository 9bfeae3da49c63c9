"""Sizes of a kernel's axes from the shapes of its inputs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy.typing as npt

from flambeau.codegen.kernel.dtypes import KernelError
from flambeau.codegen.kernel.nest import ONE, Kernel


@dataclass(frozen=True, slots=True)
class Span:
    """Along `axis`, these inputs alone must reach the axis's full size, or a value would be wider than it should be."""

    axis: str
    inputs: frozenset[str]


def check_spans(kernel: Kernel, spans: tuple[Span, ...], sizes: dict[str, int], shapes: list[tuple[int, ...]]) -> None:
    """Raise ``KernelError`` where a value of this call would have to be narrower than its axis."""
    for span in spans:
        reached = 1
        for buffer, shape in zip(kernel.inputs, shapes, strict=True):
            back = len(buffer.axes) - buffer.axes.index(span.axis) if span.axis in buffer.axes else 0
            if buffer.name in span.inputs and 0 < back <= len(shape) and shape[-back] != 1:
                reached = shape[-back]
        if reached != sizes[span.axis]:
            raise KernelError(
                f"{kernel.name}: a value of size {reached} along {span.axis} "
                f"shares the axis with one of size {sizes[span.axis]}"
            )


def broadcast_sizes(kernel: Kernel, shapes: list[tuple[int, ...]]) -> dict[str, int]:
    """The size of every axis; a missing leading dimension and a dimension of size one follow the others.

    Raises ``KernelError`` where two inputs disagree or an input has more dimensions than its buffer has axes.
    """
    sizes: dict[str, int] = {}
    for buffer, shape in zip(kernel.inputs, shapes, strict=True):
        if len(shape) > len(buffer.axes):
            raise KernelError(
                f"{kernel.name}: input {buffer.name} has {len(shape)} dimensions, "
                f"expected at most {len(buffer.axes)} ([{', '.join(buffer.axes)}])"
            )
        for axis, size in zip(buffer.axes[len(buffer.axes) - len(shape) :], shape, strict=True):
            known = 1 if axis == ONE else sizes.get(axis, 1)
            if (size != 1 and known not in (1, size)) or (axis == ONE and size != 1):
                raise KernelError(
                    f"{kernel.name}: input {buffer.name} of shape {shape} has size {size} along {axis}, "
                    f"expected {known}"
                )
            if axis != ONE:
                sizes[axis] = known if size == 1 else size
    for axis in kernel.axes:
        sizes.setdefault(axis, 1)
    return sizes


def expand_to(array: npt.NDArray[Any], rank: int) -> npt.NDArray[Any]:
    """``array`` with leading dimensions of size one until it has ``rank`` dimensions."""
    return array.reshape((1,) * (rank - array.ndim) + array.shape) if array.ndim < rank else array
