"""What tells calls of an operator apart: the types of their arguments, and of what lies in lists.

>>> import flambeau
>>> call_key((flambeau.ones(2), [1, 2]), {}) == call_key((flambeau.zeros(3), [4, 5]), {})
True
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from flambeau.schema.dtype import DType
from flambeau.tensor.size import Size
from flambeau.tensor.tensor import Tensor

NUMBERS: Final = frozenset({int, float, bool, type(None), DType})
"""Classes of arguments that are the same for calls on any device."""
_PLAIN: Final = NUMBERS | {Tensor, complex, str}
"""Classes of what may lie in lists of calls that are told apart here."""
SEQUENCES: Final = frozenset({list, tuple, Size})
_MANY: Final = 3
"""Elements from which on it makes no difference how many there are."""


def call_key(args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[Any, ...] | None:
    """The types of arguments, those of elements for lists and tuples, and names; None where what lies in lists is
    none of numbers, texts and tensors."""
    kinds: list[Any] = [*map(type, args)]
    if not SEQUENCES.isdisjoint(kinds):
        for number, kind in enumerate(kinds):
            if kind in SEQUENCES:
                listed = _listed(kind, args[number])
                if listed is None:
                    return None
                kinds[number] = listed
    for name, value in kwargs.items():
        kind = type(value)
        if kind in SEQUENCES:
            kind = _listed(kind, value)
            if kind is None:
                return None
        kinds.append(name)
        kinds.append(kind)
    return tuple(kinds)


def _listed(kind: type, values: Sequence[Any]) -> Any:
    """A list, by the types of what lies in it."""
    inside = {*map(type, values)}
    count = len(values)
    if len(inside) != 1:
        return (kind, frozenset(inside), min(count, _MANY)) if count and inside <= _PLAIN else None
    [one] = inside
    return (kind, one, count if count < _MANY else _MANY) if one in _PLAIN else None


def types_in(args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[type]:
    """The types of all arguments, and of what lies in lists."""
    types: list[type] = []
    for value in (*args, *kwargs.values()):
        types.append(type(value))
        if type(value) in SEQUENCES:
            types.extend(map(type, value))
    return types


class INTEGERS:
    """What lists of integers count as where calls are told apart by types."""


def kind_of(argument: Any) -> type:
    """The type of an argument; `INTEGERS` for a list of integers."""
    if type(argument) is list and argument and all(type(one) is int for one in argument):
        return INTEGERS
    return type(argument)


def without_no_out(kwargs: Mapping[str, Any]) -> Mapping[str, Any]:
    """Keywords without an `out` that is None.

    >>> without_no_out({"dim": 0, "out": None})
    {'dim': 0}
    """
    if "out" not in kwargs or kwargs["out"] is not None:
        return kwargs
    return {k: v for k, v in kwargs.items() if k != "out"}
