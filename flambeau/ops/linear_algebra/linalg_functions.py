"""Functions of matrices: powers, exponential, pseudo-inverse, least squares; tensors as matrices."""

from __future__ import annotations

from math import prod
from typing import Any, Final

from flambeau.ops.families import ranks
from flambeau.ops.families.arrays import Array, at_least_1d, contiguous, dtype_of, one_dim, widened
from flambeau.ops.families.matrices import (
    LAID_OUT_BY_LAPACK,
    LinAlgError,
    a_dtype,
    adjoint,
    called_self,
    check_floats,
    check_matrix,
    check_same_dtype,
    check_square,
    columns,
    eye_like,
    larger_rank,
    rectangles,
    right,
    square,
    square_sizes,
    symmetric,
    vectors,
)
from flambeau.ops.families.opaque import declare
from flambeau.ops.families.rules import accumulate_dtype, same_dtype
from flambeau.ops.families.view import view
from flambeau.ops.linear_algebra.linalg_norms import tolerance
from flambeau.ops.linear_algebra.linalg_solving import inverse_kernel
from flambeau.ops.product_checks import multiplied
from flambeau.ops.windows import diagonal_kernel
from flambeau.schema.dtype import DType, float32, float64, int64
from flambeau.schema.opdef import ErrorSample, Sample, Sizes
from flambeau.schema.types import TensorType
from flambeau.tensor.array_folds import accumulated
from flambeau.tensor.array_library import np
from flambeau.tensor.layout import broadcast
from flambeau.tensor.tensor import Tensor, wrap
from flambeau.util import blas

ULP: Final = {float32: 256.0, float64: 256.0}


def power_kernel(self: Array, n: int) -> Array:
    """The matrix times itself; of negative powers, its inverse. Integers have powers from 0 on."""
    check_square("linalg.matrix_power", self)
    if n < 0:
        self, n = inverse_kernel(self), -n
        if n == 1:
            return self
    power = eye_like(self, self.shape[-1])
    square, is_one = self, True
    while n:
        if n & 1:
            power, is_one = (np.array(square) if is_one else multiplied(power, square)), False
        n >>= 1
        if n:
            square = multiplied(square, square)
    return contiguous(power)


_PADE: Final = (
    64764752532480000.0, 32382376266240000.0, 7771770303897600.0, 1187353796428800.0, 129060195264000.0,
    10559470521600.0, 670442572800.0, 33522128640.0, 1323241920.0, 40840800.0, 960960.0, 16380.0, 182.0, 1.0,
)  # fmt: skip
"""The numerator of the diagonal Pade approximation of degree 13 to exp."""
_PADE_BOUND: Final = 5.371920351148152
"""Up to this norm the approximation is exact to a double."""


def exp_kernel(self: Array) -> Array:
    """The power series of matrices: halved until they are small, approximated, and squared again, in double."""
    check_square("linalg.matrix_exp", self)
    check_floats("linalg.matrix_exp", self, halves=True)
    wide = self.astype(np.complex128 if self.dtype.kind == "c" else np.float64)
    if not wide.size:
        return np.array(self)
    with np.errstate(all="ignore"):
        norm = np.abs(wide).sum(axis=-2).max(axis=-1)
        halvings = np.ceil(np.log2(np.maximum(norm, _PADE_BOUND) / _PADE_BOUND))
        halvings = np.where(np.isfinite(norm), halvings, 0).astype(np.int64)
        a = wide / np.ldexp(1.0, halvings)[..., None, None]
        is_finite = np.isfinite(norm)[..., None, None]
        result = _pade(np.where(is_finite, a, 0))
        for step in range(int(halvings.max())):
            result = np.where((halvings > step)[..., None, None], result @ result, result)
        result = np.where(is_finite, result, np.nan)
        return contiguous(result.astype(self.dtype))


