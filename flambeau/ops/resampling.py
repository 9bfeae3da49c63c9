"""Images of other sizes: nearest and linear resampling, and shuffles between channels and places."""

# ruff: noqa: N803  # F is what bodies call the operators
from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import floor
from typing import Any

from flambeau.ops.families import ranks
from flambeau.ops.families.arrays import Array, Shaped, contiguous, dtype_of, is_float, not_implemented, widened
from flambeau.ops.families.composite import composite
from flambeau.ops.families.opaque import declare
from flambeau.ops.families.rules import input_dtype, same_dtype, same_shape
from flambeau.ops.native_windows import natively
from flambeau.ops.small_tensors import mixed
from flambeau.schema.opdef import ErrorSample, Sample
from flambeau.schema.traits import Traits
from flambeau.tensor.array_library import np
from flambeau.tensor.tensor import Tensor

Ints = Sequence[int]
Scales = Sequence[float | None]


def target_sizes(input: Shaped, output_size: Ints | None, scale_factors: Sequence[float] | None) -> list[int]:
    """The spatial sizes of the result. Raises RuntimeError unless exactly one argument is given."""
    if (output_size is None) == (scale_factors is None):
        raise RuntimeError("Must specify exactly one of output_size and scale_factors")
    if output_size is not None:
        return [int(s) for s in output_size]
    return [floor(s * f) for s, f in zip(input.shape[2:], scale_factors or (), strict=True)]


def check(input: Shaped, sizes: Ints, dims: int) -> None:
    """Raise RuntimeError for other ranks and empty sizes."""
    if len(sizes) != dims:
        raise RuntimeError(f"It is expected output_size equals to {dims}, but got size {len(sizes)}")
    if input.ndim != dims + 2:
        raise RuntimeError(f"It is expected input_size equals to {dims + 2}, but got size {input.ndim}")
    if min(*sizes, *input.shape[2:]) <= 0:
        letters = ("D", "H", "W")[-dims:]
        old, new = (", ".join(f"{c}: {n}" for c, n in zip(letters, v, strict=True)) for v in (input.shape[2:], sizes))
        raise RuntimeError(f"Input and output sizes should be greater than 0, but got input ({old}) output ({new})")


def step(size: int, count: int, scale: float | None) -> float:
    """How far one element of the result is in the input."""
    return 1 / scale if scale is not None and scale > 0 else size / count


def nearest(input: Array, sizes: Ints, scales: Scales, dims: int, exact: bool = False) -> Array:
    """The element that lies at or before each position, or at its middle if `exact`."""
    check(input, sizes, dims)
    if not (is_float(input) or input.dtype == np.uint8):
        raise not_implemented(
            f"upsample_nearest{dims}d_channels_last" if dims > 1 else "upsample_nearest1d", dtype_of(input)
        )
    result = input
    for axis, (size, count, scale) in enumerate(zip(input.shape[2:], sizes, scales, strict=True), start=2):
        result = np.take(result, nearest_places(size, count, scale, exact), axis=axis)
    return same_layout(result, input)


def nearest_places(size: int, count: int, scale: float | None, exact: bool) -> Array:
    """For each position of the result: the element that lies at or before it, or at its middle if `exact`."""
    ratio = np.float32(step(size, count, scale))
    positions = np.arange(count, dtype=np.float32) + np.float32(0.5 if exact else 0)
    return np.asarray(np.minimum(np.floor(positions * ratio).astype(np.int64), size - 1))


def linear(input: Array, sizes: Ints, align_corners: bool, scales: Scales, dims: int) -> Array:
    """Interpolated between the two nearest elements along every dimension."""
    check(input, sizes, dims)
    if not is_float(input):
        raise not_implemented(f"upsample_{('linear1d', 'bilinear2d', 'trilinear3d')[dims - 1]}", dtype_of(input))
    result = widened(input)
    for axis in range(input.ndim - 1, 1, -1):
        size, count = input.shape[axis], sizes[axis - 2]
        if size == count:
            continue  # whatever the factor, which would move places of which there are as many as before
        below, above, weight = neighbours(size, count, align_corners, scales[axis - 2], result.dtype)
        shape = [1] * input.ndim
        shape[axis] = count
        weight = weight.reshape(shape)
        result = np.take(result, below, axis=axis) * (1 - weight) + np.take(result, above, axis=axis) * weight
    return same_layout(result.astype(input.dtype, copy=False), input)


