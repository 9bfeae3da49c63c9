"""Pooling in one to three dimensions: the largest or the average of every window, with fixed or adapted windows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import prod
from typing import Any, Final, NamedTuple

from numpy.lib.stride_tricks import sliding_window_view

from flambeau.ops.convolution_calls import KnownCalls, look
from flambeau.ops.families import ranks
from flambeau.ops.families.arrays import Array, contiguous, dtype_of, is_float, not_implemented, reduce_with, widened
from flambeau.ops.families.opaque import declare
from flambeau.ops.families.rules import same_dtype, value_and_index
from flambeau.schema.dtype import float32, float64
from flambeau.schema.opdef import ErrorSample, Sample
from flambeau.schema.traits import Traits
from flambeau.tensor.array_library import is_host_array, np
from flambeau.tensor.tensor import Tensor, wrap
from flambeau.util.inversions import LARGEST_OF_WINDOWS

Ints = Sequence[int]

LETTERS: Final = ("T", "H", "W")


def spread(values: Ints, dims: int, otherwise: Ints = ()) -> tuple[int, ...]:
    """One value per dimension; `otherwise` where none are given."""
    chosen = list(values) or list(otherwise)
    return tuple(chosen) * dims if len(chosen) == 1 else tuple(chosen)


def output_size(size: int, kernel: int, stride: int, padding: int, dilation: int, ceil_mode: bool) -> int:
    """How many windows there are; with `ceil_mode` the last may hang over, but must begin inside."""
    room = size + 2 * padding - dilation * (kernel - 1) - 1
    count = (-(-room // stride) if ceil_mode else room // stride) + 1
    if ceil_mode and (count - 1) * stride >= size + padding:
        count -= 1
    return count


def check_counts(name: str, dims: int, **arguments: Ints) -> None:
    """Raise RuntimeError for an argument with another number of values than dimensions."""
    number = {1: "one int", 2: "two ints", 3: "three ints"}[dims]
    for word, values in arguments.items():
        if len(values) in (1, dims) or (word == "stride" and not values):
            continue
        if dims == 1:
            comma = "" if word in ("kernel_size", "dilation") else ","
            none = "None, an int" if word == "stride" else "an int"
            raise RuntimeError(
                f"{name}() {word} must be {none}, list of ints{comma} or tuple of ints of size 1 but got size "
                f"{len(values)}"
            )
        either = "either " if name.startswith("max") or word == "stride" else ""
        omitted = "omitted, " if word == "stride" else ""
        raise RuntimeError(f"{name}: {word} must {either}be {omitted}a single int, or a tuple of {number}")


class Geometry:
    """The windows of one call: kernel sizes, strides, padding and dilations."""

    def __init__(
        self, name: str, array: Array, dims: int, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints,
        ceil_mode: bool,
    ) -> None:  # fmt: skip
        check_counts(name, dims, kernel_size=kernel, stride=stride, padding=padding, dilation=dilation)
        self.kernel = spread(kernel, dims)
        self.stride = spread(stride, dims, self.kernel)
        self.padding = spread(padding, dims)
        self.dilation = spread(dilation, dims)
        self.check(name, array, dims)
        sizes = array.shape[-dims:]
        self.places = tuple(
            output_size(n, k, s, p, d, ceil_mode)
            for n, k, s, p, d in zip(sizes, self.kernel, self.stride, self.padding, self.dilation, strict=True)
        )
        if any(p < 1 for p in self.places):
            if name == "max_pool1d":
                raise RuntimeError(f"max_pool1d() Invalid computed output size: {self.places[0]}")
            channels = array.shape[-dims - 1]
            old, new = (
                "x".join(map(str, (channels, *v))) for v in ((1,) * (2 - dims) + sizes, (1,) * (2 - dims) + self.places)
            )
            raise RuntimeError(f"Given input size: ({old}). Calculated output size: ({new}). Output size is too small")

    def check(self, name: str, array: Array, dims: int) -> None:
        """Raise RuntimeError for numbers that mean nothing."""
        if name == "max_pool1d":
            self._check_one_dimension()
        if any(s == 0 for s in self.stride):
            raise RuntimeError("stride should not be zero")
        if any(k <= 0 for k in self.kernel):
            shown = " ".join(f"k{c}: {k}" for c, k in zip(LETTERS[-dims:], self.kernel, strict=True))
            raise RuntimeError(f"kernel size should be greater than zero, but got {shown}")
        if any(d <= 0 for d in self.dilation):
            shown = " ".join(f"dilation{c}: {d}" for c, d in zip(LETTERS[-dims:], self.dilation, strict=True))
            raise RuntimeError(f"dilation should be greater than zero, but got {shown}")
        for p, k, d in zip(self.padding, self.kernel, self.dilation, strict=True):
            if p < 0:
                raise RuntimeError(f"pad must be non-negative, but got pad: {p}")
            if p > (d * (k - 1) + 1) // 2:
                raise RuntimeError(
                    f"pad should be at most half of effective kernel size, but got pad={p}, kernel_size={k} and "
                    f"dilation={d}"
                )

    def _check_one_dimension(self) -> None:
        """What `max_pool1d` refuses in words of its own."""
        (kernel,), (stride,), (padding,), (dilation,) = self.kernel, self.stride, self.padding, self.dilation
        for argument, value in {"kernel_size": kernel, "stride": stride, "dilation": dilation}.items():
            if value <= 0:
                raise RuntimeError(f"max_pool1d() {argument} must be greater than zero, but got {value}")
        if padding < 0:
            raise RuntimeError(f"max_pool1d() padding must be non-negative, but got {padding}")
        if padding > (dilation * (kernel - 1) + 1) // 2:
            raise RuntimeError(
                f"max_pool1d() padding should be at most half of kernel size, but got padding={padding} and "
                f"kernel_size={kernel}"
            )

    def windows(self, array: Array, fill: Any) -> Array:
        """A view (..., *places, *kernel) over the array with `fill` around it."""
        dims = len(self.kernel)
        reach = [d * (k - 1) + 1 for d, k in zip(self.dilation, self.kernel, strict=True)]
        needed = [(n - 1) * s + r for n, s, r in zip(self.places, self.stride, reach, strict=True)]
        around = [
            (p, max(n - size - p, 0)) for p, n, size in zip(self.padding, needed, array.shape[-dims:], strict=True)
        ]
        wide = np.pad(array, [(0, 0)] * (array.ndim - dims) + around, constant_values=fill)
        axes = tuple(range(array.ndim - dims, array.ndim))
        seen = sliding_window_view(wide, reach, axis=axes)
        every: Any = (
            ...,
            *(slice(None, (n - 1) * s + 1, s) for n, s in zip(self.places, self.stride, strict=True)),
            *(slice(None, None, d) for d in self.dilation),
        )
        return np.asarray(seen[every])


def check_rank(name: str, array: Array, dims: int) -> None:
    """Raise RuntimeError unless it has the dimensions of one sample or of a batch."""
    if array.ndim in (dims + 1, dims + 2) and all(array.shape[i] for i in range(array.ndim - dims - 1, array.ndim)):
        return
    if dims == 1:
        raise RuntimeError(
            f"{name}: Expected 2D or 3D (batch mode) tensor with optional 0 dim batch size for input, but "
            f"got:{list(array.shape)}"
        )
    if array.ndim in (dims + 1, dims + 2):
        raise RuntimeError(
            f"Expected {dims + 1}D or {dims + 2}D (batch mode) tensor with optional 0 dim batch size for input, but "
            f"got:{list(array.shape)}"
        )
    raise RuntimeError(f"non-empty {dims + 1}D or {dims + 2}D (batch mode) tensor expected for input")


def place_of_largest(rows: Array) -> Array:
    """The index of the largest element of each row: the first of equal ones; the last nan, if there is one."""
    best = np.argmax(rows, axis=-1)
    odd = np.isnan(rows) if is_float(rows) else None
    if odd is None or (is_host_array(odd) and not odd.any()):
        return np.asarray(best)
    last = rows.shape[-1] - 1 - np.argmax(odd[..., ::-1], axis=-1)
    return np.asarray(np.where(odd.any(axis=-1), last, best))


class _Known(NamedTuple):
    """A call of pooling that runs natively: the sizes of its result, and what fills it and the places."""

    sizes: tuple[int, ...]
    fill: Callable[[Array, Array, Array | None], None]

    def run(self, array: Array, has_places: bool) -> tuple[Array, Array | None]:
        values = np.empty(self.sizes, array.dtype)
        places = np.empty(self.sizes, np.int64) if has_places else None
        self.fill(array, values, places)
        return values, places


_known: Final = KnownCalls[_Known]()
"""Calls of pooling in two dimensions."""


def _learn(key: tuple[Any, ...], array: Array, geometry: Geometry) -> _Known | None:
    """Remember a call, if there is native code for it."""
    if array.ndim != 4 or len(geometry.kernel) != 2 or not array.size or not is_host_array(array):
        return None
    values = np.empty((*array.shape[:2], *geometry.places), array.dtype)
    fill = LARGEST_OF_WINDOWS.implementation(
        array, values, geometry.kernel, geometry.stride, geometry.padding, geometry.dilation
    )
    if fill is not None:
        _known.put(key, _Known(values.shape, fill))
    return _known.get(key)


def max_pool(name: str, dims: int, has_places: bool = True) -> Any:
    """The kernel that returns the largest elements and, if asked, their places in the flattened window plane."""

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
        sizes = self.shape[-dims:]
        lowest = -np.inf if is_float(self) else np.iinfo(self.dtype).min
        flat = np.arange(prod(sizes)).reshape(sizes)
        seen = geometry.windows(widened(self), lowest)
        places = geometry.windows(flat, -1)
        lead = seen.shape[: seen.ndim - dims]
        rows = seen.reshape(*lead, prod(geometry.kernel))
        where = places.reshape(*places.shape[:dims], prod(geometry.kernel))
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


def adaptive_bounds(size: int, count: int) -> list[slice]:
    """`count` windows that cover `size` elements as evenly as they can."""
    return [slice(i * size // count, -(-(i + 1) * size // count)) for i in range(count)]


def check_adaptive(name: str, array: Array, dims: int, sizes: Ints) -> tuple[int, ...]:
    """The sizes of the result. Raises RuntimeError for other ranks, empty dimensions and negative sizes."""
    if dims == 1 and array.ndim not in (2, 3):
        raise RuntimeError(
            f"Expected 2 to 3 dimensions, but got {array.ndim}-dimensional tensor for argument #1 'self' (while "
            f"checking "
            f"arguments for {name})"
        )
    is_max = "max" in name
    if len(sizes) not in (1, dims):
        if dims == 1:
            raise RuntimeError(f"{name}() argument 'output_size' should contain one int (got {len(sizes)})")
        inner = f"{name}(): internal error: output_size.size()" if is_max else f"{name}: output_size"
        raise RuntimeError(f"{inner} must be {dims}")
    if array.ndim not in (dims + 1, dims + 2):
        colon = ":" if is_max else ""
        raise RuntimeError(f"{name}(): Expected {dims + 1}D or {dims + 2}D tensor, but got{colon} {list(array.shape)}")
    for i in range(array.ndim - dims - is_max, array.ndim):
        if not array.shape[i]:
            raise RuntimeError(
                f"{name}(): Expected input to have non-zero size for non-batch dimensions, but input has sizes "
                f"{list(array.shape)} with dimension {i} being empty"
            )
    negative = next((s for s in sizes if s < 0), None)
    if negative is not None:
        target = [*array.shape[: array.ndim - dims], *sizes]
        shown = ", ".join(map(str, sizes))
        raise RuntimeError(
            f"Trying to create tensor with negative dimension {negative}: {target}" if is_max else
            f"{name}: elements of output_size must be greater than or equal to 0 but received {{{shown}}}"
        )  # fmt: skip
    return spread(sizes, dims)


def adaptive_avg(dims: int) -> Any:
    """The kernel of averages over windows that adapt to the sizes of the result."""
    name = f"adaptive_avg_pool{dims}d"

    def kernel(self: Array, output_size: Ints) -> Array:
        sizes = check_adaptive(name, self, dims, output_size)
        if not is_float(self):
            raise not_implemented("adaptive_avg_pool2d" if dims < 3 else name, dtype_of(self))
        means = widened(self)
        for axis, count in zip(range(self.ndim - dims, self.ndim), sizes, strict=True):
            parts = [
                reduce_with(np.add, means[(slice(None),) * axis + (b,)], axis=axis) / means.dtype.type(b.stop - b.start)
                for b in adaptive_bounds(self.shape[axis], count)
            ]
            empty = np.empty((*means.shape[:axis], 0, *means.shape[axis + 1 :]), means.dtype)
            means = np.stack(parts, axis=axis) if parts else empty
        return contiguous(means.astype(self.dtype, copy=False))

    return kernel


def adaptive_max(dims: int) -> Any:
    """The kernel of the largest elements of windows that adapt, and their places."""
    name = f"adaptive_max_pool{dims}d"

    def kernel(self: Array, output_size: Ints) -> tuple[Array, Array]:
        sizes = check_adaptive(name, self, dims, output_size)
        if not is_float(self):
            raise not_implemented("adaptive_max_pool2d" if dims < 3 else name, dtype_of(self))
        spatial = self.shape[-dims:]
        lead = self.shape[: self.ndim - dims]
        values = np.empty((*lead, *sizes), self.dtype)
        indices = np.empty((*lead, *sizes), np.int64)
        flat = np.arange(prod(spatial)).reshape(spatial)
        bounds = [adaptive_bounds(n, c) for n, c in zip(spatial, sizes, strict=True)]
        for place in np.ndindex(*sizes):
            window = tuple(b[i] for b, i in zip(bounds, place, strict=True))
            rows = self[(..., *window)].reshape(*lead, prod(w.stop - w.start for w in window))
            best = place_of_largest(widened(rows))
            values[(..., *place)] = np.take_along_axis(rows, best[..., None], axis=-1)[..., 0]
            indices[(..., *place)] = flat[window].reshape(-1)[best]
        return values, indices

    return kernel


def _image(dims: int) -> Tensor:
    sizes = (2, 3, *(5, 6, 4)[:dims])
    return wrap(((np.arange(prod(sizes), dtype=np.float32) * 37 % 23) / 8).reshape(sizes))


def max_samples(dims: int) -> list[Sample]:
    """Plain, overlapping and padded, hanging over the end."""
    return [
        Sample(args=(_image(dims), 2)),
        Sample(args=(_image(dims), 3, 2, 1)),
        Sample(args=(_image(dims), 2, 2), kwargs={"ceil_mode": True}),
    ]


def average_samples(dims: int) -> list[Sample]:
    """Plain, padded, and padded without counting the padding."""
    return [
        Sample(args=(_image(dims), 2)),
        Sample(args=(_image(dims), 3, 2, 1)),
        Sample(args=(_image(dims), 3, 2, 1, True, False)),
    ]


def adaptive_samples(dims: int) -> list[Sample]:
    """Windows of unequal sizes, and one window."""
    return [Sample(args=(_image(dims), [3] * dims)), Sample(args=(_image(dims), [1] * dims))]


def too_small(dims: int) -> list[ErrorSample]:
    """A window larger than the image."""
    image = wrap(np.ones((1, 1, *(2,) * dims), np.float32))
    message = "output size" if dims == 1 else "Output size is too small"
    return [ErrorSample(args=(image, 3), error=RuntimeError, message=message)]


for _d in (1, 2, 3):
    _zero, _one = ("[0]", "[1]") if _d == 1 else ("0", "1")
    _windows = f"int[{_d}] kernel_size, int[{_d}] stride=[], int[{_d}] padding={_zero}"
    _with_indices = max_pool(f"max_pool{_d}d", _d)
    _values = max_pool(f"max_pool{_d}d", _d, has_places=False)
    declare(
        f"aten::max_pool{_d}d(Tensor self, {_windows}, int[{_d}] dilation={_one}, bool ceil_mode=False) -> Tensor",
        kernel=only_values(_values),
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
        kernel=_with_indices,
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
        kernel=avg_pool(_d),
        traits=Traits(has_routine=True),
        doc="The average of every window.",
        dtype=same_dtype,
        shape=ranks.self_rank,
        samples=partial(average_samples, _d),
        is_method=False,
        is_function=_d == 1,
        namespaces=("nn.functional",),
    )
    declare(
        f"aten::adaptive_avg_pool{_d}d(Tensor self, {'SymInt' if _d > 1 else 'int'}[{_d}] output_size) -> Tensor",
        outs=("out",),
        kernel=adaptive_avg(_d),
        traits=Traits(has_routine=True),
        doc="The average of windows that divide the input evenly into `output_size` parts.",
        dtype=same_dtype,
        shape=ranks.self_rank,
        samples=partial(adaptive_samples, _d),
        ulp={float32: 4.0, float64: 4.0},  # of sums along one axis after the other, and of all of a window
        is_method=False,
        is_function=_d == 1,
    )
    declare(
        f"aten::adaptive_max_pool{_d}d(Tensor self, int[{_d}] output_size) -> (Tensor, Tensor)",
        outs=() if _d == 1 else ("out(out, indices)",),
        kernel=adaptive_max(_d),
        dtype=value_and_index,
        shape=ranks.self_values_and_places,
        samples=partial(adaptive_samples, _d),
        is_method=False,
        is_function=_d == 1,
    )
