"""The formulas of factors of matrices, and of what is computed from factors: Cholesky, LU, QR, reflections.

Sources: M. Giles, "An extended collection of matrix derivative results for forward and reverse mode algorithmic
differentiation" (2008), for Cholesky and LU; D. Roberts and L. Roberts, "QR and LQ decomposition matrix
backpropagation algorithms for square, wide, and deep matrices" (2020); R. Schreiber and C. Van Loan, "A
storage-efficient WY representation for products of Householder transformations" (1989). All extended to complex
matrices.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flambeau.ops.derivatives import shapes
from flambeau.ops.derivatives.plain_arrays import of_cholesky
from flambeau.ops.derivatives.shapes import adjoint
from flambeau.schema.gradient import decomposed, formulas


def _lower_solved(f: Any, lower: Any, right: Any) -> Any:
    """X of `lower^H X = right`."""
    return f.linalg_solve_triangular(adjoint(f, lower), right, upper=True)


def _cholesky(f: Any, grad: Any, factor: Any) -> Any:
    """L^-H phi L^-1 / 2, where phi is the lower triangle of L^H G, mirrored."""
    product = f.matmul(adjoint(f, factor), grad)
    below = f.tril(product, -1)
    phi = (below + adjoint(f, below) + f.diag_embed(f.diagonal(product, 0, -2, -1))) * 0.5
    left = _lower_solved(f, factor, phi)
    return f.linalg_solve_triangular(factor, left, upper=False, left=False)


def _either_cholesky(f: Any, grad: Any, result: Any, upper: bool = False) -> Any:
    grad, factor = (adjoint(f, grad), adjoint(f, result)) if upper else (grad, result)
    return f.over_arrays(of_cholesky, _cholesky, grad, factor)


formulas("aten::linalg_cholesky", "aten::cholesky", self=_either_cholesky)
formulas(
    "aten::linalg_cholesky_ex",
    self=lambda f, grads, result0, upper: _either_cholesky(f, grads[0], result0, upper),
)


def _triangle(f: Any, x: Any, upper: bool) -> Any:
    return f.triu(x) if upper else f.tril(x)


def _cholesky_inverse(f: Any, grad: Any, self: Any, result: Any, upper: bool) -> Any:
    """Of (L L^H)^-1, or (U^H U)^-1: only one triangle is looked at."""
    inner = -f.matmul(result, f.matmul(grad + adjoint(f, grad), result))
    return _triangle(f, f.matmul(self, inner) if upper else f.matmul(inner, self), upper)


def _cholesky_solve_factor(f: Any, grad: Any, input2: Any, result: Any, upper: bool) -> Any:
    outer = f.matmul(f.cholesky_solve(grad, input2, upper), adjoint(f, result))
    inner = -(outer + adjoint(f, outer))
    return _triangle(f, f.matmul(input2, inner) if upper else f.matmul(inner, input2), upper)


formulas("aten::cholesky_inverse", self=_cholesky_inverse)
formulas(
    "aten::cholesky_solve",
    self=lambda f, grad, input2, upper: f.cholesky_solve(grad, input2, upper),
    input2=_cholesky_solve_factor,
)


# LU


def _lu_square(f: Any, lower: Any, upper: Any, inner: Any) -> Any:
    """L^-H inner U^-H."""
    left = f.linalg_solve_triangular(adjoint(f, lower), inner, upper=True, unitriangular=True)
    return f.linalg_solve_triangular(adjoint(f, upper), left, upper=False, left=False)


def _lu(f: Any, grad_lower: Any, grad_upper: Any, factors: tuple[Any, Any, Any]) -> Any:
    """L^-H (tril(L^H G_L, -1) + triu(G_U U^H)) U^-H, with rows put back where they came from.

    Of a tall matrix the rows below are L_2 = A_2 U^-1, of a wide one the columns behind U_2 = L^-1 A_2.
    """
    permutation, lower, upper = factors
    tall, count, wide = lower.shape[-2], lower.shape[-1], upper.shape[-1]
    top, below = f.narrow(lower, -2, 0, count), f.narrow(lower, -2, count, tall - count)
    front, behind = f.narrow(upper, -1, 0, count), f.narrow(upper, -1, count, wide - count)
    grad_below = f.narrow(grad_lower, -2, count, tall - count)
    grad_behind = f.narrow(grad_upper, -1, count, wide - count)
    by_lower = f.matmul(adjoint(f, top), f.narrow(grad_lower, -2, 0, count))
    by_upper = f.matmul(f.narrow(grad_upper, -1, 0, count), adjoint(f, front))
    has_below, has_behind = shapes.perhaps(tall > count), shapes.perhaps(wide > count)
    if has_below:
        by_upper = by_upper - f.matmul(adjoint(f, below), grad_below)
    if has_behind:
        by_lower = by_lower - f.matmul(grad_behind, adjoint(f, behind))
    result = _lu_square(f, top, front, f.tril(by_lower, -1) + f.triu(by_upper))
    if has_below:
        rest = f.linalg_solve_triangular(adjoint(f, front), grad_below, upper=False, left=False)
        result = f.cat([result, rest], -2)
    if has_behind:
        rest = f.linalg_solve_triangular(adjoint(f, top), grad_behind, upper=True, unitriangular=True)
        result = f.cat([result, rest], -1)
    return f.matmul(permutation, result)


def _lu_of(f: Any, grads: Sequence[Any], results: Sequence[Any]) -> Any:
    permutation, lower, upper = results
    _, grad_lower, grad_upper = [*grads, None, None][:3]
    grad_lower = f.zeros_like(lower) if grad_lower is None else grad_lower
    grad_upper = f.zeros_like(upper) if grad_upper is None else grad_upper
    return _lu(f, grad_lower, grad_upper, (permutation, lower, upper))


def _lu_factor(f: Any, grads: Sequence[Any], result0: Any, result1: Any) -> Any:
    packed, factors = grads[0], f.lu_unpack(result0, result1)
    permutation, lower, upper = factors[0], factors[1], factors[2]
    count = lower.shape[-1]
    grad_lower, grad_upper = f.tril(f.narrow(packed, -1, 0, count), -1), f.triu(f.narrow(packed, -2, 0, count))
    return _lu(f, grad_lower, grad_upper, (permutation, lower, upper))


formulas("aten::linalg_lu", A=_lu_of)
formulas("aten::linalg_lu_factor", "aten::linalg_lu_factor_ex", A=_lu_factor)
formulas("aten::_lu_with_info", self=_lu_factor)


def _lu_unpack(f: Any, grads: Sequence[Any], LU_data_sizes: Sequence[int], results_sizes: Any) -> Any:
    [tall, wide] = LU_data_sizes[-2:]
    _, grad_lower, grad_upper = [*grads, None, None][:3]
    result = None
    if grad_lower is not None:
        result = f.tril(f.constant_pad_nd(grad_lower, [0, wide - grad_lower.shape[-1]]), -1)
    if grad_upper is not None:
        upper = f.triu(f.constant_pad_nd(grad_upper, [0, 0, 0, tall - grad_upper.shape[-2]]))
        result = upper if result is None else result + upper
    return result


formulas("aten::lu_unpack", LU_data=_lu_unpack)


@decomposed("aten::linalg_lu_solve")
def _linalg_lu_solve(f: Any, LU: Any, pivots: Any, B: Any, left: bool, adjoint: bool) -> Any:
    if not left:  # X A = B is A^H X^H = B^H
        return _adjoint(f, f.linalg_lu_solve(LU, pivots, _adjoint(f, B), left=True, adjoint=not adjoint))
    permutation = f.lu_unpack(f.detach(LU), pivots, False)[0]
    if not adjoint:
        inner = f.linalg_solve_triangular(LU, f.matmul(_adjoint(f, permutation), B), upper=False, unitriangular=True)
        return f.linalg_solve_triangular(LU, inner, upper=True)
    back = _adjoint(f, LU)
    inner = f.linalg_solve_triangular(back, B, upper=False)
    return f.matmul(permutation, f.linalg_solve_triangular(back, inner, upper=True, unitriangular=True))


_adjoint = adjoint


@decomposed("aten::lu_solve")
def _lu_solve(f: Any, self: Any, LU_data: Any, LU_pivots: Any) -> Any:
    return f.linalg_lu_solve(LU_data, LU_pivots, self)


@decomposed("aten::triangular_solve")
def _triangular_solve(f: Any, self: Any, A: Any, upper: bool, transpose: bool, unitriangular: bool) -> Any:
    matrix = f.transpose(A, -2, -1) if transpose else A
    solution = f.linalg_solve_triangular(matrix, self, upper=upper != transpose, unitriangular=unitriangular)
    return solution, f.clone(f.expand(A, [*solution.shape[:-2], *A.shape[-2:]]))


# QR and reflections


def _qr(f: Any, grads: Sequence[Any], results: Sequence[Any], mode: str) -> Any:
    """Of a wide matrix, the columns behind are R_2 = Q^H A_2; what may be wide goes back as if it were."""
    q, r = results
    grad_q, grad_r = [*grads, None][:2]
    if mode == "r":
        raise RuntimeError(
            "The derivative of linalg.qr depends on Q, which is not computed when mode='r'. Please use "
            "linalg.qr(A, mode='reduced') if you are going to require gradients."
        )
    count, columns = q.shape[-1], r.shape[-1]
    if mode == "complete" and count > columns:
        raise RuntimeError("The QR decomposition is not differentiable when mode='complete' and nrows > ncols")
    if not shapes.perhaps(columns > count):
        return _qr_tall(f, grad_q, grad_r, q, r)
    further = columns - count
    behind = f.zeros_like(f.narrow(r, -1, count, further))
    if grad_r is not None:
        rest = f.narrow(grad_r, -1, count, further)
        by_q = f.matmul(q, f.matmul(f.narrow(r, -1, count, further), adjoint(f, rest)))
        behind = f.matmul(q, rest)
        grad_q = by_q if grad_q is None else grad_q + by_q
        grad_r = f.narrow(grad_r, -1, 0, count)
    else:
        behind = f.matmul(q, behind)
    return f.cat([_qr_tall(f, grad_q, grad_r, q, f.narrow(r, -1, 0, count)), behind], -1)


def _qr_tall(f: Any, grad_q: Any, grad_r: Any, q: Any, r: Any) -> Any:
    middle = f.zeros_like(r)
    if grad_r is not None:
        middle = middle + f.matmul(r, adjoint(f, grad_r))
    if grad_q is not None:
        middle = middle - f.matmul(adjoint(f, grad_q), q)
    lower = f.tril(middle, -1)
    diagonal = f.diag_embed(f.real(f.diagonal(middle, 0, -2, -1)))
    inner = f.matmul(q, lower + adjoint(f, lower) + diagonal)
    if grad_q is not None:
        inner = inner + grad_q
    return f.linalg_solve_triangular(adjoint(f, r), inner, upper=False, left=False)


formulas("aten::linalg_qr", A=_qr)


@decomposed("aten::qr")
def _old_qr(f: Any, self: Any, some: bool) -> Any:
    return f.linalg_qr(self, "reduced" if some else "complete")


def _reflections(f: Any, vectors: Any, tau: Any) -> tuple[Any, Any]:
    """V and T of I - V T V^H, the product of the reflections I - tau_i v_i v_i^H."""
    tall, count = vectors.shape[-2], tau.shape[-1]
    strict = f.tril(f.narrow(vectors, -1, 0, count), -1)
    v = strict + f.eye(tall, count, dtype=vectors.dtype)
    scale = f.diag_embed(tau)
    between = f.matmul(scale, f.triu(f.matmul(adjoint(f, v), v), 1))
    return v, f.linalg_solve_triangular(between, scale, upper=True, unitriangular=True)


@decomposed("aten::linalg_householder_product")
def _householder_product(f: Any, input: Any, tau: Any) -> Any:
    tall, wide = input.shape[-2], input.shape[-1]
    v, t = _reflections(f, input, tau)
    identity = f.eye(tall, wide, dtype=input.dtype)
    return identity - f.matmul(v, f.matmul(t, adjoint(f, f.narrow(v, -2, 0, wide))))


@decomposed("aten::orgqr")
def _orgqr(f: Any, self: Any, input2: Any) -> Any:
    return f.linalg_householder_product(self, input2)


@decomposed("aten::ormqr")
def _ormqr(f: Any, self: Any, input2: Any, input3: Any, left: bool, transpose: bool) -> Any:
    v, t = _reflections(f, self, input2)
    t = adjoint(f, t) if transpose else t
    if left:
        return input3 - f.matmul(v, f.matmul(t, f.matmul(adjoint(f, v), input3)))
    return input3 - f.matmul(f.matmul(f.matmul(input3, v), t), adjoint(f, v))
