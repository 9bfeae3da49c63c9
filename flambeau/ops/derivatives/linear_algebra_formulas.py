"""The formulas of linear algebra.

Source: M. Giles, "An extended collection of matrix derivative results for forward and reverse mode algorithmic
differentiation" (2008), extended to complex matrices.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from flambeau.ops.derivatives.shapes import adjoint, perhaps
from flambeau.schema.gradient import decomposed, formulas


def _inverse(f: Any, grad: Any, result: Any) -> Any:
    back = adjoint(f, result)
    return -f.matmul(back, f.matmul(grad, back))


formulas("aten::linalg_inv", A=_inverse)
formulas("aten::inverse", self=_inverse)


formulas("aten::linalg_inv_ex", A=lambda f, grads, result0: _inverse(f, grads[0], result0))


_PRECISION = {4: 1.1920928955078125e-07, 8: 2.220446049250313e-16, 16: 2.220446049250313e-16}
"""The distance between 1 and the next number, by the size of an element."""


def _determinant(f: Any, grad: Any, x: Any, result: Any) -> Any:
    return f.in_a_loop("det_gradient", _by_cofactors, grad, x, result)


@decomposed("flambeau::det_gradient")
def _by_cofactors(f: Any, grad: Any, x: Any, determinant: Any) -> Any:
    """det(A) A^-H, from Q and R, where a zero on the diagonal of R becomes the least number that counts.

    So it tends to the cofactors of a matrix that is singular.
    """
    if not perhaps(x.shape[-1] != 0):
        return f.zeros_like(x)
    factors = f.linalg_qr(x)
    q, r = factors[0], factors[1]
    diagonal = f.diagonal(r, 0, -2, -1)
    least = _PRECISION[8 if x.dtype.is_complex and x.itemsize == 8 else x.itemsize]
    r = r + f.diag_embed(f.where(f.eq(diagonal, 0), least, f.zeros_like(diagonal)))
    volume = f.linalg_det(q) * f.prod(f.diagonal(r, 0, -2, -1), -1)
    scale = f.unsqueeze(f.unsqueeze(grad * f.conj(volume), -1), -1)
    return f.linalg_solve_triangular(adjoint(f, r), scale * q, upper=False, left=False)


formulas("aten::linalg_det", A=lambda f, grad, A, result: _determinant(f, grad, A, result))
formulas("aten::det", self=lambda f, grad, self, result: _determinant(f, grad, self, result))


def _log_determinant(f: Any, grad: Any, x: Any) -> Any:
    return f.unsqueeze(f.unsqueeze(grad, -1), -1) * adjoint(f, f.linalg_inv_ex(x)[0])


formulas("aten::logdet", self=lambda f, grad, self: _log_determinant(f, grad, self))


def _slogdet(f: Any, grads: Sequence[Any], x: Any, sign: Any) -> Any:
    """Of complex numbers, the sign turns with the imaginary part of tr(A^-1 dA)."""
    by_sign, grad = [*grads, None][:2]
    if by_sign is not None and x.dtype.is_complex:
        turned = f.imag(by_sign * f.conj(sign)) * 1j
        grad = turned if grad is None else grad + turned
    return f.zeros_like(x) if grad is None else _log_determinant(f, grad, x)


formulas("aten::linalg_slogdet", A=lambda f, grads, A, result0: _slogdet(f, grads, A, result0))
formulas("aten::slogdet", self=lambda f, grads, self, result0: _slogdet(f, grads, self, result0))


def _solve_right(f: Any, grad: Any, A: Any, left: bool = True) -> Any:
    return f.linalg_solve(adjoint(f, A), grad, left=left)


def _solve_matrix(f: Any, grad: Any, A: Any, result: Any, left: bool = True) -> Any:
    is_vector = result.dim() == 1 or (A.dim() - 1 == result.dim() and list(A.shape[:-1]) == list(result.shape))
    back = f.linalg_solve(adjoint(f, A), grad, left=left)
    if is_vector:
        back, result = f.unsqueeze(back, -1), f.unsqueeze(result, -1)
    return -f.matmul(back, adjoint(f, result)) if left else -f.matmul(adjoint(f, result), back)


formulas("aten::linalg_solve", A=_solve_matrix, B=_solve_right)


formulas(
    "aten::linalg_solve_ex",
    A=lambda f, grads, A, result0, left: _solve_matrix(f, grads[0], A, result0, left),
    B=lambda f, grads, A, left: _solve_right(f, grads[0], A, left),
)


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
        identity = f.linalg_matrix_power(f.detach(self), 0)
        return f.where(f.zeros_like(identity, dtype=f.isnan(identity).dtype), self, identity)
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
