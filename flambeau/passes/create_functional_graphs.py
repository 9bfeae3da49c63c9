"""Gather what has no effects and sees none into graphs of its own.

```
%b = aten::mul(%y, %y)                        %h = prim::FunctionalGraph_0(%y)
...                                     →     with prim::FunctionalGraph_0 = graph(%y):
%h = aten::cos(%g)                              ...
```

A node belongs to one if it is pure and nobody writes to the memory of its operands and results. Nodes move next to each
other past others where nobody can tell. Groups of fewer than six nodes stay as they are.
"""

from __future__ import annotations

from typing import Final

from flambeau.analysis.alias import AliasAnalysis
from flambeau.analysis.effects import is_pure
from flambeau.ir.constants import CONSTANT
from flambeau.ir.graph import Block, Graph, Node
from flambeau.ir.walk import blocks, operands_within
from flambeau.passes.fuse import bring_together
from flambeau.passes.outline import outline

GROUP: Final = "prim::FunctionalGraph"
SMALLEST: Final = 6


def do(graph: Graph) -> bool:
    """Make groups in every block; whether any was made."""
    aliases = AliasAnalysis(graph)
    runs = [run for block in list(blocks(graph.body)) for run in _runs(block, aliases)]
    groups = [run for run in runs if len(run) >= SMALLEST and any(v.is_used for n in run for v in n.results)]
    for group in groups:
        outline(group, GROUP)
    return bool(groups)


def _runs(block: Block, aliases: AliasAnalysis) -> list[list[Node]]:
    """The functional nodes of a block, those together that are neighbours now."""
    runs: list[list[Node]] = []
    for node in list(block):
        if _is_functional(aliases, node):
            if runs and bring_together(aliases, runs[-1], [node]):
                runs[-1].append(node)
            else:
                runs.append([node])
    return runs


def _is_functional(aliases: AliasAnalysis, node: Node) -> bool:
    if node.op == CONSTANT or node.nested_blocks or node.definition is None or not is_pure(node):
        return False
    return not any(map(aliases.has_writers, (*operands_within(node), *node.results)))
