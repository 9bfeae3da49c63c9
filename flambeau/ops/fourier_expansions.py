"""Fourier transforms along several dimensions as one after another: what plans have in their place."""

# ruff: noqa: N803  # F is what bodies call the operators
from __future__ import annotations

from functools import partial
from typing import Any

from flambeau.ops.families.expansion_tables import expansions
from flambeau.schema.dtype import complex64, complex128, float32, float64


def _axes_and_counts(x: Any, s: Any, dim: Any) -> list[tuple[int, Any]] | None:
    """The dimensions of a transform in order, each with its number of points, None for all; None where the operator has
    to look at them.
    """
    if not isinstance(s, list | None) or not isinstance(dim, list | None):
        return None
    dims = [*range(x.ndim - len(s or range(x.ndim)), x.ndim)] if dim is None else dim
    counts = [None] * len(dims) if s is None else [None if type(n) is int and n == -1 else n for n in s]
    return [*zip(dims, counts, strict=True)] if _are_apart(x, dims) and len(counts) == len(dims) else None


def _are_apart(x: Any, dims: list[Any]) -> bool:
    """Whether these are known, and some of its dimensions, none of them twice."""
    are_known = all(type(d) is int and -x.ndim <= d < x.ndim for d in dims)
    return bool(dims) and are_known and len({d % x.ndim for d in dims}) == len(dims)


def _along_each(name: str, F: Any, x: Any, s: Any = None, dim: Any = None, norm: Any = None) -> Any:
    """The transform along each dimension in order; others stay with their operator."""
    steps = _axes_and_counts(x, s, dim)
    if steps is None or x.dtype not in (float32, float64, complex64, complex128):
        return None
    if not x.dtype.is_complex:
        x = F.to(x, complex64 if x.dtype is float32 else complex128)
    return _along(name, F, x, steps, norm)


def _along(name: str, F: Any, x: Any, steps: list[tuple[int, Any]], norm: Any) -> Any:
    for d, count in steps:
        x = getattr(F, f"fft_{name}")(x, count, d, norm)
    return x


def _of_reals(F: Any, x: Any, s: Any = None, dim: Any = None, norm: Any = None) -> Any:
    """That of a real signal: the last dimension first, of which half is left."""
    steps = _axes_and_counts(x, s, dim)
    if steps is None or x.dtype not in (float32, float64):
        return None
    d, count = steps[-1]
    return _along("fft", F, F.fft_rfft(x, count, d, norm), steps[:-1], norm)


def _to_reals(F: Any, x: Any, s: Any = None, dim: Any = None, norm: Any = None) -> Any:
    """The real signal that such a half belongs to: the last dimension last."""
    steps = _axes_and_counts(x, s, dim)
    if steps is None or x.dtype not in (complex64, complex128):
        return None
    d, count = steps[-1]
    return F.fft_irfft(_along("ifft", F, x, steps[:-1], norm), count, d, norm)


for _ending in ("2", "n"):
    for _name in ("fft", "ifft"):
        expansions(f"aten::fft_{_name}{_ending}")(partial(_along_each, _name))
    expansions(f"aten::fft_rfft{_ending}")(_of_reals)
    expansions(f"aten::fft_irfft{_ending}")(_to_reals)


def _rolled(F: Any, x: Any, dim: Any, add: int) -> Any:
    """Each axis rolled by half its size, rounded down or up."""
    dims = list(range(x.ndim)) if dim is None else [dim] if type(dim) is int else dim
    if not isinstance(dims, list) or not _are_apart(x, dims):
        return None
    return F.roll(x, [(x.shape[d] + add) // 2 for d in dims], dims)


@expansions("aten::fft_fftshift")
def _shift(F: Any, x: Any, dim: Any = None) -> Any:
    """Frequency zero from the first place to the middle."""
    return _rolled(F, x, dim, 0)


@expansions("aten::fft_ifftshift")
def _shift_back(F: Any, x: Any, dim: Any = None) -> Any:
    """Frequency zero from the middle to the first place."""
    return _rolled(F, x, dim, 1)
