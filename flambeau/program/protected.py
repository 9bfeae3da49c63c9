"""The body of a `try` while a program runs: called from Python, which catches what it raises.

How it ended is the first of two results: at its end, by `return`, `break` or `continue`, or in an exception that one
of the handlers takes; the second is what goes with that.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any, Final

from flambeau.program.function import Function
from flambeau.util.errors import ExecutionError, InternalError, ScriptError
from flambeau.util.inversions import TRY_RUNNER

FELL, RETURNED, BROKE, CONTINUED, HANDLED = 0, 1, 2, 3, 10
"""How a body ended; the handlers count from `HANDLED`."""

classes: Final[dict[str, type]] = {}
"""The exception classes that programs raise, by their qualified names."""

_NAMED: Final = (KeyError, IndexError, ValueError, OverflowError, ZeroDivisionError, AssertionError, TypeError)
"""Classes that operators name in front of what they say."""
_SAID: Final[tuple[tuple[str, type[Exception]], ...]] = (
    ("invalid literal for int", ValueError), ("could not convert string to float", ValueError),
    ("chr() arg not in range", ValueError), ("range() arg 3 must not be zero", ValueError), ("not in list", ValueError),
    ("arg is an empty sequence", ValueError), ("Cannot convert float nan", ValueError), ("Expected one of", ValueError),
    ("Cannot convert float", OverflowError), ("not defined for negative values", ValueError),
    ("for ord() must be 1 character", TypeError), ("cannot be raised to a negative power", ZeroDivisionError),
    ("elements in a list but found", ValueError), ("dictionary is empty", KeyError), ("empty separator", ValueError),
    ("pop from empty list", IndexError), ("division by 0", ZeroDivisionError), ("by zero", ZeroDivisionError),
    ("out of range", IndexError), ("is out of bounds", IndexError), ("negative shift count", ValueError),
    ("cannot be converted to type int64_t without overflow", OverflowError),
)  # fmt: skip
"""What operators say, and what Python raises where they say it; the first that fits counts."""


class Message:
    """What a `^message` node calls: the text of an exception whose class makes it of the arguments.

    >>> Message(UnicodeDecodeError, ())("ascii", b"x", 0, 1, "why")
    "'ascii' codec can't decode byte 0x78 in position 0: why"
    """

    def __init__(self, cls: type[BaseException], keywords: Sequence[str]) -> None:
        self.cls = cls
        self.keywords = tuple(keywords)
        self.__name__ = "message"

    def __call__(self, *values: Any) -> str:
        """The text; the last values are those of keywords."""
        count = len(values) - len(self.keywords)
        return str(self.cls(*values[:count], **dict(zip(self.keywords, values[count:], strict=True))))


class Protected:
    """What a `^try` node calls: the body as a function, and the classes that each handler takes."""

    def __init__(self, body: Function, handlers: Sequence[tuple[type, ...]]) -> None:
        self.body = body
        self.handlers = tuple(handlers)
        self.__name__ = "try"

    def __call__(self, *values: Any) -> tuple[int, Any]:
        """How the body ended, and what goes with it."""
        if self.body.runner is None and TRY_RUNNER.is_provided:
            TRY_RUNNER.implementation(self.body)
        try:
            result: tuple[int, Any] = self.body(*values)
            return result
        except InternalError:
            raise
        except Exception as error:
            raised = class_of(error)
            for number, handler in enumerate(self.handlers):
                if issubclass(raised, handler):
                    return HANDLED + number, error
            raise


def class_of(error: Exception) -> type:
    """The class that Python's own program would have raised.

    >>> class_of(ScriptError("builtins.ValueError: too small")), class_of(RuntimeError("list index out of range"))
    (<class 'ValueError'>, <class 'IndexError'>)
    """
    if isinstance(error, ScriptError):
        name = error.message.partition(": ")[0]
        if error.message.startswith(("RuntimeError: AssertionError", "AssertionError")):
            return AssertionError
        return named_class(name) or RuntimeError
    if not isinstance(error, RuntimeError) or isinstance(error, MemoryError):  # a device's is both
        return type(error)
    text = _message(error)
    named = next((cls for cls in _NAMED if text.startswith(cls.__name__)), None)
    return named or next((kind for part, kind in _SAID if part in text), RuntimeError)


def named_class(name: str) -> type | None:
    """A class that programs raise or warn with, by its qualified name."""
    return classes.get(name) or _builtin(name)


def _builtin(name: str) -> type | None:
    module, _, member = name.rpartition(".")
    cls = getattr(importlib.import_module(module), member, None) if module == "builtins" else None
    return cls if isinstance(cls, type) else None


def _message(error: Exception) -> str:
    return error.message if isinstance(error, ScriptError | ExecutionError) else str(error)


def text_of(error: Exception) -> str:
    """`str(e)` of the exception that Python's own program would have raised."""
    text = _message(error)
    if isinstance(error, ScriptError):
        text = text.partition(": ")[2]
    for prefix in ("AssertionError", class_of(error).__name__):
        text = text.removeprefix(f"{prefix}: ")
    return text


def raise_again(error: Exception) -> None:
    """A bare `raise`, and what follows a `finally`."""
    raise error
