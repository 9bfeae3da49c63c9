"""Pooling with windows at random places, so that the result may have any size: Graham (2014)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import prod
from typing import Any

from flambeau.ops.families import ranks
from flambeau.ops.families.arrays import Array, contiguous, dtype_of, is_float, not_implemented, widened
from flambeau.ops.families.opaque import declare
from flambeau.ops.families.rules import value_and_index
from flambeau.ops.pooling import place_of_largest
from flambeau.ops.small_tensors import mixed
from flambeau.schema.opdef import ErrorSample, Sample
from flambeau.tensor.array_library import np
from flambeau.tensor.tensor import Tensor, wrap

WORDS = ("time", "height", "width")


def starts(sample: Any, size: int, count: int, window: int) -> list[int]:
    """Where `count` windows begin: steps of equal length from a random offset, rounded down; the last is at the end."""
    if count == 1:
        return [size - window]
    step = sample.dtype.type(size - window) / sample.dtype.type(count - 1)
    offsets = [int((sample.dtype.type(i) + sample) * step) - int(sample * step) for i in range(count - 1)]
    return [*offsets, size - window]


def check(name: str, self: Array, kernel: Sequence[int], output: Sequence[int], samples: Array) -> None:
    """Raise RuntimeError for arguments that do not go together."""
    dims = len(kernel)
    if len(output) != dims:
        raise RuntimeError(f"{name}(): output_size must be one int or {dims} of them, got {list(output)}")
    if self.ndim not in (dims + 1, dims + 2):
        raise RuntimeError(f"{name}(): Expected {dims + 1}D or {dims + 2}D tensor, but got: {list(self.shape)}")
    for axis in range(self.ndim - dims - 1, self.ndim):
        if not self.shape[axis]:
            raise RuntimeError(
                f"{name}(): Expected input to have non-zero size for non-batch dimensions, but got"
                f"{list(self.shape)} with dimension {axis} being empty."
            )
    for word, size, window, count in zip(WORDS[-dims:], self.shape[-dims:], kernel, output, strict=True):
        if window <= 0 or count <= 0:
            numbers = f"got {window} and {count}"
            raise RuntimeError(f"{name}(): kernel_size and output_size must be greater than zero, {numbers}")
        if count + window - 1 > size:
            raise RuntimeError(f"{name}(): pool {word} {window} too large relative to input {word} {size}")
    batch = self.shape[0] if self.ndim == dims + 2 else 1
    if samples.dtype != self.dtype:
        raise RuntimeError("Expect _random_samples to have the same dtype as input")
    if samples.ndim != 3:
        raise RuntimeError(f"Expect _random_samples to have 3 dimensions, got {samples.ndim}")
    if samples.shape[0] < batch:
        raise RuntimeError("Expect _random_samples.size(0) no less then input batch size.")
    if samples.shape[1] != self.shape[-dims - 1]:
        raise RuntimeError("Expect _random_samples.size(1) equals to input channel size.")
    if samples.shape[2] != dims:
        raise RuntimeError(f"Expect _random_samples.size(2) equals to {dims}; got {samples.shape[2]}.")


def fractional(name: str, dims: int) -> Any:
    """The kernel: the largest elements, and their places in the flattened window plane."""

    def kernel(
        self: Array, kernel_size: Sequence[int], output_size: Sequence[int], random_samples: Array
    ) -> tuple[Array, Array]:
        window = tuple(kernel_size) * (dims if len(kernel_size) == 1 else 1)
        counts = tuple(output_size) * (dims if len(output_size) == 1 else 1)
        check(name, self, window, counts, random_samples)
        if not is_float(self):
            raise not_implemented(name, dtype_of(self))
        batched = self if self.ndim == dims + 2 else self[None]
        sizes = batched.shape[-dims:]
        flat = np.arange(prod(sizes)).reshape(sizes)
        values = np.empty((*batched.shape[:2], *counts), self.dtype)
        indices = np.empty(values.shape, np.int64)
        # The samples of a plane are for its last dimension first if there are two, in order if there are three.
        order = (1, 0) if dims == 2 else (0, 1, 2)
        for plane in np.ndindex(*batched.shape[:2]):
            drawn = widened(random_samples)[plane]
            first = [starts(drawn[o], sizes[i], counts[i], window[i]) for i, o in enumerate(order)]
            for index in np.ndindex(*counts):
                seen = tuple(slice(f[i], f[i] + w) for f, i, w in zip(first, index, window, strict=True))
                part = batched[plane][seen].reshape(-1)
                best = place_of_largest(widened(part))
                values[(*plane, *index)] = part[best]
                indices[(*plane, *index)] = flat[seen].reshape(-1)[best]
        unbatched = self.ndim == dims + 1
        return contiguous(values[0] if unbatched else values), contiguous(indices[0] if unbatched else indices)

    return kernel


def _samples(*sizes: int) -> Tensor:
    return wrap((((np.arange(prod(sizes), dtype=np.float32) * 5 + 3) % 11) / 11).reshape(sizes))


def samples(dims: int) -> list[Sample]:
    """A batch, and one image."""
    sizes = (5, 6, 6)[-dims:]
    return [
        Sample(args=(mixed(2, 3, *sizes), [2] * dims, [3] * dims, _samples(2, 3, dims))),
        Sample(args=(mixed(3, *sizes), [1, 2, 2][-dims:], [1, 3, 2][-dims:], _samples(1, 3, dims))),
    ]


def too_many(dims: int) -> list[ErrorSample]:
    """More windows than there are places."""
    args = (mixed(1, 1, *(5, 6, 6)[-dims:]), [2] * dims, [9] * dims, _samples(1, 1, dims))
    return [ErrorSample(args=args, error=RuntimeError, message="too large relative to input")]


for _dims in (2, 3):
    declare(
        f"aten::fractional_max_pool{_dims}d(Tensor self, int[{_dims}] kernel_size, int[{_dims}] output_size, "
        "Tensor random_samples) -> (Tensor, Tensor)",
        outs=("output(output, indices)",),
        kernel=fractional(f"fractional_max_pool{_dims}d", _dims),
        doc="The largest element of windows that begin at random places, and where it is.",
        dtype=value_and_index,
        shape=ranks.self_values_and_places,
        samples=partial(samples, _dims),
        errors=partial(too_many, _dims),
        is_method=False,
        is_function=False,
    )
