"""Outer and inner products, tensordot, einsum, and chains of matrix products."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import prod
from typing import Any, Final

from flambeau.ops.families import ranks
from flambeau.ops.families.arrays import Array, is_half, one_dim, reduce_with, widened
from flambeau.ops.families.opaque import declare
from flambeau.ops.families.promotion import common_dtype
from flambeau.ops.families.rules import accumulate_dtype, same_dtype
from flambeau.ops.joining import common
from flambeau.ops.product_checks import ULP, check_matrices
from flambeau.ops.products import grid, mm_kernel
from flambeau.schema.dtype import DType
from flambeau.schema.opdef import ErrorSample, Sample, Sizes
from flambeau.schema.types import TensorType
from flambeau.tensor.array_library import is_host_array, np
from flambeau.tensor.layout import broadcast
from flambeau.util import blas


def outer_kernel(self: Array, vec2: Array) -> Array:
    """Raises RuntimeError unless both are vectors. Dtypes are promoted."""
    for name, array in (("self", self), ("vec2", vec2)):
        if array.ndim != 1:
            raise RuntimeError(f"outer: Expected 1-D argument {name}, but got {array.ndim}-D")
    a, b = common([self, vec2])
    return np.asarray(np.multiply.outer(widened(a), widened(b))).astype(a.dtype, copy=False)


def inner_kernel(self: Array, other: Array) -> Array:
    """Over the last dimensions; a 0-dim tensor multiplies. Raises RuntimeError where these differ."""
    if self.ndim == 0 or other.ndim == 0:
        return np.asarray(self * other)
    if self.shape[-1] != other.shape[-1]:
        raise RuntimeError(
            "inner() the last dimension must match on both input tensors but got shapes "
            f"{list(self.shape)} and {list(other.shape)}"
        )
    return tensordot_kernel(self, other, [self.ndim - 1], [other.ndim - 1])


def tensordot_kernel(self: Array, other: Array, dims_self: Sequence[int], dims_other: Sequence[int]) -> Array:
    """Raises RuntimeError where the contracted sizes differ; a size of one is stretched by summing."""
    if len(dims_self) != len(dims_other):
        raise RuntimeError(
            f"both dimension lists should have same length, got {list(dims_self)} and {list(dims_other)}"
        )
    if self.dtype != other.dtype:
        raise RuntimeError("tensordot: both inputs should have same dtype")
    mine = [one_dim(d, self.ndim) for d in dims_self]
    theirs = [one_dim(d, other.ndim) for d in dims_other]
    a, b = _summed_to_equal_sizes(self, other, mine, theirs)
    free_a = [i for i in range(a.ndim) if i not in mine]
    free_b = [j for j in range(b.ndim) if j not in theirs]
    inner = prod([a.shape[i] for i in mine])
    sizes = [a.shape[i] for i in free_a], [b.shape[j] for j in free_b]
    left = a.transpose(free_a + mine).reshape(prod(sizes[0]), inner)
    right = b.transpose(theirs + free_b).reshape(inner, prod(sizes[1]))
    return mm_kernel(left, right).reshape(sizes[0] + sizes[1])


def _summed_to_equal_sizes(a: Array, b: Array, dims_a: Sequence[int], dims_b: Sequence[int]) -> tuple[Array, Array]:
    """Both arrays, summed along each contracted dimension in which the other has the size one."""
    for i, j in zip(dims_a, dims_b, strict=True):
        if b.shape[j] == 1 and a.shape[i] != 1:
            a = reduce_with(np.add, a, axis=i, keepdims=True, dtype=a.dtype)
        elif a.shape[i] == 1 and b.shape[j] != 1:
            b = reduce_with(np.add, b, axis=j, keepdims=True, dtype=b.dtype)
        elif a.shape[i] != b.shape[j]:
            raise RuntimeError(
                f"contracted dimensions need to match, but first has size {a.shape[i]} in dim {i} and second has size "
                f"{b.shape[j]} in dim {j}"
            )
    return a, b


def kron_kernel(self: Array, other: Array) -> Array:
    """Every element of the first times the whole second."""
    a, b = common([self, other])
    rank = max(a.ndim, b.ndim)
    sizes_a, sizes_b = (1,) * (rank - a.ndim) + a.shape, (1,) * (rank - b.ndim) + b.shape
    left = widened(a).reshape([n for size in sizes_a for n in (size, 1)])
    right = widened(b).reshape([n for size in sizes_b for n in (1, size)])
    product = np.asarray(left * right).reshape([m * n for m, n in zip(sizes_a, sizes_b, strict=True)])
    return product.astype(a.dtype, copy=False)


def chain_kernel(matrices: Sequence[Array]) -> Array:
    """The product of all, from the left or from the right, whichever is cheaper."""
    arrays = list(matrices)
    if not arrays:
        raise RuntimeError("chain_matmul(): Expected one or more matrices")
    for a, b in pairwise(arrays):
        check_matrices(a, b)
    result = arrays[0] if len(arrays) > 1 else arrays[0].copy()
    if len(arrays) > 2 and is_host_array(result):
        dtype = arrays[0].dtype
        return np.asarray(blas.linalg.multi_dot([widened(a) for a in arrays])).astype(dtype, copy=False)
    for other in arrays[1:]:
        result = mm_kernel(result, other)
    return result


def multi_dot_kernel(tensors: Sequence[Array]) -> Array:
    """The product of a chain of matrices; the first and last may be vectors. Raises RuntimeError for fewer than two."""
    if len(tensors) < 2:
        raise RuntimeError(f"multi_dot(): expected at least 2 tensors but got {len(tensors)}")
    for i, one in enumerate(tensors):
        is_end = i in (0, len(tensors) - 1)
        if one.ndim != 2 and not (is_end and one.ndim == 1):
            kinds = "1D or 2D" if is_end else "2D"
            which = "the first" if i == 0 else "the last" if is_end else str(i)
            raise RuntimeError(f"multi_dot(): {which} tensor must be {kinds} but got {one.ndim}D")
    first = tensors[0].reshape(1, -1) if tensors[0].ndim == 1 else tensors[0]
    last = tensors[-1].reshape(-1, 1) if tensors[-1].ndim == 1 else tensors[-1]
    result = chain_kernel([first, *tensors[1:-1], last])
    result = result[0] if tensors[0].ndim == 1 else result
    return result[..., 0] if tensors[-1].ndim == 1 else result


def cross_kernel(self: Array, other: Array, dim: int = -1) -> Array:
    """Raises RuntimeError unless both have three elements along `dim` and broadcast."""
    if self.ndim != other.ndim:
        raise RuntimeError("linalg.cross: inputs must have the same number of dimensions.")
    axis = one_dim(dim, self.ndim)
    if self.shape[axis] != 3 or other.shape[axis] != 3:
        raise RuntimeError(
            f"linalg.cross: inputs dimension {dim} must have length 3. Got {self.shape[axis]} and {other.shape[axis]}"
        )
    if self.dtype == np.bool_:
        raise NotImplementedError("\"cross\" not implemented for 'Bool'")
    shape = broadcast(self.shape, other.shape)
    arrays = [np.moveaxis(np.broadcast_to(widened(x), shape), axis, 0) for x in common([self, other])]
    (a0, a1, a2), (b0, b1, b2) = arrays
    products = np.stack([a1 * b2 - a2 * b1, a2 * b0 - a0 * b2, a0 * b1 - a1 * b0], axis=axis)
    return np.ascontiguousarray(products).astype(common([self, other])[0].dtype, copy=False)


def old_cross_kernel(self: Array, other: Array, dim: int | None = None) -> Array:
    """Without `dim`, the first dimension of size three is meant."""
    if dim is None:
        threes = [i for i, s in enumerate(self.shape) if s == 3]
        if not threes:
            raise RuntimeError("no dimension of size 3 in input")
        dim = threes[0]
    return cross_kernel(self, other, dim)


def bilinear_kernel(input1: Array, input2: Array, weight: Array, bias: Array | None = None) -> Array:
    """`input1 @ weight[o] @ input2` for every output o, over the last dimensions."""
    if input1.ndim != input2.ndim:
        raise RuntimeError(f"bilinear(): input dimensions do not match: got {input1.ndim} and {input2.ndim}")
    for d in range(input1.ndim - 1):
        if input1.shape[d] != input2.shape[d]:
            raise RuntimeError(
                f"bilinear(): input batch dimensions do not match at dim {d}: got {input1.shape[d]} and "
                f"{input2.shape[d]}"
            )
    for i, array in ((1, input1), (2, input2)):
        if array.shape[-1] != weight.shape[i]:
            raise RuntimeError(
                f"bilinear(): input{i} size does not match weight size: got {array.shape[-1]} but expected "
                f"{weight.shape[i]}"
            )
    a, b, w = widened(input1), widened(input2), widened(weight)
    result = blas.einsum("...i,oij,...j->...o", a, w, b, optimize=True)
    if bias is not None:
        result = result + bias
    return np.ascontiguousarray(result).astype(input1.dtype, copy=False)


def trace_kernel(self: Array) -> Array:
    """Raises RuntimeError unless it is a matrix."""
    if self.ndim != 2:
        raise RuntimeError(f"trace: expected a matrix, but got tensor with dim {self.ndim}")
    if self.dtype.kind in "bui":
        return np.asarray(np.trace(self, dtype=np.int64))
    if is_host_array(self) and not is_half(self):
        return np.asarray(np.add.reduce(self.diagonal()))
    return np.asarray(np.trace(widened(self))).astype(self.dtype, copy=False)


def outer_shape(self: TensorType, vec2: TensorType) -> Sizes | None:
    """A row per element of the first."""
    return None if self.sizes is None or vec2.sizes is None else (*self.sizes, *vec2.sizes)


def outer_dtype(self: TensorType, vec2: TensorType) -> DType | None:
    """The promoted dtype."""
    return common_dtype((self, vec2))


def common_other(self: TensorType, other: TensorType) -> DType | None:
    """The promoted dtype."""
    return common_dtype((self, other))


def _inner_shape(self: TensorType, other: TensorType) -> Sizes | None:
    if self.sizes is None or other.sizes is None:
        return None
    if not self.sizes or not other.sizes:
        return ranks.larger(self, other)
    return (*self.sizes[:-1], *other.sizes[:-1])


def _tensordot_shape(self: TensorType, other: TensorType, dims_self: Any) -> Sizes | None:
    if self.sizes is None or other.sizes is None or not isinstance(dims_self, list | tuple):
        return None
    return ranks.of_rank(len(self.sizes) + len(other.sizes) - 2 * len(dims_self))


def _multi_dot_shape(tensors: Any) -> Sizes | None:
    """A vector at either end loses its dimension."""
    if not isinstance(tensors, list | tuple) or any(t.sizes is None for t in tensors):
        return None
    return ranks.of_rank(2 - sum(len(t.sizes) == 1 for t in (tensors[0], tensors[-1])))


VECTORS: Final[Any] = lambda: [Sample(args=(grid(2), grid(3)))]  # noqa: E731

for _name in ("outer", "ger"):
    declare(
        f"aten::{_name}(Tensor self, Tensor vec2) -> Tensor",
        outs=("out",),
        kernel=outer_kernel,
        accumulator="outer",
        doc="Every product of an element of the first vector and one of the second." if _name == "outer" else "",
        dtype=outer_dtype,
        shape=outer_shape,
        samples=VECTORS,
        errors=lambda: [
            ErrorSample(
                args=(grid(2, 2), grid(2)),
                error=RuntimeError,
                message="outer: Expected 1-D argument self, but got 2-D",
            )
        ],
        reference=np.outer,
    )

declare(
    "aten::inner(Tensor self, Tensor other) -> Tensor",
    outs=("out",),
    kernel=inner_kernel,
    doc="Products summed over the last dimension of both.",
    dtype=same_dtype,
    shape=_inner_shape,
    samples=lambda: [Sample(args=(grid(3), grid(3))), Sample(args=(grid(2, 3), grid(4, 3)))],
    reference=np.inner,
    ulp=ULP,
)

declare(
    "aten::tensordot(Tensor self, Tensor other, int[] dims_self, int[] dims_other) -> Tensor",
    outs=("out",),
    kernel=tensordot_kernel,
    doc="Products summed over pairs of dimensions, the remaining ones in order.",
    dtype=same_dtype,
    shape=_tensordot_shape,
    samples=lambda: [Sample(args=(grid(2, 3, 4), grid(4, 3, 5), [1, 2], [1, 0]))],
    reference=lambda self, other, a, b: np.tensordot(self, other, (a, b)),
    ulp=ULP,
    is_method=False,
    is_function=False,
)

declare(
    "aten::kron(Tensor self, Tensor other) -> Tensor",
    outs=("out",),
    kernel=kron_kernel,
    doc="Every element of the first times the whole second, as blocks.",
    dtype=common_other,
    shape=ranks.larger,
    samples=lambda: [Sample(args=(grid(2, 2), grid(2, 3)))],
    reference=np.kron,
)

declare(
    "aten::chain_matmul(Tensor[] matrices) -> Tensor",
    outs=("out",),
    kernel=chain_kernel,
    dtype=lambda matrices: ranks.promoted(*ranks.elements_of(matrices)),
    shape=ranks.matrix,
    doc="The product of several matrices in the cheapest order.",
    samples=lambda: [Sample(args=([grid(2, 3), grid(3, 4), grid(4, 2)],))],
    ulp=ULP,
    is_method=False,
)

declare(
    "aten::linalg_multi_dot(Tensor[] tensors) -> Tensor",
    outs=("out",),
    kernel=multi_dot_kernel,
    dtype=lambda tensors: ranks.promoted(*ranks.elements_of(tensors)),
    shape=_multi_dot_shape,
    samples=lambda: [Sample(args=([grid(3), grid(3, 4), grid(4, 2)],))],
    ulp=ULP,
    is_method=False,
)

declare(
    "aten::linalg_cross(Tensor self, Tensor other, *, int dim=-1) -> Tensor",
    outs=("out",),
    kernel=cross_kernel,
    dtype=common_other,
    shape=ranks.both,
    samples=lambda: [Sample(args=(grid(2, 3), grid(2, 3)))],
    reference=np.cross,
    is_method=False,
)

declare(
    "aten::cross(Tensor self, Tensor other, int? dim=None) -> Tensor",
    outs=("out",),
    kernel=old_cross_kernel,
    doc="The cross product along a dimension of size three.",
    dtype=common_other,
    shape=ranks.both,
    samples=lambda: [Sample(args=(grid(2, 3), grid(2, 3)))],
)

declare(
    "aten::bilinear(Tensor input1, Tensor input2, Tensor weight, Tensor? bias=None) -> Tensor",
    kernel=bilinear_kernel,
    dtype=lambda input1: input1.dtype,
    shape=lambda input1: ranks.self_rank(input1),
    doc="`input1 @ weight[o] @ input2 + bias[o]` for every output o.",
    samples=lambda: [Sample(args=(grid(2, 3), grid(2, 4), grid(5, 3, 4), grid(5)))],
    ulp=ULP,
    is_method=False,
)

declare(
    "aten::trace(Tensor self) -> Tensor",
    outs=("out",),
    kernel=trace_kernel,
    dtype=lambda self: None if self.dtype is None else accumulate_dtype(self.dtype),
    shape=ranks.no_dims,
    doc="The sum of the diagonal of a matrix.",
    samples=lambda: [Sample(args=(grid(3, 3),))],
    reference=np.trace,
)
