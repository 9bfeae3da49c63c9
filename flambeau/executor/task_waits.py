"""What a task may wait for: only tasks that it forks itself, or something that others have yet to do.

A task of the first kind can run where it is forked, however the tasks that it forks run: each of them waits only for
its own and for those forked before it, so that nobody waits for the place where the first was forked.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from flambeau.analysis.gradients import is_about_tensor
from flambeau.ir import kinds
from flambeau.ir.constants import CONSTANT
from flambeau.ir.graph import Graph, Node, Value
from flambeau.ir.printer import SUBGRAPH
from flambeau.passes.inline import CALLS, callee_of
from flambeau.schema.types import AnyType, AwaitType, ClassType, DictType, FutureType, InterfaceType, ListType, Type

FORK: Final = "prim::fork"


def waits_for_others(graph: Graph) -> bool:
    """Whether a task may wait for what is behind the place where it is forked, or changes what goes with its thread."""
    reached = _reached(graph)
    if reached is None or any(map(is_about_tensor, reached)):
        return True
    if _spins(graph.parameters, reached):
        return True
    if not any(node.op in kinds.WAIT for node in reached):
        return False
    inputs = [*graph.parameters, *(v for n in reached if n.op in (CONSTANT, "prim::GetAttr") for v in n.results)]
    passed_on = [v.static_type for n in reached if n.op == FORK for v in n.operands]
    return any(_holds(v.static_type, FutureType) for v in inputs) or any(
        _holds(t, FutureType) for t in passed_on if not isinstance(t, FutureType)
    )


def calls_python(graph: Graph) -> bool:
    """Whether a task may call Python, which may do nothing for long."""
    return _reached(graph) is None


def _reached(graph: Graph) -> list[Node] | None:
    """All nodes that the task, what it calls and what it forks consist of; None where some of it is not known."""
    pending, seen, reached = [graph], {graph}, list[Node]()
    while pending:
        for node in pending.pop().all_nodes():
            reached.append(node)
            callee = callee_of(node)
            if node.op.startswith("^") or node.op == "prim::awaitable_wait" or (node.op in CALLS and callee is None):
                return None
            inner = callee.graph if callee is not None else node.attributes.get(SUBGRAPH)
            if isinstance(inner, Graph) and inner not in seen:
                seen.add(inner)
                pending.append(inner)
    return reached


def _spins(inputs: Iterable[Value], nodes: Iterable[Node]) -> bool:
    """Whether a loop may go on until somebody changes an object that the task was given."""
    if not any(_holds(v.static_type, ListType, DictType) for v in inputs):
        return False
    loops = [node for node in nodes if node.op == "prim::Loop"]
    goes_on = [loop.nested_blocks[0].returns[0].defining_node for loop in loops]
    return any(node is None or node.op != CONSTANT for node in goes_on)


def _holds(type_: Type, *sought: type[Type]) -> bool:
    """Whether values of a type may be of a kind, or have such values in them. Attributes of objects are read by nodes,
    but change like lists."""
    if isinstance(type_, (AnyType, AwaitType, *sought)):
        return True
    if isinstance(type_, ClassType | InterfaceType):
        return ListType in sought
    return any(_holds(part, *sought) for part in type_.contained)
