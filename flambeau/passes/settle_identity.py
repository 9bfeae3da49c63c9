"""Say beforehand whether two tensors are one object, where the graph that made them tells.

```
%s : bool = aten::__is__(%k, %v)                   %s : bool = aten::__is__(%k, %v)
%a : Tensor, %b : Tensor = prim::If(%s)            %a : Tensor, %b : Tensor = prim::If(%s)
  block0():                                          block0():
    %t : Tensor = aten::t(%k)                          %t : Tensor = aten::t(%k)
    -> (%t, %t)                              →         -> (%t, %t)
  block1():                                          block1():
    %u : Tensor = aten::t(%k)                          %u : Tensor = aten::t(%k)
    %w : Tensor = aten::t(%v)                          %w : Tensor = aten::t(%v)
    -> (%u, %w)                                        -> (%u, %w)
%c : bool = aten::__is__(%a, %b)                   return (%s)
return (%c)
```

Attention asks so whether queries, keys and values are the same tensor. A view is a new object, whatever it shows; what
a branch gives is looked at way by way. Which tensors the arguments are only the call tells.
"""

from __future__ import annotations

from typing import Final

from flambeau.ir import constants
from flambeau.ir.graph import Graph, Node, Value
from flambeau.schema.types import BOOL, TensorType

Answer = bool | Value | None
"""Whether two values are one object: known, a value of the graph, or neither."""
_IF: Final = "prim::If"


def do(graph: Graph) -> bool:
    """Answer all comparisons that can be, in place; whether there were any."""
    changed = False
    for is_ in (True, False):
        for node in graph.find_all("aten::__is__" if is_ else "aten::__isnot__"):
            x, y = node.operands[:2]
            if isinstance(x.static_type, TensorType) and isinstance(y.static_type, TensorType):
                changed |= _settle(graph, node, _answer(x, y), is_=is_)
    return changed


def _settle(graph: Graph, node: Node, answer: Answer, *, is_: bool) -> bool:
    """Put the answer in the place of a comparison, if there is one."""
    if answer is None:
        return False
    with graph.inserting(node), graph.at_range(node.range):
        if isinstance(answer, bool):
            value = constants.insert_constant(graph, answer is is_)
        else:
            value = answer if is_ else graph.insert("aten::__not__", (answer,), (BOOL,)).result()
    node.result().replace_uses_with(value)
    node.erase()
    return True


def _answer(x: Value, y: Value) -> Answer:
    """Whether two values are one object."""
    if x is y:
        return True
    if _is_new(x) and _is_new(y):
        return False
    for new, other in ((x, y), (y, x)):
        if _is_new(new) and _is_argument(other):
            return False
    maker = x.defining_node
    if maker is not None and maker.op == _IF and maker is y.defining_node:
        return _by_way(maker, x, y)
    return None


def _by_way(branch: Node, x: Value, y: Value) -> Answer:
    """Whether two results of a branch are one object, from what each way gives."""
    yes, no = [_answer(block.returns[x.index], block.returns[y.index]) for block in branch.nested_blocks]
    if yes is None or no is None:
        return None
    if isinstance(yes, bool) and yes is no:
        return yes
    if yes is True and no is False:
        return branch.operand(0)
    for block, answer in zip(branch.nested_blocks, (yes, no), strict=True):
        with branch.graph.inserting(block):
            block.add_return(constants.insert_constant(branch.graph, answer) if isinstance(answer, bool) else answer)
    return branch.add_result(BOOL)


def _is_argument(value: Value) -> bool:
    """Whether a value is a parameter of the graph."""
    return value.defining_node is None and value.block is not None and value.block.owner_node is None


def _is_new(value: Value) -> bool:
    """Whether a value is a tensor that its node made: a view that is never the operand itself."""
    definition = None if value.defining_node is None else value.defining_node.definition
    if definition is None or definition.family != "view" or definition.schema.is_mutable:
        return False
    is_view = definition.schema.returns[0].alias is not None
    return is_view and not (definition.traits.may_copy or definition.traits.may_be_operand)
