"""A value of a graph: defined once, with a type, a name and the list of its uses."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from flambeau.ir.torchscript.erased import refusing
from flambeau.ir.torchscript.value_methods import ValueMethods
from flambeau.schema.types import Type

if TYPE_CHECKING:
    from flambeau.ir.node import Block, Node


class Use(NamedTuple):
    """One operand: the node that uses the value, and which of its operands it is."""

    user: Node
    offset: int

    def isAfter(self, other: Use) -> bool:  # noqa: N802  # as TorchScript calls it
        """Whether it comes later in program order; an outer node comes before those in it."""
        if self.user is other.user:
            return self.offset > other.offset
        return other.user.is_before(self.user)


class Value(ValueMethods["Node"]):
    """An SSA value: the result `index` of a node, or the parameter `index` of a block.

    Operands change only through `Node` (`replace_operand`, `add_operand`, ...), which keeps `uses()` right.
    """

    __slots__ = ("_name", "_uses", "block", "defining_node", "index", "number", "static_type")

    def __init__(
        self, static_type: Type, number: int, *, node: Node | None = None, block: Block | None = None, index: int
    ) -> None:
        assert (node is None) != (block is None)
        self.static_type = static_type
        """What is known of it before the program runs; `type()` is the same for TorchScript's users."""
        self.number = number
        self.defining_node = node
        """The node that defines it; None for a parameter of a block."""
        self.block = block
        """The block it is a parameter of; None for the result of a node."""
        self.index = index
        self._name = ""
        self._uses: dict[Use, None] = {}

    @property
    def name(self) -> str:
        """Its name in text: the debug name, or its number."""
        return self._name or str(self.number)

    @property
    def has_name(self) -> bool:
        """Whether someone named it."""
        return bool(self._name)

    def uses(self) -> list[Use]:
        """Where it is used, in the order in which the uses came to be."""
        return list(self._uses)

    @property
    def is_used(self) -> bool:
        """Whether anything uses it."""
        return bool(self._uses)

    @property
    def owner_block(self) -> Block:
        """The block in which it is defined."""
        if self.block is not None:
            return self.block
        assert self.defining_node is not None
        return self.defining_node.owner_block

    def set_name(self, name: str) -> Value:
        """Name it; a value that already has this name moves on to `name.1`, `name.2`, ..."""
        self.owner_block.graph.rename(self, name)
        return self

    def set_type(self, static_type: Type) -> Value:
        """Give it another type."""
        self.static_type = static_type
        return self

    def replace_uses_with(self, other: Value) -> None:
        """Let every user use `other` instead."""
        if other is self:
            return
        for use in self.uses():
            use.user.replace_operand(use.offset, other)

    def copy_metadata(self, other: Value) -> Value:
        """Take the type of `other`, and its name if it has one."""
        self.static_type = other.static_type
        if other.has_name:
            self.set_name(other.name)
        return self

    def __repr__(self) -> str:
        return f"%{self.name} : {self.static_type}"


@refusing("value", ValueMethods)
class ErasedValue(Value):
    """What a value becomes when its node is erased: whatever TorchScript's users ask it raises RuntimeError."""

    __slots__ = ()
