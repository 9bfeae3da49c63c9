"""Where a value was found to be None, it is None: `y = x if x is None else f(x)`.

```
%c : bool = aten::__isnot__(%x, %none)          %c : bool = aten::__isnot__(%x, %none)
%y : Tensor? = prim::If(%c)                     %y : Tensor? = prim::If(%c)
  block0():                                       block0():
    %t : Tensor = prim::unchecked_cast(%x)          %t : Tensor = prim::unchecked_cast(%x)
    %u : Tensor = aten::relu(%t)           →        %u : Tensor = aten::relu(%t)
    -> (%u)                                         -> (%u)
  block1():                                       block1():
    -> (%x)                                         -> (%none)
```

What is known of `%y` is then what is known of `%u`, whatever tensor `%x` is where there is one.
"""

from __future__ import annotations

from flambeau.ir.constants import insert_constant
from flambeau.ir.graph import Block, Graph, Node, Value
from flambeau.ir.walk import ancestor_in
from flambeau.schema.types import NONE, OptionalType


def do(graph: Graph) -> bool:
    """Put None in the place of optional values in every branch in which they are None."""
    changed = False
    for node in graph.find_all("prim::If"):
        comparison = node.operand(0).defining_node
        if comparison is not None and comparison.op == "aten::__is__":
            changed |= _refine(comparison, node.nested_blocks[0])
        elif comparison is not None and comparison.op == "aten::__isnot__":
            changed |= _refine(comparison, node.nested_blocks[1])
    return changed


def _refine(comparison: Node, block: Block) -> bool:
    """Where a value was compared with None, and is None in a block."""
    changed = False
    for value, other in (comparison.operands, comparison.operands[::-1]):
        if isinstance(value.static_type, OptionalType) and other.static_type == NONE:
            changed |= _put_none(value, comparison.graph, block)
    return changed


def _put_none(value: Value, graph: Graph, block: Block) -> bool:
    uses = [u for u in value.uses() if u.user.op != "prim::unchecked_cast" and ancestor_in(u.user, block) is not None]
    if not uses:
        return False
    with graph.inserting(block.first or block):
        none = insert_constant(graph, None, NONE)
    for user, offset in uses:
        user.replace_operand(offset, none)
    return True
