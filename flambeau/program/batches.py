"""A function of one example, run on all examples of a batch: a node that knows the function.

```
graph(%x : Tensor, %w : Tensor):
  %y : Tensor = prim::Vmap[function=<function f>, loop=<function g>, batched=[0], in_dims=[0], out_dims=[0]](%x, %w)
  return (%y)
```

A plan, which knows dtypes and ranks, has operators on whole batches in the node's place, or, where there are none, what
`loop` does: one example after the other (`jit.transforms.vmap_nodes`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from flambeau.ir.constants import CONSTANT
from flambeau.ir.graph import Graph, Node
from flambeau.program.function import Function
from flambeau.program.signature import schema_of
from flambeau.program.tangents import TANGENTS
from flambeau.schema.function import FunctionSchema
from flambeau.schema.types import FUNCTION, TupleType, without_refinement

VMAP = "prim::Vmap"
INSTEAD: Final = {VMAP: "loop", TANGENTS: "instead"}
"""The attribute that is a function of the language, and gives what the node does."""


def batch_of(
    function: Function, loop: Function, in_dims: Sequence[int | None], out_dims: Sequence[int], name: str
) -> Function:
    """A function with the parameters of another whose results, tensors, are those for each example; `loop` gives the
    same one example after the other. `in_dims` says along which axis of each argument the examples lie, None where all
    share it, `out_dims` where they come to lie in each result."""
    graph = Graph(name.rpartition(".")[2])
    for argument in loop.schema.arguments:
        graph.add_parameter(without_refinement(argument.type), argument.name)
    result = loop.schema.returns[0].type
    types = list(result.elements) if isinstance(result, TupleType) else [result]
    batched = [n for n, dim in enumerate(in_dims) if dim is not None]
    node = graph.insert(
        VMAP, graph.parameters, types, function=function, loop=loop, batched=batched,
        in_dims=[dim for dim in in_dims if dim is not None], out_dims=list(out_dims),
    )  # fmt: skip
    if isinstance(result, TupleType):
        graph.add_return(graph.insert("prim::TupleConstruct", node.results, [result]).result())
    else:
        graph.add_return(node.result())
    defaults = {a.name: a.default for a in loop.schema.arguments if a.has_default}
    plain = schema_of(name, graph, defaults)
    return Function(name, graph, FunctionSchema(name, "", loop.schema.arguments, plain.returns))


def in_dims_of(node: Node) -> list[int | None]:
    """The axis of the examples in each operand of a node."""
    dims: list[int | None] = [None] * len(node.operands)
    for index, dim in zip(node.attribute("batched"), node.attribute("in_dims"), strict=True):
        dims[index] = dim
    return dims


def as_call(node: Node) -> Node:
    """A call of what gives the same, one example after the other or by gradients, in the place of a node."""
    graph, loop = node.graph, node.attribute(INSTEAD[node.op])
    result = without_refinement(loop.schema.returns[0].type)
    with graph.inserting(node), graph.at_range(node.range):
        named = graph.insert(CONSTANT, (), [FUNCTION], name=loop.short_name, function=loop)
        call = graph.insert("prim::CallFunction", [named.result(), *node.operands], [result])
        values = list(call.results)
        if isinstance(result, TupleType):
            values = list(graph.insert("prim::TupleUnpack", values, list(result.elements)).results)
    for old, new in zip(node.results, values, strict=True):
        old.replace_uses_with(new)
    node.erase()
    return call
