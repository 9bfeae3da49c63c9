"""Gradients in programs: `prim::Gradient` becomes the derivative of the function that it names, inlined.

What has no derivative as a graph stays a node, which goes back over the tape when it runs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from flambeau.analysis import shapes
from flambeau.analysis.gradients import is_real
from flambeau.autodiff import own_gradients, tangent_nodes
from flambeau.autodiff.derivatives import cleaned, ready, settled
from flambeau.autodiff.differentiate import Derivative, differentiate
from flambeau.autodiff.eager_gradient import leaf_of
from flambeau.autodiff.graph_operators import Builder
from flambeau.autodiff.list_values import zeros
from flambeau.autodiff.not_differentiable import NotDifferentiableError
from flambeau.autodiff.symbolic_sizes import SymbolicSizes
from flambeau.autograd.backward import grad_of
from flambeau.autograd.node import edge_of
from flambeau.ir.clone import clone_graph, insert_graph
from flambeau.ir.constants import insert_constant
from flambeau.ir.graph import Graph, Node, Value
from flambeau.passes import inline, lower_tuples, pipeline, remove_mutation
from flambeau.program import fallbacks
from flambeau.program.function import Function
from flambeau.program.gradients import GRADIENT
from flambeau.program.tuple_arguments import is_of_tensors
from flambeau.schema.types import INT, NONE, FloatType, ListType, TensorType, TupleType, Type
from flambeau.specialise.cache import SpecialisationCache
from flambeau.tensor.grad_mode import inference_mode, is_grad_enabled
from flambeau.tensor.levels import innermost, variable
from flambeau.tensor.recorder import tensors_in
from flambeau.tensor.tensor import Tensor
from flambeau.util.inversions import CONTAINER_GRADIENT, GRADIENT_EXPANSION, VALUE_TYPE
from flambeau.util.kept_on import KeptOn
from flambeau.util.trees import mapped

__all__ = ["own_gradients"]  # rules

NO_SCALAR = (
    "grad_and_value(f)(*args): Expected f(*args) to return a scalar Tensor, got tensor with {rank} dims. Maybe you "
    "wanted to use the vjp or jacrev APIs instead?"
)
INTEGERS = "only Tensors of floating point dtype can require gradients"
NO_FUNCTION = (
    "a prim::Gradient that was read from text does not say which function's: archives do (jit.save), and Graph.copy() "
    "keeps it"
)
MOST: Final = 16
"""Of how many patterns of arguments the type of a function's value is kept."""
_value_types: Final[KeptOn[Function, SpecialisationCache[Any, Type]]] = KeptOn()
NUMBERS = "{name}() has a float as result or argument, and no derivative as a graph: {reason}"


@GRADIENT_EXPANSION.provide
def do(graph: Graph) -> bool:
    """Expand every gradient, and all tangents, of a graph whose types say what is known of its tensors; whether there
    were any."""
    if changed := tangent_nodes.do(graph):
        graph.analyses = None if graph.analyses is None else {}
        shapes.propagate(graph)
    nodes = [node for node in graph.find_all(GRADIENT) if "function" in node.attributes]
    for node in nodes:
        try:
            derivative = _derivative(node)
        except NotDifferentiableError as error:
            node.attributes["reason"] = str(error)
            fallbacks.note(fallbacks.TAPE, node.attribute("function"), str(error))
            continue
        _inline(node, derivative)
        changed = True
    if changed:
        graph.analyses = None if graph.analyses is None else {}
        shapes.propagate(graph)
    return changed


@VALUE_TYPE.provide
def value_type(node: Node) -> Type | None:
    """What is known of the value beside the gradients; None where it is no tensor, or not known."""
    function = node.attributes.get("function")
    types = tuple([v.static_type for v in node.operands])
    if not isinstance(function, Function):
        return None
    types = tuple([t.refine(strides=None, requires_grad=None) if isinstance(t, TensorType) else t for t in types])
    known = _value_types.get(function)
    if known is None:
        known = _value_types[function] = SpecialisationCache("types of a value", MOST, describe=str)
    result = known.get_or_make(types, lambda cause: _type_of_value(function, types))
    return result if isinstance(result, TensorType) else None


