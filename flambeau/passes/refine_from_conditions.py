"""Use what a condition says where it was met: the values of ints, the lengths of lists.

```
%c : bool = aten::eq(%n, %4)                  %c : bool = aten::eq(%n, %4)
%r : int = prim::If(%c)                       %r : int = prim::If(%c)
  block0():                                     block0():
    %m : int = aten::add(%n, %1)       →          %m : int = aten::add(%4, %1)
    -> (%m)                                       -> (%m)
```

Behind a branch that always raises, the other way was taken. `a and b` says what both say.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from flambeau.analysis.alias import AliasAnalysis
from flambeau.ir import constants
from flambeau.ir.constants import insert_constant
from flambeau.ir.graph import Block, Graph, Node, Value
from flambeau.schema import registry
from flambeau.schema.types import INT, ListType

Known = Mapping[Value, int]
"""What ints are, and how long lists are."""
Use = Callable[[Node, Known], bool]


def integers(graph: Graph) -> bool:
    """Put constants where ints are known."""
    return _refine(graph.body, {}, _use_integers)


def lengths(graph: Graph) -> bool:
    """Put constants where the lengths of lists are known that nobody changes."""
    aliases = AliasAnalysis(graph)

    def use(node: Node, known: Known) -> bool:
        if node.op != "aten::len" or node.operand(0) not in known or aliases.has_writers(node.operand(0)):
            return False
        with node.graph.inserting(node):
            node.result().replace_uses_with(insert_constant(node.graph, known[node.operand(0)]))
        node.erase()
        return True

    return _refine(graph.body, {}, use)


def _use_integers(node: Node, known: Known) -> bool:
    changed = False
    for index, value in enumerate(node.operands):
        if value.static_type == INT and value in known:
            with node.graph.inserting(node):
                node.replace_operand(index, insert_constant(node.graph, known[value]))
            changed = True
    return changed


def _refine(block: Block, known: Known, use: Use) -> bool:
    changed = False
    for node in list(block):
        if node.op == "prim::If":
            condition = node.operand(0)
            for inner, truth in zip(node.nested_blocks, (True, False), strict=True):
                changed |= _refine(inner, {**known, **said(condition, truth)}, use)
                changed |= _use_results(inner, {**known, **said(condition, truth)}, use)
            first, second = map(_always_raises, node.nested_blocks)
            if first is not second:
                known = {**known, **said(condition, second)}
            continue
        for inner in node.nested_blocks:
            changed |= _refine(inner, known, use)
            changed |= _use_results(inner, known, use)
        changed |= use(node, known)
    return changed | (_use_results(block, known, use) if block.owner_node is None else False)


def _use_results(block: Block, known: Known, use: Use) -> bool:
    """What a block gives is an operand too."""
    if use is not _use_integers:
        return False
    changed = False
    for index, value in enumerate(block.returns):
        if value.static_type == INT and value in known:
            with block.graph.inserting(block):
                block.return_node.replace_operand(index, insert_constant(block.graph, known[value]))
            changed = True
    return changed


def _always_raises(block: Block) -> bool:
    return any(n.op == "prim::RaiseException" for n in block)


def said(condition: Value, truth: bool) -> dict[Value, int]:
    """What is known where a condition has this truth."""
    node = condition.defining_node
    if node is None:
        return {}
    if node.op == registry.spelled("==" if truth else "!="):
        return _compared(node)
    if node.op == "aten::__not__":
        return said(node.operand(0), not truth)
    if (node.op == "aten::__and__" and truth) or (node.op == "aten::__or__" and not truth):
        return {**said(node.operand(0), truth), **said(node.operand(1), truth)}
    return _of_branch(node, condition, truth) if node.op == "prim::If" else {}


def _of_branch(node: Node, condition: Value, truth: bool) -> dict[Value, int]:
    """Of a branch that can have this truth on one of its ways only, as `a and b` does."""
    index = node.results.index(condition)
    results = [block.returns[index] for block in node.nested_blocks]
    open_ways = [i for i, r in enumerate(results) if not (constants.is_constant(r) and
                                                          constants.constant_value(r) is not truth)]  # fmt: skip
    if len(open_ways) != 1:
        return {}
    way = open_ways[0]
    return {**said(node.operand(0), way == 0), **said(results[way], truth)}


def _compared(node: Node) -> dict[Value, int]:
    if len(node.operands) != 2:
        return {}
    for value, other in (node.operands, node.operands[::-1]):
        number = constants.constant_value(other) if constants.is_constant(other) else None
        if type(number) is not int or constants.is_constant(value) or value.static_type != INT:
            continue
        numbers = {value: number}
        length = value.defining_node
        if length is not None and length.op == "aten::len" and isinstance(length.operand(0).static_type, ListType):
            numbers[length.operand(0)] = number
        return numbers
    return {}
