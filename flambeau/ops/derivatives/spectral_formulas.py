"""The formulas of eigenvalues, singular values and pseudo-inverses.

Sources: M. Giles, "An extended collection of matrix derivative results for forward and reverse mode algorithmic
differentiation" (2008), extended to complex matrices; G. Golub and V. Pereyra, "The differentiation of pseudo-inverses
and nonlinear least squares problems whose variables separate" (1973).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flambeau.ops.derivatives.shapes import adjoint, perhaps
from flambeau.schema.gradient import decomposed, formulas


def _over_gaps(f: Any, x: Any, values: Any) -> Any:
    """x[i, j] over values[j] - values[i]; 0 where these are equal, on the diagonal first of all."""
    gaps = f.unsqueeze(values, -2) - f.unsqueeze(values, -1)
    is_zero = f.eq(gaps, 0)
    return f.where(is_zero, 0, x / f.where(is_zero, 1, gaps))


def _eigh(f: Any, grads: Sequence[Any], results: Sequence[Any]) -> Any:
    values, vectors = results
    grad_values, grad_vectors = [*grads, None][:2]
    back = adjoint(f, vectors)
    if grad_vectors is None:
        return f.matmul(vectors * f.unsqueeze(grad_values, -2), back)
    turned = f.matmul(back, grad_vectors)
    inner = _over_gaps(f, (turned - adjoint(f, turned)) / 2, values)
    if grad_values is not None:
        inner = inner + f.diag_embed(grad_values)
    return f.matmul(vectors, f.matmul(inner, back))


formulas("aten::linalg_eigh", self=_eigh)


@decomposed("aten::linalg_eigvalsh")
def _eigvalsh(f: Any, self: Any, UPLO: str) -> Any:
    return f.linalg_eigh(self, UPLO)[0]


def _eig(f: Any, grads: Sequence[Any], results: Sequence[Any]) -> Any:
    """V^-H (diag(g) + (V^H G - V^H V diag(Re V^H G)) / conj(gaps)) V^H: vectors of length 1, of any phase."""
    values, vectors = results
    grad_values, grad_vectors = [*grads, None][:2]
    back = adjoint(f, vectors)
    if grad_vectors is None:
        return f.linalg_solve(back, f.unsqueeze(grad_values, -1) * back)
    turned = f.matmul(back, grad_vectors)
    along = f.unsqueeze(f.real(f.diagonal(turned, 0, -2, -1)), -2)
    inner = _over_gaps(f, turned - f.matmul(back, vectors) * along, f.conj(values))
    if grad_values is not None:
        inner = inner + f.diag_embed(grad_values)
    return f.linalg_solve(back, f.matmul(inner, back))


formulas("aten::linalg_eig", self=_eig)


@decomposed("aten::linalg_eigvals")
def _eigvals(f: Any, self: Any) -> Any:
    return f.linalg_eig(self)[0]


def _svd(f: Any, grads: Sequence[Any], results: Sequence[Any]) -> Any:
    u, s, vh = results
    grad_u, grad_s, grad_vh = [*grads, None, None][:3]
    count = s.shape[-1]
    u, vh = f.narrow(u, -1, 0, count), f.narrow(vh, -2, 0, count)
    if grad_u is None and grad_vh is None:
        return f.matmul(u * f.unsqueeze(grad_s, -2), vh)
    row, column = f.unsqueeze(s, -2), f.unsqueeze(s, -1)
    inner = f.zeros_like(f.matmul(vh, adjoint(f, vh))) if grad_s is None else f.to(f.diag_embed(grad_s), u.dtype)
    phase = None
    result_u = result_v = None
    if grad_u is not None:
        grad_u = f.narrow(grad_u, -1, 0, count)
        turned = f.matmul(adjoint(f, u), grad_u)
        skew = turned - adjoint(f, turned)
        phase = skew
        inner = inner + _over_gaps(f, skew, s * s) * row
        if u.shape[-2] > count:
            result_u = f.matmul((grad_u - f.matmul(u, turned)) / row, vh)
    if grad_vh is not None:
        grad_vh = f.narrow(grad_vh, -2, 0, count)
        turned = f.matmul(vh, adjoint(f, grad_vh))
        skew = turned - adjoint(f, turned)
        phase = -skew if phase is None else phase - skew
        inner = inner + column * _over_gaps(f, skew, s * s)
        if vh.shape[-1] > count:
            result_v = f.matmul(u, (grad_vh - f.matmul(adjoint(f, turned), vh)) / column)
    if u.dtype.is_complex and phase is not None:  # the phases of a pair of vectors turn together
        share = 4 if grad_u is not None and grad_vh is not None else 2
        inner = inner + f.diag_embed(f.diagonal(phase, 0, -2, -1) / (share * s))
    result = f.matmul(u, f.matmul(inner, vh))
    for part in (result_u, result_v):
        result = result if part is None else result + part
    return result


formulas("aten::linalg_svd", A=_svd)


@decomposed("aten::linalg_svdvals")
def _svdvals(f: Any, A: Any, driver: Any) -> Any:
    return f.linalg_svd(A, False)[1]


@decomposed("aten::svd")
def _old_svd(f: Any, self: Any, some: bool, compute_uv: bool) -> Any:
    u, s, vh = f.linalg_svd(self, not some)
    if compute_uv:
        return u, s, adjoint(f, vh)
    *batches, rows, columns = self.shape
    return self.new_zeros([*batches, rows, rows]), s, self.new_zeros([*batches, columns, columns])


# Pseudo-inverses


def _pseudo_inverse(f: Any, grad: Any, A: Any, inverse: Any) -> Any:
    """-P^H G P^H + (I - A P) G^H P P^H + P^H P G^H (I - P A), the smaller products first."""
    back, turned = adjoint(f, inverse), adjoint(f, grad)
    own = -f.matmul(back, f.matmul(grad, back))
    if perhaps(A.shape[-2] < A.shape[-1]):
        product = f.matmul(turned, inverse)
        left = f.matmul(product - f.matmul(f.matmul(A, inverse), product), back)
        right = f.matmul(f.matmul(back, inverse), turned - f.matmul(product, A))
    else:
        product = f.matmul(inverse, turned)
        outer = f.matmul(turned, f.matmul(inverse, back))
        left = outer - f.matmul(A, f.matmul(inverse, outer))
        right = f.matmul(back, product - f.matmul(product, f.matmul(inverse, A)))
    return own + left + right


formulas(
    "aten::linalg_pinv",
    "aten::pinverse",
    self=lambda f, grad, self, result: _pseudo_inverse(f, grad, self, result),
)


def _as_columns(f: Any, x: Any, is_vector: bool) -> Any:
    return f.unsqueeze(x, -1) if is_vector else x


def _is_vector(matrix: Any, right: Any) -> bool:
    return right.dim() == 1 or (matrix.dim() - 1 == right.dim() and list(matrix.shape[:-1]) == list(right.shape))


def _wanted(grads: Sequence[Any]) -> tuple[Any, Any]:
    """The gradients of the solution, and of the residuals where there are any."""
    grad_solution, grad_residuals = [*grads, None][:2]
    return grad_solution, None if grad_residuals is None or 0 in grad_residuals.shape[-1:] else grad_residuals


def _least_squares_matrix(f: Any, grads: Sequence[Any], self: Any, b: Any, result0: Any) -> Any:
    grad_solution, grad_residuals = _wanted(grads)
    is_vector = _is_vector(self, b)
    solution, right = _as_columns(f, result0, is_vector), _as_columns(f, b, is_vector)
    result = f.zeros_like(self)
    if grad_solution is not None:
        outer = f.matmul(_as_columns(f, grad_solution, is_vector), adjoint(f, right))
        result = _pseudo_inverse(f, outer, self, f.linalg_pinv(self))
    if grad_residuals is not None:
        result = result + f.matmul(_by_residuals(f, grad_residuals, self, solution, right), adjoint(f, solution))
    return result


def _by_residuals(f: Any, grad: Any, matrix: Any, solution: Any, right: Any) -> Any:
    """The gradient of `matrix @ solution - right` from that of its squares, added up by column."""
    return 2 * (f.matmul(matrix, solution) - right) * f.unsqueeze(grad, -2)


def _least_squares_right(f: Any, grads: Sequence[Any], self: Any, b: Any, result0: Any) -> Any:
    grad_solution, grad_residuals = _wanted(grads)
    is_vector = _is_vector(self, b)
    result = None
    if grad_solution is not None:
        result = f.matmul(adjoint(f, f.linalg_pinv(self)), _as_columns(f, grad_solution, is_vector))
    if grad_residuals is not None:
        solution, right = _as_columns(f, result0, is_vector), _as_columns(f, b, is_vector)
        part = -_by_residuals(f, grad_residuals, self, solution, right)
        result = part if result is None else result + part
    return f.squeeze(result, -1) if is_vector and result is not None else result


formulas("aten::linalg_lstsq", self=_least_squares_matrix, b=_least_squares_right)


# Norms and conditions


def _condition(f: Any, x: Any, p: Any) -> Any:
    if p is None or p in (2, -2):
        values = f.linalg_svdvals(x)
        largest, least = f.select(values, -1, 0), f.select(values, -1, -1)
        return least / largest if p == -2 else largest / least
    inverse = f.linalg_inv_ex(x)[0]
    result = f.linalg_matrix_norm(x, p) * f.linalg_matrix_norm(inverse, p)
    return f.where(f.isnan(f.detach(result)), float("inf"), result)


@decomposed("aten::linalg_cond")
def _cond(f: Any, self: Any, p: Any) -> Any:
    return _condition(f, self, p)


@decomposed("aten::nuclear_norm")
def _nuclear_norm(f: Any, self: Any, keepdim: bool, dim: Any = (-2, -1)) -> Any:
    return f.linalg_matrix_norm(self, "nuc", list(dim), keepdim)


@decomposed("aten::frobenius_norm")
def _frobenius_norm(f: Any, self: Any, dim: Any, keepdim: bool) -> Any:
    return f.linalg_vector_norm(self, 2, dim, keepdim)
