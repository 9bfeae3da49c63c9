"""Batches of batches: the function of a batch that a function has within, for all examples of the batch around it.

```
%y : Float(*, *) = prim::Vmap[function=f, batched=[1], in_dims=[0]](%x, %basis)     (%x : Float(*), of an example)
→
%y : Float(*, *, *) = prim::Vmap[function=g, batched=[1], in_dims=[0]](%x, %basis)  (%x : Float(*, *), of all)
```

`g` is `f` for all examples around. So these are the innermost axis of what `f` computes with numbers, and the batch
within the outermost: of Jacobians, the basis.
"""

from __future__ import annotations

from collections.abc import Sequence

from flambeau.autodiff.proxies import refuse
from flambeau.ir.graph import Node, Value
from flambeau.jit.transforms.batch_programs import one_by_one
from flambeau.jit.transforms.batched_blocks import Batching, batched_nodes, of_batch
from flambeau.jit.transforms.batched_graph import batched_graph
from flambeau.program.batches import VMAP, in_dims_of
from flambeau.program.function import Function
from flambeau.program.signature import schema_of
from flambeau.schema.types import TensorType, Type
from flambeau.util.inversions import LATE_RUNNER, VMAP_TYPES


@batched_nodes(VMAP)
def _batch(batching: Batching, node: Node) -> None:
    """The batch within of the function of all examples."""
    if "function" not in node.attributes:
        refuse("a batch of examples that has no function")
    function: Function = node.attribute("function")
    dims = [_from_first(value, dim) for value, dim in zip(node.operands, in_dims_of(node), strict=True)]
    around = [0 if value in batching.batched else None for value in node.operands]
    operands = [batching.values[value] for value in node.operands]
    inner = [None if dim is None else dim + (own is not None) for dim, own in zip(dims, around, strict=True)]
    types = [_without(value, dim) for value, dim in zip(operands, inner, strict=True)]
    graph = batched_graph(function, types, around, [0] * len(node.results))
    whole = Function(f"{function.name}_vmap", graph, schema_of(graph.name, graph))
    LATE_RUNNER.implementation(whole)
    new = _inserted(batching, node, whole, operands, inner)
    for old, result in zip(node.results, new.results, strict=True):
        batching.values[old] = result
        batching.batched.add(old)


def _inserted(
    batching: Batching, node: Node, function: Function, operands: Sequence[Value], in_dims: Sequence[int | None]
) -> Node:
    """The batch within, of a function of all examples. Raises UntraceableError where it is no operators."""
    axes = [_from_first(value, dim) for value, dim in zip(node.results, node.attribute("out_dims"), strict=True)]
    out_dims = [dim + 1 for dim in axes if dim is not None]
    new = batching.graph.insert(
        VMAP, operands, [of_batch(value.static_type) for value in node.results], function=function,
        loop=one_by_one("vmap", function, in_dims, out_dims),
        batched=[n for n, dim in enumerate(in_dims) if dim is not None],
        in_dims=[dim for dim in in_dims if dim is not None], out_dims=out_dims,
    )  # fmt: skip
    if VMAP_TYPES.implementation(new) is None:
        refuse("a batch within that has no operators on whole batches")
    return new


def _from_first(value: Value, dim: int | None) -> int | None:
    """An axis of a tensor, counted from the first."""
    if dim is None or dim >= 0:
        return dim
    type_ = value.static_type
    rank = type_.rank if isinstance(type_, TensorType) else None
    return dim + rank if rank is not None else int(refuse("an axis that is counted from the last"))


def _without(value: Value, dim: int | None) -> Type:
    """The type of an operand of the function within."""
    type_ = value.static_type
    if not isinstance(type_, TensorType) or dim is None:
        return type_.refine(strides=None) if isinstance(type_, TensorType) else type_
    if type_.sizes is None:
        refuse("a batch whose rank is not known")
    assert type_.sizes is not None
    return type_.refine(sizes=tuple([s for axis, s in enumerate(type_.sizes) if axis != dim]), strides=None)
