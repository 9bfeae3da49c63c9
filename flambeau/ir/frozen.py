"""Graphs that can be read but not changed: something that runs relies on them.

>>> from flambeau.ir import parse_ir
>>> graph = parse_ir("graph(%x):\\n  %y = aten::relu(%x)\\n  return (%y)")
>>> freeze(graph, "f")
>>> graph.insert("aten::neg", graph.parameters)
Traceback (most recent call last):
    ...
flambeau.util.errors.FrozenGraphError: the graph of 'f' was compiled and runs: it cannot be changed in place. Copy \
it with flambeau.ir.clone_graph(graph), change the copy, and make a function of that: \
flambeau.jit.create_function_from_graph('f', copy)

A frozen graph keeps its identity and its text: its parts change their class, so that reading costs what it cost
before, and graphs that may be changed pay nothing. What keeps the meaning of a graph may change it all the same, within
`opened`.

>>> with opened(graph):
...     graph.rename(graph.returns[0], "z")
>>> graph.returns[0].name, is_frozen(graph)
('z', True)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, NoReturn, TypeVar

from flambeau.ir.graph import Block, Graph, Node, Value
from flambeau.ir.printer import SUBGRAPH
from flambeau.util.errors import FrozenGraphError
from flambeau.util.locks import Lock

T = TypeVar("T", bound=type)
_MESSAGE = (
    "the graph of '{name}' was compiled and runs: it cannot be changed in place. Copy it with "
    "flambeau.ir.clone_graph(graph), change the copy, and make a function of that: "
    "flambeau.jit.create_function_from_graph('{name}', copy)"
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


def _refuse(graph: Graph) -> NoReturn:
    raise FrozenGraphError(_MESSAGE.format(name=getattr(graph, "_frozen_name", graph.name)))


def _refusing(writers: Iterable[str], graph_of: Callable[[Any], Graph]) -> Callable[[T], T]:
    """A class decorator: these methods raise FrozenGraphError for the graph that an instance belongs to."""

    def refuse(self: Any, *_: Any, **__: Any) -> NoReturn:
        _refuse(graph_of(self))

    def decorate(frozen: T) -> T:
        for name in writers:
            setattr(frozen, name, refuse)
        return frozen

    return decorate


@_refusing((*WRITERS[Graph], "__setattr__"), lambda graph: graph)
class _FrozenGraph(Graph):
    _frozen_name: str


@_refusing(WRITERS[Block], lambda block: block.graph)
class _FrozenBlock(Block):
    __slots__ = ()

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in _CACHES:
            _refuse(self.graph)
        super().__setattr__(name, value)


@_refusing(WRITERS[Node], lambda node: node.graph)
class _FrozenNode(Node):
    __slots__ = ()

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in _CACHES:
            _refuse(self.graph)
        super().__setattr__(name, value)


@_refusing((*WRITERS[Value], "__setattr__"), lambda value: value.owner_block.graph)
class _FrozenValue(Value):
    __slots__ = ()


@_refusing(
    ("__setitem__", "__delitem__", "__ior__", "clear", "pop", "popitem", "setdefault", "update"),
    lambda attributes: attributes.graph,
)
class _FrozenAttributes(dict[str, Any]):
    """The attributes of a frozen node."""

    __slots__ = ("graph",)

    def __init__(self, graph: Graph, attributes: dict[str, Any]) -> None:
        super().__init__(attributes)
        self.graph = graph


def is_frozen(graph: Graph) -> bool:
    """Whether the graph can only be read."""
    return isinstance(graph, _FrozenGraph)


def freeze(graph: Graph, name: str) -> None:
    """Have every change of the graph of the function `name`, and of graphs inside it, raise FrozenGraphError.

    One that was interrupted half way, as by a signal's handler, is completed.
    """
    if is_frozen(graph):
        return
    with _lock:  # threads may begin to rely on it at once
        if not is_frozen(graph):
            _freeze(graph, name)


def _freeze(graph: Graph, name: str) -> None:
    for node in graph.all_nodes():
        inner = node.attributes.get(SUBGRAPH)
        if isinstance(inner, Graph):
            freeze(inner, name)
        _freeze_node(node)
        for block in node.nested_blocks:
            _freeze_block(block)
    _freeze_block(graph.body)
    graph._frozen_name = name  # type: ignore[attr-defined]
    graph.__class__ = _FrozenGraph


def _freeze_block(block: Block) -> None:
    _freeze_values(block.parameters)
    _freeze_node(block.return_node)
    object.__setattr__(block, "__class__", _FrozenBlock)


def _freeze_node(node: Node) -> None:
    if isinstance(node, _FrozenNode):
        return
    _freeze_values(node.results)
    node.attributes = _FrozenAttributes(node.graph, node.attributes)
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
        name: str = graph._frozen_name  # type: ignore[attr-defined]
        _thaw(graph)
    try:
        yield
    finally:
        freeze(graph, name)


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
