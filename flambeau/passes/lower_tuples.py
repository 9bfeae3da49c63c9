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

from flambeau.ir import constants
from flambeau.ir.constants import insert_constant
from flambeau.ir.graph import Graph
from flambeau.ir.node import Block, Node
from flambeau.ir.value import Value
from flambeau.schema.subtype import is_subtype
from flambeau.schema.types import OptionalType, TupleType, Type

CONSTRUCT, UNPACK = "prim::TupleConstruct", "prim::TupleUnpack"
UNINITIALISED = "prim::Uninitialized"


def do(graph: Graph, *, signature: bool = False) -> bool:
    """Split tuples at every depth, then forward elements."""
    changed = _split_signature(graph) if signature else False
    for node in list(graph.all_nodes()):
        if node.kind == "prim::If":
            changed = _split_if(node) or changed
        elif node.kind == "prim::Loop":
            changed = _split_loop(node) or changed
    for node in list(graph.all_nodes()):
        if node.is_inserted and node.kind in (UNPACK, "prim::TupleIndex", "prim::TupleSlice"):
            changed = _forward(node) or changed
    for node in reversed([n for n in graph.all_nodes() if n.kind == CONSTRUCT]):
        if not node.output().is_used:
            node.destroy()
            changed = True
    return changed


def _forward(node: Node) -> bool:
    """Let the users of an element use what was put there."""
    elements = _elements(node)
    if elements is None:
        return False
    if node.kind == UNPACK:
        found = list(elements)
    elif node.kind == "prim::TupleIndex":
        if len(node.inputs) < 2 or not constants.is_constant(node.input(1)):
            return False
        index = constants.constant_value(node.input(1))
        if not -len(elements) <= index < len(elements):
            return False
        found = [elements[index]]
    else:
        part = elements[node.attributes.get("beg", 0) : node.attributes.get("end", len(elements))]
        with node.graph.inserting(node), node.graph.at_range(node.range):
            found = [node.graph.insert(CONSTRUCT, part, [node.output().type]).output()]
    if not all(_may_be(new.type, old.type) for new, old in _pairs(found, node.outputs)):
        return False
    for new, old in _pairs(found, node.outputs):
        old.replace_uses_with(new)
    node.destroy()
    return True


def _may_be(new: Type, old: Type) -> bool:
    """Whether what was put in may be used for what was taken out: where None was possible, what is known says more."""
    return new == old or isinstance(new, type(old)) or (isinstance(old, OptionalType) and is_subtype(new, old))


def _pairs(new: Sequence[Value], old: Sequence[Value]) -> list[tuple[Value, Value]]:
    return list(zip(new, old, strict=True))


def _elements(node: Node) -> Sequence[Value] | None:
    """The elements of the tuple a node takes apart, if the graph shows them."""
    source = node.input()
    if source.node is not None and source.node.kind == CONSTRUCT:
        return source.node.inputs
    if source.node is not None and source.node.kind == UNINITIALISED and isinstance(source.type, TupleType):
        return _uninitialised(source.node, source.type)
    if constants.is_constant(source) and isinstance(source.type, TupleType):
        with node.graph.inserting(node), node.graph.at_range(node.range):
            held = constants.constant_value(source)
            return [insert_constant(node.graph, v, t) for v, t in zip(held, source.type.elements, strict=True)]
    return None


def _uninitialised(node: Node, type_: TupleType) -> list[Value]:
    """The elements of a tuple that nobody looks at, beside it: there is nothing to take apart at run time."""
    with node.graph.inserting(node), node.graph.at_range(node.range):
        return [node.graph.insert(UNINITIALISED, (), [t]).output() for t in type_.elements]


def _apart(graph: Graph, value: Value, place: Node | Block) -> Sequence[Value]:
    """The elements of a tuple, taken apart before `place` if need be."""
    if value.node is not None and value.node.kind == CONSTRUCT:
        return value.node.inputs
    assert isinstance(value.type, TupleType)
    if value.node is not None and value.node.kind == UNINITIALISED:
        return _uninitialised(value.node, value.type)
    with graph.inserting(place):
        return graph.insert(UNPACK, [value], value.type.elements).outputs


def _together(graph: Graph, old: Value, elements: Sequence[Value], place: Node | Block) -> None:
    """Let the users of a tuple use one built anew of its elements."""
    with graph.inserting(place):
        old.replace_uses_with(graph.insert(CONSTRUCT, elements, [old.type]).output())


def _split_if(node: Node) -> bool:
    changed = False
    for index in reversed(range(len(node.outputs))):
        old = node.output(index)
        if not isinstance(old.type, TupleType) or not all(
            isinstance(b.outputs[index].type, TupleType) for b in node.blocks
        ):
            continue
        new = [node.add_output(t) for t in old.type.elements]
        for block in node.blocks:
            for value in _apart(node.graph, block.outputs[index], block):
                block.add_output(value)
            block.remove_output(index)
        assert node._next is not None
        _together(node.graph, old, new, node._next)
        node.remove_output(index)
        changed = True
    return changed


def _split_loop(node: Node) -> bool:
    changed = False
    graph, body = node.graph, node.blocks[0]
    for index in reversed(range(len(node.outputs))):
        old, parameter = node.output(index), body.inputs[index + 1]
        if not isinstance(old.type, TupleType):
            continue
        types = old.type.elements
        for value in _apart(graph, node.input(index + 2), node):
            node.add_input(value)
        new_parameters = [body.add_input(t) for t in types]
        for value in _apart(graph, body.outputs[index + 1], body):
            body.add_output(value)
        new = [node.add_output(t) for t in types]
        _together(graph, parameter, new_parameters, body.first or body)
        assert node._next is not None
        _together(graph, old, new, node._next)
        node.remove_input(index + 2)
        body.remove_output(index + 1)
        body.remove_input(index + 1)
        node.remove_output(index)
        changed = True
    return changed


def _split_signature(graph: Graph) -> bool:
    changed = False
    index = 0
    while index < len(graph.inputs):
        value = graph.inputs[index]
        if not isinstance(value.type, TupleType):
            index += 1
            continue
        new = [graph.add_input(t, "", index + 1 + k) for k, t in enumerate(value.type.elements)]
        _together(graph, value, new, graph.block.first or graph.block)
        graph.block.remove_input(index)
        changed = True
    while any(isinstance(v.type, TupleType) for v in graph.outputs):
        outputs: list[Value] = []
        for value in graph.outputs:
            is_tuple = isinstance(value.type, TupleType)
            outputs += _apart(graph, value, graph.block) if is_tuple else [value]
        graph.block.return_node.set_inputs(outputs)
        changed = True
    return changed
