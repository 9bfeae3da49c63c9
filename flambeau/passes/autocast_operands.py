"""What `autocast` asks about operands in graphs, and the call of an operator that sees blocks itself."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any, Final

from flambeau.ir.graph import Node, Value
from flambeau.schema.cast_policies import CastPolicy, Policy
from flambeau.schema.opdef import OpDef
from flambeau.schema.types import ListType, NoneType, OptionalType, TensorType, Type
from flambeau.tensor import dispatch
from flambeau.tensor.autocast import autocast
from flambeau.tensor.grad_mode import enable_grad, inference_block, no_grad, set_grad_enabled

_LOOK_NOWHERE: Final = (autocast, no_grad, enable_grad, set_grad_enabled, inference_block)


class CallWithin:
    """Calls an operator within blocks of mixed precision: first comes whether each is on, and its dtype."""

    def __init__(self, definition: OpDef, devices: tuple[str, ...]) -> None:
        self.definition = definition
        self.devices = devices
        self.__name__ = definition.name

    def __call__(self, *values: Any) -> Any:
        count = len(self.devices)
        with ExitStack() as blocks:
            for index, device in enumerate(self.devices):
                blocks.enter_context(autocast(device, values[2 * index + 1], values[2 * index]))
            return dispatch.run(self.definition, values[2 * count :])


def looks_itself(node: Node) -> bool:
    """Whether a node runs what the graph does not show: it has to see the block that is around it."""
    if node.op.startswith("^"):
        return node.attributes.get("callable") not in _LOOK_NOWHERE
    if node.op in ("prim::CallFunction", "prim::CallMethod", "prim::fork", "prim::awaitable", "prim::awaitable_wait"):
        return True
    return node.definition is not None and node.definition.family == "custom"


def promotes(node: Node) -> bool:
    """Whether an operator that wants its operands in one dtype brings them there itself: in joining, and by element."""
    definition = node.definition
    assert definition is not None
    has_list = any(isinstance(v.static_type, ListType) for v in node.operands[:1])
    return has_list or definition.scalar is not None


def is_untold(node: Node, policy: Policy) -> bool:
    """Whether a sum is told no dtype by its call."""
    if policy is not CastPolicy.FULL_UNLESS_DTYPE_GIVEN or node.definition is None:
        return False
    position = node.definition.schema.index.get("dtype")
    return position is None or isinstance(node.operand(position).static_type, NoneType)


def holds_one(value: Value) -> bool:
    """Whether an operand is a list of one tensor: the product of one factor is none."""
    type_, node = value.static_type, value.defining_node
    is_list = isinstance(type_, ListType) and isinstance(type_.element, TensorType)
    return is_list and node is not None and node.op == "prim::ListConstruct" and len(node.operands) == 1


def may_be_none(type_: Type) -> bool:
    return isinstance(type_, OptionalType) and isinstance(type_.element, TensorType)


def is_castable(value: Value) -> bool:
    """Whether the tensors of an operand can be cast one by one: literal lists."""
    type_ = value.static_type
    if not isinstance(type_, ListType) or not isinstance(type_.element, TensorType):
        return True
    return value.defining_node is not None and value.defining_node.op == "prim::ListConstruct"
