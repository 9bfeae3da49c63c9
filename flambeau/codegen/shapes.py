"""Sizes of a kernel's axes from the shapes of its inputs."""

from __future__ import annotations

from flambeau.codegen.kernel.dtypes import KernelError
from flambeau.codegen.kernel.nest import ONE, Kernel, Loop, index_axes, walk
from flambeau.codegen.kernel.opset import NO_IDENTITY
from flambeau.util.record import dataclass


@dataclass(frozen=True, slots=True)
class Span:
    """Along `axis`, these inputs alone must reach the axis's full size, or a value would be wider than it should be.

    >>> Span("d0", frozenset({"x0"}), size=3)
    Span(axis='d0', inputs=frozenset({'x0'}), size=3)
    """

    axis: str
    inputs: frozenset[str]
    size: int | None = None
    """The size itself, where the operator names it."""


def check_spans(kernel: Kernel, spans: tuple[Span, ...], sizes: dict[str, int], shapes: list[tuple[int, ...]]) -> None:
    """Raise ``KernelError`` where a value of this call would have to be narrower than its axis."""
    for span in spans:
        reached = 1
        for buffer, shape in zip(kernel.inputs, shapes, strict=True):
            if buffer.name in span.inputs and span.axis in buffer.axes:
                size = shape[buffer.axes.index(span.axis)]
                reached = reached if size == 1 else size
        if reached != sizes[span.axis]:
            raise KernelError(
                f"{kernel.name}: a value of size {reached} along {span.axis} "
                f"shares the axis with one of size {sizes[span.axis]}"
            )
        if span.size is not None and reached != span.size:
            raise KernelError(f"{kernel.name}: size {reached} along {span.axis}, expected {span.size}")


def broadcast_sizes(kernel: Kernel, shapes: list[tuple[int, ...]]) -> dict[str, int]:
    """The size of every axis; a dimension of size one follows the others.

    Raises ``KernelError`` where two inputs disagree or an input has not as many dimensions as its buffer has axes.
    """
    sizes: dict[str, int] = {}
    for buffer, shape in zip(kernel.inputs, shapes, strict=True):
        if len(shape) != len(buffer.axes):
            raise KernelError(
                f"{kernel.name}: input {buffer.name} has {len(shape)} dimensions, "
                f"expected {len(buffer.axes)} ([{', '.join(buffer.axes)}])"
            )
        for axis, size in zip(buffer.axes, shape, strict=True):
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


def refuse_empty(kernel: Kernel, sizes: dict[str, int]) -> None:
    """Raise ``KernelError`` where there is nothing to choose the largest of, or to look up, however few the results.

    Operators refuse that even where they would have no result to give.
    """
    if any(sizes[a] == 0 for a in index_axes(kernel)):
        raise KernelError(f"{kernel.name}: a place in an axis of size 0")
    for s in walk(kernel.body):
        if isinstance(s, Loop) and any(sizes[a] == 0 for a in s.axes):
            for carry in s.carries:
                if carry.reducer in NO_IDENTITY:
                    raise KernelError(f"{carry.reducer}: no values to choose from and the reduction has no identity")


def refuse_nothing(kernel: Kernel, sizes: dict[str, int]) -> None:
    """Raise ``KernelError`` where a result whose places values say has no elements: they may still be told, and
    operators look at them."""
    if any(sizes[a] == 0 for b in kernel.outputs for a in b.moving_axes):
        raise KernelError(f"{kernel.name}: places of what has no elements")
