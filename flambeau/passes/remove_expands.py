"""Leave out what a tracer expanded and the operator behind it broadcasts by itself.

```
%b : Tensor = aten::expand(%bias, %sizes, %implicit)
%y : Tensor = aten::add(%x, %b, %1)                     →     %y : Tensor = aten::add(%x, %bias, %1)
```

Only expansions that say of themselves that they are implicit: a tracer put them there for an operator that broadcasts.
One that anything else uses too, such as the result of the graph, stays for that.
"""

from __future__ import annotations

from flambeau.analysis.manager import alias_analysis
from flambeau.ir import constants
from flambeau.ir.graph import Graph, Node
from flambeau.ir.uses import Use


def do(graph: Graph) -> bool:
    """Let operators that broadcast take what was expanded for them; whether there was any."""
    implicit = [n for n in graph.find_all("aten::expand") if _is_implicit(n)]
    uses = [(use, node) for node in implicit for use in node.result().uses() if _broadcasts(use)]
    if not uses:
        return False
    aliases = alias_analysis(graph)
    changed = False
    for use, node in uses:
        if not aliases.has_writers(node.operand(0)):
            use.user.replace_operand(use.offset, node.operand(0))
            changed = True
    for node in implicit:
        if not node.result().is_used:
            node.erase()
    return changed


def _is_implicit(node: Node) -> bool:
    mark = node.operand(2)
    return constants.is_constant(mark) and constants.constant_value(mark) is True


def _broadcasts(use: Use[Node]) -> bool:
    """Whether the user is a pointwise operator of this tensor and another one."""
    definition = use.user.definition
    if definition is None or definition.family != "pointwise":
        return False
    arguments = definition.schema.arguments
    others = [a for k, a in enumerate(arguments) if k != use.offset and a.type.kind == "TensorType"]
    return bool(others)
