"""A recorded run with its modules: what happened in a module's call becomes a method of that module.

```
prim::Enter[path="fc"]()
%w = prim::GetAttr[name="fc.weight"](%self)             %fc = prim::GetAttr[name="fc"](%self)
%y = aten::linear(%x, %w, %none)                   →    %y = prim::CallMethod[name="forward"](%fc, %x)
prim::Exit[path="fc"]()
```

The method takes what its nodes use of the outside, in order of use, and gives what the outside uses of them. A module
that is called again gets another method: `forward1`.
"""

from __future__ import annotations

from collections.abc import Mapping

from flambeau.ir import constants
from flambeau.ir.attribute_names import name_after_attribute
from flambeau.ir.clone import Copies, clone_node
from flambeau.ir.constants import CONSTANT, insert_constant
from flambeau.ir.graph import RETURN, Graph, Node, Value
from flambeau.ir.walk import nodes_within
from flambeau.jit.tracing.trace_recorder import ENTER, EXIT
from flambeau.jit.tracing.traced_forks import ENTER_FORK, EXIT_FORK, between, outline_fork, settle_types
from flambeau.jit.tracing.traced_values import READ
from flambeau.passes import dce
from flambeau.program.classes import ClassDefinition
from flambeau.schema import types as t
from flambeau.schema.types import ClassType, NamedType, TupleType
from flambeau.util.record import dataclass


@dataclass(frozen=True, slots=True)
class TracedMethod:
    """What happened in one call of a submodule."""

    path: str
    name: str
    graph: Graph


def split(graph: Graph, self_value: Value, taken: Mapping[str, set[str]]) -> list[TracedMethod]:
    """Make methods of what stands between markers, inner ones first. `taken` are names of methods, by path."""
    _constants_first(graph)
    graph.current_scope = ""  # calls of submodules are no part of what was recorded last
    methods: list[TracedMethod] = []
    names = {path: set(attributes) for path, attributes in taken.items()}
    waiting: list[Node] = []
    for node in list(graph.body):
        if node.op in (ENTER, ENTER_FORK):
            waiting.append(node)
        elif node.op == EXIT_FORK:
            outline_fork(graph, waiting.pop(), node)
        elif node.op == EXIT:
            method = _outline(graph, self_value, waiting.pop(), node, names)
            if method is not None:
                methods.append(method)
    return methods


def drop_markers(graph: Graph) -> None:
    """Leave everything in one graph, but for tasks."""
    waiting: list[Node] = []
    for node in list(graph.body):
        if node.op in (ENTER, EXIT):
            node.erase()
        elif node.op == ENTER_FORK:
            waiting.append(node)
        elif node.op == EXIT_FORK:
            outline_fork(graph, waiting.pop(), node)


def _constants_first(graph: Graph) -> None:
    """Each method gets tensors, and what several nodes use, as constants of its own: none belongs to one to begin with.

    A constant that one node uses stands before that one.
    """
    first = graph.body.first
    for node in list(graph.body):
        if node.op == CONSTANT and first is not None and node is not first and _is_shared(node.result()):
            node.move_before(first)


def _is_shared(value: Value) -> bool:
    return len(value.uses()) != 1 or isinstance(value.static_type, t.TensorType)


def _outline(
    graph: Graph, self_value: Value, enter: Node, exit: Node, names: dict[str, set[str]]
) -> TracedMethod | None:
    path: str = enter.attribute("path")
    nodes = between(enter, exit)
    for node in nodes:
        if node.op == READ and node.operand(0) is self_value and not _is_below(node.attribute("name"), path):
            node.move_before(enter)
    nodes = between(enter, exit)
    inside = {inner for node in nodes for inner in nodes_within(node)}
    inner, operands, copies = _copied(nodes, inside, self_value, path)
    results = [v for n in nodes for v in n.results if any(u.user not in inside for u in v.uses())]
    method = _finished(inner, [copies[v] for v in results])
    if method is not None:
        name = _free_name(names.setdefault(path, set()))
        with graph.inserting(enter), graph.at_range(enter.range):
            _call(graph, self_value, path, name, operands, results)
    for node in (exit, *reversed(nodes), enter):
        node.erase()
    return None if method is None else TracedMethod(path, name, method)


def _is_below(name: str, path: str) -> bool:
    return name == path or name.startswith(path + ".")


