"""Systems of equations: inverse, solve, determinants, and the factors L and U of a matrix."""

from __future__ import annotations

from typing import Final

from flambeau.ops.families.arrays import Array
from flambeau.ops.families.matrices import (
    LAID_OUT_BY_LAPACK,
    a_dtype,
    batch_rank,
    called_self,
    check_floats,
    check_same_dtype,
    check_square,
    columns,
    dtypes_of,
    eye_like,
    first_of_batch,
    real,
    right,
    rows,
    same,
    solved_rank,
    square,
    square_sizes,
    vectors,
)
from flambeau.ops.families.opaque import declare
from flambeau.ops.families.rules import same_dtype
from flambeau.ops.families.triangular import factored
from flambeau.schema.dtype import float32, float64, int32
from flambeau.schema.opdef import ErrorSample, Sample, Sizes
from flambeau.schema.types import TensorType
from flambeau.tensor.array_library import np
from flambeau.tensor.layout import broadcast
from flambeau.tensor.tensor import wrap
from flambeau.util import blas, lapack

ULP: Final = {float32: 256.0, float64: 256.0}
"""Libraries order sums differently; what a system amplifies comes on top of it."""


# -- kernels ----------------------------------------------------------------------------------------------------------

SINGULAR: Final = (
    "The diagonal element {} is zero, the inversion could not be completed because the input matrix is singular."
)


def _inverse_ex(A: Array, name: str) -> tuple[Array, Array]:
    check_square(name, A)
    check_floats(name, A)
    try:
        with np.errstate(all="ignore"):
            return _inverted(A), np.zeros(A.shape[:-2], np.int32)
    except np.linalg.LinAlgError:
        info = factored(A)[2]
    safe = np.where((info != 0)[..., None, None], eye_like(A, A.shape[-1]), A)
    inverse = np.where((info != 0)[..., None, None], np.inf, blas.linalg.inv(safe)).astype(A.dtype, copy=False)
    return columns(inverse), info


def _inverted(A: Array) -> Array:
    """The inverses, by columns."""
    if not lapack.can_invert(A):
        return columns(blas.linalg.inv(A))
    turned = rows(A.swapaxes(-1, -2))
    lapack.invert_columns(turned.reshape(-1, *A.shape[-2:]))
    return turned.swapaxes(-1, -2)


def inverse_kernel(A: Array) -> Array:
    """Raises LinAlgError for a singular matrix."""
    inverse, info = _inverse_ex(A, "linalg.inv")
    first_of_batch("linalg.inv", info, SINGULAR.format)
    return inverse


def inverse_ex_kernel(A: Array, check_errors: bool = False) -> tuple[Array, Array]:
    """The inverse, and for each matrix the element of the diagonal that is zero (0: none)."""
    inverse, info = _inverse_ex(A, "linalg.inv_ex")
    if check_errors:
        first_of_batch("linalg.inv_ex", info, SINGULAR.format)
    return inverse, info


def is_vector_case(a: Array, b: Array) -> bool:
    """Whether the right side is a vector for each matrix, not a matrix."""
    return b.ndim == 1 or (a.ndim - 1 == b.ndim and b.shape == a.shape[:-1])


def solve_ex_kernel(A: Array, B: Array, left: bool = True, check_errors: bool = False) -> tuple[Array, Array]:
    """The solution, and for each matrix the place of a zero on the diagonal of U (0: none)."""
    name = "linalg.solve"
    check_floats(name, A)
    check_square(name, A)
    check_same_dtype(name, A, B)
    vector = is_vector_case(A, B)
    b = B[..., None] if vector else B
    fits = b.ndim >= 2 and A.shape[-2 if left else -1] == b.shape[-2 if left else -1]
    if not fits:
        sizes = f"{A.shape[-2]}x{A.shape[-1]} and {b.shape[-2]}x{b.shape[-1]}"
        equation = "AX = B" if left else "XA = B"
        raise RuntimeError(f"{name}: Incompatible shapes of A and B for the equation {equation} ({sizes})")
    a, right = (A, b) if left else (A.swapaxes(-1, -2), b.swapaxes(-1, -2))
    batch = broadcast(a.shape[:-2], right.shape[:-2])
    info = np.zeros(A.shape[:-2], np.int32)
    right = np.broadcast_to(right, (*batch, *right.shape[-2:]))
    try:
        with np.errstate(all="ignore"):
            x = blas.linalg.solve(a, right)
    except np.linalg.LinAlgError:
        info = factored(A)[2]
        safe = np.where((info != 0)[..., None, None], eye_like(a, a.shape[-1]), a)
        x = blas.linalg.solve(safe, right)
    if check_errors:
        first_of_batch("torch.linalg.solve", info, "The solver failed because the input matrix is singular.".format)
    if vector:
        return columns(x[..., 0]), info
    return columns(x) if left else rows(x.swapaxes(-1, -2)), info


