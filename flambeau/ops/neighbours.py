"""Differences of neighbours, patches of images, distances between rows."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, prod
from typing import Any, Final

from flambeau.ops.convolution_windows import padded, windows
from flambeau.ops.families import ranks
from flambeau.ops.families.arrays import Array, contiguous, dtype_of, is_float, one_dim, reduce_with, widened
from flambeau.ops.families.element_loops import FLOATS, loop_for
from flambeau.ops.families.opaque import declare
from flambeau.ops.families.rules import same_dtype
from flambeau.ops.joining import cat_kernel
from flambeau.ops.small_tensors import signed
from flambeau.ops.spread import folded_norm
from flambeau.schema.dtype import float32
from flambeau.schema.opdef import UNKNOWN, ErrorSample, Sample, Sizes
from flambeau.schema.types import TensorType
from flambeau.tensor.array_library import np
from flambeau.tensor.layout import broadcast

Ints = Sequence[int]


def diff_kernel(
    self: Array, n: int = 1, dim: int = -1, prepend: Array | None = None, append: Array | None = None
) -> Array:
    """Neighbours subtracted `n` times; bools are compared."""
    if self.ndim == 0:
        raise RuntimeError("diff expects input to be at least one-dimensional")
    if n < 0:
        raise RuntimeError(f"order must be non-negative but got {n}")
    axis = one_dim(dim, self.ndim)
    parts = [p for p in (prepend, self, append) if p is not None]
    for one in parts:
        if one.ndim != self.ndim:
            raise RuntimeError("diff expects prepend or append to be the same dimension as input")
    if n == 0:
        return contiguous(self).copy()
    array = cat_kernel(parts, axis) if len(parts) > 1 else self
    if n >= array.shape[axis]:
        shape = (*array.shape[:axis], 0, *array.shape[axis + 1 :])
        return np.empty(shape, array.dtype)
    differences = np.diff(array, n, axis=axis)
    return contiguous(differences)


def im2col_kernel(self: Array, kernel_size: Ints, dilation: Ints, padding: Ints, stride: Ints) -> Array:
    """(batch, channels, height, width) to (batch, channels * kernel, windows)."""
    kernel, dilations, pads, strides = (_two(v) for v in (kernel_size, dilation, padding, stride))
    if self.ndim not in (3, 4):
        raise RuntimeError(
            "Expected 3D or 4D (batch mode) tensor with possibly 0 batch size and other non-zero dimensions for "
            "input, but "
            f"got: {list(self.shape)}"
        )
    image = self[None] if self.ndim == 3 else self
    count_windows(image.shape[2:], kernel, dilations, pads, strides)
    seen = windows(padded(image, pads, pads), kernel, strides, dilations)
    columns = seen.copy().reshape(image.shape[0], image.shape[1] * prod(kernel), prod(seen.shape[4:]))
    return columns[0] if self.ndim == 3 else columns


def count_windows(sizes: Ints, kernel: Ints, dilation: Ints, padding: Ints, stride: Ints) -> list[int]:
    """How many windows fit along each dimension. Raises RuntimeError for none."""
    counts = [
        (n + 2 * p - d * (k - 1) - 1) // s + 1
        for n, k, d, p, s in zip(sizes, kernel, dilation, padding, stride, strict=True)
    ]
    if min(counts) < 1:
        shown = ", ".join(map(str, counts))
        raise RuntimeError(
            f"Given input with spatial size ({sizes[0]}, {sizes[1]}), kernel_size=({kernel[0]}, {kernel[1]}), "
            f"dilation=({dilation[0]}, {dilation[1]}), padding=({padding[0]}, {padding[1]}), calculated shape of "
            f"the array "
            f"of sliding blocks as ({shown}), but its components must be at least one."
        )
    return counts


def col2im_kernel(
    self: Array, output_size: Ints, kernel_size: Ints, dilation: Ints, padding: Ints, stride: Ints
) -> Array:
    """The windows of `im2col` added up where they came from."""
    kernel, dilations, pads, strides = (_two(v) for v in (kernel_size, dilation, padding, stride))
    sizes = _two(output_size)
    if self.ndim not in (2, 3):
        raise RuntimeError(
            "Expected 2D or 3D (batch mode) tensor for input with possibly 0 batch size and non-zero dimensions for "
            f"input, but got: {list(self.shape)}"
        )
    columns = self[None] if self.ndim == 2 else self
    counts = count_windows(sizes, kernel, dilations, pads, strides)
    if columns.shape[1] % prod(kernel):
        raise RuntimeError(
            "Expected size of input's dimension 1 to be divisible by the product of kernel_size, but got "
            f"input.size(1)={columns.shape[1]} and kernel_size=({kernel[0]}, {kernel[1]})."
        )
    if columns.shape[2] != prod(counts):
        raise RuntimeError(
            f"Given output_size=({sizes[0]}, {sizes[1]}), expected size of input's dimension 2 to match the "
            f"calculated number "
            f"of sliding blocks {counts[0]} * {counts[1]} = {prod(counts)}, but got input.size(2)={columns.shape[2]}."
        )
    channels = columns.shape[1] // prod(kernel)
    parts = widened(columns).reshape(columns.shape[0], channels, *kernel, *counts)
    full = [n + 2 * p for n, p in zip(sizes, pads, strict=True)]
    image = np.zeros((columns.shape[0], channels, *full), parts.dtype)
    for i, j in np.ndindex(*kernel):
        top, left = i * dilations[0], j * dilations[1]
        rows = slice(top, top + strides[0] * (counts[0] - 1) + 1, strides[0])
        cols = slice(left, left + strides[1] * (counts[1] - 1) + 1, strides[1])
        image[:, :, rows, cols] += parts[:, :, i, j]
    inside = contiguous(image[:, :, pads[0] : full[0] - pads[0], pads[1] : full[1] - pads[1]])
    inside = inside.astype(self.dtype, copy=False)
    return inside[0] if self.ndim == 2 else inside


def _two(values: Ints) -> tuple[int, ...]:
    return (int(values[0]),) * 2 if len(values) == 1 else tuple(int(v) for v in values)


def cdist_kernel(x1: Array, x2: Array, p: float = 2.0, compute_mode: int | None = None) -> Array:
    """The norm of the difference of every row of the first and every row of the second."""
    for name, array in (("X1", x1), ("X2", x2)):
        if not is_float(array):
            raise RuntimeError(f"cdist only supports floating-point dtypes, {name} got: {dtype_of(array).display}")
    if x1.ndim < 2 or x2.ndim < 2:
        which = "X1" if x1.ndim < 2 else "X2"
        got = x1.ndim if x1.ndim < 2 else x2.ndim
        raise RuntimeError(f"cdist only supports at least 2D tensors, {which} got: {got}D")
    if x1.shape[-1] != x2.shape[-1]:
        raise RuntimeError(f"X1 and X2 must have the same number of columns. X1: {x1.shape[-1]} X2: {x2.shape[-1]}")
    if p < 0:
        raise RuntimeError("cdist only supports non-negative p values")
    broadcast(x1.shape[:-2], x2.shape[:-2])
    left, right = widened(x1), widened(x2)
    quick = _distances_natively(left, right, float(p))
    if quick is not None:
        return quick.astype(x1.dtype)
    each = max(1, _IN_CACHE // max(1, right.nbytes))
    starts = range(0, max(1, left.shape[-2]), each)
    parts = [_distances(left[..., start : start + each, :], right, float(p)) for start in starts]
    distances = parts[0] if len(parts) == 1 else np.concatenate(parts, axis=-2)
    return contiguous(distances.astype(x1.dtype, copy=False))


_IN_CACHE: Final = 1 << 18
"""Bytes of differences that are made at a time: they are gone over several times while they are in the cache."""


def add_squares(left: np.ndarray, turned: np.ndarray, sums: np.ndarray) -> None:
    """sums[i, j] += the squares of the differences of row i and column j."""
    for i in range(left.shape[0]):
        for k in range(left.shape[1]):
            number = float(left[i, k])
            for j in range(turned.shape[1]):
                sums[i, j] += (number - turned[k, j]) * (number - turned[k, j])


def add_sizes(left: np.ndarray, turned: np.ndarray, sums: np.ndarray) -> None:
    """sums[i, j] += the absolute differences of row i and column j."""
    for i in range(left.shape[0]):
        for k in range(left.shape[1]):
            number = float(left[i, k])
            for j in range(turned.shape[1]):
                sums[i, j] += abs(number - turned[k, j])


def add_pair_squares(rows: np.ndarray, turned: np.ndarray, sums: np.ndarray) -> None:
    """sums[pair] += the squares of the differences of rows i and j, for all pairs i < j."""
    count = rows.shape[0]
    start = -1
    for i in range(count):
        for k in range(rows.shape[1]):
            number = float(rows[i, k])
            for j in range(i + 1, count):
                sums[start + j] += (number - turned[k, j]) * (number - turned[k, j])
        start += count - i - 2


def add_pair_sizes(rows: np.ndarray, turned: np.ndarray, sums: np.ndarray) -> None:
    """sums[pair] += the absolute differences of rows i and j, for all pairs i < j."""
    count = rows.shape[0]
    start = -1
    for i in range(count):
        for k in range(rows.shape[1]):
            number = float(rows[i, k])
            for j in range(i + 1, count):
                sums[start + j] += abs(number - turned[k, j])
        start += count - i - 2


def _pairs_natively(rows: Array, p: float) -> Array | None:
    """Norms of order 1 and 2 between all pairs of rows, added up in float64; None for others."""
    if p not in (1.0, 2.0) or rows.dtype not in FLOATS:
        return None
    loop = loop_for(add_pair_sizes if p == 1.0 else add_pair_squares, rows.size * len(rows))
    if loop is None:
        return None
    sums = np.zeros(len(rows) * (len(rows) - 1) // 2)
    loop(np.ascontiguousarray(rows), np.ascontiguousarray(rows.T), sums)
    return sums if p == 1.0 else np.sqrt(sums, out=sums)


def _distances_natively(left: Array, right: Array, p: float) -> Array | None:
    """Norms of order 1 and 2 between rows of two matrices, added up in float64; None for others."""
    if p not in (1.0, 2.0) or left.ndim != 2 or right.ndim != 2 or left.dtype != right.dtype:
        return None
    loop = loop_for(add_sizes if p == 1.0 else add_squares, left.size * len(right))
    if loop is None or left.dtype not in FLOATS:
        return None
    sums = np.zeros((len(left), len(right)))
    loop(np.ascontiguousarray(left), np.ascontiguousarray(right.T), sums)
    return sums if p == 1.0 else np.sqrt(sums, out=sums)


def _distances(left: Array, right: Array, p: float) -> Array:
    differences = np.abs(left[..., :, None, :] - right[..., None, :, :])
    return folded_norm(differences, (differences.ndim - 1,), False, p)


def diff_shape(self: TensorType, n: Any, dim: Any, prepend: Any, append: Any) -> Sizes | None:
    """The dimension shrinks by `n`."""
    if self.sizes is None or n is UNKNOWN or dim is UNKNOWN or prepend is not None or append is not None:
        return None
    axis = one_dim(dim, len(self.sizes))
    return tuple((None if s is None or s < 0 else max(s - n, 0)) if i == axis else s for i, s in enumerate(self.sizes))


declare(
    "aten::diff(Tensor self, int n=1, int dim=-1, Tensor? prepend=None, Tensor? append=None) -> Tensor",
    outs=("out",),
    kernel=diff_kernel,
    doc="Every element less its predecessor along `dim`, `n` times over.",
    dtype=same_dtype,
    shape=diff_shape,
    samples=lambda: [Sample(args=(signed(2, 4),)), Sample(args=(signed(3, 2), 2, 0))],
    reference=np.diff,
)

declare(
    "aten::im2col(Tensor self, int[2] kernel_size, int[2] dilation, int[2] padding, int[2] stride) -> Tensor",
    outs=("out",),
    kernel=im2col_kernel,
    doc="Every window of an image as a column.",
    dtype=same_dtype,
    shape=lambda self: ranks.self_rank(self, -1),
    samples=lambda: [Sample(args=(signed(2, 3, 4, 5), [2, 3], [1, 1], [1, 0], [2, 1]))],
    is_method=False,
    is_function=False,
)

declare(
    "aten::col2im(Tensor self, SymInt[2] output_size, int[2] kernel_size, int[2] dilation, int[2] padding, int[2] "
    "stride)"
    " -> Tensor",
    outs=("out",),
    kernel=col2im_kernel,
    doc="Columns added up where the windows of `im2col` come from.",
    dtype=same_dtype,
    shape=ranks.one_more,
    samples=lambda: [Sample(args=(signed(1, 8, 4), [3, 3], [2, 2], [1, 1], [0, 0], [1, 1]))],
    is_method=False,
    is_function=False,
)

declare(
    "aten::cdist(Tensor x1, Tensor x2, float p=2., int? compute_mode=None) -> Tensor",
    kernel=cdist_kernel,
    dtype=lambda x1: x1.dtype,
    shape=lambda x1, x2: ranks.larger(x1, x2),
    doc="The distance of every row of the first from every row of the second.",
    samples=lambda: [Sample(args=(signed(2, 3), signed(4, 3))), Sample(args=(signed(2, 3), signed(4, 3), 1.0))],
    reference=lambda a, b, p=2: np.linalg.norm(a[:, None] - b[None], ord=p, axis=-1),
    is_method=False,
)


def pdist_kernel(self: Array, p: float = 2.0) -> Array:
    """Row i from row j for all i < j. Raises RuntimeError for what is no matrix of floats, and for negative p."""
    if self.ndim != 2:
        raise RuntimeError(f"pdist only supports 2D tensors, got: {self.ndim}D")
    if not is_float(self):
        raise RuntimeError("pdist only supports floating-point dtypes")
    if p < 0:
        raise RuntimeError("pdist only supports non-negative p values")
    quick = _pairs_natively(self, float(p))
    if quick is not None:
        return quick.astype(self.dtype)
    first, second = np.triu_indices(len(self), 1)
    away = np.abs(widened(self)[first] - widened(self)[second])
    if p == 0:
        distances = (away != 0).sum(axis=1).astype(away.dtype)
    elif p == inf:
        distances = reduce_with(np.maximum, away, axis=1, initial=0)
    else:
        distances = np.asarray(reduce_with(np.add, away**p, axis=1) ** away.dtype.type(1 / p))
    return np.asarray(distances).astype(self.dtype, copy=False)


declare(
    "aten::pdist(Tensor self, float p=2.) -> Tensor",
    kernel=pdist_kernel,
    doc="The distance of every row from every later one.",
    dtype=same_dtype,
    shape=ranks.vector,
    samples=lambda: [Sample(args=(signed(4, 3), p)) for p in (2.0, 1.0, 0.0, inf, 3.0)],
    errors=lambda: [
        ErrorSample(args=(signed(4),), error=RuntimeError, message="pdist only supports 2D tensors, got: 1D"),
        ErrorSample(args=(signed(4, 3), -1.0), error=RuntimeError, message="non-negative p values"),
    ],
    reference=lambda a, p=2: np.array(
        [np.linalg.norm(a[i].astype(float) - a[j], ord=p) for i in range(len(a)) for j in range(i + 1, len(a))]
    ),
    ulp={float32: 8.0},
    is_method=False,
    namespaces=("nn.functional",),
)
