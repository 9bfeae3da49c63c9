"""Products added to a tensor: `beta * self + alpha * (a @ b)`. With `beta` 0, nan and inf in `self` do not count."""

from __future__ import annotations

from functools import partial
from typing import Any

from flambeau.ops.families.arrays import Array, dtype_of, reduce_with, shape_text, widened
from flambeau.ops.families.opaque import declare
from flambeau.ops.families.rules import same_dtype
from flambeau.ops.product_checks import ULP, check_expands, check_inner, fits, mixed_stacks, wide_product
from flambeau.ops.products import check_matrix_and_vector, check_stacked, grid, matmul_shape
from flambeau.schema.opdef import ErrorSample, Sample, Sizes
from flambeau.schema.traits import Traits
from flambeau.schema.types import TensorType
from flambeau.tensor.array_library import np
from flambeau.tensor.tensor import wrap
from flambeau.util import blas

Number = complex


def scaled_sum(base: Array, product: Array, beta: Number, alpha: Number, dtype: np.dtype[Any]) -> Array:
    """`beta * base + alpha * product`, rounded to a dtype at last. Scalars become numbers of the product's first."""
    wide = widened(product)
    result = wide if alpha == 1 else wide * as_number(alpha, wide.dtype)
    if beta != 0:
        added = widened(base)
        result = np.add(result, added if beta == 1 else added * as_number(beta, wide.dtype))
    return np.asarray(result).astype(dtype, copy=False)


def as_number(value: Number, dtype: np.dtype[Any]) -> Any:
    """A Python number as a scalar of `dtype`; fractions are cut off for integers."""
    return dtype.type(int(value.real) if dtype.kind in "iu" else value)


def addmm_kernel(self: Array, mat1: Array, mat2: Array, beta: Number = 1, alpha: Number = 1) -> Array:
    """Raises RuntimeError for sizes or dtypes that do not fit."""
    if beta == 1 and alpha == 1 and self.dtype is mat1.dtype and fits(mat1, mat2) and self.shape == mat2.shape[1:]:
        product: Array = blas.small_matmul(mat1, mat2)
        product += self
        return product
    for name, array in (("mat1", mat1), ("mat2", mat2)):
        if array.ndim != 2:
            raise RuntimeError(f"{name} must be a matrix, got {array.ndim}-D tensor")
    check_inner(mat1, mat2)
    check_expands(self, (mat1.shape[0], mat2.shape[1]))
    if self.dtype != mat2.dtype:
        raise RuntimeError(
            f"self and mat2 must have the same dtype, but got {dtype_of(self).display} and {dtype_of(mat2).display}"
        )
    return scaled_sum(self, wide_product(mat1, mat2), beta, alpha, mat1.dtype)


def addmv_kernel(self: Array, mat: Array, vec: Array, beta: Number = 1, alpha: Number = 1) -> Array:
    """Raises RuntimeError for sizes or dtypes that do not fit."""
    if mat.ndim == 2 and vec.ndim == 1 and (mat.shape[1] != vec.shape[0] or self.size not in (1, mat.shape[0])):
        raise RuntimeError(f"size mismatch, got input ({self.size}), mat ({shape_text(mat)}), vec ({vec.shape[0]})")
    check_matrix_and_vector(mat, vec)
    if self.dtype != mat.dtype:
        names = dtype_of(self).display, dtype_of(mat).display, dtype_of(vec).display
        raise RuntimeError("addmv input tensors must have the same dtype, but got {}, {}, and {}".format(*names))
    return scaled_sum(self, wide_product(mat, vec), beta, alpha, mat.dtype)


def addr_kernel(self: Array, vec1: Array, vec2: Array, beta: Number = 1, alpha: Number = 1) -> Array:
    """Raises RuntimeError unless both are vectors and `self` expands to their outer product."""
    for name, array in (("vec1", vec1), ("vec2", vec2)):
        if array.ndim != 1:
            raise RuntimeError(f"addr: Expected 1-D argument {name}, but got {array.ndim}-D")
    check_expands(self, (vec1.size, vec2.size))
    dtype = np.result_type(self.dtype, vec1.dtype, vec2.dtype)
    product = np.multiply.outer(widened(vec1), widened(vec2)).astype(dtype, copy=False)
    if dtype == np.bool_:
        return np.asarray((self & bool(beta)) | (product & bool(alpha)))
    return scaled_sum(self, product, beta, alpha, dtype)


def baddbmm_kernel(self: Array, batch1: Array, batch2: Array, beta: Number = 1, alpha: Number = 1) -> Array:
    """Raises RuntimeError for sizes or dtypes that do not fit."""
    check_stacked(batch1, batch2)
    check_expands(self, (*batch1.shape[:2], batch2.shape[2]))
    if self.dtype != batch1.dtype:
        raise mixed_stacks(self, batch1)
    return scaled_sum(self, wide_product(batch1, batch2), beta, alpha, batch1.dtype)