def solve_kernel(A: Array, B: Array, left: bool = True) -> Array:
    """Raises LinAlgError for a singular matrix."""
    return solve_ex_kernel(A, B, left, True)[0]


def slogdet_kernel(A: Array) -> tuple[Array, Array]:
    """The sign (or the complex number of size 1), and the logarithm of the size."""
    check_square("linalg.slogdet", A)
    check_floats("linalg.slogdet", A)
    with np.errstate(all="ignore"):
        sign, size = blas.linalg.slogdet(A)
    return np.asarray(sign), np.asarray(size)


def det_kernel(A: Array) -> Array:
    """The determinant; 1 for a matrix without elements."""
    check_square("linalg.det", A)
    check_floats("linalg.det", A)
    with np.errstate(all="ignore"):
        return np.asarray(blas.linalg.det(A))


def logdet_kernel(self: Array) -> Array:
    """The logarithm of the determinant; nan where it is negative."""
    check_square("logdet", self)
    check_floats("logdet", self)
    with np.errstate(all="ignore"):
        sign, size = blas.linalg.slogdet(self)
        if self.dtype.kind == "c":
            return np.asarray(np.log(sign) + size).astype(self.dtype, copy=False)
        return np.asarray(np.where(sign < 0, np.nan, size)).astype(self.dtype, copy=False)


# -- declarations -----------------------------------------------------------------------------------------------------


def _solved_rank(A: TensorType, B: TensorType) -> Sizes | None:
    if A.sizes is None or B.sizes is None or len(A.sizes) < 2:
        return None
    rank, other = len(A.sizes), len(B.sizes)
    if other == 1:
        return (*A.sizes[:-2], *B.sizes)
    return None if rank - 1 == other else solved_rank(A, B)


def _solved_and_info(A: TensorType, B: TensorType) -> tuple[Sizes | None, ...]:
    return (_solved_rank(A, B), batch_rank(A))


def _not_square(name: str) -> list[ErrorSample]:
    return [
        ErrorSample(
            args=(wrap(np.ones((2, 3), np.float32)),), error=RuntimeError,
            message=f"{name}: A must be batches of square matrices, but they are 2 by 3 matrices",
        ),
        ErrorSample(
            args=(wrap(np.ones(3, np.float32)),), error=RuntimeError,
            message=f"{name}: The input tensor A must have at least 2 dimensions.",
        ),
        ErrorSample(
            args=(wrap(np.ones((2, 2), np.int64)),), error=RuntimeError,
            message=f"{name}: Expected a floating point or complex tensor as input. Got Long",
        ),
    ]  # fmt: skip


def _singular() -> list[ErrorSample]:
    text = "linalg.inv: (Batch element 0): The diagonal element 2 is zero, the inversion could not be completed"
    return [
        *_not_square("linalg.inv"),
        ErrorSample(args=(wrap(np.ones((3, 2, 2), np.float32)),), error=RuntimeError, message=text),
    ]


def _squares() -> list[Sample]:
    return [Sample(args=(square(),)), Sample(args=(square(2),), note="batch"),
            Sample(args=(wrap(np.ones((2, 0, 0), np.float32)),), note="empty")]  # fmt: skip


