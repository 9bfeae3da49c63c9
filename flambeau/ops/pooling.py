"""Pooling in one to three dimensions: the largest or the average of every window."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import prod
from typing import Any, Final, NamedTuple

from flambeau.ops.channels_last import keeps_channels_last
from flambeau.ops.convolution_calls import KnownCalls, look
from flambeau.ops.families import ranks
from flambeau.ops.families.arrays import Array, contiguous, dtype_of, is_float, not_implemented, reduce_with, widened
from flambeau.ops.families.half_precision import in_float32
from flambeau.ops.families.opaque import declare
from flambeau.ops.families.rules import same_dtype, value_and_index
from flambeau.ops.native_windows import natively
from flambeau.ops.pooling_windows import Geometry, Ints, check_rank
from flambeau.schema.opdef import ErrorSample, Sample
from flambeau.schema.traits import Traits
from flambeau.tensor.array_library import is_host_array, np
from flambeau.tensor.tensor import Tensor, wrap
from flambeau.util.inversions import LARGEST_OF_WINDOWS


def place_of_largest(rows: Array) -> Array:
    """The index of the largest element of each row: the first of equal ones; the last nan, if there is one."""
    best = np.argmax(rows, axis=-1)
    odd = np.isnan(rows) if is_float(rows) else None
    if odd is None or (is_host_array(odd) and not odd.any()):
        return np.asarray(best)
    last = rows.shape[-1] - 1 - np.argmax(odd[..., ::-1], axis=-1)
    return np.asarray(np.where(odd.any(axis=-1), last, best))


class _Known(NamedTuple):
    """A call of pooling that runs natively: the sizes of its result, and what fills it and the indices."""

    sizes: tuple[int, ...]
    fill: Callable[[Array, Array, Array | None], None]
    is_of_rows: bool
    """Whether windows lie in rows, each of which is an image of one row to native code."""

    def run(self, array: Array, has_places: bool) -> tuple[Array, Array | None]:
        values = np.empty(self.sizes, array.dtype)
        indices = np.empty(self.sizes, np.int64) if has_places else None
        if self.is_of_rows:
            self.fill(array[:, :, None], values[:, :, None], None if indices is None else indices[:, :, None])
        else:
            self.fill(array, values, indices)
        return values, indices


_known: Final = KnownCalls[_Known]()
"""Calls of pooling in one and two dimensions."""


def _learn(key: tuple[Any, ...], array: Array, geometry: Geometry) -> _Known | None:
    """Remember a call, if there is native code for it."""
    dims = len(geometry.kernel)
    if dims > 2 or array.ndim != dims + 2 or not array.size or not is_host_array(array):
        return None
    values = np.empty((*array.shape[:2], *geometry.places), array.dtype)
    settings = [geometry.kernel, geometry.stride, geometry.padding, geometry.dilation]
    if dims == 1:
        rows, settings = array[:, :, None], [(lone, *own) for lone, own in zip((1, 1, 0, 1), settings, strict=True)]
        fill = LARGEST_OF_WINDOWS.implementation(rows, values[:, :, None], *settings)
    else:
        fill = LARGEST_OF_WINDOWS.implementation(array, values, *settings)
    if fill is not None:
        _known.put(key, _Known(values.shape, fill, dims == 1))
    return _known.get(key)


def max_pool(name: str, dims: int, has_places: bool = True) -> Any:
    """The kernel that returns the largest elements and, if asked, their indices in the flattened window plane."""

    @in_float32
    def kernel(
        self: Array, kernel_size: Ints, stride: Ints = (), padding: Ints = (0,), dilation: Ints = (1,),
        ceil_mode: bool = False,
    ) -> tuple[Array, Array | None]:  # fmt: skip
        key = (dims, look(self), *kernel_size, None, *stride, None, *padding, None, *dilation, ceil_mode)
        known = _known.get(key)
        if known is not None:
            return known.run(self, has_places)
        geometry = (
            Geometry(name, self, dims, kernel_size, stride, padding, dilation, ceil_mode) if self.ndim >= dims else None
        )
        check_rank(name, self, dims)
        if geometry is None or self.dtype.kind in "bc":
            raise not_implemented(f"max_pool{dims}d", dtype_of(self))
        known = _learn(key, self, geometry)
        if known is not None:
            return known.run(self, has_places)
        if has_places and _are_images_of_planes(self, dims):
            return _by_planes(self, geometry, ceil_mode)
        if geometry.are_side_by_side(self):
            return _with_places(self, geometry) if has_places else (geometry.largest_side_by_side(self), None)
        sizes = self.shape[-dims:]
        lowest = -np.inf if is_float(self) else np.iinfo(self.dtype).min
        flat = np.arange(prod(sizes)).reshape(sizes)
        seen = geometry.windows(widened(self), lowest)
        indices = geometry.windows(flat, -1)
        lead = seen.shape[: seen.ndim - dims]
        rows = seen.reshape(*lead, prod(geometry.kernel))
        where = indices.reshape(*indices.shape[:dims], prod(geometry.kernel))
        masked = np.where(where < 0, -1, 0)
        best = place_of_largest(rows)
        chosen = np.take_along_axis(np.broadcast_to(where, rows.shape), best[..., None], axis=-1)[..., 0]
        if not is_host_array(masked) or masked.any():
            inside = np.argmax(np.broadcast_to(where >= 0, rows.shape), axis=-1)
            first = np.take_along_axis(np.broadcast_to(where, rows.shape), inside[..., None], axis=-1)[..., 0]
            chosen = np.where(chosen < 0, first, chosen)
        values = np.take_along_axis(rows, best[..., None], axis=-1)[..., 0]
        return contiguous(values.astype(self.dtype, copy=False)), contiguous(chosen.astype(np.int64))

    return kernel


def _are_images_of_planes(array: Array, dims: int) -> bool:
    """Whether windows in three dimensions are those of planes, and then of columns."""
    return dims == 3 and is_float(array) and bool(array.size) and is_host_array(array)


def _by_planes(array: Array, geometry: Geometry, ceil_mode: bool) -> tuple[Array, Array]:
    """The largest elements of windows in three dimensions and their places: those of each plane, for which there is
    native code, and of these the largest of some planes."""
    depth, height, width = array.shape[-3:]
    (kernel, *rest), (stride, *strides) = geometry.kernel, geometry.stride
    (padding, *paddings), (dilation, *dilations) = geometry.padding, geometry.dilation
    planes = array.reshape(-1, 1, height, width)
    values, offsets = _in_planes(planes, rest, strides, paddings, dilations, ceil_mode)
    size = values.shape[-2] * values.shape[-1]
    columns = values.reshape(-1, 1, depth, size)
    values, of_planes = _in_planes(columns, (kernel, 1), (stride, 1), (padding, 0), (dilation, 1), ceil_mode)
    of_planes = of_planes.reshape(len(columns), -1)
    indices = np.take_along_axis(offsets.reshape(len(columns), -1), of_planes, axis=1)
    indices += of_planes // size * (height * width)
    shape = (*array.shape[:-3], *geometry.places)
    return values.reshape(shape), indices.reshape(shape)


_in_planes: Final = max_pool("max_pool2d", 2)


def _with_places(array: Array, geometry: Geometry) -> tuple[Array, Array]:
    """The largest elements of windows side by side, and their places in the flattened window plane."""
    rows = geometry.rows_side_by_side(array)
    best = place_of_largest(widened(rows))
    values = rows.reshape(-1, rows.shape[-1])[np.arange(best.size), best.reshape(-1)].reshape(best.shape)
    sizes = array.shape[-len(geometry.kernel) :]
    numbers = geometry.rows_side_by_side(np.arange(prod(sizes)).reshape(sizes))
    first = numbers[..., 0]
    return values, first + (numbers.reshape(-1, numbers.shape[-1])[0] - first.reshape(-1)[0])[best]


def only_values(kernel: Any) -> Any:
    """The kernel without indices."""

    def values(
        self: Array, kernel_size: Ints, stride: Ints = (), padding: Ints = (0,), dilation: Ints = (1,),
        ceil_mode: bool = False,
    ) -> Array:  # fmt: skip
        result: Array = kernel(self, kernel_size, stride, padding, dilation, ceil_mode)[0]
        return result

    return values


def avg_pool(dims: int) -> Any:
    """The kernel of averages; padding counts as zeros if `count_include_pad`."""

    def kernel(
        self: Array, kernel_size: Ints, stride: Ints = (), padding: Ints = (0,), ceil_mode: bool = False,
        count_include_pad: bool = True, divisor_override: int | None = None,
    ) -> Array:  # fmt: skip
        if dims == 1 and self.ndim not in (2, 3):
            raise RuntimeError(
                f"Expected 2 to 3 dimensions, but got {self.ndim}-dimensional tensor for argument #1 'self' (while "
                f"checking "
                "arguments for avg_pool1d)"
            )
        if self.ndim < dims + 1:
            raise IndexError(
                f"Dimension out of range (expected to be in range of [{-self.ndim}, {self.ndim - 1}], but got "
                f"{-dims - 1})"
            )
        if divisor_override == 0:
            raise RuntimeError("divisor must be not zero")
        if self.dtype.kind in "bc":
            raise not_implemented(f"avg_pool{dims}d_out_frame" if dims == 3 else "avg_pool2d", dtype_of(self))
        geometry = Geometry(f"avg_pool{dims}d", self, dims, kernel_size, stride, padding, (1,), ceil_mode)
        check_rank(f"avg_pool{dims}d", self, dims)
        axes = tuple(range(-dims, 0))
        added = reduce_with(np.add, geometry.windows(widened(self), 0), axis=axes)
        if divisor_override is not None:
            counts: Any = divisor_override
        else:
            counts = window_counts(geometry, self.shape[-dims:], count_include_pad)
        means = (
            np.trunc(added / counts)
            if self.dtype.kind in "ui"
            else added / added.dtype.type(1) / np.asarray(counts, added.dtype)
        )
        return contiguous(means.astype(self.dtype, copy=False))

    return kernel


def window_counts(geometry: Geometry, sizes: Ints, include_pad: bool) -> Array:
    """How many elements each window averages: those inside the array, or inside it and its padding."""
    counts = np.ones(geometry.places, np.int64)
    for axis, (n, k, s, p) in enumerate(zip(sizes, geometry.kernel, geometry.stride, geometry.padding, strict=True)):
        starts = np.arange(geometry.places[axis]) * s - p
        ends = np.minimum(starts + k, n + p)
        if not include_pad:
            starts, ends = np.maximum(starts, 0), np.minimum(ends, n)
        shape = [1] * len(sizes)
        shape[axis] = -1
        counts = counts * (ends - starts).reshape(shape)
    return counts


def sample_image(dims: int) -> Tensor:
    """Two images of three channels."""
    sizes = (2, 3, *(5, 6, 4)[:dims])
    return wrap(((np.arange(prod(sizes), dtype=np.float32) * 37 % 23) / 8).reshape(sizes))


def max_samples(dims: int) -> list[Sample]:
    """Plain, overlapping and padded, hanging over the end."""
    return [
        Sample(args=(sample_image(dims), 2)),
        Sample(args=(sample_image(dims), 3, 2, 1)),
        Sample(args=(sample_image(dims), 2, 2), kwargs={"ceil_mode": True}),
    ]


def average_samples(dims: int) -> list[Sample]:
    """Plain, padded, and padded without counting the padding."""
    return [
        Sample(args=(sample_image(dims), 2)),
        Sample(args=(sample_image(dims), 3, 2, 1)),
        Sample(args=(sample_image(dims), 3, 2, 1, True, False)),
    ]


def too_small(dims: int) -> list[ErrorSample]:
    """A window larger than the image."""
    image = wrap(np.ones((1, 1, *(2,) * dims), np.float32))
    message = "output size" if dims == 1 else "Output size is too small"
    return [ErrorSample(args=(image, 3), error=RuntimeError, message=message)]


def of_images(dims: int) -> Any:
    """What has averages of images keep channels last; those of volumes are row-major."""
    return keeps_channels_last if dims == 2 else lambda kernel: kernel


for _d in (1, 2, 3):
    _zero, _one = ("[0]", "[1]") if _d == 1 else ("0", "1")
    _windows = f"int[{_d}] kernel_size, int[{_d}] stride=[], int[{_d}] padding={_zero}"
    _with_indices = max_pool(f"max_pool{_d}d", _d)
    _values = max_pool(f"max_pool{_d}d", _d, has_places=False)
    declare(
        f"aten::max_pool{_d}d(Tensor self, {_windows}, int[{_d}] dilation={_one}, bool ceil_mode=False) -> Tensor",
        kernel=keeps_channels_last(only_values(_values)),
        traits=Traits(has_routine=True),
        doc="The largest element of every window.",
        dtype=same_dtype,
        shape=ranks.self_rank,
        samples=partial(max_samples, _d),
        errors=partial(too_small, _d),
        is_method=False,
    )
    declare(
        f"aten::max_pool{_d}d_with_indices(Tensor self, {_windows}, int[{_d}] dilation={_one}, bool ceil_mode=False)"
        " -> (Tensor, Tensor)",
        outs=() if _d == 1 else ("out(out, indices)",),
        kernel=keeps_channels_last(_with_indices),
        traits=Traits(has_routine=_d < 3),
        dtype=value_and_index,
        shape=ranks.self_values_and_places,
        samples=partial(max_samples, _d),
        is_method=False,
        is_function=False,
    )
    declare(
        f"aten::avg_pool{_d}d(Tensor self, {_windows}, bool ceil_mode=False, bool count_include_pad=True"
        + (") -> Tensor" if _d == 1 else ", int? divisor_override=None) -> Tensor"),
        outs=("out",),
        kernel=of_images(_d)(in_float32(natively(f"aten::avg_pool{_d}d", avg_pool(_d)))),
        traits=Traits(has_routine=True),
        doc="The average of every window.",
        dtype=same_dtype,
        shape=ranks.self_rank,
        samples=partial(average_samples, _d),
        is_method=False,
        is_function=_d == 1,
        namespaces=("nn.functional",),
    )
