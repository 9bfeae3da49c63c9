"""`flambeau._assert`: an assertion that tracers of Python code see.

>>> _assert(1 < 2, "out of order")
>>> _assert(2 < 1, "out of order")
Traceback (most recent call last):
  ...
AssertionError: out of order
"""

from __future__ import annotations

from typing import Any

from flambeau.tensor.tensor import Tensor
from flambeau.util.scripting import is_scripting


def _assert(condition: Any, message: str) -> Any:
    """Raise AssertionError with a message unless a condition holds; where the condition is traced, so is the call."""
    if not is_scripting():
        traced = None if isinstance(condition, Tensor) else getattr(condition, "__flambeau_function__", None)
        if traced is not None:
            return traced(_assert, (type(condition),), (condition, message))
    assert condition, message
    return None