declare(
    "aten::linalg_inv(Tensor A) -> Tensor",
    outs=("out",), kernel=inverse_kernel, dtype=a_dtype, shape=square_sizes, samples=_squares, errors=_singular,
    reference=np.linalg.inv, ulp=ULP, is_method=False,
    traits=LAID_OUT_BY_LAPACK,
    doc="The inverse of square matrices. Raises LinAlgError for a singular one.",
)  # fmt: skip
declare(
    "aten::inverse(Tensor self) -> Tensor",
    outs=("out",), kernel=lambda self: inverse_kernel(self), dtype=same_dtype, shape=called_self(square_sizes),
    samples=_squares, errors=_singular, reference=np.linalg.inv, ulp=ULP,
    traits=LAID_OUT_BY_LAPACK,
    doc="The inverse of square matrices. Raises LinAlgError for a singular one.",
)  # fmt: skip
declare(
    "aten::linalg_inv_ex(Tensor A, *, bool check_errors=False) -> (Tensor inverse, Tensor info)",
    outs=("inverse(inverse, info)",), kernel=inverse_ex_kernel, dtype=dtypes_of(same, lambda _: int32),
    shape=lambda A: (square_sizes(A), batch_rank(A)), samples=_squares, ulp=ULP, is_method=False,
    traits=LAID_OUT_BY_LAPACK,
    doc="The inverse, and for each matrix 0 or which element of the diagonal was zero.",
)  # fmt: skip
declare(
    "aten::linalg_solve(Tensor A, Tensor B, *, bool left=True) -> Tensor",
    outs=("out",), kernel=solve_kernel, dtype=a_dtype, shape=_solved_rank, ulp=ULP, is_method=False,
    samples=lambda: [Sample(args=(square(), right())), Sample(args=(square(2), right()), note="broadcast"),
                     Sample(args=(square(), vectors()), note="vector"),
                     Sample(args=(square(2), vectors(2)), note="vectors"),
                     Sample(args=(square(), wrap(right()._array.T.copy())), kwargs={"left": False}, note="right")],
    errors=lambda: [
        ErrorSample(args=(wrap(np.ones((2, 2))), wrap(np.ones(2))), error=RuntimeError,
                    message="torch.linalg.solve: The solver failed because the input matrix is singular."),
        ErrorSample(args=(square(), wrap(np.ones(2, np.float32))), error=RuntimeError,
                    message="Incompatible shapes of A and B for the equation AX = B (3x3 and 2x1)"),
        ErrorSample(args=(square(), wrap(np.ones(3))), error=RuntimeError,
                    message="linalg.solve: Expected A and B to have the same dtype, but found A of type Float and B"),
    ],
    traits=LAID_OUT_BY_LAPACK,
    doc="X of `A @ X = B`, or of `X @ A = B` unless `left`. Raises LinAlgError for a singular matrix.",
)  # fmt: skip
declare(
    "aten::linalg_solve_ex(Tensor A, Tensor B, *, bool left=True, bool check_errors=False) -> (Tensor result, Tensor "
    "info)",
    outs=("out(result, info)",), kernel=solve_ex_kernel, dtype=dtypes_of(same, lambda _: int32),
    shape=_solved_and_info, ulp=ULP, is_method=False,
    samples=lambda: [Sample(args=(square(), right()))],
    traits=LAID_OUT_BY_LAPACK,
    doc="As `linalg.solve`, and for each matrix 0 or the place of a zero.",
)  # fmt: skip
for _schema in ("aten::linalg_det(Tensor A) -> Tensor", "aten::det(Tensor self) -> Tensor"):
    _old = "::det" in _schema
    declare(
        _schema, outs=() if _old else ("out",), kernel=(lambda self: det_kernel(self)) if _old else det_kernel,
        dtype=same_dtype if _old else a_dtype, shape=called_self(batch_rank) if _old else batch_rank,
        samples=_squares, errors=lambda: _not_square("linalg.det"), reference=np.linalg.det, ulp=ULP,
        is_method=_old, doc="The determinant of square matrices.",
    )  # fmt: skip
declare(
    "aten::logdet(Tensor self) -> Tensor",
    kernel=logdet_kernel, dtype=same_dtype, shape=called_self(batch_rank), samples=_squares, ulp=ULP,
    doc="The logarithm of the determinant; nan where that is negative.",
)  # fmt: skip
for _schema in (
    "aten::linalg_slogdet(Tensor A) -> (Tensor sign, Tensor logabsdet)",
    "aten::slogdet(Tensor self) -> (Tensor sign, Tensor logabsdet)",
):
    _old = "::slogdet" in _schema
    _dtypes = dtypes_of(same, real)
    declare(
        _schema, outs=("out",), ulp=ULP, is_method=_old, samples=_squares,
        kernel=(lambda self: slogdet_kernel(self)) if _old else slogdet_kernel,
        dtype=called_self(_dtypes) if _old else _dtypes,
        shape=(lambda self: (batch_rank(self),) * 2) if _old else (lambda A: (batch_rank(A),) * 2),
        errors=lambda: _not_square("linalg.slogdet"),
        doc="The sign of the determinant, and the logarithm of its size.",
    )  # fmt: skip
