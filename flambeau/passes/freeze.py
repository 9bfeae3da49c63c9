"""Make constants of what a module's attributes hold: graphs of its methods that read nothing of it that never changes.

```
%l : Linear = prim::GetAttr[name="fc"](%self)
%w : Tensor = prim::GetAttr[name="weight"](%l)      →      %w : Float(2, 3) = prim::Constant[value=<Tensor>]()
%y : Tensor = aten::linear(%x, %w, %none)                  %y : Tensor = aten::linear(%x, %w, %none)
```

What is assigned, written in place (under this or another name, in this or another method that stays), handed to code
that nobody can see, or preserved on demand stays an attribute, read where it was read. Everything is assumed constant
at first; whatever the graphs then turn out to change is kept, and all begins again, until nothing is changed that was
taken for constant. Parameters of methods are taken to share no memory with attributes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

from flambeau.analysis import shapes
from flambeau.analysis.alias import AliasAnalysis
from flambeau.ir import constants, literals
from flambeau.ir.clone import clone_graph, insert_graph
from flambeau.ir.constants import CONSTANT, insert_constant
from flambeau.ir.graph import Graph, Node, Value
from flambeau.ir.walk import subgraphs
from flambeau.passes import (
    constant_pooling,
    constant_propagation,
    cse,
    dce,
    inline,
    inline_tasks,
    lower_tuples,
    peephole,
)
from flambeau.passes.freeze_objects import (
    constant_object,
    definition_of,
    get,
    has,
    is_object,
    memory_of,
    nested,
    objects_below,
)
from flambeau.passes.freeze_tasks import TASKS, fold_task
from flambeau.program.function import Function
from flambeau.program.object import ScriptObject
from flambeau.schema.types import InterfaceType, TensorType, without_refinement
from flambeau.util.record import dataclass, field

GET, SET = "prim::GetAttr", "prim::SetAttr"
RETURNS_ITSELF = (
    "attempted to freeze a module that return itself: {name} returns the module, whose attributes anybody may then "
    "change. Return tensors, or preserve the attributes and do not freeze it"
)
CONTAINER_INDEX = (
    "Freezing modules containing prim::ModuleContainerIndex is not supported: which of the modules is called is not "
    "known before it runs. Iterate over the container instead"
)
SET_INTERFACE = (
    "Freezing does not support SetAttr on an interface type. SetAttr is attempted on '{name}': call one of several "
    "submodules in an if instead"
)
Attributes = set[tuple[int, str]]
"""Attributes of objects, which are known by identity."""


@dataclass(kw_only=True)
class Method:
    """A method to freeze, or frozen."""

    owner: ScriptObject
    name: str
    function: Function
    graph: Graph = field(default_factory=Graph)
    """What is made of it: objects are constants in it; whatever of `self` is left uses the first parameter."""


@dataclass(kw_only=True)
class Frozen:
    """What freezing has found out."""

    methods: list[Method]
    kept: Attributes
    """Attributes that stay."""
    unknown: Attributes
    """Those of them that may become something else, so that nobody knows what is read from them."""
    whole: dict[int, Any]
    """Objects that stay as they are, with all that is in them."""
    written: set[int]
    """Memory that is written in place, by its key."""
    writes_outside: bool = False
    """Whether methods also write in place to memory of which nobody knows what it is."""

    @property
    def size(self) -> tuple[int, ...]:
        """Grows with all that is found out."""
        return len(self.kept), len(self.unknown), len(self.whole), len(self.written)


def freeze(
    methods: Sequence[Method], *, kept: Iterable[tuple[int, str]] = (), whole: Iterable[ScriptObject] = ()
) -> Frozen:
    """Fill in the graphs of `methods`. `kept` and `whole` stay in any case.

    Raises RuntimeError for what cannot be frozen.
    """
    state = Frozen(methods=list(methods), kept=set(kept), unknown=set(kept), whole={}, written=set())
    for instance in whole:
        _keep_whole(state, instance)
    while _round(state):
        pass
    for method in state.methods:
        _take_snapshots(method.graph)
        tidy(method.graph)
    return state


def _round(state: Frozen) -> bool:
    """Make the graphs anew, taking all for constant that is not kept; whether more has to be kept."""
    before = state.size
    for method in state.methods:
        method.graph = clone_graph(method.function.graph)
        _put_in_object(method.graph, method.owner)
        while _fold_reads(method.graph, state.kept, is_settled) | constant_propagation.do(method.graph):
            pass
        _note_objects(method.graph, state)
    if state.size == before:
        for method in state.methods:
            _fold_reads(method.graph, state.kept, _is_plain)
        _note_writes(state)
    return state.size != before


def _forget_examples(graph: Graph) -> None:
    """A trace's types tell of the inputs it was made with."""
    shapes.erase(graph)
    for value in graph.parameters:
        value.set_type(without_refinement(value.static_type))


