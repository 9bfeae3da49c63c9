"""Elements back at the places where max pooling took them from."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from flambeau.ops.channels_last import keeps_channels_last
from flambeau.ops.families import ranks
from flambeau.ops.families.arrays import Array, dtype_of, is_float, not_implemented
from flambeau.ops.families.opaque import declare
from flambeau.ops.families.rules import same_dtype
from flambeau.schema.opdef import ErrorSample, Sample
from flambeau.tensor.array_library import np
from flambeau.tensor.tensor import Tensor, wrap


def unpooled(self: Array, indices: Array, output_size: Sequence[int], dims: int) -> Array:
    """Zero but at `indices`, which count places of one channel. Raises RuntimeError for what does not fit."""
    if indices.dtype != np.int64:
        raise RuntimeError(f"elements in indices should be type int64 but got: {dtype_of(indices).display}")
    if len(output_size) != dims:
        raise RuntimeError(
            f"There should be exactly {('', 'one', 'two', 'three')[dims]} elements in output_size, but got "
            f"{len(output_size)} elements."
        )
    if self.ndim not in (dims + 1, dims + 2):
        raise RuntimeError(
            f"Input to max_unpooling{dims}d should be a {dims + 1}d or {dims + 2}d Tensor, but got a tensor with "
            f"{self.ndim} dimensions"
        )
    if self.shape != indices.shape:
        raise RuntimeError(
            f"Expected shape of indices to be same as that of the input tensor ({list(self.shape)}), but got indices "
            f"tensor with shape: {list(indices.shape)}"
        )
    if not is_float(self):
        raise not_implemented(f"max_unpooling{dims}d", dtype_of(self))
    plane_size, lead = prod(output_size), self.shape[:-dims]
    if indices.size and (indices.min() < 0 or indices.max() >= plane_size):
        bad = indices[(indices < 0) | (indices >= plane_size)][0]
        raise RuntimeError(
            f"Found an invalid max index: {bad} (output volumes are of size "
            f"{'x'.join(str(n) for n in output_size)}"
        )
    planes = np.zeros((prod(lead), plane_size), self.dtype)
    rows = (prod(lead), prod(self.shape[-dims:]))
    np.put_along_axis(planes, indices.reshape(rows), self.reshape(rows), axis=1)
    return planes.reshape(*lead, *output_size)


def unpool2d(self: Array, indices: Array, output_size: Sequence[int]) -> Array:
    """(N, C, H, W) or (C, H, W)."""
    return unpooled(self, indices, output_size, 2)


def unpool3d(
    self: Array, indices: Array, output_size: Sequence[int], stride: Sequence[int], padding: Sequence[int]
) -> Array:
    """(N, C, D, H, W) or (C, D, H, W)."""
    if len(stride) != 3 or len(padding) != 3 or min(stride) <= 0:
        raise RuntimeError(f"strides should be three numbers greater than zero, but got stride: {list(stride)}")
    return unpooled(self, indices, output_size, 3)


def _values(*sizes: int) -> Tensor:
    return wrap(np.arange(1, prod(sizes) + 1, dtype=np.float32).reshape(sizes))


def _places(*sizes: int) -> Tensor:
    return wrap((np.arange(prod(sizes), dtype=np.int64) * 2 + 1).reshape(sizes))


def reference(self: Any, indices: Any, output_size: Any) -> Any:
    """One by one."""
    planes = np.zeros((*self.shape[:-2], *output_size), self.dtype)
    for index in np.ndindex(*self.shape):
        planes[(*index[:-2], *np.unravel_index(indices[index], output_size))] = self[index]
    return planes


declare(
    "aten::max_unpool2d(Tensor self, Tensor indices, SymInt[2] output_size) -> Tensor",
    outs=("out",),
    kernel=keeps_channels_last(unpool2d),
    doc="Elements back at the places where max pooling took them from, zeros elsewhere.",
    dtype=same_dtype,
    shape=ranks.self_rank,
    samples=lambda: [Sample(args=(_values(1, 2, 2), _places(1, 2, 2), [3, 4]))],
    errors=lambda: [
        ErrorSample(args=(_values(1, 2, 2), _places(1, 2, 2), [2, 2]), error=RuntimeError, message="invalid max index"),
        ErrorSample(args=(_values(1, 2, 2), _places(2, 2), [3, 4]), error=RuntimeError, message="shape of indices"),
    ],
    reference=reference,
    is_method=False,
    is_function=False,
)

declare(
    "aten::max_unpool3d(Tensor self, Tensor indices, SymInt[3] output_size, int[3] stride, int[3] padding) -> Tensor",
    outs=("out",),
    kernel=unpool3d,
    doc="Elements back at the places where max pooling took them from, zeros elsewhere.",
    dtype=same_dtype,
    shape=ranks.self_rank,
    samples=lambda: [Sample(args=(_values(1, 1, 2, 2), _places(1, 1, 2, 2), [2, 3, 4], [2, 2, 2], [0, 0, 0]))],
    is_method=False,
    is_function=False,
)