def _type_of_value(function: Function, types: Sequence[Type]) -> Type:
    graph = clone_graph(function.frozen_graph)
    inline.do(graph, is_folding=True)
    for parameter, type_ in zip(graph.parameters, types, strict=True):
        parameter.set_type(type_)
    lower_tuples.do(graph)
    shapes.propagate(graph)
    value = graph.returns[0]
    maker = value.defining_node
    if isinstance(value.static_type, TupleType) and maker is not None and maker.op == "prim::TupleConstruct":
        value = maker.operand(0)  # with what comes along
    type_ = value.static_type
    return type_.refine(strides=None, requires_grad=None) if isinstance(type_, TensorType) else type_


def _derivative(node: Node) -> Derivative:
    """The function's graph for operands like these, with the gradients as its last results."""
    function: Function = node.attribute("function")
    graph = clone_graph(function.frozen_graph)
    inline.do(graph, is_folding=True)
    for parameter, value in zip(graph.parameters, node.operands, strict=True):
        parameter.set_type(value.static_type)
    pipeline.prepare(graph)
    graph.analyses = None
    settled(graph)
    remove_mutation.do(graph)
    sources = [graph.parameters[n] for n in node.attribute("argnums")]
    if any(is_of_tensors(v.static_type) for v in sources):
        raise NotDifferentiableError("what lies in an argument is known when the program runs")
    if any(isinstance(v.static_type, TensorType) and not is_real(v.static_type) for v in sources):
        raise NotDifferentiableError("an argument is a tensor of integers")
    ready(graph, sources)
    if node.attributes.get("has_aux"):
        _unpack_pair(graph)
    result = graph.returns[0]
    type_ = result.static_type
    if isinstance(type_, TensorType) and (type_.rank != 0 or type_.dtype is None):
        raise NotDifferentiableError("the result is not surely a tensor without dimensions")
    derivative = cleaned(_with_zeros(differentiate(graph, sources, [result]), sources))
    if not node.attribute("with_value"):
        graph.body.remove_return(0)
    for gradient in derivative.gradients:
        if gradient is not None:
            graph.add_return(gradient)
    return derivative


def _unpack_pair(graph: Graph) -> None:
    """Have a graph that returns a pair return its two parts."""
    [pair] = graph.returns
    assert isinstance(pair.static_type, TupleType)
    maker = pair.defining_node
    if maker is not None and maker.op == "prim::TupleConstruct":
        parts = list(maker.operands)
    else:
        with graph.inserting(graph.body):
            parts = list(graph.insert("prim::TupleUnpack", [pair], list(pair.static_type.elements)).results)
    graph.body.remove_return(0)
    for part in parts:
        graph.add_return(part)


def _with_zeros(derivative: Derivative, sources: Sequence[Value]) -> Derivative:
    """The derivative with zeros as the gradients of what the result does not depend on."""
    graph = derivative.graph
    builder = Builder(graph, SymbolicSizes(graph))
    gradients: list[Value | None] = []
    with graph.inserting(graph.body):
        for value, gradient in zip(sources, derivative.gradients, strict=True):
            gradients.append(zeros(builder, value) if gradient is None else gradient)
    return Derivative(graph, derivative.forward, derivative.seeds, gradients)


def _inline(node: Node, derivative: Derivative) -> None:
    """Put a derivative in the place of a node."""
    graph = node.graph
    [seed] = derivative.seeds
    with graph.inserting(node), graph.at_range(node.range):
        one = _one(graph, seed)
        values = insert_graph(graph, derivative.graph, [*node.operands, one])
    for old, new in zip(node.results, values, strict=True):
        old.replace_uses_with(new)
    node.erase()


