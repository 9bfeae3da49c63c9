"""Tensors one after the other on devices, each by a copy into its part of the result: nothing is left on the host, so
that it may be part of a CUDA graph.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flambeau.cuda.fresh import row_major
from flambeau.cuda.tensors import is_on_device, shown
from flambeau.ops.cuda_devices.cuda_calls import CAPTURED_RULES, CUDA_RULES
from flambeau.ops.cuda_devices.cuda_rules import overwrite
from flambeau.schema.opdef import OpDef
from flambeau.tensor import layout
from flambeau.tensor.tensor import Tensor


@CAPTURED_RULES("aten::cat", "aten::concat", "aten::concatenate", "aten::stack")
@CUDA_RULES("aten::cat", "aten::concat", "aten::concatenate", "aten::stack")
def _joined(definition: OpDef, arguments: Sequence[Any]) -> Any:
    """Of one dtype and device; what has to be converted, or refused, is left to the kernel."""
    parts, dim = arguments
    is_stack = definition.name == "aten::stack"
    if not parts or not _are_alike(parts, is_stack=is_stack):
        return NotImplemented
    sizes = list(parts[0]._array.shape)
    rank = len(sizes) + is_stack
    if not -rank <= dim < rank:
        return NotImplemented
    axis = dim % rank
    if is_stack:
        sizes.insert(axis, 1)
    elif any(_but(t._array.shape, axis) != _but(parts[0]._array.shape, axis) for t in parts):
        return NotImplemented
    lengths = [1 if is_stack else t._array.shape[axis] for t in parts]
    result = row_major((*sizes[:axis], sum(lengths), *sizes[axis + 1 :]), parts[0].dtype, parts[0].device)
    steps, start = result.stride(), 0
    for part, length in zip(parts, lengths, strict=True):
        if part._array.size:
            target = shown(result, [*sizes[:axis], length, *sizes[axis + 1 :]], steps, start * steps[axis])
            overwrite(target, shown(part, target._array.shape, _with_axis(part, axis)) if is_stack else part)
        start += length
    return result


def _are_alike(parts: Sequence[Tensor], *, is_stack: bool) -> bool:
    """Whether all are on one device, of one dtype and rank, and lie so that the result is row-major."""
    first = parts[0]
    if not all(is_on_device(t) and t.dtype is first.dtype and t.device == first.device for t in parts):
        return False
    if is_stack:
        return all(t._array.shape == first._array.shape for t in parts)
    rank = first._array.ndim
    if not rank or any(t._array.ndim != rank for t in parts):
        return False
    return rank != 4 or not all(layout.is_channels_last(t._array.shape, t.stride()) for t in parts)


def _but(sizes: tuple[int, ...], axis: int) -> tuple[int, ...]:
    return sizes[:axis] + sizes[axis + 1 :]


def _with_axis(part: Tensor, axis: int) -> list[int]:
    """The strides of a tensor with an axis of one element more."""
    steps = list(part.stride())
    steps.insert(axis, 1)
    return steps
