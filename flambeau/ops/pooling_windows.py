"""The windows that pooling goes over, and what it refuses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from numpy.lib.stride_tricks import sliding_window_view

from flambeau.ops.families.arrays import Array, Shaped
from flambeau.tensor.array_library import np

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
        self, name: str, array: Shaped, dims: int, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints,
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

    def check(self, name: str, array: Shaped, dims: int) -> None:
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

    def are_side_by_side(self, array: Array) -> bool:
        """Whether windows follow each other without gaps, from the first element on, in a row-major array."""
        is_plain = self.kernel == self.stride and not any(self.padding) and all(d == 1 for d in self.dilation)
        sizes = array.shape[-len(self.kernel) :]
        fits = all(n * k <= size for n, k, size in zip(self.places, self.kernel, sizes, strict=True))
        return is_plain and fits and array.size > 0 and array.dtype.kind in "fiu"

    def rows_side_by_side(self, array: Array) -> Array:
        """The elements of each of such windows as a row."""
        dims = len(self.kernel)
        ends: list[Any] = [slice(n * k) for n, k in zip(self.places, self.kernel, strict=True)]
        lead = array.shape[: array.ndim - dims]
        parts = [size for pair in zip(self.places, self.kernel, strict=True) for size in pair]
        split = array[(..., *ends)].reshape(*lead, *parts)
        first = len(lead)
        order = [*range(first), *range(first, split.ndim, 2), *range(first + 1, split.ndim, 2)]
        return split.transpose(order).reshape(*lead, *self.places, -1)

    def largest_side_by_side(self, array: Array) -> Array:
        """The largest elements of such windows, the first of equal ones, or nan where there is one: folded one
        dimension after the other, from the last."""
        lead = array.ndim - len(self.kernel)
        for axis, (count, size) in reversed([*enumerate(zip(self.places, self.kernel, strict=True))]):
            before = (slice(None),) * (lead + axis)
            parts = [array[(*before, slice(k, k + (count - 1) * size + 1, size))] for k in range(size)]
            array = parts[0]
            for part in parts[1:]:
                array = np.where((part > array) | (part != part), part, array)
        return np.ascontiguousarray(array)

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


def check_rank(name: str, array: Shaped, dims: int) -> None:
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
