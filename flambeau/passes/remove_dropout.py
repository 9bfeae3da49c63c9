"""Leave out dropouts that do nothing.

```
%y : Tensor = aten::dropout(%x, %p, %false)
%z : Tensor = aten::relu(%y)                     →      %z : Tensor = aten::relu(%x)
```

One that gives a tensor which somebody writes to afterwards stays, for outside training its result is its operand itself
or a copy as the operator pleases.
"""

from __future__ import annotations

from flambeau.analysis.alias import AliasAnalysis
from flambeau.ir import constants
from flambeau.ir.graph import Graph, Node, Value
from flambeau.schema.traits import Role


def do_checked(graph: Graph) -> bool:
    """`do`, for those whose probability is known to be one: others raise an error, which stays."""
    return do(graph, only_checked=True)


def do(graph: Graph, *, only_checked: bool = False) -> bool:
    """Remove every dropout that is known not to be in training."""
    dropouts = [
        n
        for n in graph.listed_nodes()
        if n.definition is not None
        and n.definition.traits.role is Role.DROPOUT
        and constants.is_constant(n.operand(2))
        and not constants.constant_value(n.operand(2))
        and (not only_checked or _is_probability(n.operand(1)))
    ]
    if not dropouts:
        return False
    aliases = AliasAnalysis(graph, apart=True)
    changed = False
    for node in dropouts:
        is_in_place = node.op.endswith("_")
        if is_in_place or not _is_written_later(aliases, node):
            node.result().replace_uses_with(node.operand(0))
            node.erase()
            changed = True
    return changed


def _is_written_later(aliases: AliasAnalysis, node: Node) -> bool:
    """Whether anybody may write to the operand or the result once the node has run: in a loop, what is above too."""
    writers = [*aliases.writers(node.operand(0)), *aliases.writers(node.result())]
    return bool(writers) and (_is_in_loop(node) or not all(w.is_before(node) for w in writers))


def _is_in_loop(node: Node) -> bool:
    owner = node.owner_block.owner_node
    return owner is not None and (owner.op == "prim::Loop" or _is_in_loop(owner))


def _is_probability(value: Value) -> bool:
    return constants.is_constant(value) and 0 <= constants.constant_value(value) <= 1
