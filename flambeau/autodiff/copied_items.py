"""Copies in the place of views of written tensors, in lists that an operator reads at once.

```
%r : Tensor = aten::select(%x, %0, %i)                      %c : Tensor = aten::clone(%r)
%l : Tensor[] = prim::ListConstruct(%r, %y)          →      %l : Tensor[] = prim::ListConstruct(%c, %y)
%s : Tensor = aten::stack(%l, %0)                           %s : Tensor = aten::stack(%l, %0)
%_ : Tensor = aten::copy_(%z, %s)                           %_ : Tensor = aten::copy_(%z, %s)
```

where `%z` shows `%x`: what is written later changes the items of the list, of which nobody asks by then. A list whose
items are written has no gradients of its own.
"""

from __future__ import annotations

from flambeau.analysis.alias import AliasAnalysis
from flambeau.analysis.effects import is_pure
from flambeau.analysis.manager import alias_analysis
from flambeau.ir.constants import insert_constant
from flambeau.ir.graph import Graph, Node, Value
from flambeau.schema.types import NONE, TensorType

LIST = "prim::ListConstruct"


def do(graph: Graph) -> bool:
    """Copy what is written later; whether there was any."""
    lists = [node for node in graph.find_all(LIST) if node.operands and _is_of_tensors(node)]
    if not lists:
        return False
    aliases, copied = alias_analysis(graph), list[tuple[Node, list[int]]]()
    for node in lists:
        written = [n for n, item in enumerate(node.operands) if aliases.has_tensor_writers(item)]
        if written and _is_read_at_once(node, aliases):
            copied.append((node, written))
    for node, written in copied:
        for number in written:
            node.replace_operand(number, _copy(graph, node, node.operand(number)))
    return bool(copied)


def _is_of_tensors(node: Node) -> bool:
    return all(isinstance(item.static_type, TensorType) for item in node.operands)


def _is_read_at_once(node: Node, aliases: AliasAnalysis) -> bool:
    """Whether a list has one user, behind it in its block, which only looks at it, and no item is written before."""
    uses = node.result().uses()
    user = uses[0].user if len(uses) == 1 else None
    if user is None or user.owner_block is not node.owner_block or user.nested_blocks or not is_pure(user):
        return False
    if user.op == "prim::Return" or aliases.may_contain_alias(user.results, node.result()):
        return False
    following = node.next
    while following is not None and following is not user:
        if any(aliases.writes_to(following, item) for item in node.operands):
            return False
        following = following.next
    return following is user


def _copy(graph: Graph, node: Node, item: Value) -> Value:
    with graph.inserting(node):
        copy = graph.insert("aten::clone", [item, insert_constant(graph, None, NONE)], [item.static_type])
    copy.range, copy.call_chain = node.range, node.call_chain
    return copy.result()
