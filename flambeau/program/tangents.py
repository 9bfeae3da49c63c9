"""Tangents of a compiled function, as a compiled function: one node that knows which function they go through.

```
graph(%x : Tensor, %n : int, %t : Tensor):
  %y : Tensor, %dy : Tensor = prim::Tangents[function=<function f>, instead=<function g>, argnums=[0]](%x, %n, %t)
  %r : (Tensor, Tensor) = prim::TupleConstruct(%y, %dy)
  return (%r)
```

A plan, which knows dtypes and ranks, has the function in the node's place, with tangents that go along with its values
(`autodiff.tangent_nodes`); or, where there is no such graph, what `instead` does, which gives the same by gradients.
"""

from __future__ import annotations

from collections.abc import Sequence

from flambeau.ir.graph import Graph
from flambeau.program.function import Function
from flambeau.program.signature import schema_of
from flambeau.schema.types import TupleType, without_refinement

TANGENTS = "prim::Tangents"


def tangents_of(function: Function, instead: Function, numbers: Sequence[int], name: str) -> Function:
    """A function that gives the results of another, then their tangents, in one tuple.

    Args:
        function: returns a tensor, or a tuple of tensors.
        instead: gives the same, by gradients; its parameters are those of what is returned here.
        numbers: of which arguments there are tangents, tensors too, which come behind all arguments in this order.
        name: the qualified name.
    """
    graph = Graph(name.rpartition(".")[2])
    for argument in instead.schema.arguments:
        graph.add_parameter(without_refinement(argument.type), argument.name)
    result = instead.schema.returns[0].type
    assert isinstance(result, TupleType)
    node = graph.insert(
        TANGENTS, graph.parameters, list(result.elements), function=function, instead=instead, argnums=list(numbers)
    )
    graph.add_return(graph.insert("prim::TupleConstruct", node.results, [result]).result())
    return Function(name, graph, schema_of(name, graph))
