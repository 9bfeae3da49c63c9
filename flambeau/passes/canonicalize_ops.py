"""Write operators that take containers as kinds whose results are known one by one.

```
%l : Tensor[] = aten::chunk(%x, %2, %1)
%a : Tensor, %b : Tensor = prim::ListUnpack(%l)

%a : Tensor, %b : Tensor = prim::ConstantChunk[chunks=2, dim=1](%x)
```

The number of pieces and the dimension must be constants, and nothing else may use the list.
"""

from __future__ import annotations

from flambeau.ir import constants
from flambeau.ir.graph import Graph, Node

CHUNK, UNPACK = "prim::ConstantChunk", "prim::ListUnpack"


def do(graph: Graph) -> bool:
    """Rewrite all that can be; whether there was any."""
    unpacked = [n for n in graph.find_all("aten::chunk") if _is_taken_apart(n)]
    for node in unpacked:
        chunks, dim = map(constants.constant_value, node.operands[1:])
        (use,) = node.result().uses()
        with graph.inserting(node), graph.at_range(node.range):
            types = [v.static_type for v in use.user.results]
            pieces = graph.insert(CHUNK, [node.operand(0)], types, chunks=chunks, dim=dim)
        for old, new in zip(use.user.results, pieces.results, strict=True):
            name = old.name if old.has_name else ""
            old.replace_uses_with(new)
            graph.rename(old, "")
            graph.rename(new, name)
        use.user.erase()
        node.erase()
    return bool(unpacked)


def _is_taken_apart(node: Node) -> bool:
    """Whether all that is done with the pieces is to unpack as many as were asked for."""
    if not all(map(constants.is_constant, node.operands[1:])):
        return False
    users = [use.user for use in node.result().uses()]
    count = constants.constant_value(node.operand(1))
    return len(users) == 1 and users[0].op == UNPACK and len(users[0].results) == count
