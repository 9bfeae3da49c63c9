"""Tangents that go along with the values of a graph: behind each node, or before one that writes, what its results'
tangents are.

```
graph(%x : Float(*)):                      graph(%x : Float(*), %t : Float(*)):
  %y : Float(*) = aten::sin(%x)              %y : Float(*) = aten::sin(%x)
  return (%y)                         →      %c : Float(*) = aten::cos(%x)
                                             %s : Float(*) = aten::mul(%t, %c)
                                             return (%y, %s)
```

A branch gives, and a loop carries, the tangents of what it gives and carries. What shares memory has tangents that do:
a view of a tensor has the same view of its tangent, and a write is done to both.
"""

from __future__ import annotations

from collections.abc import Sequence

from flambeau.analysis.alias import AliasAnalysis
from flambeau.analysis.effects import own_writes
from flambeau.analysis.gradients import carried, is_real
from flambeau.autodiff import tangent_rules  # noqa: F401  (registers its rules)
from flambeau.autodiff.activity import relevant
from flambeau.autodiff.graph_operators import Builder
from flambeau.autodiff.list_values import gradient_type, zeros
from flambeau.autodiff.not_differentiable import NotDifferentiableError
from flambeau.autodiff.operator_tangents import Flow, mirrored, result_tangents
from flambeau.autodiff.proxies import UntraceableError
from flambeau.autodiff.symbolic_sizes import SymbolicSizes
from flambeau.autodiff.writes import Writes, is_view, writes_first
from flambeau.ir.graph import Block, Graph, Node, Value
from flambeau.schema.registry import out_of_place
from flambeau.schema.types import FloatType, ListType, TensorType


def add_tangents(graph: Graph, sources: Sequence[Value], seeds: Sequence[Value]) -> None:
    """Have a graph return, behind its results, their tangents, where `seeds` are those of its parameters `sources`.

    Raises NotDifferentiableError, with the reason, for what has no tangents as a graph.
    """
    alias = AliasAnalysis(graph, apart=True)
    values = relevant(graph, sources, graph.returns, alias=alias)
    along = Along(Builder(graph, SymbolicSizes(graph)), values, Writes(alias))
    for source, seed in zip(sources, seeds, strict=True):
        along.start(source, seed)
    try:
        along.block(graph.body)
        with graph.inserting(graph.body):
            tangents = [along.complete(value) for value in graph.returns]
    except UntraceableError as error:
        raise NotDifferentiableError(str(error)) from None
    for tangent in tangents:
        graph.add_return(tangent)


