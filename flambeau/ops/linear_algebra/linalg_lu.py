"""The factors L and U of matrices, systems solved with them, and triangular systems."""

from __future__ import annotations

from typing import Any, Final

from flambeau.ops.families.arrays import Array
from flambeau.ops.families.matrices import (
    LAID_OUT_BY_LAPACK,
    adjoint,
    batch_rank,
    check_floats,
    check_matrix,
    check_same_dtype,
    check_square,
    columns,
    dtypes_of,
    larger_rank,
    matrices_rank,
    right,
    rows,
    same,
    solved_rank,
    square,
    vectors,
    vectors_rank,
)
from flambeau.ops.families.opaque import declare
from flambeau.ops.families.rules import same_dtype
from flambeau.ops.families.triangular import factored, order_of, triangular_solved
from flambeau.schema.dtype import float32, float64, int32
from flambeau.schema.opdef import UNKNOWN, ErrorSample, Sample, Sizes
from flambeau.schema.traits import Traits
from flambeau.schema.types import TensorType
from flambeau.tensor.array_library import np
from flambeau.tensor.layout import broadcast
from flambeau.tensor.tensor import Tensor, wrap

ULP: Final = {float32: 256.0, float64: 256.0}


def lu_factor_ex_kernel(A: Array, pivot: bool = True, check_errors: bool = False) -> tuple[Array, Array, Array]:
    """L and U in one matrix, the exchanges of rows, and the place of a zero on the diagonal of U (0: none)."""
    if A.ndim < 2:
        raise RuntimeError(f"torch.lu_factor: Expected tensor with 2 or more dimensions. Got size: {list(A.shape)} "
                           "instead")  # fmt: skip
    check_floats("torch.lu_factor", A)
    if not pivot:
        raise RuntimeError("linalg.lu_factor: LU without pivoting is not implemented on the CPU")
    packed, pivots, info = factored(A)
    if check_errors and info.any():
        column = int(info.ravel()[np.flatnonzero(info)[0]])
        raise RuntimeError(
            f"torch.linalg.lu_factor: U[{column},{column}] is zero and using it on lu_solve would result in a division "
            "by zero. If you still want to perform the factorization, consider calling linalg.lu(A, pivot) or "
            "linalg.lu_factor_ex(A, pivot)"
        )
    return columns(packed), pivots, info


def lu_factor_kernel(A: Array, pivot: bool = True) -> tuple[Array, Array]:
    """Raises RuntimeError where U has a zero on its diagonal."""
    return lu_factor_ex_kernel(A, pivot, True)[:2]


def _parts(packed: Array) -> tuple[Array, Array]:
    tall, wide = packed.shape[-2:]
    count = min(tall, wide)
    lower = np.tril(packed[..., :, :count], -1)
    lower[..., range(count), range(count)] = 1
    return lower, np.triu(packed[..., :count, :])


def _permutation(pivots: Array, size: int, dtype: np.dtype[Any]) -> Array:
    order = order_of(pivots, size)
    matrix = np.zeros((*order.shape, size), dtype)
    np.put_along_axis(matrix, order[..., None], 1, axis=-1)
    return rows(matrix.swapaxes(-1, -2))


def lu_kernel(A: Array, pivot: bool = True) -> tuple[Array, Array, Array]:
    """P, L and U with `A = P @ L @ U`."""
    packed, pivots, _ = lu_factor_ex_kernel(A, pivot)
    lower, upper = _parts(packed)
    return _permutation(pivots, A.shape[-2], A.dtype), rows(lower), rows(upper)


