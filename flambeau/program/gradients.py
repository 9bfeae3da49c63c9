"""The gradient of a compiled function, as a compiled function: one node that knows which function it differentiates.

```
graph(%x : Tensor, %n : int):
  %g : Tensor = prim::Gradient[function=<function f>, argnums=[0], with_value=0](%x, %n)
  return (%g)
```

A plan, which knows dtypes and ranks, has the derivative in the node's place (`autodiff.gradient_nodes`).
"""

from __future__ import annotations

from collections.abc import Sequence

from flambeau.ir.graph import Graph, Node, Value
from flambeau.program.function import Function
from flambeau.program.signature import schema_of
from flambeau.program.tuple_arguments import flattened, is_of_tensors, is_tuple_of_tensors, tensors_of, tuple_of
from flambeau.schema.function import FunctionSchema
from flambeau.schema.types import FloatType, TensorType, TupleType, Type, without_refinement

GRADIENT = "prim::Gradient"
NO_SCALAR = "the gradient of {name}() needs a result that is a tensor of one element, or a float: it returns {actual}"
NO_PAIR = "{name}() should return a pair (value, aux) if has_aux is True: it returns {actual}"
NO_ARGUMENT = "{name}() has {count} parameters: there is no argument {number} to differentiate by"
NO_REAL = (
    "{name}() cannot be differentiated by '{argument}', a {actual}: gradients are of tensors, of tuples, lists and "
    "dicts of tensors, and of floats"
)


def gradient_of(
    function: Function, argnums: int | Sequence[int], *, with_value: bool, has_aux: bool = False
) -> Function:
    """A function with the same parameters that gives the gradient by an argument, or a tuple of gradients by several;
    `with_value`, a pair of the value and that.

    With `has_aux` the function returns a pair, of which the second comes along: beside the value, as a pair, if that is
    asked for, else behind the gradient.

    Raises TypeError for results and arguments that have no gradients, ValueError for an argument that is not there.
    """
    schema = function.schema
    numbers = [argnums] if isinstance(argnums, int) else list(argnums)
    numbers = [_checked(function, number) for number in numbers]
    name = f"{function.name}_{'value_and_' if with_value else ''}grad"
    graph = Graph(name)
    for argument in schema.arguments:
        graph.add_parameter(without_refinement(argument.type), argument.name)
    values = _gradient_values(graph, function, numbers, with_value=with_value, has_aux=has_aux)
    first, gradients = values[: -len(numbers)], values[-len(numbers) :]
    gradient = gradients[0] if isinstance(argnums, int) else _tuple(graph, gradients)
    if with_value:
        graph.add_return(_tuple(graph, [_tuple(graph, first) if has_aux else first[0], gradient]))
    else:
        graph.add_return(_tuple(graph, [gradient, *first]) if has_aux else gradient)
    defaults = {a.name: a.default for a in schema.arguments if a.has_default}
    plain = schema_of(name, graph, defaults)
    return Function(name, graph, FunctionSchema(name, "", schema.arguments, plain.returns))


def _gradient_values(
    graph: Graph, function: Function, numbers: Sequence[int], *, with_value: bool, has_aux: bool
) -> list[Value]:
    """What the node gives for the parameters of a graph: of tuples, by the tensors in them."""
    types = [function.schema.arguments[n].type for n in numbers]
    if not any(map(is_tuple_of_tensors, types)):
        node = insert_gradient(graph, function, numbers, graph.parameters, with_value=with_value, has_aux=has_aux)
        return list(node.results)
    flat, spans = flattened(function, numbers)
    arguments: list[Value] = []
    for parameter, span in zip(graph.parameters, spans, strict=True):
        is_open = len(span) > 1 or parameter.static_type != flat.graph.parameters[span.start].static_type
        arguments += tensors_of(graph, parameter) if is_open else [parameter]
    leaves = [n for number in numbers for n in spans[number]]
    node = insert_gradient(graph, flat, leaves, arguments, with_value=with_value, has_aux=has_aux)
    first, gradients = list(node.results[: -len(leaves)]), iter(node.results[-len(leaves) :])
    return first + [tuple_of(graph, type_, gradients) for type_ in types]


def insert_gradient(
    graph: Graph,
    function: Function,
    numbers: Sequence[int],
    arguments: Sequence[Value],
    *,
    with_value: bool,
    has_aux: bool,
) -> Node:
    """The node that gives the value if that is wanted, what comes along, and a gradient by each of the arguments of
    these numbers. Raises TypeError for results that have no gradients."""
    result, aux = _result(function, has_aux=has_aux)
    types: list[Type] = [result] if with_value else []
    types += [aux] if aux is not None else []
    types += [function.schema.arguments[n].type for n in numbers]
    node = graph.insert(
        GRADIENT, arguments, types, function=function, argnums=list(numbers), with_value=int(with_value)
    )
    if has_aux:
        node.attributes["has_aux"] = 1
    return node


def _result(function: Function, *, has_aux: bool) -> tuple[Type, Type | None]:
    """The type of what is differentiated, and of what comes along."""
    returns = function.schema.returns
    result = returns[0].type if len(returns) == 1 else None
    aux: Type | None = None
    if has_aux:
        if not (isinstance(result, TupleType) and len(result.elements) == 2):
            actual = "nothing" if result is None else result.annotation
            raise TypeError(NO_PAIR.format(name=function.short_name, actual=actual))
        result, aux = result.elements
    if not isinstance(result, TensorType | FloatType):
        actual = "nothing" if result is None else result.annotation
        raise TypeError(NO_SCALAR.format(name=function.short_name, actual=actual))
    return result, aux


def _tuple(graph: Graph, values: Sequence[Value]) -> Value:
    type_ = TupleType(tuple(v.static_type for v in values))
    return graph.insert("prim::TupleConstruct", values, [type_]).result()


def _checked(function: Function, number: int) -> int:
    arguments = function.schema.arguments
    if not -len(arguments) <= number < len(arguments):
        raise ValueError(NO_ARGUMENT.format(name=function.short_name, count=len(arguments), number=number))
    argument = arguments[number % len(arguments)]
    if not isinstance(argument.type, TensorType | FloatType) and not is_of_tensors(argument.type):
        text = NO_REAL.format(name=function.short_name, argument=argument.name, actual=argument.type.annotation)
        raise TypeError(text)
    return number % len(arguments)
