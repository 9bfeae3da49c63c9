"""Convolutions over arrays: products of weights with windows, and their transpose."""

from __future__ import annotations

from itertools import product
from math import prod
from typing import Any, Final

from flambeau.ops.channels_last import following, room
from flambeau.ops.convolution_calls import Fill, fill_for
from flambeau.ops.convolution_checks import Ints
from flambeau.ops.families.arrays import Array, contiguous
from flambeau.tensor.array_library import as_strided, np
from flambeau.util import blas

Made = tuple[Array, Fill | None]
"""A result, and the native code that made it."""


def padded(x: Array, before: Ints, after: Ints) -> Array:
    """Zeros around the spatial dimensions."""
    if not any(before) and not any(after):
        return x
    sizes = [n + b + a for n, b, a in zip(x.shape[2:], before, after, strict=True)]
    wider = np.zeros((*x.shape[:2], *sizes), x.dtype)
    inside = [slice(b, b + n) for n, b in zip(x.shape[2:], before, strict=True)]
    wider[(slice(None), slice(None), *inside)] = x
    return wider


def windows(x: Array, kernel: Ints, stride: Ints, dilation: Ints) -> Array:
    """A view (batch, channels, *kernel, *counts) of every window."""
    steps = x.strides[2:]
    reach = [d * (k - 1) + 1 for d, k in zip(dilation, kernel, strict=True)]
    counts = [(n - r) // s + 1 for n, r, s in zip(x.shape[2:], reach, stride, strict=True)]
    inner = [b * d for b, d in zip(steps, dilation, strict=True)]
    outer = [b * s for b, s in zip(steps, stride, strict=True)]
    sizes, strides = (*x.shape[:2], *kernel, *counts), (*x.strides[:2], *inner, *outer)
    windows: Array = as_strided(x, sizes, strides)
    return windows


COLUMNS: Final = 1 << 20
"""Bytes of windows that are laid out as columns at a time: they are read again while they are in the cache."""


def convolved(
    x: Array, weight: Array, bias: Array | None, stride: Ints, before: Ints, after: Ints, dilation: Ints, groups: int
) -> Made:
    """(batch, outputs, *counts), channels last where the input's are. Raises RuntimeError where the kernel does not
    fit.
    """
    kernel = weight.shape[2:]
    full = [s + b + a for s, b, a in zip(x.shape[2:], before, after, strict=True)]
    reach = [d * (k - 1) + 1 for d, k in zip(dilation, kernel, strict=True)]
    if any(f < r for f, r in zip(full, reach, strict=True)):
        raise RuntimeError(
            f"Calculated padded input size per channel: ({' x '.join(map(str, full))}). Kernel size: "
            f"({' x '.join(map(str, reach))}). Kernel size can't be greater than actual input size"
        )
    counts = [(f - r) // s + 1 for f, r, s in zip(full, reach, stride, strict=True)]
    result = room(x, weight.shape[0], counts)
    fill = fill_for(x, weight, result, stride, before, dilation, groups, False)
    if fill is not None:
        fill(x, weight, bias, result)
        return result, fill
    result[...] = _by_columns(x, weight, stride, before, after, dilation, groups)
    return _with_bias(result, bias), None


def _with_bias(result: Array, bias: Array | None) -> Array:
    return result if bias is None else np.add(result, bias.reshape(-1, *(1,) * (result.ndim - 2)), out=result)


def _by_columns(x: Array, weight: Array, stride: Ints, before: Ints, after: Ints, dilation: Ints, groups: int) -> Array:
    """The convolution of numbers that have no native code: windows laid out as columns, one product per group."""
    kernel = weight.shape[2:]
    seen = windows(padded(x, before, after), kernel, stride, dilation)
    batch, outputs, inner = x.shape[0], weight.shape[0], weight.shape[1]
    counts = seen.shape[2 + len(kernel) :]
    result = np.empty((batch, outputs, *counts), np.result_type(x, weight))
    if inner == 1 and groups == outputs:
        return _each_channel(seen, weight, result)
    rows, columns = inner * prod(kernel), prod(counts)
    filters = weight.reshape(groups, outputs // groups, rows)
    target = result.reshape(batch, groups, outputs // groups, columns)
    each = max(1, COLUMNS // max(1, groups * rows * columns * x.itemsize))
    for start in range(0, batch, each):
        part = seen[start : start + each]
        blas.matmul(filters, part.reshape(len(part), groups, rows, columns), out=target[start : start + each])
    return result


def _each_channel(seen: Array, weight: Array, result: Array) -> Array:
    """A depthwise convolution: one input channel for each output, summed over the kernel's elements."""
    result[...] = 0
    each = max(1, COLUMNS // (8 * max(1, result[:1].nbytes)))
    scratch = np.empty_like(result[:each])
    offsets: list[Any] = list(product(*map(range, weight.shape[2:])))
    factors = [weight[(slice(None), 0, *offset)].reshape(-1, *(1,) * (result.ndim - 2)) for offset in offsets]
    with np.errstate(all="ignore"):
        for start in range(0, len(result), each):
            target, part = result[start : start + each], seen[start : start + each]
            for offset, factor in zip(offsets, factors, strict=True):
                target += np.multiply(part[(slice(None), slice(None), *offset)], factor, out=scratch[: len(target)])
    return result


def scattered(
    x: Array, weight: Array, bias: Array | None, stride: Ints, padding: Ints, output_padding: Ints, dilation: Ints,
    groups: int,
) -> Made:  # fmt: skip
    """The transposed convolution (batch, outputs, *counts): every element spreads the kernel around it."""
    sizes = [
        (n - 1) * s + d * (k - 1) + 1 + o - 2 * p
        for n, s, d, k, o, p in zip(
            x.shape[2:], stride, dilation, weight.shape[2:], output_padding, padding, strict=True
        )
    ]
    if groups == 1 and min(*sizes, *[o + 1 for o in output_padding]) > 0 and _is_one_product(x, weight):
        folded = _by_one_product(x, weight, stride, padding, output_padding, dilation)
        return following(x, _with_bias(folded, bias)), None
    if min(sizes) > 0:
        result = room(x, weight.shape[1] * groups, sizes)
        fill = fill_for(x, weight, result, stride, padding, dilation, groups, True)
        if fill is not None:
            fill(x, weight, bias, result)
            return result, fill
    spread_out = contiguous(_spread_out(x, weight, stride, padding, output_padding, dilation, groups))
    return following(x, _with_bias(spread_out, bias)), None


FEW_PLACES: Final = 16
"""Places of an image up to which a product over all images, whose parts are added up, goes faster."""
LEAST_ROWS: Final = 64
"""Places of all images from which on it makes up for reading the weight once more."""
MANY_PAIRS: Final = 1 << 14
"""Pairs of an input and an output from which on it makes up for adding the parts up."""


def _is_one_product(x: Array, weight: Array) -> bool:
    """Whether images are so small, and so many, and have so many channels, that one product is the quickest."""
    positions = prod(x.shape[2:])
    if type(x) is not np.ndarray or prod(weight.shape[2:]) == 1 or x.dtype.char not in "fd":
        return False
    return bool(positions <= FEW_PLACES and len(x) * positions >= LEAST_ROWS and prod(weight.shape[:2]) >= MANY_PAIRS)


def _by_one_product(
    x: Array, weight: Array, stride: Ints, padding: Ints, output_padding: Ints, dilation: Ints
) -> Array:
    """The transposed convolution of small images, which lie innermost so that whole rows of parts are added."""
    inner, outputs, *kernel = weight.shape
    rows = np.ascontiguousarray(np.moveaxis(x, 0, -1)).reshape(inner, -1)
    parts = blas.matmul(weight.reshape(inner, -1).T, rows).reshape(outputs, prod(kernel), *x.shape[2:], len(x))
    full = _full_sizes(x, kernel, stride, output_padding, dilation)
    result = _added_up(parts, np.zeros((outputs, *full, len(x)), parts.dtype), kernel, stride, dilation)
    cut = tuple(slice(p, f - p) for p, f in zip(padding, full, strict=True))
    return np.ascontiguousarray(np.moveaxis(result[(slice(None), *cut)], -1, 0))


def _full_sizes(x: Array, kernel: Ints, stride: Ints, output_padding: Ints, dilation: Ints) -> list[int]:
    """The sizes of what elements spread over, before padding is cut off."""
    return [
        (n - 1) * s + d * (k - 1) + 1 + max(o, 0)
        for n, s, d, k, o in zip(x.shape[2:], stride, dilation, kernel, output_padding, strict=True)
    ]


def _added_up(parts: Array, result: Array, kernel: Ints, stride: Ints, dilation: Ints) -> Array:
    """`result` (outputs, *full, images) with what each element of the kernel gives added, (outputs, taps, *sizes,
    images)."""
    sizes = parts.shape[2:-1]
    with np.errstate(all="ignore"):
        for i, offset in enumerate(product(*map(range, kernel))):
            numbers = zip(offset, dilation, sizes, stride, strict=True)
            target = [slice(p * d, p * d + (n - 1) * s + 1, s) for p, d, n, s in numbers]
            result[(slice(None), *target)] += parts[:, i]
    return result


def _spread_out(
    x: Array, weight: Array, stride: Ints, padding: Ints, output_padding: Ints, dilation: Ints, groups: int
) -> Array:
    """The transposed convolution of numbers that have no native code."""
    kernel, batch = weight.shape[2:], x.shape[0]
    inner, outputs = weight.shape[0] // groups, weight.shape[1]
    around = [d * (k - 1) - p for d, k, p in zip(dilation, kernel, padding, strict=True)]
    if all(s == 1 for s in stride) and min(around) >= 0 and min(output_padding) >= 0:
        by_output = weight.reshape(groups, inner, outputs, *kernel).swapaxes(1, 2)
        turned = np.flip(by_output, tuple(range(3, 3 + len(kernel)))).reshape(groups * outputs, inner, *kernel)
        behind = [a + o for a, o in zip(around, output_padding, strict=True)]
        return _by_columns(x, np.ascontiguousarray(turned), stride, around, behind, dilation, groups)
    full = _full_sizes(x, kernel, stride, output_padding, dilation)
    rows = x.reshape(batch, groups, inner, prod(x.shape[2:]))
    filters = weight.reshape(groups, inner, outputs * prod(kernel)).transpose(0, 2, 1)
    parts = blas.matmul(filters, rows).reshape(batch, groups * outputs, prod(kernel), *x.shape[2:])
    result = np.zeros((batch, groups * outputs, *full), parts.dtype)
    for i, offset in enumerate(product(*map(range, kernel))):
        target = tuple(
            slice(p * d, p * d + (n - 1) * s + 1, s)
            for p, d, n, s in zip(offset, dilation, x.shape[2:], stride, strict=True)
        )
        result[(slice(None), slice(None), *target)] += parts[:, :, i]
    cut = tuple(slice(p, f - p) for p, f in zip(padding, full, strict=True))
    return result[(slice(None), slice(None), *cut)]
