"""Methods of values by TorchScript's names: `v.type()`, `v.debugName()`, `v.uses()`."""

from __future__ import annotations

from typing import Any, Generic, TypeVar

from flambeau.ir.literals import is_tensor
from flambeau.ir.torchscript import types
from flambeau.ir.torchscript.argument_checks import check_name, wrong_argument
from flambeau.schema.types import FUNCTION

NodeT = TypeVar("NodeT")


class ValueMethods(Generic[NodeT]):
    """What TorchScript's users call on a value."""

    __slots__ = ()

    def type(self: Any) -> types.Type:
        """Its type."""
        return types.Type.of(self.static_type)

    def setType(self: Any, type_: types.Type) -> Any:
        """Give it another type. Raises TypeError for what is none."""
        if not isinstance(type_, types.Type):
            raise wrong_argument("setType", "a type, such as IntType.get()", type_)
        return self.set_type(type_.ours)

    def setTypeAs(self: Any, other: Any) -> Any:
        """Give it the type of another value."""
        return self.set_type(other.static_type)

    def inferTypeFrom(self, value: Any) -> None:
        """Give it the type that says all of a tensor. Raises TypeError for what is none."""
        if not is_tensor(value):
            raise wrong_argument("inferTypeFrom", "a Tensor", value)
        self.setType(types.TensorType.create_from_tensor(value))

    def debugName(self: Any) -> str:
        """Its name, without the percent sign."""
        return str(self.name)

    def setDebugName(self: Any, name: str) -> Any:
        """Name it; who has the name already gets another. Raises RuntimeError for a number."""
        check_name(name)
        return self.set_name(name)

    def unique(self: Any) -> int:
        """Its number."""
        return int(self.number)

    def offset(self: Any) -> int:
        """Which of the results of its node, or of the parameters of its block, it is."""
        return int(self.index)

    def node(self: Any) -> NodeT:
        """What defines it; for a parameter, the node that stands for the parameters of its block."""
        node: NodeT = self.block.paramNode() if self.defining_node is None else self.defining_node
        return node

    def toIValue(self: Any) -> Any:
        """The value of a constant; None for others."""
        node = self.defining_node
        is_constant = node is not None and node.op == "prim::Constant" and self.static_type != FUNCTION
        return node.attributes.get("value") if is_constant else None

    def isCompleteTensor(self: Any) -> bool:
        """Whether dtype, device, sizes and strides are known."""
        return bool(getattr(self.static_type, "is_complete", False))

    def requires_grad(self) -> bool:
        """Whether it may need a gradient."""
        return self.type().requires_grad()

    def requiresGrad(self: Any) -> bool | None:
        """Whether it needs a gradient; None where that is not known."""
        return getattr(self.static_type, "requires_grad", None)

    def copyMetadata(self: Any, other: Any) -> Any:
        """Take the name and type of another value."""
        return self.copy_metadata(other)

    def replaceAllUsesWith(self: Any, other: Any) -> None:
        """Let every user use `other`."""
        self.replace_uses_with(other)

    def replaceAllUsesAfterNodeWith(self: Any, node: Any, other: Any) -> None:
        """Let the users behind a node use `other`."""
        for user, offset in self.uses():
            if user is not node and node.is_before(user):
                user.replace_operand(offset, other)