def _pade(a: Array) -> Array:
    one = eye_like(a, a.shape[-1])
    a2 = a @ a
    a4 = a2 @ a2
    a6 = a2 @ a4
    b = _PADE
    odd = a @ (a6 @ (b[13] * a6 + b[11] * a4 + b[9] * a2) + b[7] * a6 + b[5] * a4 + b[3] * a2 + b[1] * one)
    even = a6 @ (b[12] * a6 + b[10] * a4 + b[8] * a2) + b[6] * a6 + b[4] * a4 + b[2] * a2 + b[0] * one
    return np.asarray(blas.linalg.solve(even - odd, even + odd))


def pinv_kernel(self: Array, rcond: Any = None, atol: Any = None, rtol: Any = None, hermitian: bool = False) -> Array:
    """The pseudo-inverse, by the singular values (or eigenvalues) above a tolerance."""
    check_matrix("linalg.pinv", self)
    check_floats("linalg.pinv", self)
    rtol = rtol if rcond is None else rcond
    tall, wide = self.shape[-2:]
    if not self.size:
        return np.zeros((*self.shape[:-2], wide, tall), self.dtype)
    if hermitian:
        values, left = blas.linalg.eigh(self)
        sizes, right_side = np.abs(values), left
    else:
        left, values, vh = blas.linalg.svd(self, full_matrices=False)
        sizes, right_side = values, adjoint(vh)
    bound = tolerance(sizes, self.shape, atol, rtol)
    with np.errstate(all="ignore"):
        inverses = np.where(sizes > bound[..., None], 1 / values, 0).astype(values.dtype)
    return contiguous((right_side * inverses[..., None, :]) @ adjoint(left)).astype(self.dtype, copy=False)


def least_squares_kernel(
    self: Array, b: Array, rcond: float | None = None, driver: str | None = None
) -> tuple[Array, Array, Array, Array]:
    """The solution with the smallest residual, the residuals, the rank, the singular values (by driver)."""
    chosen = "gelsy" if driver is None else driver
    _check_least_squares(self, b, chosen)
    is_vector = b.ndim == 1 or (self.ndim - 1 == b.ndim and b.shape == self.shape[:-1])
    right = _as_columns(self, b, is_vector)
    tall, wide = self.shape[-2:]
    batch = broadcast(self.shape[:-2], right.shape[:-2])
    a = np.broadcast_to(self, (*batch, tall, wide))
    right = np.broadcast_to(right, (*batch, *right.shape[-2:]))
    bound = float(np.finfo(self.dtype).eps * max(tall, wide)) if rcond is None else rcond
    solution = np.zeros((*batch, wide, right.shape[-1]), self.dtype)
    rank = np.zeros(batch, np.int64)
    values = np.zeros((*batch, min(tall, wide)), self.real.dtype)
    for i in np.ndindex(batch):
        solution[i], _, rank[i], values[i] = blas.linalg.lstsq(a[i], right[i], bound)
    has_residuals = tall > wide and chosen != "gelsy" and (rank == wide).all()
    residuals = _squared_residuals(a, solution, right) if has_residuals else np.empty(0, self.real.dtype)
    return (
        contiguous(solution[..., 0]) if is_vector else columns(solution),
        residuals[..., 0] if is_vector and residuals.ndim > 1 else residuals,
        np.empty(0, np.int64) if chosen == "gels" else rank,
        values if chosen in ("gelsd", "gelss") else np.empty(0, self.real.dtype),
    )


def _as_columns(a: Array, b: Array, is_vector: bool) -> Array:
    """The right sides as columns of a matrix. Raises RuntimeError unless they are as tall as `a`."""
    right = b[..., None] if is_vector else b
    if right.shape[-2] != a.shape[-2]:
        raise RuntimeError(f"{_LSTSQ}: input.size(-2) should match other.size({'-1' if is_vector else '-2'})")
    return right


def _squared_residuals(a: Array, x: Array, b: Array) -> Array:
    """For each column, the sum of the squares of what `a @ x` differs from `b` by."""
    return np.asarray((np.abs(a @ x - b) ** 2).sum(-2)).astype(a.real.dtype)


_LSTSQ: Final = "torch.linalg.lstsq"