def _one(graph: Graph, seed: Value) -> Value:
    """The gradient of the result by itself."""
    type_ = seed.static_type
    if not isinstance(type_, TensorType):
        return insert_constant(graph, 1.0)
    assert type_.dtype is not None
    sizes = graph.insert("prim::ListConstruct", (), [ListType(INT)]).result()
    none, dtype = insert_constant(graph, None, NONE), insert_constant(graph, type_.dtype.code)
    return graph.insert("aten::ones", [sizes, dtype, none, none, none], [type_]).result()


def kernel(node: Node) -> Callable[..., Any]:
    """What the interpreter runs for a node that was not expanded. Raises RuntimeError for one that was read from text,
    which does not hold the function."""
    if "function" not in node.attributes:
        raise RuntimeError(NO_FUNCTION)
    return TapeGradient(node)


class TapeGradient:
    """A gradient by running the function, recorded, and going back over the tape."""

    def __init__(self, node: Node) -> None:
        self._function: Function = node.attribute("function")
        self._numbers: list[int] = node.attribute("argnums")
        self._with_value = bool(node.attribute("with_value"))
        self._has_aux = bool(node.attributes.get("has_aux"))
        self._reason = node.attributes.get("reason", "it runs an operator at a time")
        types = [self._function.schema.arguments[n].type for n in self._numbers]
        self._takes_containers = any(map(is_of_tensors, types))

    def __call__(self, *values: Any) -> Any:
        """The gradients, behind the value if that is wanted."""
        if self._takes_containers:
            return self._of_containers(values)
        self._refuse_numbers()
        creates = is_grad_enabled() and any(t.asks() for t in tensors_in(list(values)))
        arguments = list(values)
        for n in self._numbers:
            arguments[n] = self._leaf(values[n], creates=creates)
        with inference_mode(False):
            outcome = self._function(*arguments)
        result: Tensor = outcome[0] if self._has_aux else outcome
        if result.dim() != 0:
            raise RuntimeError(NO_SCALAR.format(rank=result.dim()))
        first: list[Any] = [result if creates else result.detach()] if self._with_value else []
        if self._has_aux:
            first.append(outcome[1] if creates else mapped(_detached, outcome[1]))
        all_results = [*first, *self._back(result, [arguments[n] for n in self._numbers], creates)]
        return all_results[0] if len(all_results) == 1 else tuple(all_results)

    def _of_containers(self, values: Sequence[Any]) -> Any:
        """The value and gradients of a function by what lies in its containers."""
        both = CONTAINER_GRADIENT.implementation(self._function, tuple(self._numbers), has_aux=self._has_aux)
        outcome, gradients = both(*values)
        first = [outcome[0]] if self._has_aux and self._with_value else [outcome] if self._with_value else []
        if self._has_aux:
            first.append(outcome[1])
        all_results = [*first, *gradients]
        return all_results[0] if len(all_results) == 1 else tuple(all_results)

    def _leaf(self, value: Tensor, *, creates: bool) -> Tensor:
        """What is differentiated by; within a transform, on its tape."""
        if not value.dtype.is_floating_point and not value.dtype.is_complex:
            raise RuntimeError(INTEGERS)
        is_recorded = creates and value.asks()
        return leaf_of(value, creates) if innermost() is None or is_recorded else variable(value)

    def _back(self, result: Tensor, leaves: list[Tensor], creates: bool) -> list[Tensor]:
        leaf_gradients: list[Tensor | None] = [None] * len(leaves)
        if edge_of(result) is not None:
            leaf_gradients = grad_of([result], leaves, [result.detach().new_ones([])], None, creates)
        return [t.new_zeros(list(t.shape)) if g is None else g for g, t in zip(leaf_gradients, leaves, strict=True)]

    def _refuse_numbers(self) -> None:
        schema = self._function.schema
        result = schema.returns[0].type
        first = result.elements[0] if self._has_aux and isinstance(result, TupleType) else result
        types = [first, *(schema.arguments[n].type for n in self._numbers)]
        if any(isinstance(t, FloatType) for t in types):
            raise RuntimeError(NUMBERS.format(name=self._function.short_name, reason=self._reason))


def _detached(value: Any) -> Any:
    return value.detach() if isinstance(value, Tensor) else value
