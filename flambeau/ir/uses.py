"""Def-use chains: a value knows its uses, in the order in which they came to be; a user has values as its operands.

Operands change only through the methods here, which keep both sides right. `graph.Value` and `graph.Node` are the two.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Generic, NamedTuple, Self, TypeVar

from flambeau.ir.node_list import ListedNode, NodeList

BlockT = TypeVar("BlockT", bound=NodeList[Any])
UserT = TypeVar("UserT", bound="User[Any, Any]")
ValueT = TypeVar("ValueT", bound="UsedValue[Any]")


class Use(NamedTuple, Generic[UserT]):
    """One operand: the node that uses the value, and which of its operands it is.

    >>> from flambeau.ir import parse_ir
    >>> graph = parse_ir("graph(%x):\\n  %y = aten::neg(%x)\\n  return (%y)")
    >>> (use,) = graph.parameters[0].uses()
    >>> use.user.op
    'aten::neg'
    """

    user: UserT
    offset: int

    def isAfter(self, other: Use[UserT]) -> bool:  # noqa: N802  # as TorchScript calls it
        """Whether it comes later in program order; an outer node comes before those in it."""
        if self.user is other.user:
            return self.offset > other.offset
        return other.user.is_before(self.user)


class UsedValue(Generic[UserT]):
    """A value, as far as it is used."""

    __slots__ = ("_uses",)
    _uses: dict[Use[UserT], None]

    def uses(self) -> list[Use[UserT]]:
        """Where it is used, in the order in which the uses came to be."""
        return list(self._uses)

    @property
    def is_used(self) -> bool:
        """Whether anything uses it."""
        return bool(self._uses)

    def replace_uses_with(self, other: Self) -> None:
        """Let every user use `other` instead."""
        if other is self:
            return
        for use in self.uses():
            use.user.replace_operand(use.offset, other)


class User(ListedNode[BlockT], Generic[ValueT, BlockT]):
    """A node, as far as it has operands."""

    __slots__ = ("_definition",)
    _operands: list[ValueT]
    _definition: Any
    """What was found to be its operator's overload; None when a type, an operand or the operator has changed since."""

    @property
    def operands(self) -> tuple[ValueT, ...]:
        """The values it computes with."""
        return tuple(self._operands)

    def operand(self, index: int) -> ValueT:
        """One operand."""
        return self._operands[index]

    def add_operand(self, value: ValueT) -> None:
        """Append an operand."""
        value._uses[Use(self, len(self._operands))] = None
        self._operands.append(value)
        self._definition = None

    def replace_operand(self, index: int, value: ValueT) -> ValueT:
        """Put another operand at `index`; returns the old one."""
        old = self._operands[index]
        del old._uses[Use(self, index)]
        self._operands[index] = value
        value._uses[Use(self, index)] = None
        self._definition = None
        return old

    def insert_operand(self, index: int, value: ValueT) -> None:
        """Insert an operand before `index`."""
        self.set_operands([*self._operands[:index], value, *self._operands[index:]])

    def remove_operand(self, index: int) -> None:
        """Drop one operand; later ones move down."""
        self.set_operands([*self._operands[:index], *self._operands[index + 1 :]])

    def set_operands(self, values: Iterable[ValueT]) -> None:
        """Replace all operands."""
        new = list(values)
        for index, old in enumerate(self._operands):
            del old._uses[Use(self, index)]
        self._operands[:] = new
        self._definition = None
        for index, value in enumerate(new):
            value._uses[Use(self, index)] = None

    def set_op(self, op: str) -> None:
        """Make it another operator of the same operands and results."""
        self.op = op
        self._definition = None

    def replace_uses_of(self, old: ValueT, new: ValueT) -> None:
        """Let this node use `new` wherever it uses `old`."""
        for index, value in enumerate(self._operands):
            if value is old:
                self.replace_operand(index, new)
