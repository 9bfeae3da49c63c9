"""Arithmetic that works on sizes and on plain numbers alike: `flambeau.sym_max` and its like.

Sizes are ints here, and those of a trace count as such, so that the functions are Python's own; they keep kinds apart
as arithmetic on sizes has to: of an int and a float, the larger one is a float.

>>> sym_max(2, 3.0), sym_max(3, 2.0), sym_int(-2.7)
(3.0, 3.0, -2)
"""

from __future__ import annotations

import math
from numbers import Real
from typing import Any, Final

NO_NUMBER: Final = "expected numbers, got {kinds}"
NO_CHOICE: Final = "sym_ite() chooses by a bool, not {kind}"
TWO_KINDS: Final = "type mismatch: {then} vs {otherwise}"


def sym_int(a: Any) -> int:
    """A number as an int, its fraction cut off.

    >>> sym_int(2.7)
    2
    """
    return int(a)


def sym_float(a: Any) -> float:
    """A number as a float.

    >>> sym_float(2)
    2.0
    """
    return float(a)


def sym_not(a: Any) -> bool:
    """Whether a condition does not hold.

    >>> sym_not(2 > 3)
    True
    """
    return not a


def sym_max(a: Any, b: Any) -> Any:
    """The larger one of two numbers, a float where one of them is. Raises TypeError for what is no number.

    >>> sym_max(3, 2.5)
    3.0
    """
    return _of_both_kinds(max, a, b)


def sym_min(a: Any, b: Any) -> Any:
    """The smaller one of two numbers, a float where one of them is. Raises TypeError for what is no number.

    >>> sym_min(3, 2)
    2
    """
    return _of_both_kinds(min, a, b)


def _of_both_kinds(choose: Any, a: Any, b: Any) -> Any:
    if not (isinstance(a, Real) and isinstance(b, Real)):
        raise TypeError(NO_NUMBER.format(kinds=f"{type(a).__name__} and {type(b).__name__}"))
    chosen = choose(a, b)
    return float(chosen) if isinstance(a, float) or isinstance(b, float) else chosen


def sym_ite(b: bool, t: Any, f: Any) -> Any:
    """`t` where a condition holds, else `f`, which is of the same kind. Raises TypeError for two kinds.

    >>> sym_ite(2 > 3, 1, 0)
    0
    """
    if not isinstance(b, bool):
        raise TypeError(NO_CHOICE.format(kind=type(b).__name__))
    if type(t) is not type(f):
        raise TypeError(TWO_KINDS.format(then=type(t).__name__, otherwise=type(f).__name__))
    return t if b else f


def sym_sqrt(a: Any) -> float:
    """The square root of a number. Raises ValueError below 0.

    >>> sym_sqrt(4)
    2.0
    """
    return math.sqrt(a)


def sym_sum(args: Any) -> Any:
    """The sum of a list of numbers.

    >>> sym_sum([1, 2, 3])
    6
    """
    return sum(args)
