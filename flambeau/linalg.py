"""Linear algebra: every operator whose name begins with `linalg_`, under the rest of its name.

>>> import flambeau
>>> flambeau.linalg.det(flambeau.tensor([[1.0, 2.0], [3.0, 5.0]])).round().item()
-1.0
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flambeau.ops import surface as _surface
from flambeau.ops.families.matrices import LinAlgError as LinAlgError


def __getattr__(name: str) -> Callable[..., Any]:
    """A function derived from an operator, made when it is first asked for."""
    function = globals()[name] = _surface.member("linalg", name)
    return function


def __dir__() -> list[str]:
    return sorted({*globals(), *_surface.members("linalg")})
