"""The formulas of statistics: covariances, quantiles, areas under curves, sets of elements."""

from __future__ import annotations

from typing import Any

from flambeau.ops.derivatives.shapes import at_least_zero
from flambeau.schema.gradient import decomposed


@decomposed("aten::cov")
def _cov(f: Any, self: Any, correction: int, fweights: Any, aweights: Any) -> Any:
    rows = f.reshape(self, [1, -1]) if self.dim() < 2 else self
    weights = fweights if aweights is None else aweights if fweights is None else fweights * aweights
    total = rows.shape[1] if weights is None else f.sum(weights)
    mean = f.sum(rows if weights is None else rows * weights, [1], True) / total
    divisor = total - correction
    if aweights is not None and correction:
        divisor = total - correction * f.sum(weights * aweights) / total
    apart = rows - mean
    weighted = apart if weights is None else apart * weights
    result = f.matmul(weighted, f.conj(f.transpose(apart, 0, 1))) / _at_least_zero(f, divisor, apart)
    return f.reshape(result, []) if rows.shape[0] == 1 else result


def _at_least_zero(f: Any, divisor: Any, like: Any) -> Any:
    return f.clamp_min(divisor, 0) if hasattr(divisor, "dim") else at_least_zero(f, divisor, f.real(like))


@decomposed("aten::corrcoef")
def _corrcoef(f: Any, self: Any) -> Any:
    covariance = f.cov(self)
    if covariance.dim() == 0:
        return covariance / covariance
    spread = f.sqrt(f.real(f.diagonal(covariance)))
    result = covariance / f.unsqueeze(spread, 1) / f.unsqueeze(spread, 0)
    if result.dtype.is_complex:
        return f.complex(f.clamp(f.real(result), -1, 1), f.clamp(f.imag(result), -1, 1))
    return f.clamp(result, -1, 1)


def _quantiles(f: Any, x: Any, q: Any, dim: Any, keepdim: bool, interpolation: str, *, skips_nan: bool) -> Any:
    """The elements around each rank, in order, weighted; a slice with nan has the rank of nan, which comes last."""
    rank = x.dim()
    is_flat = dim is None or rank == 0
    lined = f.reshape(x, [-1]) if is_flat else f.movedim(x, dim, -1)
    ordered = f.sort(lined, -1)[0]
    nans = f.isnan(f.detach(ordered))
    last = lined.shape[-1] - 1
    is_single = isinstance(q, float | int) or q.dim() == 0
    fractions = f.full([1], q, dtype=x.dtype) if isinstance(q, float | int) else f.reshape(q, [-1])
    if skips_nan:
        ranks = fractions * f.to(f.clamp_min(last - f.sum(nans, [-1], True), 0), x.dtype)
    else:
        ranks = f.where(f.any(nans, -1, True), last, fractions * last)
    rounding = {"lower": f.floor, "higher": f.ceil, "nearest": f.round}.get(interpolation)
    ranks = ranks if rounding is None else f.detach(rounding(ranks))
    below, above = f.floor(f.detach(ranks)), f.ceil(f.detach(ranks))
    low = result = f.gather(ordered, -1, f.to(below, f.arange(1).dtype))
    if rounding is None:
        high = f.gather(ordered, -1, f.to(above, f.arange(1).dtype))
        weight = f.full_like(below, 0.5) if interpolation == "midpoint" else ranks - below
        result = f.where(f.eq(below, above), low, f.lerp(low, high, weight))
    result = f.movedim(result, -1, 0)
    if keepdim:
        sizes = [1] * rank
        result = f.reshape(result, [-1, *sizes]) if is_flat else f.unsqueeze(result, dim % rank + 1)
    return f.select(result, 0, 0) if is_single else result


@decomposed("aten::quantile")
def _quantile(f: Any, self: Any, q: Any, dim: Any, keepdim: bool, interpolation: str) -> Any:
    return _quantiles(f, self, q, dim, keepdim, interpolation, skips_nan=False)


@decomposed("aten::nanquantile")
def _nanquantile(f: Any, self: Any, q: Any, dim: Any, keepdim: bool, interpolation: str) -> Any:
    return _quantiles(f, self, q, dim, keepdim, interpolation, skips_nan=True)


def _neighbours(f: Any, x: Any) -> tuple[Any, Any]:
    """All but the first, and all but the last, along the last axis."""
    return f.slice(x, -1, 1, None, 1), f.slice(x, -1, 0, -1, 1)


def _areas(f: Any, y: Any, x: Any, dx: Any, dim: int) -> Any:
    """The area between each two neighbours along a dimension, which comes last."""
    behind, ahead = _neighbours(f, f.movedim(y, dim, -1))
    if x is None:
        return (behind + ahead) * (dx / 2)
    is_line = x.dim() <= 1 and x.dim() < y.dim()
    right, left = _neighbours(f, x if is_line or not x.dim() else f.movedim(x, dim, -1))
    return (behind + ahead) * (right - left) / 2


@decomposed("aten::trapezoid", "aten::trapz")
def _trapezoid(f: Any, y: Any, dim: int, x: Any = None, dx: Any = 1) -> Any:
    return f.sum(_areas(f, y, x, dx, dim), [-1])


@decomposed("aten::cumulative_trapezoid")
def _cumulative_trapezoid(f: Any, y: Any, dim: int, x: Any = None, dx: Any = 1) -> Any:
    return f.movedim(f.cumsum(_areas(f, y, x, dx, dim), -1), -1, dim)


@decomposed("aten::vander")
def _vander(f: Any, x: Any, N: Any, increasing: bool) -> Any:
    powers = f.pow(f.unsqueeze(x, -1), f.arange(x.shape[-1] if N is None else N))
    return powers if increasing else f.flip(powers, [-1])


@decomposed("aten::linalg_vander")
def _linalg_vander(f: Any, x: Any, N: Any) -> Any:
    x = f.atleast_1d(x)
    return f.pow(f.unsqueeze(x, -1), f.arange(x.shape[-1] if N is None else N))


@decomposed("aten::combinations")
def _combinations(f: Any, self: Any, r: int, with_replacement: bool) -> Any:
    indices = f.combinations(f.arange(self.shape[0]), r, with_replacement)
    return f.reshape(f.index_select(self, 0, f.reshape(indices, [-1])), list(indices.shape))


@decomposed("aten::renorm")
def _renorm(f: Any, self: Any, p: Any, dim: int, maxnorm: Any) -> Any:
    others = [d for d in range(self.dim()) if d != dim % self.dim()]
    is_over = f.linalg_vector_norm(self, p, others, True) > maxnorm
    norms = f.linalg_vector_norm(f.where(is_over, self, 0), p, others, True)
    return self * f.where(is_over, maxnorm / (norms + 1e-7), 1)
