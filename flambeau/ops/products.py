"""Products of matrices and vectors. float16 and bfloat16 are multiplied in float32 and rounded once."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from flambeau.ops.families.arrays import Array, dtype_of, not_implemented, shape_text, widened
from flambeau.ops.families.opaque import declare
from flambeau.ops.families.pointwise_layout import broadcast_known
from flambeau.ops.families.rules import input_dtype, same_dtype
from flambeau.ops.product_checks import (
    ULP,
    check_batches,
    check_expands,
    check_matrices,
    check_stacks,
    check_vectors,
    fits,
    multiplied,
    wide_product,
)
from flambeau.schema.opdef import ErrorSample, Sample, Sizes
from flambeau.schema.traits import Traits
from flambeau.schema.types import TensorType
from flambeau.tensor.array_library import np
from flambeau.tensor.tensor import wrap
from flambeau.util import blas


def mm_kernel(self: Array, mat2: Array) -> Array:
    """Two matrices."""
    if fits(self, mat2):
        return blas.small_matmul(self, mat2)  # type: ignore[no-any-return]
    check_matrices(self, mat2)
    return multiplied(self, mat2)


def bmm_kernel(self: Array, mat2: Array) -> Array:
    """Two stacks of matrices."""
    check_stacked(self, mat2)
    if self.dtype.char in "fd" and blas.is_small(self, mat2):
        return blas.small_matmul(self, mat2)  # type: ignore[no-any-return]
    return multiplied(self, mat2)


def check_stacked(self: Array, mat2: Array) -> None:
    """Raise RuntimeError unless two stacks of matrices can be multiplied."""
    check_batches(self, mat2)
    if self.dtype == np.bool_:
        raise not_implemented("bmm", dtype_of(self))


def mv_kernel(self: Array, vec: Array) -> Array:
    """A matrix and a vector."""
    check_matrix_and_vector(self, vec)
    if self.dtype.char in "fd" and blas.is_small(self, vec):
        return blas.small_matmul(self, vec)  # type: ignore[no-any-return]
    return multiplied(self, vec)


def check_matrix_and_vector(self: Array, vec: Array) -> None:
    """Raise RuntimeError unless a matrix and a vector can be multiplied."""
    if self.ndim != 2 or vec.ndim != 1:
        raise RuntimeError(f"vector + matrix @ vector expected, got {min(self.ndim, 1)}, {self.ndim}, {vec.ndim}")
    if self.shape[1] != vec.shape[0]:
        raise RuntimeError(
            f"size mismatch, got input ({self.shape[0]}), mat ({shape_text(self)}), vec ({vec.shape[0]})"
        )
    if self.dtype != vec.dtype:
        names = dtype_of(vec).display, dtype_of(self).display, dtype_of(vec).display
        raise RuntimeError("addmv input tensors must have the same dtype, but got {}, {}, and {}".format(*names))
    if self.dtype == np.bool_:
        raise not_implemented("addmv_impl_cpu", dtype_of(self))


def dot_kernel(self: Array, tensor: Array) -> Array:
    """Two vectors, neither conjugated."""
    check_vectors(self, tensor, "dot")
    return multiplied(self, tensor)


def vdot_kernel(self: Array, other: Array) -> Array:
    """Two vectors, the first conjugated."""
    check_vectors(self, other, "vdot" if self.dtype.kind == "c" else "dot")
    return multiplied(np.conj(self), other)


def matmul_kernel(self: Array, other: Array) -> Array:
    """By rank: dot, matrix and vector, or matrices with broadcast leading dimensions."""
    if fits(self, other) or _are_small_stacks(self, other):
        return blas.small_matmul(self, other)  # type: ignore[no-any-return]
    if self.ndim == 0 or other.ndim == 0:
        raise RuntimeError(
            f"both arguments to matmul need to be at least 1D, but they are {self.ndim}D and {other.ndim}D"
        )
    if self.ndim == 1 and other.ndim == 1:
        return dot_kernel(self, other)
    if self.ndim == 2 and other.ndim == 1:
        return mv_kernel(self, other)
    left = self.reshape(1, -1) if self.ndim == 1 else self
    right = other.reshape(-1, 1) if other.ndim == 1 else other
    check_stacks(left, right)
    product = multiplied(left, right)
    if self.ndim == 1:
        product = product[..., 0, :]
    if other.ndim == 1:
        product = product[..., 0]
    return product


def _are_small_stacks(a: Array, b: Array) -> bool:
    """Whether two arrays are as many small matrices of floats, of which each can be multiplied by its partner."""
    if a.ndim < 3 or a.ndim != b.ndim or a.dtype is not b.dtype or a.dtype.char not in "fd":
        return False
    return a.shape[-1] == b.shape[-2] and a.shape[:-2] == b.shape[:-2] and blas.is_small(a, b)


def _small_layer(input: Array, weight: Array, bias: Array | None) -> Array | None:
    """The same of few rows, or of one, as one product; None for what is not of the kind."""
    rank = input.ndim
    if weight.ndim != 2 or not rank or not input.size or not (rank == 2 or input.flags.c_contiguous):
        return None
    rows = input if rank == 2 else input.reshape(-1, input.shape[-1])
    is_plain = bias is None or (bias.dtype is rows.dtype and bias.shape == weight.shape[:1])
    if not is_plain or not fits(rows, weight.T):
        return None
    product: Array = blas.small_matmul(rows, weight.T)
    if bias is not None:
        product += bias
    return product if rank == 2 else product.reshape(*input.shape[:-1], len(weight))


def linear_kernel(input: Array, weight: Array, bias: Array | None = None) -> Array:
    """`input @ weight.T + bias` over the last dimension. Raises RuntimeError for no dimensions."""
    small = _small_layer(input, weight, bias)
    if small is not None:
        return small
    if not input.ndim or not weight.ndim:
        raise RuntimeError(
            f"both arguments to linear need to be at least 1D, but they are {input.ndim}D and {weight.ndim}D"
        )
    if weight.ndim == 1:
        product = matmul_kernel(input, weight)
    else:
        left = input.reshape(1, -1) if input.ndim == 1 else input
        check_stacks(left.reshape(-1, left.shape[-1]) if left.size else left, weight.T)
        product = wide_product(left, weight.T)
        product = product[0] if input.ndim == 1 else product
    if bias is not None:
        check_expands(bias, product.shape)
        product = np.add(product, widened(bias), dtype=product.dtype)
    return product.astype(input.dtype, copy=False)


def matmul_shape(self: TensorType, other: TensorType) -> Sizes | None:
    """Leading dimensions broadcast; inner ones vanish."""
    a, b = self.sizes, other.sizes
    if not a or not b:
        return None
    batch = broadcast_known([a[:-2], b[:-2]])
    if batch is None:
        return None
    return tuple(batch) + (a[-2:-1] if len(a) > 1 else ()) + (b[-1:] if len(b) > 1 else ())


def mm_shape(self: TensorType, mat2: TensorType) -> Sizes | None:
    """Rows of the first, columns of the second."""
    return matmul_shape(self, mat2) or (None, None)


def bmm_shape(self: TensorType, mat2: TensorType) -> Sizes | None:
    """One product per pair."""
    return matmul_shape(self, mat2) or (None, None, None)


def mv_shape(self: TensorType) -> Sizes | None:
    """One number per row."""
    return (None,) if self.sizes is None else self.sizes[:1]


def no_dims() -> Sizes:
    """A 0-dim result."""
    return ()


def linear_shape(input: TensorType, weight: TensorType) -> Sizes | None:
    """The last dimension becomes the number of outputs."""
    if input.sizes is None or weight.sizes is None:
        return None
    return input.sizes[:-1] + weight.sizes[:-1]


def grid(*sizes: int) -> Any:
    """Distinct small float32 numbers for samples."""
    count = int(np.prod(sizes))
    return wrap(((np.arange(count, dtype=np.float32) * 37 % 23) / 8 - 1).reshape(sizes))


def matmul_samples() -> Iterable[Sample]:
    """Every combination of ranks that means something else."""
    for left, right in (((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 2)), ((2, 3), (3, 4)), ((5, 2, 3), (3, 4)),
                        ((5, 2, 3), (5, 3, 4)), ((5, 1, 2, 3), (4, 3, 2)), ((0, 3), (3, 2)),
                        ((2, 0), (0, 3))):  # fmt: skip
        yield Sample(args=(grid(*left), grid(*right)))


def matmul_errors() -> Iterable[ErrorSample]:
    """Inner sizes and dtypes that differ."""
    yield ErrorSample(
        args=(grid(2, 3), grid(4, 5)),
        error=RuntimeError,
        message="mat1 and mat2 shapes cannot be multiplied (2x3 and 4x5)",
    )
    yield ErrorSample(
        args=(grid(2, 3), wrap(np.ones((3, 2)))),
        error=RuntimeError,
        message="expected m1 and m2 to have the same dtype, but got: float != double",
    )


declare(
    "aten::matmul(Tensor self, Tensor other) -> Tensor",
    traits=Traits(spelling="@"),
    outs=("out",),
    kernel=matmul_kernel,
    accumulator="matmul",
    doc="The matrix product, with vectors as rows or columns and leading dimensions broadcast.",
    dtype=same_dtype,
    shape=matmul_shape,
    samples=matmul_samples,
    errors=matmul_errors,
    reference=lambda self, other: (
        np.einsum("...ij,...jk->...ik", self, other) if min(self.ndim, other.ndim) > 1 else self @ other
    ),
    ulp=ULP,
)

declare(
    "aten::linalg_matmul(Tensor self, Tensor other) -> Tensor",
    outs=("out",),
    kernel=matmul_kernel,
    accumulator="matmul",
    dtype=same_dtype,
    shape=matmul_shape,
    ulp=ULP,
    is_method=False,
)

declare(
    "aten::mm(Tensor self, Tensor mat2) -> Tensor",
    outs=("out",),
    kernel=mm_kernel,
    accumulator="mm",
    doc="The product of two matrices.",
    dtype=same_dtype,
    shape=mm_shape,
    samples=lambda: [Sample(args=(grid(2, 3), grid(3, 4)))],
    errors=matmul_errors,
    reference=lambda self, mat2: np.einsum("ij,jk", self, mat2),
    ulp=ULP,
)

declare(
    "aten::bmm(Tensor self, Tensor mat2) -> Tensor",
    outs=("out",),
    kernel=bmm_kernel,
    accumulator="bmm",
    doc="The products of pairs of matrices, stacked.",
    dtype=same_dtype,
    shape=bmm_shape,
    samples=lambda: [Sample(args=(grid(5, 2, 3), grid(5, 3, 4)))],
    errors=lambda: [
        ErrorSample(args=(grid(2, 3), grid(2, 3, 4)), error=RuntimeError, message="batch1 must be a 3D tensor")
    ],
    reference=lambda self, mat2: np.einsum("bij,bjk->bik", self, mat2),
    ulp=ULP,
)

declare(
    "aten::mv(Tensor self, Tensor vec) -> Tensor",
    outs=("out",),
    kernel=mv_kernel,
    accumulator="mv",
    doc="The product of a matrix and a vector.",
    dtype=same_dtype,
    shape=mv_shape,
    samples=lambda: [Sample(args=(grid(2, 3), grid(3)))],
    reference=lambda self, vec: np.einsum("ij,j->i", self, vec),
    ulp=ULP,
)

declare(
    "aten::dot(Tensor self, Tensor tensor) -> Tensor",
    outs=("out",),
    kernel=dot_kernel,
    accumulator="dot",
    doc="The product of two vectors.",
    dtype=same_dtype,
    shape=no_dims,
    samples=lambda: [Sample(args=(grid(3), grid(3)))],
    reference=lambda self, tensor: np.sum(self * tensor),
    ulp=ULP,
)

declare(
    "aten::vdot(Tensor self, Tensor other) -> Tensor",
    outs=("out",),
    kernel=vdot_kernel,
    accumulator="dot",
    doc="The product of two vectors, the first conjugated.",
    dtype=same_dtype,
    shape=no_dims,
    samples=lambda: [Sample(args=(grid(3), grid(3)))],
    reference=np.vdot,
    ulp=ULP,
)

declare(
    "aten::linear(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor",
    outs=("out",),
    kernel=linear_kernel,
    accumulator="linear",
    doc="`input @ weight.T + bias` over the last dimension of `input`; `weight` is (outputs, inputs).",
    dtype=input_dtype,
    shape=linear_shape,
    samples=lambda: [
        Sample(args=(grid(2, 3), grid(4, 3))),
        Sample(args=(grid(5, 2, 3), grid(4, 3), grid(4))),
        Sample(args=(grid(3), grid(4, 3), grid(4)), note="one vector"),
    ],
    errors=lambda: [
        ErrorSample(
            args=(grid(2, 3), grid(4, 5)),
            error=RuntimeError,
            message="mat1 and mat2 shapes cannot be multiplied (2x3 and 5x4)",
        )
    ],
    reference=lambda input, weight, bias=None: (
        np.einsum("...i,oi->...o", input, weight) + (0 if bias is None else bias)
    ),
    ulp=ULP,
    is_method=False,
)
