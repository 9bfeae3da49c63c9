"""The functions that one stands for, by what calls bring: so many at most, of which the one called longest ago goes
first. It is compiled again when it is called again: no result depends on which calls came before.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, Final, TypeVar

from flambeau.specialise.cache import SpecialisationCache
from flambeau.util.user_code import warn_user

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")
DROPPED: Final = (
    "{name}() was compiled for more than {most} combinations of {kinds}: the one called longest ago was dropped, and "
    "is compiled anew when it is called; write a function for each kind of calls, which keeps code of its own"
)


class Variants(SpecialisationCache[K, V]):
    """What was compiled for the calls of a function, by what decides that."""

    def __init__(self, name: str, by: str, kinds: str, most: int, compare: Callable[[K, K], str]) -> None:
        """`by` says in a word what decides, `kinds` what combinations are of; `compare` what is new about a call."""
        super().__init__(f"functions of {name} by {by}", most, describe=str, compare=compare)
        self._text = DROPPED.format(name=name, most=most, kinds=kinds)
        self._has_warned = False

    def called(self, key: K, make: Callable[[str], V]) -> V:
        """The function for a call, compiled now if there is none: `make` is told the cause. Warns the first time that
        another goes for it.
        """
        value = self.get_recent(key)
        if value is not None:
            return value
        dropped: list[K] = []
        value = self.get_or_make(key, make, dropped.append)
        if dropped and not self._has_warned:
            self._has_warned = True
            warn_user(self._text, UserWarning)
        return value


def kind_text(kind: Any) -> str:
    """The words for what decides of an argument which function is called: a class, a dtype with a rank, or containers.

    >>> import numpy as np
    >>> [kind_text(kind) for kind in (float, (np.dtype("f4"), 2), (tuple, (int, str)), (list, frozenset((int,))))]
    ['float', 'float32[*, *]', 'tuple(int, str)', 'list(int)']
    """
    if isinstance(kind, type):
        return kind.__name__
    if not isinstance(kind, tuple):
        return str(kind)
    outer, *inner = kind
    if inner and isinstance(inner[0], int):
        return f"{outer}[{', '.join('*' * inner[0])}]"
    items = [item for part in inner for item in (part if isinstance(part, tuple | frozenset) else (part,))]
    return f"{kind_text(outer)}({', '.join(map(kind_text, items))})"