def _check_least_squares(self: Array, b: Array, driver: str) -> None:
    if self.ndim < 2:
        raise RuntimeError(f"{_LSTSQ}: input must have at least 2 dimensions.")
    if b.ndim < 1:
        raise RuntimeError(f"{_LSTSQ}: other must have at least 1 dimension.")
    check_floats(_LSTSQ, self)
    if driver not in ("gels", "gelsy", "gelsd", "gelss"):
        raise RuntimeError(f"{_LSTSQ}: parameter `driver` should be one of (gels, gelsy, gelsd, gelss)")
    check_same_dtype(_LSTSQ, self, b, ("input", "other"))
    if not np.isfinite(self).all():  # LAPACK would look for singular values for ever
        raise LinAlgError(f"{_LSTSQ}: input has elements that are infinite or nan, of which nothing is a solution")


def tensor_inverse_kernel(self: Array, ind: int = 2) -> Array:
    """The inverse of a tensor as a matrix of its first `ind` dimensions by the others."""
    if ind <= 0:
        raise RuntimeError(f"Expected a strictly positive integer for 'ind', but got {ind}")
    first, last = self.shape[:ind], self.shape[ind:]
    if prod(first) != prod(last):
        raise RuntimeError(
            "Expected self to satisfy the requirement prod(self.shape[ind:]) == prod(self.shape[:ind]), but got "
            f"{prod(last)} != {prod(first)}"
        )
    return inverse_kernel(self.reshape(prod(first), prod(last))).reshape((*last, *first))


def tensor_solve_kernel(self: Array, other: Array, dims: Any = None) -> Array:
    """X with `tensordot(self, X, X.ndim) == other`."""
    if dims is not None:
        axes = [one_dim(d, self.ndim) for d in dims]
        self = np.moveaxis(self, axes, range(self.ndim - len(axes), self.ndim))
    shape = self.shape[other.ndim :]
    count = prod(shape)
    if count != prod(self.shape[: other.ndim]):
        raise RuntimeError(
            "Expected self to satisfy the requirement prod(self.shape[other.ndim:]) == prod(self.shape[:other.ndim]), "
            f"but got {count} != {prod(self.shape[: other.ndim])}"
        )
    solved = blas.linalg.solve(self.reshape(count, count), other.reshape(count, 1))
    return contiguous(solved.reshape(shape))


def vander_kernel(x: Array, N: int | None = None, increasing: bool = False) -> Array:
    """Powers of the elements of a vector, a row each."""
    if x.ndim != 1:
        raise RuntimeError("x must be a one-dimensional tensor.")
    return _powers(x, x.shape[0] if N is None else N, increasing)


def linalg_vander_kernel(x: Array, N: int | None = None) -> Array:
    """Powers of the last dimension's elements from 0 on."""
    x = at_least_1d(x)
    count = x.shape[-1] if N is None else N
    if count <= 1:
        raise RuntimeError("N must be greater than 1.")
    return _powers(x, count, True)


def _powers(x: Array, count: int, increasing: bool) -> Array:
    dtype = accumulate_dtype(dtype_of(x)).numpy
    wide = widened(x.astype(dtype))
    powers = np.ones((*x.shape, count), wide.dtype)
    if count > 1:
        powers[..., 1:] = wide[..., None]
        with np.errstate(all="ignore"):
            powers[..., 1:] = accumulated(np.multiply, powers[..., 1:], -1)
    return contiguous(powers if increasing else powers[..., ::-1]).astype(dtype, copy=False)


def vecdot_kernel(x: Array, y: Array, dim: int = -1) -> Array:
    """The sums of products along a dimension, the first operand conjugated."""
    check_floats("linalg.vecdot", x, halves=True)
    check_same_dtype("linalg.vecdot", x, y, ("x", "y"))
    shape = broadcast(x.shape, y.shape)
    axis = one_dim(dim, len(shape))
    wide = widened(np.broadcast_to(x, shape)).conj() * widened(np.broadcast_to(y, shape))
    return contiguous(wide.sum(axis=axis)).astype(x.dtype, copy=False)


def _diagonal(A: Tensor, offset: int, dim1: int, dim2: int) -> Any:
    return diagonal_kernel(A, offset, dim1, dim2)


