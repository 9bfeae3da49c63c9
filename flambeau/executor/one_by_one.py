"""Functions that run an operator at a time whatever they are called with, each dispatched and recorded as Python's
calls are: they make tensors that kernels do not take, or ask for gradients themselves.

>>> import flambeau
>>> @flambeau.script
... def asked(x):
...     return flambeau.zeros(2).requires_grad_() * x
>>> asked(flambeau.ones(2)).requires_grad
True
"""

from __future__ import annotations

from flambeau.executor.inlined_graph import has_node
from flambeau.ir import constants
from flambeau.ir.graph import Node
from flambeau.program.function import Function
from flambeau.schema import registry
from flambeau.schema.types import DeviceType

_DISPATCHED = frozenset({"quantized", "tape"})
"""Families of operators."""


def runs_one_by_one(function: Function) -> bool:
    """Whether a function, or what it calls, has a node that only a dispatched call serves."""
    return has_node(function, "one by one", _is_dispatched)


def _is_dispatched(node: Node) -> bool:
    """Whether a node names the device "meta", is of quantised tensors, goes back over the tape, or may ask for
    gradients."""
    if node.op == constants.CONSTANT and len(node.results) == 1:
        is_device = isinstance(node.result().static_type, DeviceType)
        return is_device and str(node.attributes.get("value")) == "meta"
    return any(d.family in _DISPATCHED for d in registry.overloads(node.op)) or _asks(node)


def _asks(node: Node) -> bool:
    definition = node.definition
    index = None if definition is None else definition.schema.index.get("requires_grad")
    if index is None:
        return False
    flag = node.operand(index)
    return not constants.is_constant(flag) or bool(constants.constant_value(flag))
