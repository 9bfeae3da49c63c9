"""What methods under TorchScript's names refuse of their arguments, before anything is changed."""

from __future__ import annotations

from collections.abc import Iterator, Sized
from contextlib import contextmanager
from typing import Any

NO_INDEX = "invalid index {index}: there are {count}"
BAD_NAME = "Invalid name: '{name}': a name of a value is no number"
WRONG_ARGUMENT = "{method}(): incompatible function arguments: expected {expected}, but got a {kind}: {value!r}"


def check_index(index: int, parts: Sized) -> None:
    """Raises RuntimeError unless there is a part of that index.

    >>> check_index(2, "ab")
    Traceback (most recent call last):
    RuntimeError: invalid index 2: there are 2
    """
    if not 0 <= index < len(parts):
        raise RuntimeError(NO_INDEX.format(index=index, count=len(parts)))


def check_name(name: str) -> None:
    """Raises RuntimeError for a name that a value cannot have.

    >>> check_name("3")
    Traceback (most recent call last):
    RuntimeError: Invalid name: '3': a name of a value is no number
    """
    if name.isdigit():
        raise RuntimeError(BAD_NAME.format(name=name))


def wrong_argument(method: str, expected: str, value: Any) -> TypeError:
    """The error for an argument of another kind.

    >>> str(wrong_argument("setType", "a type", 3))
    'setType(): incompatible function arguments: expected a type, but got a int: 3'
    """
    return TypeError(WRONG_ARGUMENT.format(method=method, expected=expected, kind=type(value).__name__, value=value))


@contextmanager
def as_runtime_errors() -> Iterator[None]:
    """What a graph refuses by a ValueError is a RuntimeError for TorchScript's users.

    >>> with as_runtime_errors():
    ...     raise ValueError("no")
    Traceback (most recent call last):
    RuntimeError: no
    """
    try:
        yield
    except ValueError as error:
        raise RuntimeError(str(error)) from None
