"""Ask, when a graph runs, whether there is a gradient at all, before going back through an operator.

```
                                                     %n : bool = prim::AutogradAnyNonZero(%g)
%r : Tensor = prim::GradOf[name="aten::mul"](%g)     %r : Tensor = prim::If(%n)
  block0():                                      →     block0():
    %m : Tensor = aten::mul(%g, %c)                      %m : Tensor = aten::mul(%g, %c)
    -> (%m)                                              -> (%m)
                                                       block1():
                                                         %z : Tensor = prim::AutogradZero()
                                                         -> (%z)
```

A `prim::GradOf` without a block, which goes back over the tape, goes into the first branch as it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from flambeau.ir.clone import clone_block, clone_node
from flambeau.ir.graph import Graph, Node, Value
from flambeau.schema.types import BOOL, TENSOR

GRAD_OF: Final = "prim::GradOf"
COUNT: Final = "gradients"
"""How many of the operands of a node without a block are gradients, the first ones."""


def do(graph: Graph) -> bool:
    """Lower every `prim::GradOf` that is not lowered yet; whether there was one."""
    nodes = [node for node in graph.find_all(GRAD_OF) if not _is_lowered(node)]
    for node in nodes:
        _lower(node)
    return bool(nodes)


def gradients_of(node: Node) -> Sequence[Value]:
    """The operands that are gradients."""
    return node.operands[: node.attributes.get(COUNT, len(node.operands))]


def _is_lowered(node: Node) -> bool:
    """Whether a node without a block stands in the first branch of a question about its gradients."""
    branch = node.owner_block.owner_node
    asked = None if branch is None or branch.op != "prim::If" else branch.operand(0).defining_node
    return asked is not None and asked.op == "prim::AutogradAnyNonZero" and asked.operands == (*gradients_of(node),)


def _lower(node: Node) -> None:
    graph = node.graph
    types = [v.static_type for v in node.results]
    with graph.inserting(node), graph.at_range(node.range):
        exists = graph.insert("prim::AutogradAnyNonZero", gradients_of(node), [BOOL]).result()
        branch = graph.insert("prim::If", [exists], types)
    taken, otherwise = branch.add_block(), branch.add_block()
    if node.nested_blocks:
        clone_block(node.nested_blocks[0], taken, {})
    else:
        with graph.inserting(taken):
            inner = graph.insert_node(clone_node(node, graph, {}))
        for value in inner.results:
            taken.add_return(value)
    with graph.inserting(otherwise):
        for _ in types:
            otherwise.add_return(graph.insert("prim::AutogradZero", [], [TENSOR]).result())
    for old, new in zip(node.results, branch.results, strict=True):
        old.replace_uses_with(new)
    node.erase()
