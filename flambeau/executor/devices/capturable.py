"""Whether calls of a plan can be one CUDA graph: nothing of a call is left on the host once it is captured.

What a replay does is what the device was given at the capture, with the same memory and numbers. So nothing may depend
on elements, draw random numbers, touch the world, or copy memory of the host.
"""

from __future__ import annotations

from typing import Final

from flambeau.analysis import effects
from flambeau.ir.constants import constant_value, is_constant
from flambeau.ir.graph import Graph, Node, Value
from flambeau.ops.cuda_devices.cuda_calls import CAPTURED_RULES
from flambeau.passes.fuse import GROUP
from flambeau.schema.opdef import OpDef
from flambeau.schema.types import TensorType

FAMILIES: Final = frozenset(
    {"pointwise", "reduce", "row", "view", "creation", "metadata", "language", "in_place", "copy", "write", "composite"}
)
"""Kinds of operators that give a device nothing but kernels, and copies within it, or consist of others, which are
looked at while they are captured."""
ROLES: Final = frozenset({"matmul", "mm", "bmm", "mv", "dot", "outer", "linear", "addmm", "addmv", "baddbmm"})
"""What others declare to fold with that are products of a library."""
UNSAFE: Final = "may copy memory of the host, or wait for the device"
STRUCTURE: Final = frozenset(
    {
        "prim::Constant", "prim::ListConstruct", "prim::ListUnpack", "prim::TupleConstruct", "prim::TupleUnpack",
        "prim::TupleIndex", "prim::If", "prim::Loop", "prim::RaiseException", "prim::unchecked_cast",
        "prim::Uninitialized", "prim::NumToTensor", "prim::device", "prim::dtype", "prim::layout", GROUP,
    }
)  # fmt: skip
"""Nodes that are no operators, and leave the device alone."""


def why_not(graph: Graph) -> str:
    """Why calls of a plan's graph cannot be captured; empty where nothing is known against it."""
    for node in graph.all_nodes():
        reason = _of(node)
        if reason:
            return f"{node.op} {reason}" + (f" ({node.range})" if node.range is not None else "")
    for value in (v for n in graph.all_nodes() for v in n.results):
        known = value.static_type
        if isinstance(known, TensorType) and known.device is not None and known.device.type == "cpu":
            return f"%{value.name} is a tensor of the host"
    return ""


def _is_false(value: Value) -> bool:
    return is_constant(value) and not constant_value(value)


def _of(node: Node) -> str:
    if effects.is_random(node):
        return "draws random numbers, which would be the same in every replay"
    if node.op in STRUCTURE:
        return ""
    definition = node.definition
    if definition is None:
        return "is run by the host"
    if effects.has_effect(node) and not effects.own_writes(node):
        return "does something that a replay would not do"
    index = definition.schema.index.get("non_blocking")
    if index is not None and not _is_false(node.operands[index]):
        return "may copy memory of the host without waiting for it"
    return "" if _is_safe(definition) or definition.full_name in CAPTURED_RULES else UNSAFE


def _is_safe(definition: OpDef) -> bool:
    return definition.family in FAMILIES or definition.accumulator in ROLES


def refuse_unsafe(definition: OpDef) -> None:
    """Raise RuntimeError for an operator on arrays that may leave something on the host."""
    if not _is_safe(definition):
        raise RuntimeError(f"{definition.name} {UNSAFE}")
