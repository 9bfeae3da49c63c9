"""Do without tuples that are built only to be taken apart.

```
%t : (Tensor, int) = prim::TupleConstruct(%x, %n)
%a : Tensor, %b : int = prim::TupleUnpack(%t)           →     %c : Tensor = aten::mul(%x, %n)
%c : Tensor = aten::mul(%a, %b)
```

Tuples that come out of branches or are carried through loops are split into their elements. With `signature`, so are
the parameters and results of the graph. Tuples that go to other operators stay.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from flambeau.ir import constants
from flambeau.ir.constants import insert_constant
from flambeau.ir.graph import Block, Graph, Node, Value
from flambeau.schema.subtype import is_subtype
from flambeau.schema.types import OptionalType, TupleType, Type

CONSTRUCT, UNPACK = "prim::TupleConstruct", "prim::TupleUnpack"
KINDS = frozenset({CONSTRUCT, UNPACK, "prim::TupleIndex", "prim::TupleSlice"})
"""What makes tuples and takes them apart."""
UNINITIALISED = "prim::Uninitialized"


def do(graph: Graph, *, signature: bool = False) -> bool:
    """Split tuples at every depth, then forward elements."""
    changed = _split_signature(graph) if signature else False
    for node in graph.listed_nodes():
        split = _SPLITS.get(node.op)
        while split is not None and split(node):  # again for tuples in tuples
            changed = True
    for node in graph.listed_nodes():
        if node.is_inserted and node.op in (UNPACK, "prim::TupleIndex", "prim::TupleSlice"):
            changed = _forward(node) or changed
    for node in reversed([n for n in graph.listed_nodes() if n.op == CONSTRUCT]):
        if not node.result().is_used:
            node.erase()
            changed = True
    return changed


def _forward(node: Node) -> bool:
    """Let the users of an element use what was put there."""
    elements = _elements(node)
    if elements is None:
        return False
    if node.op == UNPACK:
        items = list(elements)
    elif node.op == "prim::TupleIndex":
        if len(node.operands) < 2 or not constants.is_constant(node.operand(1)):
            return False
        index = constants.constant_value(node.operand(1))
        if not -len(elements) <= index < len(elements):
            return False
        items = [elements[index]]
    else:
        part = elements[node.attributes.get("beg", 0) : node.attributes.get("end", len(elements))]
        with node.graph.inserting(node), node.graph.at_range(node.range):
            items = [node.graph.insert(CONSTRUCT, part, [node.result().static_type]).result()]
    if not all(_may_be(new.static_type, old.static_type) for new, old in _pairs(items, node.results)):
        return False
    for new, old in _pairs(items, node.results):
        old.replace_uses_with(new)
    node.erase()
    return True


def _may_be(new: Type, old: Type) -> bool:
    """Whether what was put in may be used for what was taken out: where None was possible, what is known says more."""
    return new == old or isinstance(new, type(old)) or (isinstance(old, OptionalType) and is_subtype(new, old))


def _pairs(new: Sequence[Value], old: Sequence[Value]) -> list[tuple[Value, Value]]:
    return list(zip(new, old, strict=True))


def _elements(node: Node) -> Sequence[Value] | None:
    """The elements of the tuple a node takes apart, if the graph shows them."""
    source = node.operand(0)
    if source.defining_node is not None and source.defining_node.op == CONSTRUCT:
        return source.defining_node.operands
    if (
        source.defining_node is not None
        and source.defining_node.op == UNINITIALISED
        and isinstance(source.static_type, TupleType)
    ):
        return _uninitialised(source.defining_node, source.static_type)
    if constants.is_constant(source) and isinstance(source.static_type, TupleType):
        with node.graph.inserting(node), node.graph.at_range(node.range):
            pairs = zip(constants.constant_value(source), source.static_type.elements, strict=True)
            return [insert_constant(node.graph, v, t) for v, t in pairs]
    return None


def _uninitialised(node: Node, type_: TupleType) -> list[Value]:
    """The elements of a tuple that nobody looks at, beside it: there is nothing to take apart at run time."""
    with node.graph.inserting(node), node.graph.at_range(node.range):
        return [node.graph.insert(UNINITIALISED, (), [t]).result() for t in type_.elements]


def _apart(graph: Graph, value: Value, insertion_point: Node | Block) -> Sequence[Value]:
    """The elements of a tuple, taken apart before `insertion_point` if need be."""
    if value.defining_node is not None and value.defining_node.op == CONSTRUCT:
        return value.defining_node.operands
    assert isinstance(value.static_type, TupleType)
    if value.defining_node is not None and value.defining_node.op == UNINITIALISED:
        return _uninitialised(value.defining_node, value.static_type)
    with graph.inserting(insertion_point):
        return graph.insert(UNPACK, [value], value.static_type.elements).results


def _together(graph: Graph, old: Value, elements: Sequence[Value], insertion_point: Node | Block) -> None:
    """Let the users of a tuple use one built anew of its elements."""
    with graph.inserting(insertion_point):
        old.replace_uses_with(graph.insert(CONSTRUCT, elements, [old.static_type]).result())


def _split_if(node: Node) -> bool:
    changed = False
    for index in reversed(range(len(node.results))):
        old = node.result(index)
        if not isinstance(old.static_type, TupleType) or not all(
            isinstance(b.returns[index].static_type, TupleType) for b in node.nested_blocks
        ):
            continue
        new = [node.add_result(t) for t in old.static_type.elements]
        for block in node.nested_blocks:
            for value in _apart(node.graph, block.returns[index], block):
                block.add_return(value)
            block.remove_return(index)
        assert node._next is not None
        _together(node.graph, old, new, node._next)
        node.remove_result(index)
        changed = True
    return changed


def _split_loop(node: Node) -> bool:
    changed = False
    graph, body = node.graph, node.nested_blocks[0]
    for index in reversed(range(len(node.results))):
        old, parameter = node.result(index), body.parameters[index + 1]
        if not isinstance(old.static_type, TupleType):
            continue
        types = old.static_type.elements
        for value in _apart(graph, node.operand(index + 2), node):
            node.add_operand(value)
        new_parameters = [body.add_parameter(t) for t in types]
        for value in _apart(graph, body.returns[index + 1], body):
            body.add_return(value)
        new = [node.add_result(t) for t in types]
        _together(graph, parameter, new_parameters, body.first or body)
        assert node._next is not None
        _together(graph, old, new, node._next)
        node.remove_operand(index + 2)
        body.remove_return(index + 1)
        body.remove_parameter(index + 1)
        node.remove_result(index)
        changed = True
    return changed


def _split_signature(graph: Graph) -> bool:
    changed = False
    index = 0
    while index < len(graph.parameters):
        value = graph.parameters[index]
        if not isinstance(value.static_type, TupleType):
            index += 1
            continue
        new = [graph.add_parameter(t, "", index + 1 + k) for k, t in enumerate(value.static_type.elements)]
        _together(graph, value, new, graph.body.first or graph.body)
        graph.body.remove_parameter(index)
        changed = True
    while any(isinstance(v.static_type, TupleType) for v in graph.returns):
        outputs: list[Value] = []
        for value in graph.returns:
            is_tuple = isinstance(value.static_type, TupleType)
            outputs += _apart(graph, value, graph.body) if is_tuple else [value]
        graph.body.return_node.set_operands(outputs)
        changed = True
    return changed


_SPLITS: Final = {"prim::If": _split_if, "prim::Loop": _split_loop}
