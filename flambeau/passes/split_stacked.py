"""Carry the parts of what is stacked through loops: a state of few numbers, of which each round takes the parts,
computes with them, and stacks what it gets.

```
%y = prim::Loop(%n, %true, %y0)                      %u0 = aten::select(%y0, %1, %0); %v0 = aten::select(%y0, %1, %1)
  block0(%i : int, %c : Float(*, 2)):                %u, %v = prim::Loop(%n, %true, %u0, %v0)
    %a : Float(*) = aten::select(%c, %1, %0)           block0(%i : int, %a : Float(*), %b : Float(*)):
    %b : Float(*) = aten::select(%c, %1, %1)     →       -> (%true, %b, %a)
    %s : Float(*, 2) = aten::stack([%b, %a], %1)     %y = aten::stack([%u, %v], %1)
    -> (%true, %s)
```

Examples of a batch lie side by side then, which vectors read and write; a stack has them apart. That the state has as
many parts as are stacked is looked at before the loop; where it has others, the loop is what it was, and says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Final

from flambeau.analysis.constant_evaluation import known
from flambeau.analysis.manager import alias_analysis, forget_analyses
from flambeau.ir.clone import clone_node
from flambeau.ir.constants import insert_constant
from flambeau.ir.graph import Graph, Node, Value
from flambeau.ir.walk import is_visible, nodes_within
from flambeau.passes.stacked_values import LIST, SELECT, STACK, Stacked, part_axis, parts_listed, stacks_of
from flambeau.schema.types import BOOL, INT, ListType, TensorType, without_refinement

LOOP: Final = "prim::Loop"
CONTIGUOUS: Final = "aten::contiguous"
"""What parts are made before a loop: in those of each round elements lie side by side."""
KINDS: Final = (STACK,)


def do(graph: Graph) -> bool:
    """Split what loops carry; whether there was anything to split."""
    changed = False
    for loop in graph.find_all(LOOP):
        changed = _split_all(graph, loop) or changed
    return changed


def _split_all(graph: Graph, loop: Node) -> bool:
    """Split all stacks that a loop carries; whether there were any."""
    branch: Node | None = None
    changed = False
    while (stacked := stacks_of(loop, alias_analysis(graph))) is not None:
        changed = True
        starts = [loop.operand(index + 2) for index in sorted(stacked.carried)]
        unsure = [start for start in starts if _size(start, stacked.axis) != stacked.count]
        if unsure and branch is not None and all(is_visible(start, branch) for start in unsure):
            fits = _fits(graph, branch, stacked, unsure)
            with graph.inserting(branch):
                branch.replace_operand(0, graph.insert("aten::__and__", [branch.operand(0), fits], [BOOL]).result())
        elif unsure:
            branch, loop = _guarded(graph, loop, _fits(graph, loop, stacked, unsure))
            forget_analyses(graph)
            copied = stacks_of(loop, alias_analysis(graph))
            assert copied is not None
            stacked = copied
        _Parts(graph, loop, stacked).split()
        forget_analyses(graph)
    return changed


def _fits(graph: Graph, before: Node, stacked: Stacked, starts: Sequence[Value]) -> Value:
    """Whether a loop begins with as many parts as it stacks, computed before a node."""
    with graph.inserting(before), graph.at_range(before.range):
        axis, count = (insert_constant(graph, number) for number in (stacked.axis, stacked.count))
        sizes = [graph.insert("aten::size", [start, axis], [INT]).result() for start in starts]
        fits = [graph.insert("aten::eq", [size, count], [BOOL]).result() for size in sizes]
        return reduce(lambda one, other: graph.insert("aten::__and__", [one, other], [BOOL]).result(), fits)


def _guarded(graph: Graph, loop: Node, fits: Value) -> tuple[Node, Node]:
    """Put a branch in a loop's place, with the loop in both ways; the branch, and the loop where the parts fit."""
    with graph.inserting(loop), graph.at_range(loop.range):
        branch = graph.insert("prim::If", [fits], [value.static_type for value in loop.results])
    copies = []
    for _ in range(2):
        block = branch.add_block()
        copy = clone_node(loop, graph, {})
        with graph.inserting(block):
            graph.insert_node(copy)
        for value in copy.results:
            block.add_return(value)
        copies.append(copy)
    for old, new in zip(loop.results, branch.results, strict=True):
        old.replace_uses_with(new)
    loop.erase()
    return branch, copies[0]


def _size(value: Value, axis: int) -> int | None:
    type_ = value.static_type
    return type_.sizes[axis] if isinstance(type_, TensorType) and type_.sizes is not None else None


