"""Carry what lies in lists and dicts through loops, where each round builds one with the keys of the one before.

```
%q = prim::Loop(%n, %true, %start)                  %w1, %b1 = prim::Loop(%n, %true, %w0, %b0)
  block0(%i : int, %p : Dict(str, Tensor)):           block0(%i : int, %w : Tensor, %b : Tensor):
    ... = aten::__getitem__(%p, %k)              →      ...
    %r = prim::DictConstruct(%k, %w2, %j, %b2)          -> (%true, %w2, %b2)
    -> (%true, %r)                                   %q = prim::DictConstruct(%k, %w1, %j, %b1)
```

Which keys a round leaves is known once those that it begins with are: that is tried on a copy.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from flambeau.ir import constants
from flambeau.ir.clone import Copies, clone_graph
from flambeau.ir.graph import Graph, Node, Value
from flambeau.ir.walk import ancestor_in, nodes_within
from flambeau.passes.changed_arguments import FUNCTIONS
from flambeau.passes.lower_containers import MOST, container_accesses
from flambeau.passes.remove_list_mutation import DICT, LIST
from flambeau.passes.scalar_replacement import IF, LOOP
from flambeau.schema.types import DictType, ListType, TensorType, Type, without_refinement

KINDS: Final = (LIST, DICT)
RETURN: Final = "prim::Return"
ITEM: Final = "aten::__getitem__"
CHANGE: Final = "aten::_set_item"
Settle = Callable[[Graph, Node], Any]


def do(graph: Graph, settle: Settle, within: Node | None = None) -> bool:
    """Split what loops carry, those within a node if one is named; whether there was anything to split. `settle` takes
    away literal containers, and splits what loops within a loop carry."""
    changed = False
    inside = None if within is None else set(nodes_within(within)) - {within}
    for node in [*graph.find_all(IF), *graph.find_all(LOOP)]:
        if (inside is None or node in inside) and node.is_inserted:
            is_split = _split_branches(graph, node) if node.op == IF else _split(graph, node, settle)
            changed = is_split or changed
    return changed


def _split_branches(graph: Graph, node: Node) -> bool:
    """Give what lies in the containers that both branches end with, where they have the same keys."""
    indices = [n for n in reversed(range(len(node.results))) if _ends_alike(node, n)]
    for index in indices:
        result = node.result(index)
        makers = [end.returns[index].defining_node for end in node.nested_blocks]
        items = [_items(maker) for maker in makers if maker is not None]
        type_ = without_refinement(result.static_type)
        results = []
        for both in zip(*items, strict=True):
            for block, item in zip(node.nested_blocks, both, strict=True):
                block.add_return(item)
            results.append(node.add_result(without_refinement(type_.contained[-1])))
        known = _known_keys(node.nested_blocks[0].returns[index]) or []
        with graph.inserting(node.next or node.owner_block):
            keys = [constants.insert_constant(graph, key) for key in known]
            result.replace_uses_with(_built(graph, type_, keys, results))
        for block in node.nested_blocks:
            block.remove_return(index)
        node.remove_result(index)
    return bool(indices)


def _ends_alike(node: Node, index: int) -> bool:
    """Whether both branches end with containers of the same keys, and nobody could tell whether they are others."""
    ends = [block.returns[index] for block in node.nested_blocks]
    keys = [_known_keys(end) for end in ends]
    if None in keys or keys[0] != keys[1] or not _is_wanted(node, ends[0]):
        return False
    return all(map(_is_carried_on, [node.result(index), *ends]))


def _split(graph: Graph, loop: Node, settle: Settle) -> bool:
    (body,) = loop.nested_blocks
    allowed = [p for p in body.parameters[1:] if isinstance(p.static_type, ListType | DictType)]
    while any(_is_candidate(loop, p) for p in allowed):
        copies: Copies = {}
        trial = clone_graph(graph, copies)
        copied = {copies[p]: p for p in allowed}
        copy = next(iter(copied)).owner_block.owner_node
        assert copy is not None
        carried = _carry(trial, copy, list(copied), settle)
        lost = {copied[p] for p in carried if not _keeps_keys(copy, p)}
        if not lost:
            for parameter in _carry(graph, loop, allowed, settle):
                _drop(loop, parameter)
            return True
        allowed = [p for p in allowed if p not in lost]
    return False


def _carry(graph: Graph, loop: Node, allowed: list[Value], settle: Settle) -> list[Value]:
    """Carry what lies in containers beside them, until what that uncovers is carried too: the parameters they were."""
    carried: list[Value] = []
    while candidates := [p for p in allowed if p not in carried and _is_candidate(loop, p)]:
        _carry_items(loop, candidates)
        settle(graph, loop)
        carried += candidates
    return carried


def _index(loop: Node, parameter: Value) -> int:
    """Which result of a loop belongs to a parameter of its body."""
    return list(loop.nested_blocks[0].parameters).index(parameter) - 1


def _is_candidate(loop: Node, parameter: Value) -> bool:
    """Whether a loop begins with a container that the graph builds, and all that it does with it is look."""
    index = _index(loop, parameter)
    start = loop.operand(index + 2)
    if _known_keys(start) is None or not _is_wanted(loop, start):
        return False
    others = [use.user for use in start.uses() if use.user is not loop]
    is_shared = loop.operands.count(start) > 1 and not _looks(loop, start)
    if is_shared or not all(_looks(user, start) for user in others):
        return False
    block = loop.owner_block
    before = [ancestor_in(user, block) for user in others]
    is_over = start.owner_block is block and all(node is not None and node.is_before(loop) for node in before)
    if not (is_over or (not others and _is_only_looked_at(loop.result(index)))):
        return False
    return _is_only_looked_at(parameter)


def _is_only_looked_at(value: Value) -> bool:
    return all(_looks(use.user, value) for use in value.uses())


def _is_carried_on(value: Value) -> bool:
    return all(use.user.op == RETURN or _looks(use.user, value) for use in value.uses())


def _looks(user: Node, value: Value) -> bool:
    """Whether a node only looks at a container, and gives nothing by which what lies in it could be changed."""
    if user.op in FUNCTIONS:
        return True
    if user.op == LOOP:
        carried = [n - 2 for n, operand in enumerate(user.operands) if operand is value]
        parameters = [user.nested_blocks[0].parameters[n + 1] for n in carried]
        return all(map(_is_only_looked_at, parameters)) and all(_is_carried_on(user.result(n)) for n in carried)
    if user.op not in container_accesses or user.op == CHANGE:
        return False
    inner = value.static_type.contained[-1]
    return isinstance(inner, TensorType) or user.op != ITEM or _is_only_looked_at_deep(user)


def _is_only_looked_at_deep(read: Node) -> bool:
    value = read.result()
    return not isinstance(value.static_type, ListType | DictType) or _is_only_looked_at(value)


def _is_wanted(around: Node, start: Value) -> bool:
    """Whether values are better carried: native code has lists of tensors, but no dicts, and functions that are
    differentiated are to know what is in them."""
    if isinstance(start.static_type, DictType) or not isinstance(start.static_type.contained[-1], TensorType):
        return True
    return any(node.op in FUNCTIONS for node in nodes_within(around))


def _known_keys(value: Value) -> list[Any] | None:
    """The keys of a dict or the indices of a list that the graph builds; None for other values."""
    maker = value.defining_node
    if maker is None or maker.op not in KINDS or not 0 < len(maker.operands) <= 2 * MOST:
        return None
    if maker.op == LIST:
        return list(range(len(maker.operands)))
    operands = maker.operands[::2]
    if not all(map(constants.is_constant, operands)):
        return None
    keys = [constants.constant_value(k) for k in operands]
    return keys if len(set(keys)) == len(keys) else None


def _carry_items(loop: Node, carried: list[Value]) -> None:
    """Carry what lies in containers beside them, and build them of it in each round and behind the loop."""
    graph, (body,) = loop.graph, loop.nested_blocks
    for parameter in carried:
        index = _index(loop, parameter)
        start, end = loop.operand(index + 2), body.returns[index + 1]
        maker, type_ = start.defining_node, without_refinement(start.static_type)
        assert maker is not None
        items, keys = _items(maker), _key_values(graph, loop, maker)
        parameters, results = [], []
        for item, key in zip(items, keys, strict=True):
            element = without_refinement(type_.contained[-1])
            loop.add_operand(item)
            parameters.append(body.add_parameter(element))
            with graph.inserting(body):
                body.add_return(graph.insert(ITEM, [end, key], [element]).result())
            results.append(loop.add_result(element))
        with graph.inserting(body.first or body):
            parameter.replace_uses_with(_built(graph, type_, keys, parameters))
        with graph.inserting(loop.next or loop.owner_block):
            loop.result(index).replace_uses_with(_built(graph, type_, keys, results))


def _items(maker: Node) -> Sequence[Value]:
    """What is put into a container that is built."""
    return maker.operands[1::2] if maker.op == DICT else maker.operands


def _key_values(graph: Graph, loop: Node, maker: Node) -> list[Value]:
    if maker.op == DICT:
        return list(maker.operands[::2])
    with graph.inserting(loop):
        return [constants.insert_constant(graph, n) for n in range(len(maker.operands))]


def _built(graph: Graph, type_: Type, keys: list[Value], items: list[Value]) -> Value:
    """A container of items, at the insertion point."""
    is_dict = isinstance(type_, DictType)
    operands = [value for pair in zip(keys, items, strict=True) for value in pair] if is_dict else items
    result: Value = graph.insert(DICT if is_dict else LIST, operands, [type_]).result()
    return result


def _keeps_keys(loop: Node, parameter: Value) -> bool:
    """Whether a round leaves a container with the keys of the one that it began with, which nothing else holds."""
    (body,), index = loop.nested_blocks, _index(loop, parameter)
    start, end = loop.operand(index + 2), body.returns[index + 1]
    keys = _known_keys(end)
    if keys is None or keys != _known_keys(start) or end.owner_block is not body:
        return False
    others = [use.user for use in end.uses() if use.user is not body.return_node]
    return body.returns.count(end) == 1 and all(_looks(user, end) for user in others)


def _drop(loop: Node, parameter: Value) -> None:
    (body,), index = loop.nested_blocks, _index(loop, parameter)
    loop.remove_operand(index + 2)
    body.remove_return(index + 1)
    body.remove_parameter(index + 1)
    loop.remove_result(index)