# -- declarations -----------------------------------------------------------------------------------------------------

for _name, _arguments in (("linalg_matrix_power", "Tensor self, int n"), ("matrix_power", "Tensor self, int n")):
    declare(
        f"aten::{_name}({_arguments}) -> Tensor",
        outs=("out",), kernel=power_kernel, dtype=same_dtype, shape=called_self(square_sizes), ulp=ULP,
        samples=lambda: [Sample(args=(square(2), n), note=f"{n}") for n in (-2, -1, 0, 1, 2, 5)],
        errors=lambda: [ErrorSample(args=(right(), 2), error=RuntimeError,
                                    message="linalg.matrix_power: A must be batches of square matrices")],
        reference=np.linalg.matrix_power, is_method=_name == "matrix_power", traits=LAID_OUT_BY_LAPACK,
        doc="A matrix times itself so many times; negative powers are those of the inverse.",
    )  # fmt: skip
for _name in ("linalg_matrix_exp", "matrix_exp"):
    declare(
        f"aten::{_name}(Tensor self) -> Tensor",
        kernel=exp_kernel, dtype=same_dtype,
        shape=called_self(square_sizes), ulp=ULP, is_method=_name == "matrix_exp",
        samples=lambda: [Sample(args=(square(2),)), Sample(args=(wrap(np.zeros((2, 2), np.float32)),))],
        errors=lambda: [ErrorSample(args=(right(),), error=RuntimeError,
                                    message="linalg.matrix_exp: A must be batches of square matrices")],
        doc="The exponential of square matrices.",
    )  # fmt: skip


def _pinv_shape(self: TensorType) -> Sizes | None:
    return None if self.sizes is None or len(self.sizes) < 2 else (*self.sizes[:-2], *self.sizes[:-3:-1])


declare(
    "aten::linalg_pinv(Tensor self, float rcond, bool hermitian=False) -> Tensor",
    "aten::linalg_pinv.rcond_tensor(Tensor self, Tensor rcond, bool hermitian=False) -> Tensor",
    "aten::linalg_pinv.atol_rtol_float(Tensor self, *, float? atol=None, float? rtol=None, bool hermitian=False) -> "
    "Tensor",
    "aten::linalg_pinv.atol_rtol_tensor(Tensor self, *, Tensor? atol=None, Tensor? rtol=None, bool hermitian=False) -> "
    "Tensor",
    outs=("out", "out_rcond_tensor", "atol_rtol_float_out", "atol_rtol_tensor_out"), kernel=pinv_kernel,
    dtype=same_dtype, shape=_pinv_shape, ulp=ULP, is_method=False,
    samples=lambda: [*(Sample(args=(*s.args, 1e-6), note=s.note) for s in rectangles()),
                     Sample(args=(symmetric(2), 1e-6, True), note="hermitian")],
    doc="The pseudo-inverse, by the singular values above a tolerance.",
)  # fmt: skip
declare(
    "aten::pinverse(Tensor self, float rcond=1.0000000000000001e-15) -> Tensor",
    kernel=lambda self, rcond=1e-15: pinv_kernel(self, rcond), dtype=same_dtype, shape=_pinv_shape, ulp=ULP,
    samples=rectangles, reference=np.linalg.pinv, doc="`linalg.pinv` under its old name.",
)  # fmt: skip
declare(
    "aten::linalg_lstsq(Tensor self, Tensor b, float? rcond=None, *, str? driver=None) -> (Tensor solution, Tensor "
    "residuals, Tensor rank, Tensor singular_values)",
    outs=("out",), kernel=least_squares_kernel, ulp=ULP, is_method=False, differentiable=(True, True, False, False),
    dtype=lambda self: (self.dtype, None if self.dtype is None else self.dtype.to_real(), int64,
                        None if self.dtype is None else self.dtype.to_real()),
    samples=lambda: [Sample(args=(square(), right())), Sample(args=(square(), right()), kwargs={"driver": "gelsd"})],
    doc="The solution with the smallest residual, the residuals, ranks and singular values.",
)  # fmt: skip