class Along:
    """The tangents of the values of a graph."""

    def __init__(self, builder: Builder, values: set[Value], writes: Writes) -> None:
        """`values` are those that depend on what has tangents, and that matter."""
        self._builder = builder
        self._graph: Graph = builder.graph
        self._values = values
        self._writes = writes
        self._tangents: dict[Value, Value] = {}

    def start(self, source: Value, seed: Value) -> None:
        """Begin with the tangent of a parameter."""
        if self._writes.has_writers(source):
            with self._graph.inserting(self._graph.body.first or self._graph.body.return_node):
                seed = self._builder.operators.clone(self._builder.proxy(seed)).value
        self._set(source, seed)

    def complete(self, value: Value) -> Value:
        """The tangent of a value; of one that has none zeros, inserted here."""
        known = self._tangents.get(value)
        return self._zeros(value) if known is None else known

    def _zeros(self, value: Value) -> Value:
        type_ = value.static_type
        if not isinstance(type_, TensorType | FloatType | ListType):
            raise NotDifferentiableError(f"a value of the type {type_.annotation} has no tangent in graphs")
        return zeros(self._builder, value)

    def _set(self, value: Value, tangent: Value) -> None:
        self._builder.sizes.set(tangent, self._builder.sizes.of(value))
        self._tangents[value] = tangent

    # -- nodes --------------------------------------------------------------------------------------------------------

    def block(self, block: Block) -> None:
        """Insert the tangents of what the nodes of a block give."""
        for node in list(block):
            with self._graph.at_range(node.range):
                self._node(node)

    def _node(self, node: Node) -> None:
        if node.op == "prim::If":
            self._branch(node)
        elif node.op == "prim::Loop":
            self._loop(node)
        elif own_writes(node):
            if any(v in self._values for v in node.operands):
                with self._graph.inserting(node):
                    self._write(node)
        elif any(v in self._values for v in node.results):
            following = node.next or node.owner_block.return_node
            with self._graph.inserting(following):
                self._operator(node)

    def _operator(self, node: Node) -> None:
        operands = [self._tangents.get(v) for v in node.operands]
        flowing = carried(node, self._values) if any(t is not None for t in operands) else []
        if node.op == "prim::ListConstruct":  # what is put into it later may have tangents
            flowing = list(node.results)
        tangents: Sequence[Value | None] = [None] * len(node.results)
        if flowing:
            self._refuse_copies(node)
            tangents = result_tangents(Flow(self._builder, self._zeros, self._tangents.get), node, operands)
        elif is_view(node) and self._writes.has_writers(node.result()):
            raise NotDifferentiableError(f"{node.op} shows memory that is written, and has no tangent")
        for value, tangent in zip(node.results, tangents, strict=True):
            if value in self._values:
                own_tangent = self._zeros(value) if tangent is None or value not in flowing else tangent
                self._set(value, self._apart(node, value, own_tangent))

    def _refuse_copies(self, node: Node) -> None:
        """What may be a view or a copy would be one for a value and another for its tangent."""
        definition = node.definition
        may_copy = definition is not None and (definition.traits.may_copy or node.op == "aten::as_strided")
        if may_copy and any(self._writes.has_writers(v) for v in (*node.operands, *node.results)):
            raise NotDifferentiableError(f"{node.op} gives a view or a copy, and what it gives is written")

    def _apart(self, node: Node, value: Value, tangent: Value) -> Value:
        """A tangent in memory of its own, where its value is in such, and something is written later."""
        if not isinstance(value.static_type, TensorType) or is_view(node) or node.definition is None:
            return tangent
        shared = tangent in self._tangents.values() or _is_shown(tangent)
        if not shared or not any(self._writes.has_writers(v) for v in (value, *node.operands)):
            return tangent
        copy: Value = self._builder.operators.clone(self._builder.proxy(tangent)).value
        return copy

    def _write(self, node: Node) -> None:
        """A write, done to tangents too. It goes before the write, which may change what its derivative depends on."""
        flow = Flow(self._builder, self._zeros, self._tangents.get)
        operands = [self._tangents.get(v) for v in node.operands]
        results: Sequence[Value | None] | None = mirrored(flow, node, operands)
        if results is None:
            results = [self._computed(flow, node, operands)]
        for value, tangent in zip(node.results, results, strict=True):
            if value in self._values and is_real(value.static_type) and tangent is not None:
                self._set(value, tangent)

    def _computed(self, flow: Flow, node: Node, operands: Sequence[Value | None]) -> Value:
        """The tangent of what an operator writes to its first operand, by the operator that gives it as a result."""
        definition = node.definition
        if definition is None or not writes_first(node) or operands[0] is None:
            raise NotDifferentiableError(f"{node.op} writes, and has no tangent in graphs")
        names = [a.name for a in definition.schema.arguments]
        proxies = [self._builder.proxy(v) for v in node.operands]
        outcome = self._builder.call(out_of_place(node.op), proxies[:1], dict(zip(names[1:], proxies[1:], strict=True)))
        [tangent] = result_tangents(flow, outcome.value.defining_node, operands)
        if tangent is None:
            return self._builder.call("aten::zero_", (self._builder.proxy(operands[0]),), {}).value  # type: ignore[no-any-return]
        pair = (self._builder.proxy(operands[0]), self._builder.proxy(tangent))
        return self._builder.call("aten::copy_", pair, {}).value  # type: ignore[no-any-return]

    # -- blocks -------------------------------------------------------------------------------------------------------

    def _branch(self, node: Node) -> None:
        for block in node.nested_blocks:
            self.block(block)
        for index, result in enumerate(list(node.results)):
            if result in self._values:
                for block in node.nested_blocks:
                    with self._graph.inserting(block):
                        tangent = self.complete(block.returns[index])
                    block.add_return(tangent)
                self._set(result, node.add_result(gradient_type(result)))

    def _loop(self, node: Node) -> None:
        [body] = node.nested_blocks
        results, parameters = list(node.results), list(body.parameters[1:])
        pairs = list(zip(results, parameters, strict=True))
        indices = [n for n, pair in enumerate(pairs) if not self._values.isdisjoint(pair)]
        for n in indices:
            start = node.operand(n + 2)
            with self._graph.inserting(node):
                tangent = self.complete(start)
            node.add_operand(tangent)
            self._set(parameters[n], body.add_parameter(gradient_type(parameters[n])))
        self.block(body)
        for n in indices:
            with self._graph.inserting(body):
                tangent = self.complete(body.returns[n + 1])
            body.add_return(tangent)
        for n in indices:
            self._set(results[n], node.add_result(gradient_type(results[n])))


def _is_shown(tangent: Value) -> bool:
    """Whether a tangent shows memory of another value."""
    node = tangent.defining_node
    definition = None if node is None else node.definition
    return definition is None or definition.family == "view" or definition.traits.may_copy
