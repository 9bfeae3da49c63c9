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
from collections.abc import Callable
from typing import Any, Final

from flambeau.tensor.assertion import _assert
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


def specialized(name: str, value: Any, proxy: Any, call: Calls) -> Any:
    """What code sees of a concrete argument: its value, with proxies where it has `PH`.

    Lists, tuples and dicts are looked into, and what is in them is checked by itself.
    """
    if isinstance(value, PHBase):
        return proxy
    if isinstance(value, dict):
        return {k: specialized(f"{name}[{k!r}]", one, _item(proxy, k, call), call) for k, one in value.items()}
    if type(value) in (list, tuple):
        return type(value)(
            [specialized(f"{name}[{k}]", one, _item(proxy, k, call), call) for k, one in enumerate(value)]
        )
    if value is None or isinstance(value, _CHECKED):
        is_same = call(operator.is_ if value is None else operator.eq, proxy, value)
        call(_assert, is_same, SPECIALIZED.format(name=name, value=value))
    else:
        warn_user(NOT_CHECKED.format(name=name, kind=type(value).__name__), UserWarning)
    return value


def _item(proxy: Any, key: Any, call: Calls) -> Any:
    """What stands for one item of an argument."""
    return call(operator.getitem, proxy, key)
