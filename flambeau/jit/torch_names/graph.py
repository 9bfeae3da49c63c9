"""Graphs as TorchScript's users handle them: `g.inputs()`, `g.findNode("aten::add")`, `g.insertConstant(3)`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any

from flambeau.analysis.alias import AliasAnalysis
from flambeau.ir import graph as graphs
from flambeau.ir.clone import clone_graph, clone_node, insert_graph
from flambeau.ir.constants import insert_constant
from flambeau.ir.printer import print_graph
from flambeau.ir.verify import verify
from flambeau.jit.torch_names.structure import Block, Node, Value, View
from flambeau.schema.types import TENSOR, TupleType

Text = str
NONE_INPUT = "cannot pass None in inputs"


class Graph(View):
    """A graph: `Graph()` is an empty one, `Graph(fn.graph)` stands for the graph of a function.

    >>> g = Graph()
    >>> x = g.addInput("x")
    >>> node = g.appendNode(g.create("aten::relu", [x]))
    >>> g.registerOutput(node.output())
    0
    >>> print(g, end="")
    graph(%x : Tensor):
      %1 : Tensor = aten::relu(%x)
      return (%1)
    """

    ours: graphs.Graph

    def __init__(self, ours: graphs.Graph | None = None) -> None:
        super().__init__(graphs.Graph() if ours is None else ours)

    # -- looking ------------------------------------------------------------------------------------------------------

    def inputs(self) -> Iterator[Value]:
        """The parameters."""
        return self.block().inputs()

    def outputs(self) -> Iterator[Value]:
        """The results."""
        return self.block().outputs()

    def nodes(self) -> Iterator[Node]:
        """The nodes of the body."""
        return self.block().nodes()

    def block(self) -> Block:
        """The body."""
        return Block(self.ours.block)

    def param_node(self) -> Node:
        """Stands for the parameters."""
        return self.block().paramNode()

    def return_node(self) -> Node:
        """Has the results as operands."""
        return self.block().returnNode()

    def findNode(self, kind: Text, recurse: bool = True) -> Node | None:
        """The first node of a kind, at any depth or, without `recurse`, in the body itself."""
        return self.block().findNode(kind, recurse)

    def findAllNodes(self, kind: Text, recurse: bool = True) -> list[Node]:
        """The nodes of a kind."""
        return self.block().findAllNodes(kind, recurse)

    def alias_db(self, isFrozen: bool = False, descend_function_calls: bool = False) -> AliasDb:
        """What may share memory. Calls are taken to do anything: inline them to see through them."""
        return AliasDb(self.ours)

    def lint(self) -> None:
        """Raises VerifyError for a graph that is broken."""
        verify(self.ours)

    def str(self, print_source_ranges: bool = True) -> Text:
        """Its text."""
        return print_graph(self.ours, source_ranges=None if print_source_ranges else False)

    def __repr__(self) -> Text:
        return str(self.ours)

    # -- building -----------------------------------------------------------------------------------------------------

    def addInput(self, name: Text = "") -> Value:
        """Append a parameter, a Tensor."""
        return Value(self.ours.add_input(name=name))

    def registerOutput(self, value: Value) -> int:
        """Append a result; its index."""
        return self.block().registerOutput(value)

    def eraseInput(self, index: int) -> None:
        """Drop a parameter. Raises RuntimeError if it is used."""
        try:
            self.ours.block.remove_input(index)
        except ValueError as error:
            raise RuntimeError(str(error)) from None

    def eraseOutput(self, index: int) -> None:
        """Drop a result."""
        self.ours.block.remove_output(index)

    def create(self, kind: Text, inputs: Sequence[Value] = (), num_outputs: int = 1) -> Node:
        """A node in no block, whose results are Tensors. Raises ValueError for a None among its inputs."""
        if any(value is None for value in inputs):
            raise ValueError(NONE_INPUT)
        return Node(self.ours.create(kind, [v._value for v in inputs], [TENSOR] * num_outputs))

    def createClone(self, node: Node, fn: Callable[[Value], Value]) -> Node:
        """A copy in no block; `fn` says which value stands in for each operand."""
        copies = {value: fn(Value(value))._value for value in node._node.inputs}
        return Node(clone_node(node._node, self.ours, copies))

    def appendNode(self, node: Node) -> Node:
        """Insert a node at the end of the body."""
        return Node(self.ours.block.append(node._node))

    def prependNode(self, node: Node) -> Node:
        """Insert a node at the start of the body."""
        return Node(self.ours.block.prepend(node._node))

    def insertNode(self, node: Node) -> Node:
        """Insert a node at the insertion point."""
        return Node(self.ours.insert_node(node._node))

    def insertConstant(self, value: Any) -> Value:
        """Insert a constant at the insertion point. Raises TypeError for a value that is none."""
        return Value(insert_constant(self.ours, value))

    def insertGraph(self, body: Graph, inputs: Sequence[Value]) -> list[Value]:
        """Insert copies of the nodes of another graph, its parameters being `inputs`; the values it returns."""
        return [Value(v) for v in insert_graph(self.ours, body.ours, [v._value for v in inputs])]

    def insertPoint(self) -> Node:
        """The node that new ones go before."""
        return Node(self.ours.insertion_point)

    def setInsertPoint(self, place: Node | Block) -> None:
        """Insert before a node, or at the end of a block, from now on."""
        self.ours.set_insertion_point(_place(place))

    def insert_point_guard(self, place: Node | Block) -> AbstractContextManager[None]:
        """Insert before a node, or at the end of a block, inside a `with`."""
        return self.ours.inserting(_place(place))

    def permuteInputs(self, order: Sequence[int]) -> None:
        """Put the parameters in another order: `order` has their present indices. Raises RuntimeError if it has not."""
        try:
            self.ours.block.permute_inputs(order)
        except ValueError as error:
            raise RuntimeError(str(error)) from None

    def makeMultiOutputIntoTuple(self) -> None:
        """Return one tuple instead of several results."""
        results = self.ours.outputs
        if len(results) == 1:
            return
        with self.ours.inserting(self.ours.block):
            type_ = TupleType(tuple(v.type for v in results))
            made = self.ours.insert("prim::TupleConstruct", results, [type_]).output()
        for _ in results:
            self.ours.block.remove_output(0)
        self.ours.add_output(made)

    def copy(self) -> Graph:
        """A copy."""
        return Graph(clone_graph(self.ours))


class AliasDb:
    """What may share memory in a graph as it was when this was made."""

    def __init__(self, graph: graphs.Graph) -> None:
        self._graph = graph
        self._facts = AliasAnalysis(graph)

    def may_contain_alias(self, a: Value | Sequence[Value], b: Value | Sequence[Value]) -> bool:
        """Whether anything in or at one may be anything in or at the other."""
        return self._facts.may_contain_alias(_values(a), _values(b))

    def has_writers(self, value: Value | Node) -> bool:
        """Whether any node may write to the value, or to an operand or result of the node, or to something in it."""
        if isinstance(value, Node):
            return any(map(self._facts.has_writers, (*value._node.inputs, *value._node.outputs)))
        return self._facts.has_writers(value._value)

    def to_graphviz_str(self) -> str:
        """A picture in the language of Graphviz: an edge joins two values that may be the same memory."""
        lines = ["digraph alias_db {", '  rankdir = "LR"', *(f'  "%{v.name}"' for v in self._shown())]
        for a, b in self._pairs():
            lines.append(f'  "%{a.name}" -> "%{b.name}" [dir="none"]')
        lines += [f'  "%{v.name}" -> "WILDCARD for type {v.type}"' for v in self._shown() if self._facts.escapes(v)]
        return "\n".join([*lines, "}"]) + "\n"

    def __str__(self) -> str:
        lines = ["===1. GRAPH===", str(self._graph), "===2. ALIAS DB==="]
        for value in self._shown():
            others = [b.name for a, b in self._pairs() if a is value] + [a.name for a, b in self._pairs() if b is value]
            points = [f"%{name}" for name in others] + ["WILDCARD"] * self._facts.escapes(value)
            writers = ", ".join(n.kind for n in self._facts.writers(value))
            may_be = ", ".join(points) or "itself alone"
            lines.append(f"%{value.name} may be {may_be}; written by {writers or 'nobody'}")
        return "\n".join(lines) + "\n"

    def _shown(self) -> list[Any]:
        """The values that are memory."""
        results = [v for node in self._graph.all_nodes() for v in node.outputs]
        return [v for v in (*self._graph.inputs, *results) if self._facts.places(v)]

    def _pairs(self) -> list[tuple[Any, Any]]:
        shown = self._shown()
        return [(a, b) for i, a in enumerate(shown) for b in shown[i + 1 :] if self._facts.may_alias(a, b)]


def _values(given: Value | Sequence[Value]) -> Any:
    return given._value if isinstance(given, Value) else [v._value for v in given]


def _place(place: Node | Block) -> Any:
    return place.ours if isinstance(place, Block) else place._node