class _Parts:
    """The parts of the stacks of one loop."""

    def __init__(self, graph: Graph, loop: Node, stacked: Stacked) -> None:
        self._graph, self._loop, self._stacked = graph, loop, stacked
        self._of: dict[Value, list[Value]] = {}

    def split(self) -> None:
        """Put the parts in the place of stacks."""
        loop, stacked = self._loop, self._stacked
        (body,) = loop.nested_blocks
        indices = sorted(stacked.carried)
        for index in indices:
            self._begin(index)
        members = [n for n in nodes_within(loop) if any(value in stacked.values for value in n.results)]
        for node in members:
            self._compute(node)
        for node in stacked.reads:
            part = known(node.operand(2))
            assert isinstance(part, int)
            node.result().replace_uses_with(self._of[node.operand(0)][part])
            node.erase()
        for index in indices:
            self._end(index)
        for index in reversed(indices):
            loop.remove_operand(index + 2)
            body.remove_return(index + 1)
        for node in reversed(members):
            maker = node.operand(0).defining_node
            node.erase()
            if maker is not None and maker.op == LIST and not maker.is_used:
                maker.erase()
        for index in reversed(indices):
            body.remove_parameter(index + 1)
            loop.remove_result(index)

    def _begin(self, index: int) -> None:
        """Carry the parts of what the loop begins with."""
        graph, loop = self._graph, self._loop
        (body,) = loop.nested_blocks
        start = loop.operand(index + 2)
        with graph.inserting(loop), graph.at_range(loop.range):
            parts = [self._part(start, self._stacked.axis, number) for number in range(self._stacked.count)]
            parts = [graph.insert(CONTIGUOUS, [p, insert_constant(graph, 0)], [p.static_type]).result() for p in parts]
        parameters = []
        for part in parts:
            loop.add_operand(part)
            parameters.append(body.add_parameter(_open(part)))
        self._of[body.parameters[index + 1]] = parameters

    def _part(self, value: Value, axis: int, number: int) -> Value:
        graph, type_ = self._graph, value.static_type
        assert isinstance(type_, TensorType)
        operands = [value, insert_constant(graph, axis), insert_constant(graph, number)]
        return graph.insert(SELECT, operands, [_without(type_, axis)]).result()

    def _compute(self, node: Node) -> None:
        """Compute each part of what a node gives."""
        if node.op == STACK:
            self._of[node.result()] = list(parts_listed(node))
            return
        graph, stacked = self._graph, self._stacked
        type_ = node.result().static_type
        assert isinstance(type_, TensorType)
        parts = []
        with graph.inserting(node), graph.at_range(node.range):
            for number in range(stacked.count):
                operands = [self._operand(value, number) for value in node.operands]
                parts.append(graph.insert(node.op, operands, [_without(type_, stacked.axis)]).result())
        self._of[node.result()] = parts

    def _operand(self, value: Value, number: int) -> Value:
        """What a part is computed of: a part, or what is the same for all."""
        if value in self._of:
            return self._of[value][number]
        if not isinstance(value.static_type, TensorType):
            return value
        axis = part_axis(value, self._stacked)
        return value if axis < 0 else self._part(value, axis, 0)

    def _end(self, index: int) -> None:
        """Hand on the parts of a round, and stack those behind the loop."""
        graph, loop = self._graph, self._loop
        (body,) = loop.nested_blocks
        results = []
        for part in self._of[body.returns[index + 1]]:
            body.add_return(part)
            results.append(loop.add_result(_open(part)))
        whole = loop.result(index)
        if whole.uses():
            type_ = whole.static_type
            with graph.inserting(loop.next or loop.owner_block), graph.at_range(loop.range):
                listed = graph.insert(LIST, results, [ListType(without_refinement(results[0].static_type))]).result()
                axis = insert_constant(graph, self._stacked.axis)
                whole.replace_uses_with(graph.insert(STACK, [listed, axis], [type_]).result())


def _without(type_: TensorType, axis: int) -> TensorType:
    """The type of a part."""
    sizes = type_.sizes
    parted = None if sizes is None else (*sizes[:axis], *sizes[axis + 1 :])
    return type_.refine(sizes=parted, strides=None)


def _open(value: Value) -> TensorType:
    """The type of what is carried: rounds may give other sizes than the start has."""
    type_ = value.static_type
    assert isinstance(type_, TensorType)
    return type_.refine(sizes=None if type_.sizes is None else (None,) * len(type_.sizes), strides=None)
