"""Products of matrices and vectors. float16 and bfloat16 are multiplied in float32 and rounded once."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from flambeau.ops.families.arrays import Array, dtype_of, not_implemented, shape_text, widened
from flambeau.ops.families.opaque import declare
from flambeau.ops.families.pointwise_layout import broadcast_known
from flambeau.ops.families.rules import input_dtype, same_dtype
from flambeau.schema.dtype import bfloat16, complex64, complex128, float16, float32, float64
from flambeau.schema.opdef import ErrorSample, Sample, Sizes
from flambeau.schema.traits import Traits
from flambeau.schema.types import TensorType
from flambeau.tensor.array_library import np
from flambeau.tensor.layout import broadcast
from flambeau.tensor.tensor import wrap
from flambeau.util import blas

ULP: Final = {float16: 2.0, bfloat16: 2.0, float32: 64.0, float64: 64.0, complex64: 64.0, complex128: 64.0}
"""Orders of adding up differ between libraries; sums that cancel are compared with an absolute bound instead."""


def multiplied(a: Array, b: Array) -> Array:
    """`a @ b` in the dtype both have."""
    if a.dtype.itemsize == 2 and a.dtype.kind not in "iu":
        return np.asarray(blas.matmul(widened(a), widened(b))).astype(a.dtype)
    return np.asarray(blas.matmul(a, b))


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
    return a.shape[1] == b.shape[0] and a.size <= blas.SMALL and b.size <= blas.SMALL


def mm_kernel(self: Array, mat2: Array) -> Array:
    """Two matrices."""
    if fits(self, mat2):
        return blas.small_matmul(self, mat2)  # type: ignore[no-any-return]
    check_matrices(self, mat2)
    return multiplied(self, mat2)


def bmm_kernel(self: Array, mat2: Array) -> Array:
    """Two stacks of matrices."""
    check_batches(self, mat2)
    if self.dtype == np.bool_:
        raise not_implemented("bmm", dtype_of(self))
    return multiplied(self, mat2)


def mv_kernel(self: Array, vec: Array) -> Array:
    """A matrix and a vector."""
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
    return multiplied(self, vec)


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
    if fits(self, other):
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


def linear_kernel(input: Array, weight: Array, bias: Array | None = None) -> Array:
    """`input @ weight.T + bias` over the last dimension. Raises RuntimeError for no dimensions."""
    if not input.ndim or not weight.ndim:
        raise RuntimeError(
            f"both arguments to linear need to be at least 1D, but they are {input.ndim}D and {weight.ndim}D"
        )
    if weight.ndim == 1:
        product = matmul_kernel(input, weight)
    else:
        left = input.reshape(1, -1) if input.ndim == 1 else input
        check_stacks(left.reshape(-1, left.shape[-1]) if left.size else left, weight.T)
        product = multiplied(left, weight.T)
        product = product[0] if input.ndim == 1 else product
    if bias is None:
        return product
    check_expands(bias, product.shape)
    return np.add(product, bias, dtype=product.dtype)


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
