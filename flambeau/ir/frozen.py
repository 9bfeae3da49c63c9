"""Graphs that something relies on: whoever changes one has those who rely on it begin anew.

>>> from flambeau.ir import parse_ir
>>> graph = parse_ir("graph(%x):\\n  %y = aten::relu(%x)\\n  return (%y)")
>>> freeze(graph)
>>> is_frozen(graph)
True
>>> graph.insert("aten::neg", graph.parameters).result().set_name("z").name, is_frozen(graph)
('z', False)

A frozen graph keeps its identity and its text: its parts change their class, so that reading costs what it cost
before, and graphs that may be changed pay nothing. The first change of one has it thaw, and tells `GRAPH_CHANGES`,
which forgets all that was made of the graph. What keeps the meaning of a graph may change it without that, within
`opened`.

>>> freeze(graph)
>>> with opened(graph):
...     graph.rename(graph.returns[0], "z")
>>> graph.returns[0].name, is_frozen(graph)
('z', True)

The graph of a plan is no program: it is frozen for good, and changes of it are refused.

>>> freeze(graph, plan_of="f")
>>> graph.addInput()
Traceback (most recent call last):
    ...
flambeau.util.errors.FrozenGraphError: this is the graph of a plan of 'f', made of the graph of the function: nothing \
would run what it is changed to. Change the function's own, f.graph, or a copy: flambeau.ir.clone_graph(graph)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from flambeau.ir.graph import Block, Graph, Node, Value
from flambeau.ir.printer import SUBGRAPH
from flambeau.util.errors import FrozenGraphError
from flambeau.util.inversions import GRAPH_CHANGES
from flambeau.util.locks import Lock

T = TypeVar("T", bound=type)
_OF_PLAN = (
    "this is the graph of a plan of '{name}', made of the graph of the function: nothing would run what it is changed "
    "to. Change the function's own, {name}.graph, or a copy: flambeau.ir.clone_graph(graph)"
)

WRITERS: dict[type, tuple[str, ...]] = {
    Graph: ("add_parameter", "add_return", "create", "forget", "insert", "insert_node", "new_number", "number",
            "rename"),
    Block: ("_link", "add_parameter", "add_return", "append", "clear", "permute_parameters", "prepend",
            "remove_parameter", "remove_return"),
    Node: ("add_block", "add_operand", "add_result", "copy_metadata", "erase", "insert_after", "insert_before",
           "insert_operand", "move_after", "move_before", "remove_block", "remove_operand", "remove_result",
           "replace_operand", "replace_uses_of", "set_op", "set_operands"),
    Value: ("copy_metadata", "replace_uses_with", "set_name", "set_type"),
}  # fmt: skip
"""The methods that change a graph, by the class that has them."""

_lock = Lock()
_CACHES = frozenset({"_definition", "_parameter_node"})
"""Attributes that remember what follows from the others."""


def _begin_change(graph: Graph) -> None:
    """Have a frozen graph, with that which it lies in, be one that may be changed.

    Raises FrozenGraphError for the graph of a plan.
    """
    while isinstance(graph, _FrozenGraph):  # a call on another thread may freeze it again
        if graph._plan_of is not None:
            raise FrozenGraphError(_OF_PLAN.format(name=graph._plan_of))
        outermost = graph._outermost
        with _lock:
            if is_frozen(outermost):
                _thaw(outermost)
        GRAPH_CHANGES.implementation(outermost)


def _changing(writers: Iterable[str], graph_of: Callable[[Any], Graph]) -> Callable[[T], T]:
    """A class decorator: these methods thaw the graph that an instance belongs to, and do then what they do."""

    def writer(name: str) -> Callable[..., Any]:
        def change(self: Any, *args: Any, **kwargs: Any) -> Any:
            _begin_change(graph_of(self))
            return getattr(self, name)(*args, **kwargs)

        return change

    def decorate(frozen: T) -> T:
        for name in writers:
            setattr(frozen, name, writer(name))
        return frozen

    return decorate


@_changing((*WRITERS[Graph], "__setattr__"), lambda graph: graph)
class _FrozenGraph(Graph):
    _outermost: Graph
    """The graph that it lies in; itself, where it lies in none."""
    _plan_of: str | None
    """The function that it is the graph of a plan of."""


@_changing(WRITERS[Block], lambda block: block.graph)
class _FrozenBlock(Block):
    __slots__ = ()

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in _CACHES:
            _begin_change(self.graph)
        object.__setattr__(self, name, value)


@_changing(WRITERS[Node], lambda node: node.graph)
class _FrozenNode(Node):
    __slots__ = ()

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in _CACHES:
            _begin_change(self.graph)
        object.__setattr__(self, name, value)


@_changing((*WRITERS[Value], "__setattr__"), lambda value: value.owner_block.graph)
class _FrozenValue(Value):
    __slots__ = ()


class _FrozenAttributes(dict[str, Any]):
    """The attributes of a frozen node. Changes go to those that the node has once it is thawed."""

    __slots__ = ("node",)

    def __init__(self, node: Node) -> None:
        super().__init__(node.attributes)
        self.node = node


def _changing_attributes(name: str) -> Callable[..., Any]:
    def change(self: _FrozenAttributes, *args: Any, **kwargs: Any) -> Any:
        _begin_change(self.node.graph)
        return getattr(self.node.attributes, name)(*args, **kwargs)

    return change


for _name in ("__setitem__", "__delitem__", "__ior__", "clear", "pop", "popitem", "setdefault", "update"):
    setattr(_FrozenAttributes, _name, _changing_attributes(_name))


def is_frozen(graph: Graph) -> bool:
    """Whether something relies on the graph."""
    return isinstance(graph, _FrozenGraph)


def freeze(graph: Graph, *, plan_of: str | None = None) -> None:
    """Have the first change of a graph, and of graphs inside it, thaw it; for the graph of a plan of a function, have
    changes raise FrozenGraphError.

    One that was interrupted half way, as by a signal's handler, is completed.
    """
    if is_frozen(graph) and plan_of is None:
        return
    with _lock:  # threads may begin to rely on it at once
        if not is_frozen(graph):
            _freeze(graph, graph)
        if plan_of is not None:
            object.__setattr__(graph, "_plan_of", plan_of)


def _freeze(graph: Graph, outermost: Graph) -> None:
    for node in graph.all_nodes():
        inner = node.attributes.get(SUBGRAPH)
        if isinstance(inner, Graph) and not is_frozen(inner):
            _freeze(inner, outermost)
        _freeze_node(node)
        for block in node.nested_blocks:
            _freeze_block(block)
    _freeze_block(graph.body)
    graph._outermost, graph._plan_of = outermost, None  # type: ignore[attr-defined]
    graph.__class__ = _FrozenGraph


def _freeze_block(block: Block) -> None:
    _freeze_values(block.parameters)
    _freeze_node(block.return_node)
    object.__setattr__(block, "__class__", _FrozenBlock)


def _freeze_node(node: Node) -> None:
    if isinstance(node, _FrozenNode):
        return
    _freeze_values(node.results)
    node.attributes = _FrozenAttributes(node)
    node.__class__ = _FrozenNode


def _freeze_values(values: Iterable[Value]) -> None:
    for value in values:
        object.__setattr__(value, "__class__", _FrozenValue)


@contextmanager
def opened(graph: Graph) -> Iterator[None]:
    """Within the block a frozen graph, with those inside it, may be changed to one that means the same.

    What was compiled of it stays right. It is frozen again afterwards, also after an error. Other graphs are left as
    they are.
    """
    if not is_frozen(graph):
        yield
        return
    with _lock:
        plan_of: str | None = graph._plan_of  # type: ignore[attr-defined]
        _thaw(graph)
    try:
        yield
    finally:
        freeze(graph, plan_of=plan_of)


def _thaw(graph: Graph) -> None:
    object.__setattr__(graph, "__class__", Graph)
    nodes = [*graph.all_nodes()]
    blocks = [graph.body, *(block for node in nodes for block in node.nested_blocks)]
    for node in (*nodes, *(block.return_node for block in blocks)):
        object.__setattr__(node, "__class__", Node)
        node.attributes = dict(node.attributes)
        _thaw_values(node.results)
        inner = node.attributes.get(SUBGRAPH)
        if isinstance(inner, Graph) and is_frozen(inner):
            _thaw(inner)
    for block in blocks:
        object.__setattr__(block, "__class__", Block)
        _thaw_values(block.parameters)


def _thaw_values(values: Iterable[Value]) -> None:
    for value in values:
        object.__setattr__(value, "__class__", Value)
