"""Special functions: every operator whose name begins with `special_`, under the rest of its name.

>>> import flambeau
>>> flambeau.special.expit(flambeau.zeros(2)).tolist()
[0.5, 0.5]
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flambeau.ops import surface as _surface


def __getattr__(name: str) -> Callable[..., Any]:
    """A function derived from an operator, made when it is first asked for."""
    function = globals()[name] = _surface.member("special", name)
    return function


def __dir__() -> list[str]:
    return sorted({*globals(), *_surface.members("special")})
