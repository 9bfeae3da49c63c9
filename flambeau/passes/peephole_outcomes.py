"""What rules of `peephole` say of a node, and what they ask of its operands."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from flambeau.ir import constants
from flambeau.ir.graph import Node, Value
from flambeau.schema.rule_tables import RuleLists
from flambeau.util.record import dataclass

KEEP: Final = object()
"""No rule applies."""
Rule = Callable[[Node], Any]
rewrites: Final = RuleLists[Rule]("rewrite of single nodes")
"""Registers what may apply to a kind: a function from a node to what its result is, or `KEEP`."""


@dataclass(frozen=True)
class Constant:
    """The result is this value."""

    value: Any


@dataclass(frozen=True)
class Chain:
    """The result is what `make` gives, which inserts the nodes for it before `insertion_point`."""

    make: Callable[[], Value]
    insertion_point: Node


@dataclass(frozen=True)
class Literal:
    """The result is `replacement` if nobody writes to a container or a tensor that the graph builds."""

    container: Value
    replacement: Any
    is_shallow: bool = False
    """Whether writes to what is in the container make no difference: which things are in it is asked."""


@dataclass(frozen=True)
class Itself:
    """The result is that very tensor: who looks at one looks at the other."""

    tensor: Value


@dataclass(frozen=True)
class Apart:
    """The result is `replacement` if the two tensors surely share no memory."""

    tensors: tuple[Value, Value]
    replacement: Any


def number_of(value: Value) -> Any:
    """The number that a value is; None if it is none."""
    if not constants.is_constant(value):
        return None
    constant = constants.constant_value(value)
    return constant if isinstance(constant, int | float) else None


def is_number(value: Value, number: float) -> bool:
    """Whether a value is this number, sign of zero included; bools are no numbers here."""
    constant = number_of(value)
    if constant is None or isinstance(constant, bool):
        return False
    if isinstance(constant, int) and isinstance(number, int):
        return constant == number
    is_same_int = isinstance(constant, int) and constant == number != 0
    return constants.same_constant(float(constant), float(number)) or is_same_int


def built_by(value: Value, kind: str) -> tuple[Value, ...] | None:
    """The operands of the node of a kind that makes a value, if one does."""
    return value.defining_node.operands if value.defining_node is not None and value.defining_node.op == kind else None