def tidy(graph: Graph) -> None:
    """Compute what depends on constants alone, and leave out what nobody needs."""
    inline.do(graph)
    _forget_examples(graph)
    lower_tuples.do(graph)
    constant_propagation.do(graph)
    peephole.do(graph)
    constant_propagation.do(graph)
    lower_tuples.do(graph)
    dce.do(graph)
    constant_pooling.do(graph)
    cse.do(graph)


def _put_in_object(graph: Graph, owner: ScriptObject) -> None:
    parameter = graph.parameters[0]
    with graph.inserting(graph.body.first or graph.body):
        value = insert_constant(graph, owner, parameter.static_type)
    parameter.replace_uses_with(value)


# -- reading ----------------------------------------------------------------------------------------------------------


def is_settled(value: Any) -> bool:
    """Whether nothing can happen to a value itself: a number, a string, an object (what it holds aside)."""
    return is_object(value) or not constants.is_mutable(value)


def _is_plain(value: Any) -> bool:
    return not _has_objects(value)


def _fold_reads(graph: Graph, kept: Attributes, wanted: Callable[[Any], bool]) -> bool:
    """Read now what attributes hold, if it is `wanted` and not kept."""
    changed = inline.do(graph)
    for node in graph.listed_nodes():
        if node.op == "prim::ModuleContainerIndex":
            raise RuntimeError(CONTAINER_INDEX)
        if node.op == "prim::CallMethod" and isinstance(node.operand(0).static_type, InterfaceType):
            instance = constant_object(node.operand(0))
            if instance is not None:
                node.operand(0).set_type(definition_of(instance).type)
                changed = True
        if node.op == GET:
            changed |= _fold_read(node, kept, wanted)
        elif node.op in TASKS:
            changed |= fold_task(node, partial(_fold_everything, kept=kept))
    return changed


def _fold_everything(graph: Graph, kept: Attributes) -> None:
    while _fold_reads(graph, kept, is_settled) | constant_propagation.do(graph):
        pass
    _fold_reads(graph, kept, _is_plain)


def _fold_read(node: Node, kept: Attributes, wanted: Callable[[Any], bool]) -> bool:
    owner, name = constant_object(node.operand(0)), node.attribute("name")
    if owner is None or (id(owner), name) in kept or not has(owner, name):
        return False
    value = get(owner, name)
    if not wanted(value):
        return False
    result = node.result()
    graph = node.graph
    type_ = result.static_type
    if is_object(value):
        type_ = definition_of(value).type
    elif value is None or literals.is_tensor(value):
        type_ = constants.type_of(value)
    with graph.inserting(node), graph.at_range(node.range):
        result.replace_uses_with(insert_constant(graph, value, type_))
    node.erase()
    return True


def _has_objects(value: Any) -> bool:
    """Whether there are objects in a value, or anything else that a graph has no constant for."""
    for item in nested(value):
        if is_object(item):
            return True
        try:
            constants.type_of(item)
        except TypeError:
            return True
    return False


# -- changes ----------------------------------------------------------------------------------------------------------


def _note_objects(graph: Graph, state: Frozen) -> None:
    """Keep what is assigned, and everything about objects that go where nobody sees what is done to them."""
    for node in graph.all_nodes():
        if node.op == SET:
            _note_assignment(node, state)
        instance = constant_object(node.result()) if node.op == CONSTANT else None
        for use in node.result().uses() if instance is not None else ():
            assert instance is not None
            if use.user.op in (GET, SET) and use.offset == 0:
                name = use.user.attribute("name")
                if not has(instance, name) or _has_objects(get(instance, name)):
                    _keep(state, instance, name)
                continue
            if use.user is graph.body.return_node and instance is state.methods[0].owner:
                raise RuntimeError(RETURNS_ITSELF.format(name=definition_of(instance).name))
            _keep_whole(state, instance)


def _note_assignment(node: Node, state: Frozen) -> None:
    owner, value = node.operands
    name = node.attribute("name")
    if isinstance(owner.static_type, InterfaceType) or isinstance(_declared(owner, name), InterfaceType):
        raise RuntimeError(SET_INTERFACE.format(name=name))
    instance = constant_object(owner)
    if instance is None:
        return
    if _is_what_it_was(value, instance, name):
        state.kept.add((id(instance), name))
    else:
        _keep(state, instance, name)


