"""Copies of graphs whose parameters have the types of arguments.

>>> import flambeau.ops
>>> from flambeau.ir import parse_ir
>>> from flambeau.tensor.tensor import wrap
>>> import numpy as np
>>> graph = parse_ir('''graph(%xs : Tensor[]):
...   %0 : int = prim::Constant[value=0]()
...   %1 : Tensor = aten::__getitem__(%xs, %0)
...   return (%1)''')
>>> weight, bias = wrap(np.zeros((2, 3), np.float32)), wrap(np.zeros(3, np.float32))
>>> print(specialise(graph, ([weight, weight],)).parameters[0].static_type)
Float(*, *, requires_grad=0, device=cpu)[]
>>> [str(t) for t in specialise(graph, ([weight, bias],)).parameters[0].static_type.elements]
['Float(*, *, requires_grad=0, device=cpu)', 'Float(*, requires_grad=0, device=cpu)']
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flambeau.analysis.constant_evaluation import is_unmodified
from flambeau.ir.clone import clone_graph
from flambeau.ir.graph import Graph, Value
from flambeau.schema.types import TupleType
from flambeau.specialise import spec as specs


def specialise(graph: Graph, arguments: Sequence[Any]) -> Graph:
    """A copy of the graph whose parameters have the types of the arguments."""
    copy = clone_graph(graph)
    for value, argument in zip(copy.parameters, arguments, strict=True):
        refine_parameter(copy, value, argument)
    return copy


def refine_parameter(graph: Graph, parameter: Value, argument: Any) -> None:
    """Give a parameter the type that its argument has.

    A list of tensors that differ in dtype or rank is a tuple to a graph that only looks at it, so that each of them is
    known.
    """
    if not specs.is_mixed(parameter.static_type, argument):
        parameter.set_type(specs.refine(parameter.static_type, argument))
    elif parameter.is_used and is_unmodified(parameter):
        items = TupleType(tuple(map(specs.type_of_tensor, argument)))
        with graph.inserting(graph.body.first or graph.body):
            parts = graph.insert("prim::TupleUnpack", [parameter], items.elements)
            rebuilt = graph.insert("prim::ListConstruct", parts.results, [parameter.static_type]).result()
        parameter.replace_uses_with(rebuilt)
        parts.replace_operand(0, parameter)
        parameter.set_type(items)
