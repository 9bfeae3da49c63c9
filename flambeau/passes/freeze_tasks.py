"""Freezing what forked tasks read of the objects that they are given.

```
%f : Future(Tensor) = prim::fork_0(%net, %x)              %f : Future(Tensor) = prim::fork_0(%x)
with prim::fork_0 = graph(%self : Net, %x : Tensor):  →   with prim::fork_0 = graph(%x : Tensor):
  %w : Tensor = prim::GetAttr[name="w"](%self)              %w : Float(3) = prim::Constant[value=<Tensor>]()
```

A task that assigns attributes, writes to what they hold or gives it away keeps its objects, and they stay whole.
"""

from __future__ import annotations

from collections.abc import Callable

from flambeau.analysis.alias import AliasAnalysis
from flambeau.ir import constants
from flambeau.ir.clone import clone_graph
from flambeau.ir.constants import CONSTANT, insert_constant
from flambeau.ir.graph import Graph, Node
from flambeau.ir.printer import SUBGRAPH
from flambeau.passes import dce, inline_tasks
from flambeau.passes.freeze_objects import constant_object, definition_of, is_object

TASKS = frozenset({"prim::fork", "prim::awaitable"})


def fold_task(node: Node, fold: Callable[[Graph], None]) -> bool:
    """Let a task have the objects that it is given as constants, if `fold` leaves none of them; whether it did."""
    indices = [k for k, v in enumerate(node.operands) if constant_object(v) is not None]
    if not indices:
        return False
    body = clone_graph(node.attribute(SUBGRAPH))
    for k in reversed(indices):
        found_object = constant_object(node.operand(k))
        with body.inserting(body.body.first or body.body):
            value = insert_constant(body, found_object, definition_of(found_object).type)
        body.parameters[k].replace_uses_with(value)
        body.body.remove_parameter(k)
    fold(body)
    dce.do(body)
    if _keeps_objects(body) or _changes_constants(body):
        return False
    for k in reversed(indices):
        node.remove_operand(k)
    node.attributes[SUBGRAPH] = body
    return True


def _keeps_objects(body: Graph) -> bool:
    return any(n.op == CONSTANT and is_object(n.attributes.get("value")) for n in body.listed_nodes())


def _changes_constants(body: Graph) -> bool:
    """Whether memory that is constant in a task may be written, by the task or by those who get it from there."""
    whole = clone_graph(body)
    inline_tasks.do(whole)
    aliases = AliasAnalysis(whole, apart=True)
    mutable = [n.result() for n in whole.find_all(CONSTANT) if constants.is_mutable(n.attributes.get("value"))]
    return any(aliases.has_writers(v) or aliases.is_returned(v) for v in mutable)