def _is_what_it_was(value: Value, owner: Any, name: str) -> bool:
    """Whether an attribute is given what it holds, as `self.x += 1` does after it has changed that in place."""
    node = value.defining_node
    while node is not None and node.definition is not None and node.operands:
        schema = node.definition.schema
        first, result = schema.arguments[0].alias, schema.returns[0].alias if schema.returns else None
        if first is None or first != result or not isinstance(node.operand(0).static_type, TensorType):
            break
        node = node.operand(0).defining_node
    if node is None:
        return False
    if node.op == GET:
        return node.attribute("name") == name and constant_object(node.operand(0)) is owner
    return node.op == CONSTANT and has(owner, name) and node.attributes.get("value") is get(owner, name)


def _declared(owner: Value, name: str) -> Any:
    definition = getattr(owner.static_type, "definition", None)
    attribute = definition.attribute(name) if definition is not None and hasattr(definition, "attribute") else None
    return None if attribute is None else attribute.type


def _keep(state: Frozen, owner: Any, name: str) -> None:
    """An attribute stays; the objects in what it holds now are out of sight from then on."""
    if (id(owner), name) in state.unknown:
        return
    state.kept.add((id(owner), name))
    state.unknown.add((id(owner), name))
    if not definition_of(owner).is_module:
        _keep_whole(state, owner)
    if has(owner, name):
        for item in nested(get(owner, name)):
            if is_object(item):
                _keep_whole(state, item)


def _keep_whole(state: Frozen, instance: Any) -> None:
    if id(instance) in state.whole:
        return
    state.whole[id(instance)] = instance
    for attribute in definition_of(instance).attributes:
        _keep(state, instance, attribute.name)


def _note_writes(state: Frozen) -> None:
    """Keep the attributes whose memory any of the methods writes, or hands out where it could be changed."""
    together = _all_methods(state)
    aliases = AliasAnalysis(together, apart=True)
    state.writes_outside = aliases.writes_outside
    written = _memory_of_written(together, aliases)
    for owner in objects_below(m.owner for m in state.methods) if written else ():
        for attribute in definition_of(owner).attributes:
            memory = memory_of(get(owner, attribute.name)) if has(owner, attribute.name) else set()
            if not memory.isdisjoint(written):
                state.written |= memory
                state.kept.add((id(owner), attribute.name))


def _all_methods(state: Frozen) -> Graph:
    """One graph that does what all methods do, with what is known of their objects as constants."""
    together = Graph()
    for method in state.methods:
        # What is written in place is still the memory that is known, read through an attribute or not.
        clone = clone_graph(method.graph)
        _fold_reads(clone, state.unknown, _is_plain)
        inline_tasks.do(clone)
        parameters = [together.add_parameter(v.static_type) for v in method.graph.parameters]
        for value in insert_graph(together, clone, parameters):
            together.add_return(value)
    return together


def _memory_of_written(graph: Graph, aliases: AliasAnalysis) -> set[int]:
    """The memory of constants that is written, or of lists and dicts that are handed out."""
    written: set[int] = set()
    for node in graph.find_all(CONSTANT):
        value = node.result()
        constant = node.attributes.get("value")
        if is_object(constant) or not constants.is_mutable(constant):
            continue
        if aliases.has_writers(value) or (isinstance(constant, list | dict) and aliases.is_returned(value)):
            written |= memory_of(constant)
    return written


def _take_snapshots(graph: Graph) -> None:
    """Let constants be the graph's own: lists that nobody else changes, tensors without gradients on shared memory."""
    snapshots: dict[int, Any] = {}
    for node in (n for one in subgraphs(graph) for n in one.find_all(CONSTANT)):
        constant = node.attributes.get("value")
        if is_object(constant) or not constants.is_mutable(constant):
            continue
        node.attributes["value"] = snapshot = _snapshot(constant, snapshots)
        if literals.is_tensor(snapshot) and isinstance(node.result().static_type, TensorType):
            node.result().set_type(constants.type_of(snapshot))


def _snapshot(value: Any, snapshots: dict[int, Any]) -> Any:
    if id(value) not in snapshots:
        if literals.is_tensor(value):
            snapshots[id(value)] = value.detach() if getattr(value, "requires_grad", False) else value
        elif isinstance(value, dict):
            snapshots[id(value)] = {_snapshot(k, snapshots): _snapshot(item, snapshots) for k, item in value.items()}
        elif isinstance(value, list):
            snapshots[id(value)] = [_snapshot(item, snapshots) for item in value]
        elif isinstance(value, tuple):
            items = [_snapshot(item, snapshots) for item in value]
            snapshots[id(value)] = type(value)._make(items) if hasattr(value, "_make") else tuple(items)
        else:
            snapshots[id(value)] = value
    return snapshots[id(value)]
