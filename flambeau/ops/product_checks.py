"""What products of matrices and vectors refuse, and the accuracy that they have."""

from __future__ import annotations

from typing import Final

from flambeau.ops.families.arrays import Array, dtype_of, not_implemented, shape_text, widened
from flambeau.schema.dtype import bfloat16, complex64, complex128, float16, float32, float64
from flambeau.tensor.array_library import np
from flambeau.tensor.layout import broadcast
from flambeau.util import blas

ULP: Final = {float16: 2.0, bfloat16: 2.0, float32: 64.0, float64: 64.0, complex64: 64.0, complex128: 64.0}
"""Orders of adding up differ between libraries; sums that cancel are compared with an absolute bound instead."""


def multiplied(a: Array, b: Array) -> Array:
    """`a @ b` in the dtype both have."""
    return wide_product(a, b).astype(a.dtype, copy=False)


def wide_product(a: Array, b: Array) -> Array:
    """`a @ b`, of half precision in float32."""
    return np.asarray(blas.matmul(widened(a), widened(b)))


def check_matrices(a: Array, b: Array, first: str = "self") -> None:
    """Raise unless both are matrices of one dtype that fit."""
    for name, array in ((first, a), ("mat2", b)):
        if array.ndim != 2:
            raise RuntimeError(f"{name} must be a matrix")
    check_inner(a, b)


def check_inner(a: Array, b: Array) -> None:
    """Raise unless the inner sizes of two matrices agree, and the dtypes."""
    if a.shape[1] != b.shape[0]:
        raise RuntimeError(f"mat1 and mat2 shapes cannot be multiplied ({shape_text(a)} and {shape_text(b)})")
    if a.dtype != b.dtype:
        raise RuntimeError(
            f"expected m1 and m2 to have the same dtype, but got: {dtype_of(a).short} != {dtype_of(b).short}"
        )
    if a.dtype == np.bool_:
        raise not_implemented("addmm_impl_cpu_", dtype_of(a))


def check_batches(a: Array, b: Array) -> None:
    """Raise unless both are stacks of equally many matrices that fit, of one dtype."""
    for name, array in (("batch1", a), ("batch2", b)):
        if array.ndim != 3:
            raise RuntimeError(f"{name} must be a 3D tensor")
    if b.shape[:2] != (a.shape[0], a.shape[2]):
        raise RuntimeError(
            f"Expected size for first two dimensions of batch2 tensor to be: [{a.shape[0]}, {a.shape[2]}] "
            f"but got: [{b.shape[0]}, {b.shape[1]}]."
        )
    if a.dtype != b.dtype:
        raise mixed_stacks(a, b)


def mixed_stacks(a: Array, b: Array) -> RuntimeError:
    """The refusal of stacks of two dtypes."""
    return RuntimeError(f"expected scalar type {dtype_of(a).display} but found {dtype_of(b).display}")


def fits(a: Array, b: Array) -> bool:
    """Whether two arrays are small matrices of floats that can be multiplied: nothing else is to be found out."""
    if a.ndim != 2 or b.ndim != 2 or a.dtype is not b.dtype or a.dtype.char not in "fd":
        return False
    return a.shape[1] == b.shape[0] and blas.is_small(a, b)


def check_vectors(a: Array, b: Array, name: str) -> None:
    """Raise unless both are vectors of one size and dtype."""
    if a.ndim != 1 or b.ndim != 1:
        raise RuntimeError(f"1D tensors expected, but got {a.ndim}D and {b.ndim}D tensors")
    if a.dtype != b.dtype:
        raise RuntimeError(
            f"dot : expected both vectors to have same dtype, but found {dtype_of(a).display} and {dtype_of(b).display}"
        )
    if a.shape != b.shape:
        raise RuntimeError(
            f"inconsistent tensor size, expected tensor [{a.size}] and src [{b.size}] to have the same number of "
            f"elements, "
            f"but got {a.size} and {b.size} elements respectively"
        )
    if a.dtype == np.bool_:
        raise not_implemented(name, dtype_of(a))


def check_stacks(left: Array, right: Array) -> None:
    """Raise unless stacks of matrices fit, each with the words of the product it comes down to."""
    if left.ndim <= 2 or right.ndim <= 2:
        if left.shape[-1] != right.shape[-2]:
            count = int(np.prod(left.shape[:-1])) if left.ndim > 2 else left.shape[0]
            shown = f"{count}x{left.shape[-1]} and {right.shape[-2]}x{right.shape[-1]}"
            raise RuntimeError(f"mat1 and mat2 shapes cannot be multiplied ({shown})")
        if left.dtype != right.dtype:
            raise RuntimeError(
                f"expected m1 and m2 to have the same dtype, but got: {dtype_of(left).short} != {dtype_of(right).short}"
            )
    else:
        batch = broadcast(left.shape[:-2], right.shape[:-2])
        if left.shape[-1] != right.shape[-2]:
            count = int(np.prod(batch))
            raise RuntimeError(
                f"Expected size for first two dimensions of batch2 tensor to be: [{count}, {left.shape[-1]}] "
                f"but got: [{count}, {right.shape[-2]}]."
            )
        if left.dtype != right.dtype:
            raise mixed_stacks(left, right)
    if left.dtype == np.bool_:
        raise not_implemented("addmm_impl_cpu_" if left.ndim <= 2 or right.ndim <= 2 else "bmm", dtype_of(left))


def check_expands(array: Array, target: tuple[int, ...]) -> None:
    """Raise unless `array` broadcasts to `target`."""
    for offset in range(1, min(array.ndim, len(target)) + 1):
        if array.shape[-offset] not in (1, target[-offset]):
            raise RuntimeError(
                f"The expanded size of the tensor ({target[-offset]}) must match the existing size "
                f"({array.shape[-offset]}) "
                f"at non-singleton dimension {len(target) - offset}.  Target sizes: {list(target)}.  "
                f"Tensor sizes: {list(array.shape)}"
            )
    if array.ndim > len(target):
        raise RuntimeError(
            f"expand: the number of sizes provided ({len(target)}) must be greater or equal to the number of "
            f"dimensions in "
            f"the tensor ({array.ndim})"
        )
