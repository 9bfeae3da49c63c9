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
from flambeau.ir.clone import Copies, clone_node
from flambeau.ir.constants import CONSTANT, insert_constant
from flambeau.ir.graph import Graph
from flambeau.ir.node import RETURN, Node
from flambeau.ir.value import Value
from flambeau.ir.walk import nodes_within
from flambeau.jit.tracing.forks import ENTER_FORK, EXIT_FORK, between, outline_fork, settle_types
from flambeau.jit.tracing.recorder import ENTER, EXIT
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
    found: list[TracedMethod] = []
    names = {path: set(given) for path, given in taken.items()}
    waiting: list[Node] = []
    for node in list(graph.block):
        if node.kind in (ENTER, ENTER_FORK):
            waiting.append(node)
        elif node.kind == EXIT_FORK:
            outline_fork(graph, waiting.pop(), node)
        elif node.kind == EXIT:
            method = _outline(graph, self_value, waiting.pop(), node, names)
            if method is not None:
                found.append(method)
    return found


def drop_markers(graph: Graph) -> None:
    """Leave everything in one graph, but for tasks."""
    waiting: list[Node] = []
    for node in list(graph.block):
        if node.kind in (ENTER, EXIT):
            node.destroy()
        elif node.kind == ENTER_FORK:
            waiting.append(node)
        elif node.kind == EXIT_FORK:
            outline_fork(graph, waiting.pop(), node)


def _constants_first(graph: Graph) -> None:
    """Each method gets constants of its own: to begin with, none belongs to one."""
    first = graph.block.first
    for node in list(graph.block):
        if node.kind == CONSTANT and first is not None and node is not first:
            node.move_before(first)


def _outline(
    graph: Graph, self_value: Value, enter: Node, exit: Node, names: dict[str, set[str]]
) -> TracedMethod | None:
    path: str = enter.attribute("path")
    nodes = between(enter, exit)
    for node in nodes:
        if node.kind == READ and node.input() is self_value and not _is_below(node.attribute("name"), path):
            node.move_before(enter)
    nodes = between(enter, exit)
    inside = {inner for node in nodes for inner in nodes_within(node)}
    inner, given, copies = _copied(nodes, inside, self_value, path)
    results = [v for n in nodes for v in n.outputs if any(u.user not in inside for u in v.uses)]
    method = _finished(inner, [copies[v] for v in results])
    if method is not None:
        name = _free_name(names.setdefault(path, set()))
        with graph.inserting(enter), graph.at_range(enter.range):
            _call(graph, self_value, path, name, given, results)
    for node in (exit, *reversed(nodes), enter):
        node.destroy()
    return None if method is None else TracedMethod(path, name, method)


def _is_below(name: str, path: str) -> bool:
    return name == path or name.startswith(path + ".")


def _copied(
    nodes: list[Node], inside: set[Node], self_value: Value, path: str
) -> tuple[Graph, list[Value], Copies]:
    """A graph of the nodes, and the outside values that its parameters but the first stand for."""
    inner = Graph()
    own = inner.add_input(t.ANY, "self")
    copies: Copies = {self_value: own}
    given: list[Value] = []
    used = dict.fromkeys(v for node in nodes for n in nodes_within(node) for v in n.inputs)
    for value in used:
        if value in copies or _is_inside(value, inside):
            continue
        if value.node is not None and value.node.kind == CONSTANT:
            inner.insert_node(clone_node(value.node, inner, copies))
        else:
            copies[value] = inner.add_input(value.type, value.name if value.has_name else "")
            given.append(value)
    for node in nodes:
        copy = clone_node(node, inner, copies)
        if copy.kind == READ and copy.input() is own:
            copy.attributes["name"] = node.attribute("name")[len(path) + 1 :]
        inner.insert_node(copy)
        if copy.kind == READ and not copy.attributes["name"]:  # the module itself
            copies[node.output()].replace_uses_with(own)
            copies[node.output()] = own
            copy.destroy()
    return inner, given, copies


