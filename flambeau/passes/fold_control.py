"""Take away control flow whose way is known.

```
%t : bool = prim::Constant[value=1]()
%y = prim::If(%t)                            %y : Tensor = aten::relu(%x)
  block0():                          →
    %a : Tensor = aten::relu(%x)
    -> (%a)
  block1():
    -> (%x)
```

Branches on constants, and on what is known, are replaced by the block taken. Loops without an iteration give what they
were given. Results that are the same on both ways, and carried values that no iteration changes, are replaced by what
they are; True on one way and False on the other is the condition.
"""

from __future__ import annotations

from typing import Any

from flambeau.analysis.constant_evaluation import Knowledge
from flambeau.ir import constants
from flambeau.ir.clone import move_nodes
from flambeau.ir.graph import Graph, Node, Value
from flambeau.ir.kinds import CONTROL
from flambeau.ir.walk import is_visible
from flambeau.schema.types import BOOL


def do(graph: Graph, *, by_types: bool = False) -> bool:
    """Fold every `prim::If` and `prim::Loop` that can be, at every depth; with `by_types` by what the types of tensors
    say too, which must hold then, and not stem from an example.
    """
    changed = False
    known = Knowledge() if by_types else None
    controls = [node for node in graph.listed_nodes() if node.op in CONTROL]
    if known is not None:
        for node in controls:
            known(node.operand(0))
    for node in reversed(controls):  # inner before outer: what an inner one becomes may fold an outer one at once
        if node.is_erased or not node.is_inserted:
            continue
        if node.op == "prim::If":
            changed = fold_if(node, known) or changed
        elif node.op == "prim::Loop":
            changed = _fold_loop(node) or changed
    return changed


def take_known_way(node: Node, known: Knowledge | None) -> bool:
    """Put the block that is taken in the place of a `prim::If` whose condition is a constant; whether it was.

    With what is `known` of values also where the types of tensors tell (see `do`).
    """
    way = _constant(node.operand(0)) if known is None else known(node.operand(0))
    if isinstance(way, bool):
        _replace(node, move_nodes(node.nested_blocks[0 if way else 1], node))
    return isinstance(way, bool)


def fold_if(node: Node, known: Knowledge | None) -> bool:
    """Fold a `prim::If` as `do` does; whether it could be."""
    if take_known_way(node, known):
        return True
    changed = False
    for index in reversed(range(len(node.results))):
        first, second = (block.returns[index] for block in node.nested_blocks)
        same = first if first is second or _same_constant(first, second) else _condition(node, first, second)
        if same is None:
            continue
        if not is_visible(same, node):
            assert same.defining_node is not None
            if same.defining_node.op != constants.CONSTANT:
                continue
            same.defining_node.move_before(node)
        node.result(index).replace_uses_with(same)
        node.remove_result(index)
        for block in node.nested_blocks:
            block.remove_return(index)
        changed = True
    return changed


def _constant(value: Value) -> Any:
    return constants.constant_value(value) if constants.is_constant(value) else None


def _condition(node: Node, first: Value, second: Value) -> Value | None:
    """The condition itself, or its negation, where the branches give True and False."""
    if not (constants.is_constant(first) and constants.is_constant(second)):
        return None
    answers = constants.constant_value(first), constants.constant_value(second)
    if answers[0] is True and answers[1] is False:
        return node.operand(0)
    if answers[0] is False and answers[1] is True:
        with node.graph.inserting(node), node.graph.at_range(node.range):
            return node.graph.insert("aten::__not__", [node.operand(0)], [BOOL]).result()
    return None


def _same_constant(a: Value, b: Value) -> bool:
    if not (constants.is_constant(a) and constants.is_constant(b)) or a.static_type != b.static_type:
        return False
    value = constants.constant_value(a)
    return not constants.is_mutable(value) and constants.same_constant(value, constants.constant_value(b))


def _fold_loop(node: Node) -> bool:
    operands, results = node.operands, node.results
    trips, condition = operands[:2]
    never = constants.is_constant(trips) and constants.constant_value(trips) <= 0
    never = never or (constants.is_constant(condition) and not constants.constant_value(condition))
    if never:
        _replace(node, list(operands[2:]))
        return True
    changed = False
    body = node.nested_blocks[0]
    parameters, returns = body.parameters, body.returns
    for index in reversed(range(len(results))):
        start, parameter = operands[index + 2], parameters[index + 1]
        if returns[index + 1] not in (parameter, start):
            continue
        body.remove_return(index + 1)
        parameter.replace_uses_with(start)
        body.remove_parameter(index + 1)
        results[index].replace_uses_with(start)
        node.remove_result(index)
        node.remove_operand(index + 2)
        returns = body.returns
        changed = True
    return changed


def _replace(node: Node, values: list[Value]) -> None:
    for old, new in zip(node.results, values, strict=True):
        old.replace_uses_with(new)
    node.erase()
