"""How a Python function says that calls of it in a program mean one thing or another, by what they pass."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from flambeau.util.record import dataclass

Function = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class Shortcut:
    """A call that leaves `parameter` out is a call of the operator that the function runs.

    Without a parameter, every call is that takes arguments that the operator takes.
    """

    parameter: str = ""
    position: int = 0


@dataclass(frozen=True, slots=True)
class Choice:
    """The value of `parameter`, a constant, says which of two functions a call means."""

    parameter: str
    position: int
    default: bool
    if_true: Function
    if_false: Function

    def is_true(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool:
        """Whether a call with these arguments means the function `if_true`."""
        flag = args[self.position] if len(args) > self.position else kwargs.get(self.parameter, self.default)
        return flag is True


def or_else(*names: str) -> Callable[[Function], Function]:
    """Says of a method that calls in programs whose arguments do not fit it mean one of the other methods named."""

    def mark(function: Function) -> Function:
        function.other_methods = names  # type: ignore[attr-defined]
        return function

    return mark


def chosen_by(
    parameter: str, position: int, *, if_true: Function, if_false: Function, default: bool = False
) -> Callable[[Function], Function]:
    """Says of a Python function that programs call one of two others, by the constant passed for a parameter."""

    def mark(function: Function) -> Function:
        function.chosen_by = Choice(parameter, position, default, if_true, if_false)  # type: ignore[attr-defined]
        return function

    return mark