def _is_inside(value: Value, inside: set[Node]) -> bool:
    if value.node is not None:
        return value.node in inside
    owner = value.owner_block.owner_node
    return owner is not None and owner in inside


def _finished(inner: Graph, results: list[Value]) -> Graph | None:
    """The graph with its result; None if nothing is left of it."""
    if not results:
        dce.do(inner)
        if all(n.kind in (CONSTANT, RETURN) for n in inner.block):
            return None
        inner.add_output(insert_constant(inner, None))
    elif len(results) == 1:
        inner.add_output(results[0])
    else:
        made = TupleType(tuple(v.type for v in results))
        inner.add_output(inner.insert("prim::TupleConstruct", results, [made]).output())
    return inner


def _free_name(taken: set[str]) -> str:
    name, number = "forward", 0
    while name in taken:
        number += 1
        name = f"forward{number}"
    taken.add(name)
    return name


def _call(graph: Graph, self_value: Value, path: str, name: str, given: list[Value], results: list[Value]) -> None:
    owner = graph.insert(READ, [self_value], [t.ANY], name=path).output()
    type_ = (
        t.NONE if not results else results[0].type if len(results) == 1 else TupleType(tuple(v.type for v in results))
    )
    output = graph.insert("prim::CallMethod", [owner, *given], [type_], name=name).output()
    new = [output]
    if len(results) > 1:
        new = list(graph.insert("prim::TupleUnpack", [output], [v.type for v in results]).outputs)
    for old, value in zip(results, new, strict=False):
        old.replace_uses_with(value)
        if old.has_name:
            graph.rename(value, old.name)


def resolve_reads(graph: Graph, own: Value, type_: ClassType) -> None:
    """Read attributes of the module whose method this is one name after another; everything gets its type."""
    own.set_type(type_)
    owners: dict[str, Value] = {"": own}
    for node in list(graph.all_nodes()):
        if node.kind not in (READ, "prim::SetAttr") or node.input() is not own:
            continue
        *parents, name = node.attribute("name").split(".")
        owner = own
        for depth, parent in enumerate(parents, 1):
            path = ".".join(parents[:depth])
            if path not in owners or not _is_before(owners[path], node):
                owners[path] = _read(graph, owner, parent, node)
            owner = owners[path]
        node.attributes["name"] = name
        node.replace_input(0, owner)
        if node.kind == READ:
            declared = _attribute_type(owner, name)
            if isinstance(declared, NamedType) or not isinstance(node.output().type, t.TensorType):
                node.output().set_type(declared)
                owners[".".join((*parents, name))] = node.output()
    settle_types(graph)


def _is_before(value: Value, node: Node) -> bool:
    return value.node is None or value.node.owner_block is node.owner_block


def _read(graph: Graph, owner: Value, name: str, place: Node) -> Value:
    with graph.inserting(place), graph.at_range(place.range):
        return graph.insert(READ, [owner], [_attribute_type(owner, name)], name=name).output().set_name(name)


def _attribute_type(owner: Value, name: str) -> t.Type:
    definition = owner.type.definition if isinstance(owner.type, ClassType) else None
    attribute = definition.attribute(name) if isinstance(definition, ClassDefinition) else None
    assert attribute is not None, f"{owner.type} has no attribute '{name}'"
    return attribute.type


def reads_to_inputs(graph: Graph, self_value: Value, tensors: Mapping[str, object]) -> None:
    """Let tensors that are read from the module come in as parameters, in this order, instead of the module."""
    by_path: dict[str, Value] = {}
    for path, tensor in tensors.items():
        by_path[path] = graph.add_input(constants.type_of(tensor), path.replace(".", "_"))
    for node in list(graph.all_nodes()):
        if node.kind == READ and node.input() is self_value:
            node.output().replace_uses_with(by_path[node.attribute("name")])
            node.destroy()
    graph.block.remove_input(0)
