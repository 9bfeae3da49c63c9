"""What operations of the Scalar protocol mean of complex numbers, by their names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flambeau.codegen.complex_arithmetic import ARITHMETIC
from flambeau.codegen.complex_functions import FUNCTIONS
from flambeau.codegen.complex_inverses import INVERSES

_MEANINGS: dict[str, Callable[..., Any]] = {**ARITHMETIC, **FUNCTIONS, **INVERSES}


def meaning_of(name: str) -> Callable[..., Any] | None:
    """The meaning of an operation: a function of who computes in real numbers and of `Pair`s, which gives one, or a
    real value. None where there is none.

    >>> meaning_of("floor") is None
    True
    """
    return _MEANINGS.get(name)
