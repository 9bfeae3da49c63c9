"""Fourier transforms: every operator whose name begins with `fft_`, under the rest of its name.

>>> import flambeau
>>> flambeau.fft.rfft(flambeau.ones(4)).real.tolist()
[4.0, 0.0, 0.0]
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flambeau.ops import surface as _surface


def __getattr__(name: str) -> Callable[..., Any]:
    """A function derived from an operator, made when it is first asked for."""
    function = globals()[name] = _surface.member("fft", name)
    return function


def __dir__() -> list[str]:
    return sorted({*globals(), *_surface.members("fft")})