def lu_unpack_kernel(
    LU_data: Array, LU_pivots: Array, unpack_data: bool = True, unpack_pivots: bool = True
) -> tuple[Array, Array, Array]:
    """P, L and U; those not asked for are empty. Raises RuntimeError unless the pivots are int32."""
    if unpack_pivots and LU_pivots.dtype != np.int32:
        raise RuntimeError(
            "torch.lu_unpack: LU_pivots is expected to be a contiguous tensor of torch.int32 dtype. Note: this "
            "function is intended to be used with the output produced by torch.linalg.lu_factor"
        )
    check_matrix("lu_unpack", LU_data, "LU_data")
    nothing = np.empty(0, LU_data.dtype)
    lower, upper = map(rows, _parts(LU_data)) if unpack_data else (nothing, nothing.copy())
    permutation = _permutation(LU_pivots, LU_data.shape[-2], LU_data.dtype) if unpack_pivots else nothing.copy()
    return permutation, lower, upper


def lu_solve_kernel(LU: Array, pivots: Array, B: Array, left: bool = True, adjoint: bool = False) -> Array:
    """X of `A @ X = B` (`X @ A = B` unless `left`) from the factors of A, or of its adjoint."""
    name = "linalg.lu_solve"
    check_floats(name, LU)
    if pivots.dtype != np.int32:
        raise RuntimeError("linalg.lu_solve: pivots should be a Tensor of scalar type torch.int32")
    check_square(name, LU, "LU")
    check_matrix(name, B, "B")
    check_same_dtype(name, LU, B, ("LU", "B"))
    if LU.shape[-1] != B.shape[-2 if left else -1]:
        sizes = f"({LU.shape[-2]}x{LU.shape[-1]} and {B.shape[-2]}x{B.shape[-1]})"
        equation = "AX = B" if left else "XA = B"
        raise RuntimeError(f"{name}: Incompatible shapes of A and B for the equation {equation} {sizes}")
    b = B if left else _adjoint(B)
    solution = _from_factors(LU, order_of(pivots, LU.shape[-1]), b, adjoint == left)
    return columns(solution) if left else rows(_adjoint(solution))


_adjoint = adjoint


def _from_factors(packed: Array, order: Array, b: Array, is_adjoint: bool) -> Array:
    batch = broadcast(packed.shape[:-2], b.shape[:-2])
    order = np.broadcast_to(order, (*batch, packed.shape[-1]))[..., None]
    b = np.broadcast_to(b, (*batch, *b.shape[-2:]))
    lower, upper = np.tril(packed, -1), np.triu(packed)
    if not is_adjoint:
        moved = np.take_along_axis(b, order, axis=-2)
        return triangular_solved(upper, triangular_solved(lower, moved, upper=False, unit=True), upper=True)
    inner = triangular_solved(_adjoint(upper), b, upper=False)
    inner = triangular_solved(_adjoint(lower), inner, upper=True, unit=True)
    solution = np.empty_like(inner)
    np.put_along_axis(solution, np.broadcast_to(order, inner.shape), inner, axis=-2)
    return solution


def solve_triangular_kernel(
    self: Array, B: Array, upper: bool, left: bool = True, unitriangular: bool = False
) -> Array:
    """X of `A @ X = B`, or of `X @ A = B`; the other triangle of A is not looked at."""
    name = "linalg.solve_triangular"
    check_square(name, self)
    check_matrix(name, B, "B")
    check_floats(name, self)
    check_same_dtype(name, self, B)
    if self.shape[-1] != B.shape[-2 if left else -1]:
        sizes = f"({self.shape[-2]}x{self.shape[-1]} and {B.shape[-2]}x{B.shape[-1]})"
        equation = "AX = B" if left else "XA = B"
        raise RuntimeError(f"{name}: Incompatible shapes of A and B for the equation {equation} {sizes}")
    if left:
        return columns(triangular_solved(self, B, upper=upper, unit=unitriangular))
    a, b = self.swapaxes(-1, -2), B.swapaxes(-1, -2)
    return columns(triangular_solved(a, b, upper=not upper, unit=unitriangular).swapaxes(-1, -2))


def triangular_solve_kernel(
    self: Array, A: Array, upper: bool = True, transpose: bool = False, unitriangular: bool = False
) -> tuple[Array, Array]:
    """X of `A @ X = self`, or of its transpose, and A again."""
    check_square("triangular_solve", A)
    check_same_dtype("triangular_solve", self, A, ("b", "A"))
    a = A.swapaxes(-1, -2) if transpose else A
    batch = broadcast(A.shape[:-2], self.shape[:-2])
    solution = triangular_solved(a, self, upper=upper != transpose, unit=unitriangular)
    return columns(solution), columns(np.broadcast_to(A, (*batch, *A.shape[-2:])))


