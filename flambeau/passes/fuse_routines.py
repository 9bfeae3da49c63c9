"""Make a group of each operator that a routine computes, such as a convolution.

```
%a : Float(*, *, *, *) = aten::conv2d(%x, %w, %b, ...)   →   %a : Float(*, *, *, *) = prim::FusionGroup_0(%x, %w, %b)
```

A routine is native code that was compiled before any program came. It takes tensors and lists of them; all else it is
told is constant, and becomes part of the group, as lists do, or numbers and lists of numbers that each call knows
(`static_operands`). So are sums and their like over dimensions that only a call knows.
"""

from __future__ import annotations

from flambeau.analysis.alias import AliasAnalysis
from flambeau.analysis.manager import alias_analysis
from flambeau.ir.clone import clone_node
from flambeau.ir.constants import constant_value, insert_constant, is_constant, is_none
from flambeau.ir.graph import Graph, Node, Value
from flambeau.ir.literals import is_tensor
from flambeau.passes.epilogues import activation_of, addend_of, bounds_of
from flambeau.passes.fuse import GROUP, bring_together
from flambeau.passes.fusible import Fusible, lists_tensors
from flambeau.passes.outline import outline
from flambeau.passes.static_operands import static_operands_last
from flambeau.schema.opdef import Sizes
from flambeau.schema.types import NoneType, TensorType

LIST = "prim::ListConstruct"


def do(graph: Graph) -> bool:
    """Make a group of every node whose operator has a routine, in every block."""
    fusible = Fusible(graph)
    routines = [n for n in graph.listed_nodes() if fusible.is_routine(n) or fusible.has_static_operands(n)]
    if not routines:
        return False
    aliases = alias_analysis(graph)
    taken: set[Node] = set()
    groups = []
    for node in routines:
        group = [node, *_followers(node, fusible, aliases, taken)]
        taken.update(group)
        groups.append(group)
    for group in groups:
        for node in group:
            _name_what_is_none(graph, node)
        _list_constants(graph, group[0])
        nodes = [*_own_lists(graph, group[0]), *group]
        outline(nodes, GROUP, static_operands_last(nodes))
    return True


def _followers(node: Node, fusible: Fusible, aliases: AliasAnalysis, taken: set[Node]) -> list[Node]:
    """What a convolution does to its sums before they leave the registers: a norm by known statistics, the addition of
    a tensor of the same sizes, an activation, in this order; in place too, for nobody
    else sees what they write to.
    """
    assert node.definition is not None
    if not node.definition.traits.has_followers:
        return []
    group = [node]
    for is_next in (_is_norm, _is_addition, _is_activation):
        follower = _only_user(group[-1])
        if follower is None or follower in taken or follower.owner_block is not node.owner_block:
            break
        is_taken = is_next(follower, group[-1]) and fusible.is_behind(follower)
        if is_taken and bring_together(aliases, group, [follower]):
            group.append(follower)
    return group[1:]


def _only_user(node: Node) -> Node | None:
    users = {use.user for use in node.result().uses()}
    return users.pop() if len(users) == 1 and len(node.result().uses()) == 1 else None


def _is_norm(node: Node, before: Node) -> bool:
    definition = node.definition
    return definition is not None and definition.accumulator == "batch_norm" and node.operand(0) is before.result()


def _is_addition(node: Node, before: Node) -> bool:
    """Of a tensor of the same dtype and rank."""
    other = addend_of(node, before.result())
    if other is None:
        return False
    mine, added = before.result().static_type, other.static_type
    if not isinstance(mine, TensorType) or not isinstance(added, TensorType) or mine.dtype is None:
        return False
    return mine.dtype is added.dtype and mine.sizes is not None and _may_be_alike(mine.sizes, added.sizes)


def _may_be_alike(mine: Sizes, other: Sizes | None) -> bool:
    return other is not None and len(mine) == len(other) and all(
        (a == 1) == (b == 1) for a, b in zip(mine, other, strict=True)
    )


def _is_activation(node: Node, before: Node) -> bool:
    """Bounds, or a pointwise function of the result alone."""
    is_one = bounds_of(node) is not None or activation_of(node) is not None
    return node.operand(0) is before.result() and is_one


def routine_of(graph: Graph) -> str:
    """The operator whose routine computes a group; empty for a group that has a kernel of its own."""
    for node in graph.nodes():
        if node.definition is not None and node.definition.traits.has_routine:
            return node.op
    return ""


def _own_lists(graph: Graph, node: Node) -> list[Node]:
    """Give a node lists of tensors of its own, right before it; what makes them."""
    makers: list[Node] = []
    for value in dict.fromkeys(node.operands):
        if not lists_tensors(value):
            continue
        old = value.defining_node
        assert old is not None
        copy = clone_node(old, graph, {})
        copy.insert_before(node)
        node.replace_uses_of(value, copy.result())
        makers.append(copy)
        if not value.uses():
            old.erase()
    return makers


def _list_constants(graph: Graph, node: Node) -> None:
    """Give a node lists of constant tensors in the place of constant lists of them, such as the weights of a frozen
    layer: a group is given tensors.
    """
    for value in dict.fromkeys(node.operands):
        items = constant_value(value) if is_constant(value) else None
        if not isinstance(items, list) or not items or not all(map(is_tensor, items)):
            continue
        with graph.inserting(node), graph.at_range(node.range):
            tensors: list[Value] = [insert_constant(graph, item) for item in items]
            listed = graph.insert(LIST, tensors, [value.static_type]).result()
        node.replace_uses_of(value, listed)


def _name_what_is_none(graph: Graph, node: Node) -> None:
    """Give a node constants for what is None by its type alone, such as a bias that a module does not have."""
    for index, value in enumerate(node.operands):
        if isinstance(value.static_type, NoneType) and not is_none(value):
            with graph.inserting(node):
                node.replace_operand(index, insert_constant(graph, None))
