"""Move what only the message of an exception needs to where the exception is raised.

```
%text : str = aten::format(%form, %n)           %ok : bool = aten::eq(%n, %size)
%ok : bool = aten::eq(%n, %size)                 = prim::If(%ok)
 = prim::If(%ok)                                  block0():
  block0():                               →         -> ()
    -> ()                                         block1():
  block1():                                         %text : str = aten::format(%form, %n)
     = prim::RaiseException(%text, %class)           = prim::RaiseException(%text, %class)
    -> ()                                           -> ()
```

`assert` and `torch._assert` word their messages before they look at the condition. Sunk, they cost nothing where all is
well, and machine code leaves the way that raises to the interpreter. Texts made of numbers and texts are sunk.
"""

from __future__ import annotations

from flambeau.analysis.effects import is_pure, may_raise
from flambeau.ir.graph import Block, Graph, Node
from flambeau.schema.types import BoolType, EnumType, FloatType, IntType, NoneType, StringType

_FIXED = (BoolType, EnumType, FloatType, IntType, NoneType, StringType)
"""What is the same wherever it is looked at."""


def do(graph: Graph) -> bool:
    """Sink all texts that can be, in place; whether there were any."""
    changed = False
    for node in graph.find_all("prim::RaiseException"):
        block = node.owner_block
        owner = block.owner_node
        if owner is not None and owner.op == "prim::If":
            changed = _sink_into(block, node) or changed
    return changed


def _sink_into(block: Block, raising: Node) -> bool:
    """Move what a node of a block needs into the block, and then what that needs."""
    waiting, seen, changed = [raising], {raising}, False
    while waiting:
        node = waiting.pop()
        for value in node.operands:
            maker = value.defining_node
            if maker is None or maker.op == "prim::Constant" or maker in seen:
                continue
            if maker.owner_block is not block:
                if not _can_sink(maker, block):
                    continue
                maker.move_before(node)
                changed = True
            seen.add(maker)
            waiting.append(maker)
    return changed


def _can_sink(node: Node, block: Block) -> bool:
    """Whether a text may as well be made in a block: nothing but one node there needs it, and it would be the same."""
    if len(node.results) != 1 or node.nested_blocks or not isinstance(node.result().static_type, StringType):
        return False
    uses = node.result().uses()
    if not is_pure(node) or may_raise(node) or len(uses) != 1 or uses[0].user.owner_block is not block:
        return False
    return all(isinstance(v.static_type, _FIXED) for v in node.operands)
