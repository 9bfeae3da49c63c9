"""Tangents by the formulas of gradients: what goes back is linear in the gradient, and its own gradient goes forward.

The formulas of a node are traced in a graph by themselves, as functions of the gradients of its results; the
derivative of that graph by these, along the tangents of the operands, is the tangent.

```
%y = aten::softmax(%x, ...)      back:  %g = %y * (%grad - (%grad * %y).sum())
                                 there: %s = %t * %y - (%t * %y).sum() * %y
```
"""

from __future__ import annotations

from collections.abc import Sequence

from flambeau.analysis.gradients import is_real
from flambeau.autodiff.derivatives import cleaned
from flambeau.autodiff.differentiate import differentiate
from flambeau.autodiff.graph_operators import Builder
from flambeau.autodiff.list_values import gradient_type
from flambeau.autodiff.not_differentiable import NotDifferentiableError
from flambeau.autodiff.operator_gradients import operand_gradients
from flambeau.autodiff.symbolic_sizes import SymbolicSizes
from flambeau.ir import constants
from flambeau.ir.clone import clone_node, insert_graph
from flambeau.ir.graph import Graph, Node, Value
from flambeau.schema.types import TensorType


def transposed(builder: Builder, node: Node, operands: Sequence[Value | None]) -> Sequence[Value | None]:
    """The tangents of the results of a node, inserted here. Raises NotDifferentiableError where there are none."""
    alone = _Alone(builder, node, operands)
    seeds = alone.seeds()
    gradients = alone.derivative(seeds)
    graph = alone.graph
    for gradient in gradients:
        if gradient is not None:
            graph.add_return(gradient)
    values = [alone.outside.get(p) or _like_it(p, node, seeds) for p in graph.parameters]
    results = iter(insert_graph(builder.graph, graph, values) if graph.returns else ())
    tangents: list[Value | None] = [None] * len(node.results)
    for index, gradient in zip(seeds, gradients, strict=True):
        if gradient is not None:
            tangent = tangents[index] = next(results)
            builder.sizes.set(tangent, builder.sizes.of(node.results[index]))
    return tangents


def _like_it(parameter: Value, node: Node, seeds: dict[int, Value]) -> Value:
    """What is given for the gradient of a result, of which nothing but its sizes and dtype count: the result itself."""
    if not _lends_sizes(parameter):
        raise NotDifferentiableError(f"the gradient of {node.op} is not linear")
    return next(node.results[n] for n, seed in seeds.items() if seed is parameter)


def _lends_sizes(value: Value) -> bool:
    """Whether nothing of a value, or of what is computed of it, counts but sizes and dtypes."""
    for use in value.uses():
        definition, inside = use.user.definition, use.user.owner_block.owner_node
        if inside is not None and inside.op == "prim::If" and use.user is use.user.owner_block.return_node:
            if not _lends_sizes(inside.results[use.offset]):
                return False
            continue
        if definition is None:
            return False
        is_about = definition.differentiable is False or definition.family == "metadata"
        if not is_about and not all(map(_lends_sizes, use.user.results)):
            return False
    return True


class _Alone:
    """A copy of a node in a graph of its own, whose operands and results are parameters."""

    def __init__(self, outer: Builder, node: Node, operands: Sequence[Value | None]) -> None:
        self.graph = Graph("transposed")
        self.outside: dict[Value, Value] = {}
        """From each parameter to the value that it stands for."""
        self._copies: dict[Value, Value] = {}
        with self.graph.inserting(self.graph.body):
            for value in node.operands:
                self._take(value)
            self._stand_ins = [self._parameter(v) for v in node.results]
            self.tangents = [None if t is None else self._parameter(t) for t in operands]
            self.node = self.graph.insert_node(clone_node(node, self.graph, dict(self._copies)))
        self.builder = Builder(self.graph, SymbolicSizes(self.graph))
        for parameter, value in self.outside.items():
            self._tell(outer, parameter, value)
        for mine, value in zip(self.node.results, node.results, strict=True):
            self._tell(outer, mine, value)

    def _tell(self, outer: Builder, mine: Value, value: Value) -> None:
        if isinstance(value.static_type, TensorType):
            self.builder.sizes.set(mine, outer.sizes.of(value))

    def _parameter(self, value: Value) -> Value:
        parameter = self.graph.add_parameter(value.static_type)
        self.outside[parameter] = value
        return parameter

    def _take(self, value: Value) -> None:
        """Have a constant, a list or a parameter stand for an operand."""
        if value in self._copies:
            return
        maker = value.defining_node
        is_list = maker is not None and maker.op == "prim::ListConstruct"
        if maker is not None and (constants.is_constant(value) or is_list):
            for operand in maker.operands:
                self._take(operand)
            copy = clone_node(maker, self.graph, dict(self._copies))
            self.graph.insert_node(copy)
            self._copies[value] = copy.result()
        else:
            self._copies[value] = self._parameter(value)

    def seeds(self) -> dict[int, Value]:
        """Parameters for the gradients of the results that have some, by number."""
        node = self.node
        flows = True if node.definition is None else node.definition.differentiable
        marks = [True] * len(node.results) if flows is True else list(flows or ())
        seeds: dict[int, Value] = {}
        for number, (value, flow) in enumerate(zip(node.results, marks, strict=False)):
            if flow and is_real(value.static_type):
                if not isinstance(value.static_type, TensorType):
                    raise NotDifferentiableError(f"{node.op} gives what is no tensor, and has no tangent in graphs")
                seeds[number] = self.graph.add_parameter(gradient_type(value))
                self.builder.sizes.set(seeds[number], self.builder.sizes.of(value))
        return seeds

    def derivative(self, seeds: dict[int, Value]) -> Sequence[Value | None]:
        """The gradients by those of the results, of what goes back along the tangents of the operands."""
        node, graph = self.node, self.graph
        gradients = [seeds.get(number) for number in range(len(node.results))]
        with graph.inserting(graph.body):
            back = operand_gradients(self.builder, node, gradients, [t is not None for t in self.tangents])
        pairs = [(g, t) for g, t in zip(back, self.tangents, strict=True) if g is not None and t is not None]
        self.close()
        if not pairs:
            return [None] * len(seeds)
        try:
            differentiated = differentiate(graph, list(seeds.values()), [g for g, _ in pairs], [t for _, t in pairs])
        except NotDifferentiableError as error:
            raise NotDifferentiableError(f"the gradient of {node.op} by that of its result: {error}") from None
        return cleaned(differentiated).gradients

    def close(self) -> None:
        """Have what was computed from results be computed from those that there are."""
        for result, stand_in in zip(self.node.results, self._stand_ins, strict=True):
            result.replace_uses_with(stand_in)
        self.node.erase()
