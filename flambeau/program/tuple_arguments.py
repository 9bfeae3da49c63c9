"""Functions of tuples of tensors as functions of the tensors in them, by which there are gradients.

```
graph(%p : (Tensor, Tensor), %x : Tensor)    →    graph(%p0 : Tensor, %p1 : Tensor, %x : Tensor):
                                                    %p : (Tensor, Tensor) = prim::TupleConstruct(%p0, %p1)
```
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from flambeau.ir.clone import insert_graph
from flambeau.ir.graph import Graph, Value
from flambeau.program.function import Function
from flambeau.program.signature import schema_of
from flambeau.schema.function import FunctionSchema
from flambeau.schema.types import DictType, ListType, TensorType, TupleType, Type
from flambeau.util.inversions import LATE_RUNNER


def is_of_tensors(type_: Type) -> bool:
    """Whether a type is a container of tensors, or of such containers."""
    match type_:
        case ListType():
            return _is_part(type_.element)
        case DictType():
            return _is_part(type_.value)
        case TupleType():
            return bool(type_.elements) and all(map(_is_part, type_.elements))
    return False


def _is_part(type_: Type) -> bool:
    return isinstance(type_, TensorType) or is_of_tensors(type_)


def is_tuple_of_tensors(type_: Type) -> bool:
    """Whether a type is a tuple of tensors, or of such tuples: how many there are is known."""
    return (
        isinstance(type_, TupleType)
        and bool(type_.elements)
        and all(isinstance(t, TensorType) or is_tuple_of_tensors(t) for t in type_.elements)
    )


def flattened(function: Function, numbers: Sequence[int]) -> tuple[Function, list[range]]:
    """The function with the tensors themselves in the place of tuples at these numbers, and where each parameter is."""
    graph = Graph(function.name)
    arguments: list[Value] = []
    spans: list[range] = []
    for number, argument in enumerate(function.schema.arguments):
        first = len(graph.parameters)
        leaves = [argument.type]
        if number in numbers and is_tuple_of_tensors(argument.type):
            leaves = tensor_types(argument.type)
        for n, leaf in enumerate(leaves):
            graph.add_parameter(leaf, argument.name if len(leaves) == 1 else f"{argument.name}_{n}")
        spans.append(range(first, len(graph.parameters)))
    for argument, span in zip(function.schema.arguments, spans, strict=True):
        own = iter([graph.parameters[n] for n in span])
        is_whole = graph.parameters[span.start].static_type == argument.type
        arguments.append(next(own) if is_whole else tuple_of(graph, argument.type, own))
    for value in insert_graph(graph, function.frozen_graph, arguments):
        graph.add_return(value)
    plain = schema_of(function.name, graph, {})
    schema = FunctionSchema(function.name, "", plain.arguments, function.schema.returns)
    result = Function(function.name, graph, schema)
    LATE_RUNNER.implementation(result)
    return result, spans


def tensor_types(type_: Type) -> list[Type]:
    """The types of the tensors in a tuple."""
    return [t for one in type_.elements for t in tensor_types(one)] if isinstance(type_, TupleType) else [type_]


def tensors_of(graph: Graph, value: Value) -> list[Value]:
    """The tensors in a tuple."""
    type_ = value.static_type
    if not isinstance(type_, TupleType):
        return [value]
    items = graph.insert("prim::TupleUnpack", [value], list(type_.elements)).results
    return [tensor for item in items for tensor in tensors_of(graph, item)]


def tuple_of(graph: Graph, type_: Type, tensors: Iterator[Value]) -> Value:
    """A tuple of a type, of tensors."""
    if not isinstance(type_, TupleType):
        return next(tensors)
    items = [tuple_of(graph, one, tensors) for one in type_.elements]
    return graph.insert("prim::TupleConstruct", items, [type_]).result()
