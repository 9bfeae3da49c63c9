"""Gradients of operands as functions over arrays: what the tape runs for plain tensors while nothing is recorded, where
the formula over operators would be several of them.

Such a function stands beside a formula, has parameters that it has too, and gives what it gives, or None for what is
left to it. Whoever differentiates gradients, traces them or watches operators has the formula.

>>> @array_gradient("example::twice", of="self")
... def _twice(grad):
...     return grad * 2
>>> array_gradient_of("example::twice", "self").needs
('grad',)
>>> array_gradient_of("example::twice", "other") is None
True
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from flambeau.schema.rule_tables import RuleTable

Function = Callable[..., Any]


class ArrayGradient(NamedTuple):
    """A function over arrays, with the names of its parameters."""

    function: Function
    needs: tuple[str, ...]
    is_for_large: bool
    """Whether nothing compiled takes less of large arrays: it shows memory, copies it, or is a product of matrices."""
    shows: bool
    """Whether what it gives may show the gradient's memory. It computes nothing then."""


_table: RuleTable[Callable[[], ArrayGradient]] = RuleTable("the gradient of an operand as a function over arrays")


def array_gradient(
    *names: str, of: str, is_for_large: bool = False, shows: bool = False
) -> Callable[[Function], Function]:  # fmt: skip
    """Declare that what is decorated gives the gradient of the operand `of` these operators: an array, for a list of
    operands a list of arrays, which are new ones, or where it `shows` the gradient's memory this."""

    def register(function: Function) -> Function:
        code = function.__code__
        known = ArrayGradient(function, code.co_varnames[: code.co_argcount], is_for_large or shows, shows)
        _table(*[f"{name}.{of}" for name in names])(lambda: known)
        return function

    return register


def array_gradient_of(name: str, operand: str) -> ArrayGradient | None:
    """What was declared for an operand of an operator; None if nothing was."""
    known = _table.get(f"{name}.{operand}")
    return None if known is None else known()