def addbmm_kernel(self: Array, batch1: Array, batch2: Array, beta: Number = 1, alpha: Number = 1) -> Array:
    """The products of all pairs are added up. Raises RuntimeError for sizes or dtypes that do not fit."""
    for name, array in (("batch1", batch1), ("batch2", batch2)):
        if array.ndim != 3:
            raise RuntimeError(f"{name} must be a 3D tensor")
    if batch1.shape[0] != batch2.shape[0]:
        raise RuntimeError(
            f"batch1 and batch2 must have same number of batches, got {batch1.shape[0]} and {batch2.shape[0]}"
        )
    if batch1.shape[2] != batch2.shape[1]:
        raise RuntimeError(
            f"Incompatible matrix sizes for bmm ({batch1.shape[1]}x{batch1.shape[2]} and "
            f"{batch2.shape[1]}x{batch2.shape[2]})"
        )
    check_expands(self, (batch1.shape[1], batch2.shape[2]))
    check_stacked(batch1, batch2)
    product = reduce_with(np.add, wide_product(batch1, batch2), axis=0)
    return scaled_sum(self, product, beta, alpha, batch1.dtype)


def addmm_shape(mat1: TensorType, mat2: TensorType) -> Sizes | None:
    """The product's sizes."""
    return matmul_shape(mat1, mat2) or (None, None)


def addmv_shape(mat: TensorType) -> Sizes | None:
    """One number per row."""
    return (None,) if mat.sizes is None else mat.sizes[:1]


def addr_shape(vec1: TensorType, vec2: TensorType) -> Sizes | None:
    """A row per element of the first."""
    return None if vec1.sizes is None or vec2.sizes is None else (*vec1.sizes, *vec2.sizes)


def baddbmm_shape(batch1: TensorType, batch2: TensorType) -> Sizes | None:
    """The products' sizes."""
    return matmul_shape(batch1, batch2) or (None, None, None)


def addbmm_shape(batch1: TensorType, batch2: TensorType) -> Sizes | None:
    """One product's sizes."""
    if batch1.sizes is None or batch2.sizes is None:
        return (None, None)
    return (batch1.sizes[1], batch2.sizes[2])


Shapes = tuple[tuple[int, ...], ...]


def samples(sizes: Shapes) -> list[Sample]:
    """Samples: plain operands, scaled ones, and nan in an operand that a factor of zero ignores."""
    operands = tuple(grid(*s) for s in sizes)
    spoiled = wrap(np.full(sizes[0], np.nan, np.float32))
    return [
        Sample(args=operands),
        Sample(args=operands, kwargs={"beta": 0.5, "alpha": 2}),
        Sample(args=(spoiled, *operands[1:]), kwargs={"beta": 0}, note="nan does not count"),
    ]


def errors(sizes: Shapes) -> list[ErrorSample]:
    """A tensor of seven elements, to which no product here has the right sizes."""
    operands = (grid(7), *(grid(*s) for s in sizes[1:]))
    return [ErrorSample(args=operands, error=RuntimeError, message="7")]


for _name, _first, _second, _kernel, _shape, _sizes, _doc in (
    ("addmm", "mat1", "mat2", addmm_kernel, addmm_shape, ((4,), (2, 3), (3, 4)), "beta * self + alpha * mat1 @ mat2."),
    ("addmv", "mat", "vec", addmv_kernel, addmv_shape, ((2,), (2, 3), (3,)), "beta * self + alpha * mat @ vec."),
    ("addr", "vec1", "vec2", addr_kernel, addr_shape, ((3,), (2,), (3,)), "beta * self + alpha * outer(vec1, vec2)."),
    (
        "baddbmm", "batch1", "batch2", baddbmm_kernel, baddbmm_shape, ((5, 2, 4), (5, 2, 3), (5, 3, 4)),
        "beta * self + alpha * batch1 @ batch2, for stacks of matrices.",
    ),
    (
        "addbmm", "batch1", "batch2", addbmm_kernel, addbmm_shape, ((2, 4), (5, 2, 3), (5, 3, 4)),
        "beta * self + alpha * the sum of all batch1[i] @ batch2[i].",
    ),
):  # fmt: skip
    declare(
        f"aten::{_name}(Tensor self, Tensor {_first}, Tensor {_second}, *, Scalar beta=1, Scalar alpha=1) -> Tensor",
        outs=("out",),
        in_place=True,
        kernel=_kernel,
        accumulator=_name,
        doc=_doc,
        dtype=same_dtype,
        shape=_shape,
        samples=partial(samples, _sizes),
        errors=partial(errors, _sizes),
        traits=Traits(older_numbers=("beta", "alpha")),
        ulp=ULP,
    )
