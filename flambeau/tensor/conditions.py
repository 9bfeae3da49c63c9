"""Conditions that code asserts in words of its own, each with an exception's class: `flambeau._check` and its like.

>>> _check(1 < 2, lambda: "out of order")
>>> _check_index(2 < 1, lambda: "out of order")
Traceback (most recent call last):
  ...
IndexError: out of order
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from flambeau.schema.dtype import bool_
from flambeau.tensor.tensor import Tensor

Message = Callable[[], object] | None

NO_MESSAGE: Final = "Expected cond to be True, but got False. Give a function that says what is wrong as the message"
NO_FUNCTION: Final = "message must be a callable, as in lambda: 'what is wrong', not {kind}"
NO_BOOL: Final = "cond must be a bool, but got {kind}"
IS_TENSOR: Final = (
    "cond must be a bool, but got a Tensor. For tensor conditions, use {name}() to assert that all elements are true."
)
NO_TENSOR: Final = "cond must be a tensor, but got {kind}"
NO_BOOLS: Final = "cond tensor must have dtype flambeau.bool, but got {dtype}"


def _check(cond: Any, message: Message = None) -> None:
    """Raise RuntimeError unless a bool holds.

    Args:
        cond: a bool.
        message: gives what the error says; it is called where there is one.

    Raises TypeError for a condition that is no bool, and for a message that is no function.

    >>> _check(False, lambda: "a batch without rows")
    Traceback (most recent call last):
      ...
    RuntimeError: a batch without rows
    """
    _check_with(RuntimeError, cond, message)


def _check_index(cond: Any, message: Message = None) -> None:
    """Raise IndexError unless a bool holds.

    >>> _check_index(True)
    """
    _check_with(IndexError, cond, message)


def _check_value(cond: Any, message: Message = None) -> None:
    """Raise ValueError unless a bool holds.

    >>> _check_value(True)
    """
    _check_with(ValueError, cond, message)


def _check_type(cond: Any, message: Message = None) -> None:
    """Raise TypeError unless a bool holds.

    >>> _check_type(True)
    """
    _check_with(TypeError, cond, message)


def _check_not_implemented(cond: Any, message: Message = None) -> None:
    """Raise NotImplementedError unless a bool holds.

    >>> _check_not_implemented(True)
    """
    _check_with(NotImplementedError, cond, message)


def _check_is_size(i: int, message: Message = None, *, max: int | None = None) -> None:
    """Raise RuntimeError unless an int is a size, not below 0 and at most `max`.

    >>> _check_is_size(3, max=4)
    """
    _check(bool(i >= 0), message)
    if max is not None:
        _check(bool(i <= max), message)


def _check_tensor_all(cond: Any, message: Message = None) -> None:
    """Raise RuntimeError unless all elements of a tensor of bools hold.

    >>> import flambeau
    >>> _check_tensor_all(flambeau.ones(2) > 0)
    """
    _check_tensor_all_with(RuntimeError, cond, message)


def _check_tensor_all_with(error_type: type[Exception], cond: Any, message: Message = None) -> None:
    """Raise an error of a class unless all elements of a tensor of bools hold."""
    if not isinstance(cond, Tensor):
        raise TypeError(NO_TENSOR.format(kind=type(cond)))
    if cond.dtype != bool_:
        raise TypeError(NO_BOOLS.format(dtype=cond.dtype))
    _raise_unless(bool(cond.all().item()), error_type, message)


def _check_with(error_type: type[Exception], cond: Any, message: Message = None) -> None:
    """Raise an error of a class unless a bool holds.

    >>> _check_with(KeyError, True, lambda: "no such layer")
    """
    if isinstance(cond, Tensor):
        raise TypeError(IS_TENSOR.format(name="flambeau._check_tensor_all"))
    if not isinstance(cond, bool):
        raise TypeError(NO_BOOL.format(kind=type(cond)))
    _raise_unless(cond, error_type, message)


def _raise_unless(holds: bool, error_type: type[Exception], message: Message) -> None:
    if holds:
        return
    if message is not None and not callable(message):
        raise TypeError(NO_FUNCTION.format(kind=type(message).__name__))
    raise error_type(NO_MESSAGE if message is None else str(message()))