# -- declarations -----------------------------------------------------------------------------------------------------


def _three(A: TensorType) -> tuple[Sizes | None, ...]:
    return (matrices_rank(A),) * 3


_TALL: Final = np.array([[1, 2], [4, -1], [2, 0.5], [0, 3]], np.float32)


def _shapes() -> list[Sample]:
    return [Sample(args=(square(2),)), Sample(args=(wrap(_TALL.copy()),), note="tall"),
            Sample(args=(wrap(_TALL.T.copy()),), note="wide")]  # fmt: skip


declare(
    "aten::linalg_lu_factor_ex(Tensor A, *, bool pivot=True, bool check_errors=False) -> (Tensor LU, Tensor pivots, "
    "Tensor info)",
    outs=("out",), kernel=lu_factor_ex_kernel, dtype=dtypes_of(same, lambda _: int32, lambda _: int32),
    shape=lambda A: (matrices_rank(A), vectors_rank(A), batch_rank(A)), samples=_shapes, ulp=ULP, is_method=False,
    doc="L and U in one matrix, the exchanges of rows, and the place of a zero on the diagonal of U (0: none).",
)  # fmt: skip
declare(
    "aten::linalg_lu_factor(Tensor A, *, bool pivot=True) -> (Tensor LU, Tensor pivots)",
    outs=("out",), kernel=lu_factor_kernel, dtype=dtypes_of(same, lambda _: int32),
    shape=lambda A: (matrices_rank(A), vectors_rank(A)), samples=_shapes, ulp=ULP, is_method=False,
    errors=lambda: [ErrorSample(args=(wrap(np.zeros((2, 2))),), error=RuntimeError, message="U[1,1] is zero"),
                    ErrorSample(args=(wrap(np.zeros(2)),), error=RuntimeError,
                                message="torch.lu_factor: Expected tensor with 2 or more dimensions. Got size: [2]")],
    doc="L and U in one matrix, and the exchanges of rows.",
)  # fmt: skip
declare(
    "aten::linalg_lu(Tensor A, *, bool pivot=True) -> (Tensor P, Tensor L, Tensor U)",
    outs=("out",), kernel=lu_kernel, dtype=dtypes_of(same, same, same), shape=_three, samples=_shapes, ulp=ULP,
    is_method=False, differentiable=(False, True, True),
    errors=lambda: [ErrorSample(args=(square(),), kwargs={"pivot": False}, error=RuntimeError,
                                message="linalg.lu_factor: LU without pivoting is not implemented on the CPU")],
    doc="A permutation P, a lower L and an upper U with `A = P @ L @ U`.",
)  # fmt: skip


def _factors(*batch: int) -> tuple[Tensor, Tensor]:
    packed, pivots = lu_factor_kernel(square(*batch)._array)
    return wrap(packed), wrap(pivots)


def _unpacked(LU_data: TensorType, unpack_data: Any, unpack_pivots: Any) -> tuple[Sizes | None, ...]:
    def rank(asked: Any) -> Sizes | None:
        return None if asked is UNKNOWN else matrices_rank(LU_data) if asked else (0,)

    return rank(unpack_pivots), rank(unpack_data), rank(unpack_data)


