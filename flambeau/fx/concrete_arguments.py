"""Arguments whose values are known while code is traced: the graph takes them, and checks that they are these.

>>> from flambeau import fx
>>> traced = fx.symbolic_trace(lambda x, n: x * n, concrete_args={"n": 3})
>>> traced(2, 3)
6
>>> traced(2, 4)
Traceback (most recent call last):
  ...
AssertionError: n has been specialized to have value 3 but got another value
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from typing import Any, Final

from flambeau.tensor.assertion import _assert
from flambeau.util.trees import flatten, is_container
from flambeau.util.user_code import warn_user

SPECIALIZED: Final = "{name} has been specialized to have value {value} but got another value"
NOT_CHECKED: Final = (
    "{name} is specialized to a value of type {kind}, which calls of the graph are not checked for: pass the same one"
)
_CHECKED: Final = (bool, int, float, complex, str)

Calls = Callable[..., Any]
"""Called with a function and its arguments: a node for the call, and what stands for its result."""


class PHBase:
    """What stands, within a concrete argument, for a value that is not known: `fx.PH`.

    >>> from flambeau import fx
    >>> traced = fx.symbolic_trace(lambda d: d["x"] * d["n"], concrete_args={"d": {"x": fx.PH, "n": 3}})
    >>> traced({"x": 2, "n": 3})
    6
    """

    def __repr__(self) -> str:
        return "PH"


PH: Final = PHBase()


def check(name: str, value: Any, proxy: Any, call: Calls) -> None:
    """Have the graph check that what stands for a known value is that value, where it can be compared."""
    if value is None or isinstance(value, _CHECKED):
        is_same = call(operator.is_ if value is None else operator.eq, proxy, value)
        call(_assert, is_same, SPECIALIZED.format(name=name, value=value))
    else:
        warn_user(NOT_CHECKED.format(name=name, kind=type(value).__name__), UserWarning)


def leaves_of(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """The leaves of a concrete argument, each with how code writes the way to it."""
    if isinstance(value, dict) and is_container(value):
        for key, one in value.items():
            yield from leaves_of(f"{name}[{key!r}]", one)
    elif type(value) in (list, tuple):
        for key, one in enumerate(value):
            yield from leaves_of(f"{name}[{key}]", one)
    else:
        yield from ((name, leaf) for leaf in flatten(value)[0])
