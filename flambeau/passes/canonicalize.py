"""Number the values in order of definition, so that graphs of the same program print the same.

```
graph(%x.1 : Tensor):                        graph(%x.1 : Tensor):
  %7 : Tensor = aten::relu(%x.1)       →       %1 : Tensor = aten::relu(%x.1)
  return (%7)                                  return (%1)
```
"""

from __future__ import annotations

from collections.abc import Iterator

from flambeau.ir.graph import Block, Graph, Value
from flambeau.ir.printer import SUBGRAPH


def do(graph: Graph, *, keep_names: bool = True) -> bool:
    """Renumber; without `keep_names` also forget the names, so that only numbers are left."""
    values = list(_defined(graph.body))
    before = [v.name for v in values]
    if not keep_names:
        for value in values:
            graph.rename(value, "")
    for number, value in enumerate(values):
        graph.number(value, number)
    changed = [v.name for v in values] != before
    for node in graph.all_nodes():
        inner = node.attributes.get(SUBGRAPH)
        if isinstance(inner, Graph):
            changed = do(inner, keep_names=keep_names) or changed
    return changed


def _defined(block: Block) -> Iterator[Value]:
    yield from block.parameters
    for node in block:
        for inner in node.nested_blocks:
            yield from _defined(inner)
        yield from node.results