declare(
    "aten::lu_unpack(Tensor LU_data, Tensor LU_pivots, bool unpack_data=True, bool unpack_pivots=True) -> (Tensor P, "
    "Tensor L, Tensor U)",
    outs=("out",), kernel=lu_unpack_kernel, ulp=ULP, is_method=False, differentiable=(False, True, True),
    dtype=lambda LU_data: (LU_data.dtype,) * 3, shape=_unpacked,
    samples=lambda: [Sample(args=_factors(2)), Sample(args=(*_factors(), True, False), note="data"),
                     Sample(args=(*_factors(), False, True), note="pivots")],
    errors=lambda: [ErrorSample(args=(square(), wrap(np.ones(3, np.int64))), error=RuntimeError,
                                message="LU_pivots is expected to be a contiguous tensor of torch.int32 dtype")],
    doc="P, L and U of a factored matrix; those not asked for are empty.",
)  # fmt: skip
declare(
    "aten::linalg_lu_solve(Tensor LU, Tensor pivots, Tensor B, *, bool left=True, bool adjoint=False) -> Tensor",
    outs=("out",), kernel=lu_solve_kernel, ulp=ULP, is_method=False, dtype=lambda LU: LU.dtype,
    shape=lambda LU, B: solved_rank(LU, B),
    samples=lambda: [Sample(args=(*_factors(2), right(2))),
                     Sample(args=(*_factors(), right()), kwargs={"adjoint": True}, note="adjoint")],
    traits=LAID_OUT_BY_LAPACK,
    doc="X of `A @ X = B` from the factors of A.",
)  # fmt: skip
declare(
    "aten::lu_solve(Tensor self, Tensor LU_data, Tensor LU_pivots) -> Tensor",
    outs=("out",), kernel=lambda self, LU_data, LU_pivots: lu_solve_kernel(LU_data, LU_pivots, self), ulp=ULP,
    dtype=same_dtype, shape=lambda self, LU_data: solved_rank(LU_data, self),
    samples=lambda: [Sample(args=(right(2), *_factors(2)))],
    traits=Traits(layout_by_trial=True, instead="linalg.lu_solve(LU, pivots, B)"),
    doc="X of `A @ X = self` from the factors of A.",
)  # fmt: skip
declare(
    "aten::linalg_solve_triangular(Tensor self, Tensor B, *, bool upper, bool left=True, bool unitriangular=False) -> "
    "Tensor",
    outs=("out",), kernel=solve_triangular_kernel, ulp=ULP, is_method=False, dtype=same_dtype,
    shape=lambda self, B: solved_rank(self, B),
    samples=lambda: [Sample(args=(square(2), right()), kwargs={"upper": True}),
                     Sample(args=(square(), right()), kwargs={"upper": False, "unitriangular": True}, note="unit")],
    errors=lambda: [ErrorSample(args=(square(), vectors()), kwargs={"upper": True}, error=RuntimeError,
                                message="linalg.solve_triangular: The input tensor B must have at least 2 dimensions")],
    traits=LAID_OUT_BY_LAPACK,
    doc="X of `A @ X = B` for a triangular A, or of `X @ A = B` unless `left`.",
)  # fmt: skip
declare(
    "aten::triangular_solve(Tensor self, Tensor A, bool upper=True, bool transpose=False, bool unitriangular=False) -> "
    "(Tensor solution, Tensor cloned_coefficient)",
    outs=("X(X, M)",), kernel=triangular_solve_kernel, ulp=ULP, dtype=lambda self, A: (self.dtype, A.dtype),
    shape=lambda self, A: (larger_rank(self, A),) * 2,
    samples=lambda: [Sample(args=(right(2), square(2))), Sample(args=(right(), square(), True, True))],
    traits=Traits(instead="linalg.solve_triangular(A, B, upper=upper)"),
    doc="X of `A @ X = self` for a triangular A, and A again.",
)  # fmt: skip
declare(
    "aten::_lu_with_info(Tensor self, bool pivot=True, bool check_errors=True) -> (Tensor LU, Tensor pivots, Tensor "
    "info)",
    kernel=lambda self, pivot, check_errors: lu_factor_ex_kernel(self, pivot, check_errors), ulp=ULP,
    dtype=lambda self: (self.dtype, int32, int32), is_method=False,
    shape=lambda self: (matrices_rank(self), vectors_rank(self), batch_rank(self)), samples=_shapes,
    doc="L and U in one matrix, the exchanges of rows, and the place of a zero on the diagonal of U (0: none).",
)  # fmt: skip
