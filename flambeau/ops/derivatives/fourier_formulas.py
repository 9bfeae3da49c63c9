"""The formulas of discrete Fourier transforms: linear, so each goes back through its adjoint."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flambeau.schema.gradient import decomposed, formulas

_ADJOINT = {None: "forward", "backward": "forward", "forward": "backward", "ortho": "ortho"}
"""The normalisation of the transform back that makes it the adjoint."""


def _fitted(f: Any, x: Any, dim: int, size: int) -> Any:
    """Cut, or padded with zeros, along an axis."""
    have = x.shape[dim]
    if not isinstance(have, int) or not isinstance(size, int):
        padding = [0, 0] * (x.dim() - 1 - dim % x.dim()) + [0, size - have]
        parts = (f.real(x), f.imag(x)) if x.dtype.is_complex else (x,)
        padded = [f.constant_pad_nd(part, padding) for part in parts]
        return f.complex(*padded) if len(padded) > 1 else padded[0]
    if have > size:
        return f.narrow(x, dim, 0, size)
    if have < size:
        behind = x.dim() - 1 - dim % x.dim()
        return f.constant_pad_nd(x, [0, 0] * behind + [0, size - have])
    return x


formulas(
    "aten::fft_fft",
    self=lambda f, grad, self_sizes, dim, norm: _fitted(
        f, f.fft_ifft(grad, None, dim, _ADJOINT[norm]), dim, self_sizes[dim]
    ),
)
formulas(
    "aten::fft_ifft",
    self=lambda f, grad, self_sizes, dim, norm: _fitted(
        f, f.fft_fft(grad, None, dim, _ADJOINT[norm]), dim, self_sizes[dim]
    ),
)


def _axes(sizes: Sequence[int], s: Any, dim: Any) -> list[int]:
    rank = len(sizes)
    if dim is not None:
        return [d % rank for d in ([dim] if isinstance(dim, int) else dim)]
    return list(range(rank)) if s is None else list(range(rank - len(s), rank))


def _n_dimensional(inverse: str) -> Any:
    def formula(f: Any, grad: Any, self_sizes: Sequence[int], s: Any, dim: Any, norm: Any) -> Any:
        axes = _axes(self_sizes, s, dim)
        grad = getattr(f, inverse)(grad, None, axes, _ADJOINT[norm])
        for axis in axes:
            grad = _fitted(f, grad, axis, self_sizes[axis])
        return grad

    return formula


formulas("aten::fft_fftn", "aten::fft_fft2", self=_n_dimensional("fft_ifftn"))
formulas("aten::fft_ifftn", "aten::fft_ifft2", self=_n_dimensional("fft_fftn"))


def _rfft(f: Any, grad: Any, self_sizes: Sequence[int], n: Any, dim: int, norm: Any) -> Any:
    length = self_sizes[dim] if n is None else n
    whole = f.fft_ifft(grad, length, dim, _ADJOINT[norm])
    return _fitted(f, f.real(whole), dim, self_sizes[dim])


def _irfft(f: Any, grad: Any, self_sizes: Sequence[int], n: Any, dim: int, norm: Any) -> Any:
    length = 2 * (self_sizes[dim] - 1) if n is None else n
    half = f.fft_rfft(grad, None, dim, _ADJOINT[norm])
    one = f.ones_like(f.real(half))
    count = f.cumsum(one, dim)
    is_twice_there = f.logical_and(count > 1, count <= (length - 1) // 2 + 1)
    return _fitted(f, half * f.where(is_twice_there, 2 * one, one), dim, self_sizes[dim])


formulas("aten::fft_rfft", self=_rfft)
formulas("aten::fft_irfft", self=_irfft)


@decomposed("aten::fft_hfft")
def _hfft(f: Any, self: Any, n: Any, dim: int, norm: Any) -> Any:
    return f.fft_irfft(f.conj(self), n, dim, _ADJOINT[norm])


@decomposed("aten::fft_ihfft")
def _ihfft(f: Any, self: Any, n: Any, dim: int, norm: Any) -> Any:
    return f.conj(f.fft_rfft(self, n, dim, _ADJOINT[norm]))


def _split(x: Any, s: Any, dim: Any) -> tuple[list[int], list[Any]]:
    axes = _axes(x.shape, s, dim)
    lengths = [None] * len(axes) if s is None else [None if isinstance(n, int) and n == -1 else n for n in s]
    return axes, lengths


@decomposed("aten::fft_rfftn", "aten::fft_rfft2")
def _rfftn(f: Any, self: Any, s: Any, dim: Any, norm: Any) -> Any:
    axes, lengths = _split(self, s, dim)
    result = f.fft_rfft(self, lengths[-1], axes[-1], norm)
    for axis, length in zip(axes[:-1], lengths[:-1], strict=True):
        result = f.fft_fft(result, length, axis, norm)
    return result


@decomposed("aten::fft_irfftn", "aten::fft_irfft2")
def _irfftn(f: Any, self: Any, s: Any, dim: Any, norm: Any) -> Any:
    axes, lengths = _split(self, s, dim)
    for axis, length in zip(axes[:-1], lengths[:-1], strict=True):
        self = f.fft_ifft(self, length, axis, norm)
    return f.fft_irfft(self, lengths[-1], axes[-1], norm)


@decomposed("aten::fft_hfftn", "aten::fft_hfft2")
def _hfftn(f: Any, self: Any, s: Any, dim: Any, norm: Any) -> Any:
    axes, lengths = _split(self, s, dim)
    for axis, length in zip(axes[:-1], lengths[:-1], strict=True):
        self = f.fft_fft(self, length, axis, norm)
    return f.fft_hfft(self, lengths[-1], axes[-1], norm)


@decomposed("aten::fft_ihfftn", "aten::fft_ihfft2")
def _ihfftn(f: Any, self: Any, s: Any, dim: Any, norm: Any) -> Any:
    axes, lengths = _split(self, s, dim)
    result = f.fft_ihfft(self, lengths[-1], axes[-1], norm)
    for axis, length in zip(axes[:-1], lengths[:-1], strict=True):
        result = f.fft_ifft(result, length, axis, norm)
    return result
