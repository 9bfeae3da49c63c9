"""Custom functions with gradients of their own, for whole batches: their gradients are those of each example."""

from __future__ import annotations

from collections.abc import Sequence

from flambeau.autodiff.proxies import refuse
from flambeau.executor.executor import attach
from flambeau.ir.constants import insert_constant
from flambeau.ir.graph import Graph, Node, Value
from flambeau.jit.transforms.batched_blocks import Batching, batched_nodes, of_batch
from flambeau.jit.transforms.batched_graph import batched_graph
from flambeau.program.function import Function
from flambeau.program.own_gradients import OWN_GRADIENT, arguments_of, insert_own_gradient, kept_by
from flambeau.program.signature import schema_of
from flambeau.schema.types import FUNCTION, NONE, TensorType, TupleType, Type, without_refinement


@batched_nodes(OWN_GRADIENT)
def _own_gradient(batching: Batching, node: Node) -> None:
    """The node for all examples, whose functions run on whole batches."""
    count, graph = len(node.results), batching.graph
    results = [batching.of_each(v) for v in node.operands[:count]]
    for old, new in zip(node.results, results, strict=True):
        batching.values[old] = new
        batching.batched.add(old)
    arguments, kept = arguments_of(node), kept_by(node)
    of_results = [of_batch(v.static_type) for v in node.results]
    backward = _batched(batching, node.attribute("backward"), of_results, kept, arguments)
    jvp = node.attributes.get("jvp")
    if isinstance(jvp, Function):
        of_arguments = [of_batch(v.static_type) for v in arguments]
        jvp = None if any(v not in batching.batched for v in arguments) else _batched(
            batching, jvp, of_arguments, kept, node.results
        )
    numbers = node.attribute("kept")
    others = node.operands[count + len(arguments) :]
    own = insert_own_gradient(
        graph, results, [batching.values[v] for v in arguments], numbers, [batching.values[v] for v in others],
        backward, jvp if isinstance(jvp, Function) else None,
    )  # fmt: skip
    for old, value in zip(node.results, own.results, strict=True):
        batching.values[old] = value


def _batched(
    batching: Batching, function: Function, first: Sequence[Type], kept: Sequence[Value], targets: Sequence[Value]
) -> Function:
    """What a function gives for all examples; summed for what all of them share."""
    types = [*first, *[batching.values[v].static_type for v in kept]]
    dims = [*[0] * len(first), *[0 if v in batching.batched else None for v in kept]]
    tensors, indices = _of_tensors(function)
    whole = batched_graph(tensors, types, dims, [0] * len(indices))
    inner = Function(whole.name, whole, schema_of(whole.name, whole))
    attach(inner)
    graph = Graph(f"{function.short_name}_of_each")
    parameters = [graph.add_parameter(without_refinement(type_)) for type_ in types]
    named = graph.insert("prim::Constant", (), [FUNCTION], name=inner.short_name, function=inner).result()
    returned = inner.schema.returns[0].type
    assert isinstance(returned, TupleType)
    called = graph.insert("prim::CallFunction", [named, *parameters], [returned]).result()
    parts = graph.insert("prim::TupleUnpack", [called], list(returned.elements)).results
    values = [insert_constant(graph, None, NONE) for _ in targets]
    for index, part in zip(indices, parts, strict=True):
        values[index] = part if targets[index] in batching.batched else _summed(graph, part)
    result = TupleType(tuple([v.static_type for v in values]))
    graph.add_return(graph.insert("prim::TupleConstruct", values, [result]).result())
    new = Function(graph.name, graph, schema_of(graph.name, graph))
    attach(new)
    return new


def _summed(graph: Graph, value: Value) -> Value:
    """The sum over the examples."""
    axes = insert_constant(graph, [0])
    keeps, dtype = insert_constant(graph, False), insert_constant(graph, None, NONE)
    return graph.insert("aten::sum", [value, axes, keeps, dtype], [without_refinement(value.static_type)]).result()


def _of_tensors(function: Function) -> tuple[Function, list[int]]:
    """The function that gives the tensors alone among what one gives, and which those are."""
    returned = function.schema.returns[0].type
    assert isinstance(returned, TupleType)
    indices = [n for n, type_ in enumerate(returned.elements) if isinstance(type_, TensorType)]
    if not indices:
        refuse("a custom function without gradients")
    graph = Graph(f"{function.short_name}_tensors")
    parameters = [graph.add_parameter(without_refinement(a.type)) for a in function.schema.arguments]
    named = graph.insert("prim::Constant", (), [FUNCTION], name=function.short_name, function=function).result()
    called = graph.insert("prim::CallFunction", [named, *parameters], [returned]).result()
    parts = graph.insert("prim::TupleUnpack", [called], list(returned.elements)).results
    chosen = [parts[n] for n in indices]
    type_ = TupleType(tuple([v.static_type for v in chosen]))
    graph.add_return(graph.insert("prim::TupleConstruct", chosen, [type_]).result())
    new = Function(graph.name, graph, schema_of(graph.name, graph))
    attach(new)
    return new, indices