def _copied(nodes: list[Node], inside: set[Node], self_value: Value, path: str) -> tuple[Graph, list[Value], Copies]:
    """A graph of the nodes, and the outside values that its parameters but the first stand for."""
    inner = Graph()
    own = inner.add_parameter(t.ANY, "self")
    copies: Copies = {self_value: own}
    operands: list[Value] = []
    used = dict.fromkeys(v for node in nodes for n in nodes_within(node) for v in n.operands)
    for value in used:
        if value in copies or _is_inside(value, inside):
            continue
        if value.defining_node is not None and value.defining_node.op == CONSTANT:
            inner.insert_node(clone_node(value.defining_node, inner, copies))
        else:
            copies[value] = inner.add_parameter(value.static_type, value.name if value.has_name else "")
            operands.append(value)
    for node in nodes:
        copy = clone_node(node, inner, copies)
        if copy.op == READ and copy.operand(0) is own:
            copy.attributes["name"] = node.attribute("name")[len(path) + 1 :]
        inner.insert_node(copy)
        if copy.op == READ and not copy.attributes["name"]:  # the module itself
            copies[node.result()].replace_uses_with(own)
            copies[node.result()] = own
            copy.erase()
    return inner, operands, copies


def _is_inside(value: Value, inside: set[Node]) -> bool:
    if value.defining_node is not None:
        return value.defining_node in inside
    owner = value.owner_block.owner_node
    return owner is not None and owner in inside


def _finished(inner: Graph, results: list[Value]) -> Graph | None:
    """The graph with its result; None if nothing is left of it."""
    if not results:
        dce.do(inner)
        if all(n.op in (CONSTANT, RETURN) for n in inner.body):
            return None
        inner.add_return(insert_constant(inner, None))
    elif len(results) == 1:
        inner.add_return(results[0])
    else:
        tuple_type = TupleType(tuple(v.static_type for v in results))
        inner.add_return(inner.insert("prim::TupleConstruct", results, [tuple_type]).result())
    return inner


def _free_name(taken: set[str]) -> str:
    name, number = "forward", 0
    while name in taken:
        number += 1
        name = f"forward{number}"
    taken.add(name)
    return name


def _call(graph: Graph, self_value: Value, path: str, name: str, operands: list[Value], results: list[Value]) -> None:
    owner = graph.insert(READ, [self_value], [t.ANY], name=path).result()
    type_ = (
        t.NONE
        if not results
        else results[0].static_type
        if len(results) == 1
        else TupleType(tuple(v.static_type for v in results))
    )
    output = graph.insert("prim::CallMethod", [owner, *operands], [type_], name=name).result()
    new = [output]
    if len(results) > 1:
        new = list(graph.insert("prim::TupleUnpack", [output], [v.static_type for v in results]).results)
    for old, value in zip(results, new, strict=False):
        old.replace_uses_with(value)
        if old.has_name:
            graph.rename(value, old.name)


def resolve_reads(graph: Graph, own: Value, type_: ClassType) -> None:
    """Read attributes of the module whose method this is one name after another; everything gets its type."""
    own.set_type(type_)
    owners: dict[str, Value] = {"": own}
    for node in graph.listed_nodes():
        if node.op not in (READ, "prim::SetAttr") or node.operand(0) is not own:
            continue
        *parents, name = node.attribute("name").split(".")
        owner = own
        for depth, parent in enumerate(parents, 1):
            path = ".".join(parents[:depth])
            if path not in owners or not _is_before(owners[path], node):
                owners[path] = _read(graph, owner, parent, node)
            owner = owners[path]
        node.attributes["name"] = name
        node.replace_operand(0, owner)
        if node.op == READ:
            name_after_attribute(node.result(), name)
            declared = _attribute_type(owner, name)
            if isinstance(declared, NamedType) or not isinstance(node.result().static_type, t.TensorType):
                node.result().set_type(declared)
                owners[".".join((*parents, name))] = node.result()
    settle_types(graph)


def _is_before(value: Value, node: Node) -> bool:
    return value.defining_node is None or value.defining_node.owner_block is node.owner_block


def _read(graph: Graph, owner: Value, name: str, insertion_point: Node) -> Value:
    with graph.inserting(insertion_point), graph.at_range(insertion_point.range):
        value = graph.insert(READ, [owner], [_attribute_type(owner, name)], name=name).result()
        return name_after_attribute(value, name)


def _attribute_type(owner: Value, name: str) -> t.Type:
    definition = owner.static_type.definition if isinstance(owner.static_type, ClassType) else None
    attribute = definition.attribute(name) if isinstance(definition, ClassDefinition) else None
    assert attribute is not None, f"{owner.static_type} has no attribute '{name}'"
    return attribute.type


def reads_to_inputs(graph: Graph, self_value: Value, tensors: Mapping[str, object]) -> None:
    """Let tensors that are read from the module come in as parameters, in this order, instead of the module."""
    by_path: dict[str, Value] = {}
    for path, tensor in tensors.items():
        by_path[path] = graph.add_parameter(constants.type_of(tensor), path.replace(".", "_"))
    for node in graph.listed_nodes():
        if node.op == READ and node.operand(0) is self_value:
            node.result().replace_uses_with(by_path[node.attribute("name")])
            node.erase()
    graph.body.remove_parameter(0)