def neighbours(
    size: int, count: int, align_corners: bool, scale: float | None, dtype: np.dtype[Any]
) -> tuple[Array, Array, Array]:
    """For each position of the result: the element before, the one after, and how near the latter is."""
    positions = np.arange(count, dtype=dtype)
    if align_corners:
        source = positions * dtype.type((size - 1) / (count - 1) if count > 1 else 0)
    else:
        source = np.maximum((positions + dtype.type(0.5)) * dtype.type(step(size, count, scale)) - dtype.type(0.5), 0)
    below = np.minimum(np.floor(source).astype(np.int64), size - 1)
    above = np.minimum(below + 1, size - 1)
    return below, above, np.clip(source - below, 0, 1).astype(dtype)


def same_layout(result: Array, input: Array) -> Array:
    """`result` with channels last in memory if `input` has them so, else row-major."""
    if input.ndim == 4 and not input.flags.c_contiguous and input.transpose(0, 2, 3, 1).flags.c_contiguous:
        return np.ascontiguousarray(result.transpose(0, 2, 3, 1)).transpose(0, 3, 1, 2)
    return contiguous(result)


def nearest_kernels(dims: int, exact: bool) -> tuple[Any, Any]:
    """The kernels with sizes, and with sizes or factors."""

    def sized(
        self: Array, output_size: Ints, scales: float | None = None, scales_d: float | None = None,
        scales_h: float | None = None, scales_w: float | None = None,
    ) -> Array:  # fmt: skip
        return nearest(self, output_size, (scales_d, scales_h, scales or scales_w)[-dims:], dims, exact)

    def either(input: Array, output_size: Ints | None, scale_factors: Sequence[float] | None) -> Array:
        scales = scale_factors or (None,) * dims
        return nearest(input, target_sizes(input, output_size, scale_factors), scales, dims, exact)

    return sized, either


def linear_kernels(dims: int) -> tuple[Any, Any]:
    """The kernels with sizes, and with sizes or factors."""

    def sized(
        self: Array, output_size: Ints, align_corners: bool, scales: float | None = None,
        scales_d: float | None = None, scales_h: float | None = None, scales_w: float | None = None,
    ) -> Array:  # fmt: skip
        return linear(self, output_size, align_corners, (scales_d, scales_h, scales or scales_w)[-dims:], dims)

    def either(
        input: Array, output_size: Ints | None, align_corners: bool, scale_factors: Sequence[float] | None
    ) -> Array:
        scales = scale_factors or (None,) * dims
        return linear(input, target_sizes(input, output_size, scale_factors), align_corners, scales, dims)

    return sized, either


