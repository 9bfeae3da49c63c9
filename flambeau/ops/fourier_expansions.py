"""Fourier transforms along several dimensions as one after another: what plans have in their place."""

# ruff: noqa: N803  # F is what bodies call the operators
from __future__ import annotations

from functools import partial
from typing import Any

from flambeau.ops.families.expansion_tables import expansions
from flambeau.schema.dtype import complex64, complex128, float32, float64


def _along_each(name: str, F: Any, x: Any, s: Any = None, dim: Any = None, norm: Any = None) -> Any:
    """The transform along each dimension in order, of all points; others stay with their operator."""
    dims = [*range(x.ndim)] if dim is None else dim
    if s is not None or x.dtype not in (float32, float64, complex64, complex128) or not isinstance(dims, list):
        return None
    are_known = all(type(d) is int and -x.ndim <= d < x.ndim for d in dims)
    if not dims or not are_known or len({d % x.ndim for d in dims}) != len(dims):
        return None
    for d in dims:
        x = getattr(F, f"fft_{name}")(x, None, d, norm)
    return x


for _name in ("fft", "ifft"):
    for _ending in ("2", "n"):
        expansions(f"aten::fft_{_name}{_ending}")(partial(_along_each, _name))
