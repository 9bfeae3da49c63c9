"""The formulas of linear algebra.

Source: M. Giles, "An extended collection of matrix derivative results for forward and reverse mode algorithmic
differentiation" (2008), extended to complex matrices.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from flambeau.ops.derivatives.shapes import adjoint
from flambeau.schema.gradient import decomposed, formulas


def _inverse(f: Any, grad: Any, result: Any) -> Any:
    back = adjoint(f, result)
    return -f.matmul(back, f.matmul(grad, back))


formulas("aten::linalg_inv", A=_inverse)
formulas("aten::inverse", self=_inverse)


@decomposed("aten::linalg_inv_ex")
def _inv_ex(f: Any, A: Any, check_errors: bool) -> Any:
    return f.linalg_inv(A), f.linalg_inv_ex(A.detach(), check_errors=check_errors)[1]


def _determinant(f: Any, grad: Any, x: Any, result: Any) -> Any:
    """det(A) A^-H, by cofactors where A may be singular."""
    scale = f.unsqueeze(f.unsqueeze(grad * f.conj(result), -1), -1)
    size = x.shape[-1]
    identity = f.expand(f.eye(size, dtype=x.dtype), list(x.shape))
    return f.linalg_solve(adjoint(f, x), scale * identity) if size else f.zeros_like(x)


formulas("aten::linalg_det", A=lambda f, grad, A, result: _determinant(f, grad, A, result))
formulas("aten::det", self=lambda f, grad, self, result: _determinant(f, grad, self, result))


def _log_determinant(f: Any, grad: Any, x: Any) -> Any:
    return f.unsqueeze(f.unsqueeze(grad, -1), -1) * adjoint(f, f.linalg_inv(x))


formulas("aten::logdet", self=lambda f, grad, self: _log_determinant(f, grad, self))


def _slogdet(f: Any, grads: Sequence[Any], x: Any) -> Any:
    grad = grads[1] if len(grads) > 1 else None
    return f.zeros_like(x) if grad is None else _log_determinant(f, grad, x)


formulas("aten::linalg_slogdet", A=lambda f, grads, A: _slogdet(f, grads, A))
formulas("aten::slogdet", self=lambda f, grads, self: _slogdet(f, grads, self))


def _cholesky(f: Any, grad: Any, factor: Any) -> Any:
    """L^-H phi(L^H G) L^-1 made Hermitian, where phi halves the diagonal of the lower triangle."""
    inner = f.tril(f.matmul(adjoint(f, factor), grad))
    inner = inner - f.diag_embed(f.diagonal(inner, 0, -2, -1)) * 0.5
    left = f.linalg_solve_triangular(adjoint(f, factor), inner, upper=True)
    whole = f.linalg_solve_triangular(factor, left, upper=False, left=False)
    return (whole + adjoint(f, whole)) * 0.5


def _either_cholesky(f: Any, grad: Any, result: Any, upper: bool = False) -> Any:
    return _cholesky(f, adjoint(f, grad), adjoint(f, result)) if upper else _cholesky(f, grad, result)


formulas("aten::linalg_cholesky", self=_either_cholesky)
formulas("aten::cholesky", self=_either_cholesky)


def _solve_right(f: Any, grad: Any, A: Any, left: bool = True) -> Any:
    return f.linalg_solve(adjoint(f, A), grad, left=left)


def _solve_matrix(f: Any, grad: Any, A: Any, result: Any, left: bool = True) -> Any:
    is_vector = result.dim() == 1 or (A.dim() - 1 == result.dim() and list(A.shape[:-1]) == list(result.shape))
    back = f.linalg_solve(adjoint(f, A), grad, left=left)
    if is_vector:
        back, result = f.unsqueeze(back, -1), f.unsqueeze(result, -1)
    return -f.matmul(back, adjoint(f, result)) if left else -f.matmul(adjoint(f, result), back)


formulas("aten::linalg_solve", A=_solve_matrix, B=_solve_right)


@decomposed("aten::linalg_solve_ex")
def _solve_ex(f: Any, A: Any, B: Any, left: bool, check_errors: bool) -> Any:
    return f.linalg_solve(A, B, left=left), f.linalg_inv_ex(A.detach(), check_errors=check_errors)[1]


def _triangle(f: Any, x: Any, upper: bool, unitriangular: bool) -> Any:
    skipped = 1 if unitriangular else 0
    return f.triu(x, skipped) if upper else f.tril(x, -skipped)


def _triangular_right(f: Any, grad: Any, self: Any, upper: bool, left: bool, unitriangular: bool) -> Any:
    return f.linalg_solve_triangular(adjoint(f, self), grad, upper=not upper, left=left, unitriangular=unitriangular)


def _triangular_matrix(f: Any, grad: Any, self: Any, result: Any, upper: bool, left: bool, unitriangular: bool) -> Any:
    back = _triangular_right(f, grad, self, upper, left, unitriangular)
    whole = -f.matmul(back, adjoint(f, result)) if left else -f.matmul(adjoint(f, result), back)
    return _triangle(f, whole, upper, unitriangular)


formulas("aten::linalg_solve_triangular", self=_triangular_matrix, B=_triangular_right)


@decomposed("aten::linalg_matrix_power", "aten::matrix_power")
def _matrix_power(f: Any, self: Any, n: int) -> Any:
    if n == 0:
        return f.linalg_matrix_power(self.detach(), 0)
    base = f.linalg_inv(self) if n < 0 else self
    result, power = None, abs(n)
    while power:
        if power & 1:
            result = base if result is None else f.matmul(result, base)
        power >>= 1
        base = f.matmul(base, base) if power else base
    return result


def _matrix_exp(f: Any, grad: Any, self: Any) -> Any:
    """The upper right block of the exponential of [[A^H, G], [0, A^H]]."""
    back = adjoint(f, self)
    size = self.shape[-1]
    above = f.cat([back, grad], -1)
    below = f.cat([f.zeros_like(back), back], -1)
    return f.narrow(f.narrow(f.linalg_matrix_exp(f.cat([above, below], -2)), -2, 0, size), -1, size, size)


formulas("aten::linalg_matrix_exp", "aten::matrix_exp", self=_matrix_exp)


def _qr(f: Any, grads: Sequence[Any], results: Sequence[Any], mode: str) -> Any:
    q, r = results
    grad_q, grad_r = [*grads, None][:2]
    m, n = q.shape[-2], r.shape[-1]
    if mode == "r":
        raise RuntimeError("The derivative of linalg.qr depends on Q, which is not computed when mode='r'.")
    if mode == "complete" and m > n:
        raise RuntimeError("The QR decomposition is not differentiable when mode='complete' and nrows > ncols")
    if m < n:
        raise NotImplementedError("derivative for aten::linalg_qr of a matrix with more columns than rows is not there")
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


def _eigh(f: Any, grads: Sequence[Any], results: Sequence[Any]) -> Any:
    values, vectors = results
    grad_values, grad_vectors = [*grads, None][:2]
    back = adjoint(f, vectors)
    inner = f.zeros_like(vectors)
    if grad_vectors is not None:
        gaps = f.unsqueeze(values, -2) - f.unsqueeze(values, -1)
        turned = f.matmul(back, grad_vectors)
        turned = (turned - adjoint(f, turned)) / 2
        inner = f.where(gaps == 0, 0, turned / f.where(gaps == 0, 1, gaps))
    if grad_values is not None:
        inner = inner + f.diag_embed(grad_values)
    return f.matmul(vectors, f.matmul(inner, back))


formulas("aten::linalg_eigh", self=_eigh)


@decomposed("aten::linalg_eigvalsh")
def _eigvalsh(f: Any, self: Any, UPLO: str) -> Any:
    return f.linalg_eigh(self, UPLO)[0]


def _svd(f: Any, grads: Sequence[Any], results: Sequence[Any]) -> Any:
    u, s, vh = results
    grad_u, grad_s, grad_vh = [*grads, None, None][:3]
    inner = f.diag_embed(grad_s).to(u.dtype) if grad_s is not None else f.zeros_like(f.matmul(vh, adjoint(f, vh)))
    squares = f.unsqueeze(s * s, -2) - f.unsqueeze(s * s, -1)
    gaps = f.where(squares == 0, 1, squares)
    row, column = f.unsqueeze(s, -2), f.unsqueeze(s, -1)
    result_u = result_v = None
    if grad_u is not None:
        turned = f.matmul(adjoint(f, u), grad_u)
        skew = f.where(squares == 0, 0, (turned - adjoint(f, turned)) / gaps)
        inner = inner + skew * row
        if u.shape[-2] > u.shape[-1]:
            result_u = f.matmul((grad_u - f.matmul(u, turned)) / row, vh)
    if grad_vh is not None:
        turned = f.matmul(vh, adjoint(f, grad_vh))
        skew = f.where(squares == 0, 0, (turned - adjoint(f, turned)) / gaps)
        inner = inner + column * skew
        if vh.shape[-1] > vh.shape[-2]:
            rest = grad_vh - f.matmul(adjoint(f, turned), vh)
            result_v = f.matmul(u, rest / column)
    result = f.matmul(u, f.matmul(inner, vh))
    result = result if result_u is None else result + result_u
    return result if result_v is None else result + result_v


formulas("aten::linalg_svd", A=_svd)


@decomposed("aten::linalg_svdvals")
def _svdvals(f: Any, A: Any, driver: Any) -> Any:
    return f.linalg_svd(A, False)[1]


@decomposed("aten::linalg_matrix_norm")
def _matrix_norm(f: Any, self: Any, ord: Any, dim: Sequence[int], keepdim: bool, dtype: Any) -> Any:
    rank = self.dim()
    x = self if dtype is None else f.to(self, dtype)
    rows, columns = (d % rank for d in dim)
    ord = float(ord)
    if abs(ord) in (1.0, float("inf")):
        summed, best = (rows, columns) if abs(ord) == 1.0 else (columns, rows)
        sums = f.linalg_vector_norm(x, 1, [summed], True)
        result = (f.amax if ord > 0 else f.amin)(sums, [best], True)
    else:
        values = f.linalg_svdvals(f.movedim(x, [rows, columns], [-2, -1]))
        result = (f.amax if ord > 0 else f.amin)(values, [-1], False)
        result = f.unsqueeze(f.unsqueeze(result, min(rows, columns)), max(rows, columns))
    return result if keepdim else f.squeeze(result, [rows, columns])


@decomposed("aten::linalg_matrix_norm.str_ord")
def _matrix_norm_named(f: Any, self: Any, ord: str, dim: Sequence[int], keepdim: bool, dtype: Any) -> Any:
    rank = self.dim()
    x = self if dtype is None else f.to(self, dtype)
    rows, columns = (d % rank for d in dim)
    if ord == "fro":
        return f.linalg_vector_norm(x, 2, [rows, columns], keepdim)
    result = f.sum(f.linalg_svdvals(f.movedim(x, [rows, columns], [-2, -1])), [-1])
    if keepdim:
        result = f.unsqueeze(f.unsqueeze(result, min(rows, columns)), max(rows, columns))
    return result


@decomposed("aten::linalg_norm")
def _linalg_norm(f: Any, self: Any, ord: Any, dim: Any, keepdim: bool, dtype: Any) -> Any:
    listed = None if dim is None else [dim] if isinstance(dim, int) else list(dim)
    if ord is not None and ((listed is None and self.dim() == 2) or (listed is not None and len(listed) == 2)):
        return f.linalg_matrix_norm(self, ord, listed or [-2, -1], keepdim, dtype=dtype)
    return f.linalg_vector_norm(self, 2 if ord is None else ord, listed, keepdim, dtype=dtype)


@decomposed("aten::linalg_norm.ord_str")
def _linalg_norm_named(f: Any, self: Any, ord: str, dim: Any, keepdim: bool, dtype: Any) -> Any:
    return f.linalg_matrix_norm(self, ord, [-2, -1] if dim is None else dim, keepdim, dtype=dtype)


@decomposed("aten::linalg_tensorinv")
def _tensorinv(f: Any, self: Any, ind: int) -> Any:
    sizes = list(self.shape)
    number = math.prod(sizes[ind:])
    return f.reshape(f.linalg_inv(f.reshape(self, [-1, number])), [*sizes[ind:], *sizes[:ind]])


@decomposed("aten::linalg_tensorsolve")
def _tensorsolve(f: Any, self: Any, other: Any, dims: Any) -> Any:
    if dims is not None:
        rank = self.dim()
        moved = [d % rank for d in dims]
        self = f.permute(self, [d for d in range(rank) if d not in moved] + moved)
    sizes = list(self.shape)[other.dim() :]
    number = math.prod(sizes)
    return f.reshape(f.linalg_solve(f.reshape(self, [-1, number]), f.reshape(other, [-1])), sizes)