def _tensor_inverse_rank(self: TensorType) -> Sizes | None:
    return ranks.self_rank(self)


declare(
    "aten::linalg_tensorinv(Tensor self, int ind=2) -> Tensor",
    outs=("out",), kernel=tensor_inverse_kernel, dtype=same_dtype, shape=_tensor_inverse_rank, ulp=ULP,
    samples=lambda: [Sample(args=(wrap(np.eye(4, dtype=np.float32).reshape(4, 2, 2)), 1))], is_method=False,
    errors=lambda: [ErrorSample(args=(wrap(np.ones((2, 3))), 0), error=RuntimeError,
                                message="Expected a strictly positive integer for 'ind', but got 0")],
    doc="The inverse of a tensor as a matrix of its first `ind` dimensions by the others.",
)  # fmt: skip
declare(
    "aten::linalg_tensorsolve(Tensor self, Tensor other, int[]? dims=None) -> Tensor",
    outs=("out",), kernel=tensor_solve_kernel, dtype=same_dtype, ulp=ULP, is_method=False,
    shape=lambda self, other: None if self.sizes is None or other.sizes is None
    else ranks.of_rank(len(self.sizes) - len(other.sizes)),
    samples=lambda: [Sample(args=(wrap(2 * np.eye(6, dtype=np.float32).reshape(2, 3, 6)),
                                  wrap(np.ones((2, 3), np.float32))))],
    doc="X with `tensordot(self, X, X.ndim) == other`.",
)  # fmt: skip


def _accumulated(x: TensorType) -> DType | None:
    return None if x.dtype is None else accumulate_dtype(x.dtype)


declare(
    "aten::vander(Tensor x, int? N=None, bool increasing=False) -> Tensor",
    kernel=vander_kernel, dtype=_accumulated, shape=ranks.matrix, is_method=False,
    samples=lambda: [Sample(args=(vectors(),)), Sample(args=(vectors(), 4, True), note="increasing")],
    errors=lambda: [ErrorSample(args=(right(),), error=RuntimeError, message="x must be a one-dimensional tensor.")],
    reference=np.vander, doc="Powers of the elements of a vector, a row each, the highest first.",
)  # fmt: skip


def _vander_rank(x: TensorType) -> Sizes | None:
    return None if x.sizes is None else ranks.of_rank(max(len(x.sizes), 1) + 1)


declare(
    "aten::linalg_vander(Tensor x, *, SymInt? N=None) -> Tensor",
    kernel=linalg_vander_kernel, dtype=_accumulated, shape=_vander_rank, is_method=False,
    samples=lambda: [Sample(args=(vectors(2),)), Sample(args=(vectors(),), kwargs={"N": 2})],
    errors=lambda: [ErrorSample(args=(vectors(),), kwargs={"N": 1}, error=RuntimeError,
                                message="N must be greater than 1.")],
    doc="Powers of the last dimension's elements from 0 on.",
)  # fmt: skip
declare(
    "aten::linalg_vecdot(Tensor x, Tensor y, *, int dim=-1) -> Tensor",
    outs=("out",), kernel=vecdot_kernel, dtype=lambda x: x.dtype, ulp=ULP, is_method=False,
    shape=lambda x, y: None if (sizes := larger_rank(x, y)) is None else sizes[1:],
    samples=lambda: [Sample(args=(vectors(2), vectors()))],
    errors=lambda: [ErrorSample(args=(vectors(), wrap(np.ones(3))), error=RuntimeError,
                                message="linalg.vecdot: Expected x and y to have the same dtype")],
    doc="The sums of products along a dimension, the first operand conjugated.",
)  # fmt: skip
view(
    "aten::linalg_diagonal(Tensor(a) A, *, int offset=0, int dim1=-2, int dim2=-1) -> Tensor(a)",
    kernel=_diagonal, dtype=a_dtype, shape=lambda A: None if A.sizes is None else ranks.of_rank(len(A.sizes) - 1),
    samples=lambda: [Sample(args=(square(2),))], is_method=False,
    doc="The diagonals of matrices; a view.",
)  # fmt: skip