def pixel_shuffle(F: Any, self: Tensor, upscale_factor: int) -> Any:
    """(..., C r^2, H, W) to (..., C, H r, W r)."""
    if self.ndim < 3:
        raise RuntimeError(
            f"pixel_shuffle expects input to have at least 3 dimensions, but got input with {self.ndim} dimension(s)"
        )
    if upscale_factor <= 0:
        raise RuntimeError(f"pixel_shuffle expects a positive upscale_factor, but got {upscale_factor}")
    *lead, channels, height, width = self.shape
    r = upscale_factor
    if channels % (r * r):
        raise RuntimeError(
            "pixel_shuffle expects its input's 'channel' dimension to be divisible by the square of upscale_factor, "
            "but "
            f"input.size(-3)={channels} is not divisible by {r * r}"
        )
    n = len(lead)
    split = F.reshape(self, [*lead, channels // (r * r), r, r, height, width])
    moved = F.permute(split, [*range(n), n, n + 3, n + 1, n + 4, n + 2])
    return F.reshape(F.clone(moved, memory_format=0), [*lead, channels // (r * r), height * r, width * r])


def pixel_unshuffle(F: Any, self: Tensor, downscale_factor: int) -> Any:
    """(..., C, H r, W r) to (..., C r^2, H, W)."""
    if self.ndim < 3:
        raise RuntimeError(
            f"pixel_unshuffle expects input to have at least 3 dimensions, but got input with {self.ndim} dimension(s)"
        )
    if downscale_factor <= 0:
        raise RuntimeError(f"pixel_unshuffle expects a positive downscale_factor, but got {downscale_factor}")
    *lead, channels, height, width = self.shape
    r = downscale_factor
    for name, axis, size in (("height", -2, height), ("width", -1, width)):
        if size % r:
            raise RuntimeError(
                f"pixel_unshuffle expects {name} to be divisible by downscale_factor, but "
                f"input.size({axis})={size} is not "
                f"divisible by {r}"
            )
    n = len(lead)
    split = F.reshape(self, [*lead, channels, height // r, r, width // r, r])
    moved = F.permute(split, [*range(n), n, n + 2, n + 4, n + 1, n + 3])
    return F.reshape(F.clone(moved, memory_format=0), [*lead, channels * r * r, height // r, width // r])


def channel_shuffle_kernel(self: Array, groups: int) -> Array:
    """Channels (dimension 1) of all groups in turn. Raises RuntimeError unless groups divide them."""
    if self.ndim < 3:
        raise RuntimeError(f"channel_shuffle expects input with > 2 dims, but got input with sizes {list(self.shape)}")
    if groups <= 0:
        raise RuntimeError(f"Number of groups to divide channels in must be positive. Value of groups:{groups}")
    channels = self.shape[1]
    if channels % groups:
        raise RuntimeError(
            f"Number of channels must be divisible by groups. Got {channels} channels and {groups} groups."
        )
    split = self.reshape(self.shape[0], groups, channels // groups, *self.shape[2:])
    return np.ascontiguousarray(split.swapaxes(1, 2)).reshape(self.shape)


def nearest_samples(dims: int) -> list[Sample]:
    """Larger along every dimension."""
    return [Sample(args=(mixed(1, 2, *(3, 4, 2)[:dims]), [5] * dims))]


def linear_samples(dims: int) -> list[Sample]:
    """With corners at corners, and with edges at edges."""
    return [Sample(args=(mixed(1, 2, *(3, 4, 2)[:dims]), [5] * dims, corners)) for corners in (False, True)]


def shuffle_samples(size: tuple[int, ...]) -> list[Sample]:
    """By a factor of two."""
    return [Sample(args=(mixed(*size), 2))]


for _dims in (1, 2, 3):
    _scales = {1: "float? scales=None", 2: "float? scales_h=None, float? scales_w=None"}.get(
        _dims, "float? scales_d=None, float? scales_h=None, float? scales_w=None"
    )
    _either_args = "(Tensor input, SymInt[]? output_size, "
    for _exact in (False, True):
        _name = f"{'_upsample_nearest_exact' if _exact else 'upsample_nearest'}{_dims}d"
        _sized, _either = nearest_kernels(_dims, _exact)
        for _schema, _kernel in (
            (f"aten::{_name}.vec{_either_args}float[]? scale_factors) -> Tensor", _either),
            (f"aten::{_name}(Tensor self, SymInt[{_dims}] output_size, {_scales}) -> Tensor", _sized),
        ):
            declare(
                _schema,
                outs=("",) if ".vec" in _schema else ("out",),
                kernel=_kernel,
                traits=Traits(has_routine=True),
                dtype=input_dtype if ".vec" in _schema else same_dtype,
                shape=ranks.input_rank if ".vec" in _schema else ranks.self_rank,
                samples=None if ".vec" in _schema else partial(nearest_samples, _dims),
                is_method=False,
                is_function=False,
            )
    _name = ("upsample_linear1d", "upsample_bilinear2d", "upsample_trilinear3d")[_dims - 1]
    _sized, _either = linear_kernels(_dims)
    for _schema, _kernel in (
        (f"aten::{_name}.vec{_either_args}bool align_corners, float[]? scale_factors) -> Tensor", _either),
        (f"aten::{_name}(Tensor self, SymInt[{_dims}] output_size, bool align_corners, {_scales}) -> Tensor", _sized),
    ):
        declare(
            _schema,
            outs=("",) if ".vec" in _schema else ("out",),
            kernel=natively(_schema.partition("(")[0], _kernel),
            traits=Traits(has_routine=True),
            dtype=input_dtype if ".vec" in _schema else same_dtype,
            shape=ranks.input_rank if ".vec" in _schema else ranks.self_rank,
            samples=None if ".vec" in _schema else partial(linear_samples, _dims),
            is_method=False,
            is_function=False,
        )

for _name, _body, _argument, _size in (
    ("pixel_shuffle", pixel_shuffle, "upscale_factor", (1, 8, 2, 3)),
    ("pixel_unshuffle", pixel_unshuffle, "downscale_factor", (1, 2, 4, 6)),
):
    composite(
        f"aten::{_name}(Tensor self, int {_argument}) -> Tensor",
        body=_body,
        doc="Channels become places." if _name == "pixel_shuffle" else "Places become channels.",
        dtype=same_dtype,
        shape=ranks.self_rank,
        samples=partial(shuffle_samples, _size),
        errors=lambda: [
            ErrorSample(
                args=(mixed(2, 2), 2), error=RuntimeError, message="expects input to have at least 3 dimensions"
            )
        ],
        namespaces=("nn.functional",),
    )

for _name in ("channel_shuffle", "native_channel_shuffle"):
    declare(
        f"aten::{_name}(Tensor self, SymInt groups) -> Tensor",
        outs=("out",) if _name == "channel_shuffle" else (),
        kernel=channel_shuffle_kernel,
        doc="Channels of all groups in turn.",
        dtype=same_dtype,
        shape=same_shape,
        samples=lambda: [Sample(args=(mixed(1, 4, 2, 2), 2))],
        is_method=False,
        namespaces=("nn.functional",),
    )
