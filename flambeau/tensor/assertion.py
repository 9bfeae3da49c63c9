"""`flambeau._assert`: an assertion that tracers of Python code see.

>>> _assert(1 < 2, "out of order")
>>> _assert(2 < 1, "out of order")
Traceback (most recent call last):
  ...
AssertionError: out of order
"""

from __future__ import annotations

from flambeau.tensor.tensor import Tensor
from flambeau.util.scripting import is_scripting


def _assert(condition: bool | Tensor, message: str) -> None:
    """Raise AssertionError with a message unless a condition holds; where the condition is traced, so is the call.

    Programs take it as they take the statement, with a bool or a tensor of one element as condition.

    >>> import flambeau
    >>> @flambeau.script
    ... def root(x: float) -> float:
    ...     flambeau._assert(x >= 0, f"below zero: {x}")
    ...     return x ** 0.5
    >>> root(4.0)
    2.0
    """
    if not is_scripting():
        traced = None if isinstance(condition, Tensor) else getattr(condition, "__flambeau_function__", None)
        if traced is not None:
            return traced(_assert, (type(condition),), (condition, message))  # type: ignore[no-any-return]
    if isinstance(condition, Tensor):
        assert bool(condition), message
    else:
        assert condition, message
    return None
