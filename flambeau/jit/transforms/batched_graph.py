"""`vmap` of a graph: a graph on whole batches, with the branches and loops of the one for an example.

It is made for what is known of the arguments (dtypes, ranks, sizes of 1), as plans are, and holds for examples of any
sizes and number, but none. What of the examples' elements decides which way a graph goes has no such graph.
"""

from __future__ import annotations

from collections.abc import Sequence

from flambeau.analysis.effects import is_random
from flambeau.autodiff import gradient_nodes
from flambeau.autodiff.derivatives import settled
from flambeau.autodiff.not_differentiable import NotDifferentiableError
from flambeau.autodiff.proxies import UntraceableError, refuse
from flambeau.executor.inlined_graph import inlined_graph
from flambeau.ir.clone import clone_graph
from flambeau.ir.graph import Graph, Value
from flambeau.jit.transforms import batched_nodes  # rules
from flambeau.jit.transforms.batched_blocks import Batching, WrittenError
from flambeau.jit.transforms.examples import DRAWS, ExampleBuilder
from flambeau.passes import inline, lower_tuples, pipeline, remove_mutation
from flambeau.program.batches import VMAP
from flambeau.program.function import Function
from flambeau.schema.types import TensorType, TupleType, Type, without_refinement

__all__ = ["batched_graph", "batched_nodes"]


def batched_graph(
    function: Function, types: Sequence[Type], in_dims: Sequence[int | None], out_dims: Sequence[int]
) -> Graph:
    """The graph of a function for all examples at once; `types` are those of the arguments with their examples.

    Raises UntraceableError for a function that has none.

    >>> import flambeau
    >>> @flambeau.script
    ... def scaled(x: flambeau.Tensor, n: int) -> flambeau.Tensor:
    ...     for _ in range(n):
    ...         x = x * x.sum()
    ...     return x
    >>> from flambeau.schema.types import INT, TensorType
    >>> matrix = TensorType(dtype=flambeau.float32, sizes=(None, None))
    >>> graph = batched_graph(scaled.script_function, [matrix, INT], [0, None], [0])
    >>> [node.op for node in graph.nodes() if node.op == "prim::Loop"]
    ['prim::Loop']
    """
    if has_batches(function):
        try:
            return _whole(function, types, in_dims, out_dims, left_out=("expand_vmaps",))
        except (UntraceableError, NotDifferentiableError):
            pass  # those within first, then, as operators
    return _whole(function, types, in_dims, out_dims, left_out=())


def _whole(
    function: Function, types: Sequence[Type], in_dims: Sequence[int | None], out_dims: Sequence[int],
    left_out: Sequence[str],
) -> Graph:  # fmt: skip
    """The same, where some passes are left out: batches within stay nodes, and these examples lie side by side."""
    one = _of_an_example(function, types, in_dims, left_out)
    if any(map(is_random, one.nodes())):
        raise UntraceableError(DRAWS)
    own: set[Value] = set()
    while True:
        try:
            return _built(f"{function.short_name}_vmap", one, types, in_dims, out_dims, own)
        except WrittenError as error:
            own.add(error.written)


def _built(
    name: str, one: Graph, types: Sequence[Type], in_dims: Sequence[int | None], out_dims: Sequence[int],
    own: set[Value],
) -> Graph:  # fmt: skip
    """The graph for all examples, each of which has an `own` one of some tensors.

    Raises WrittenError for a tensor that ought to be among these.
    """
    graph = Graph(name)
    for parameter, type_ in zip(one.parameters, types, strict=True):
        graph.add_parameter(type_, parameter.name if parameter.has_name else "")
    first = next(n for n, dim in enumerate(in_dims) if dim is not None)
    batching = Batching(graph, ExampleBuilder(graph, graph.parameters[first], in_dims[first] or 0), own)
    for old, new, dim in zip(one.parameters, graph.parameters, in_dims, strict=True):
        batching.values[old] = new if dim is None else batching.moved(new, dim, 0)
        if dim is not None:
            batching.batched.add(old)
    batching.block(one.body)
    _return(batching, one, out_dims)
    return graph


def has_batches(function: Function) -> bool:
    """Whether a function has batches within."""
    return any(node.op == VMAP for node in inlined_graph(function).listed_nodes())


def _of_an_example(
    function: Function, types: Sequence[Type], in_dims: Sequence[int | None], left_out: Sequence[str]
) -> Graph:
    """The graph for one example, as far as passes can prepare it."""
    graph = clone_graph(function.frozen_graph)
    inline.do(graph, is_folding=True)
    for parameter, type_, dim in zip(graph.parameters, types, in_dims, strict=True):
        parameter.set_type(type_ if dim is None else _without(type_, dim))
    pipeline.prepare(graph, left_out)
    graph.analyses = None
    settled(graph)
    remove_mutation.do(graph)
    gradient_nodes.do(graph)
    lower_tuples.do(graph)
    return graph


def _without(type_: Type, dim: int) -> Type:
    """The type of one example."""
    if not isinstance(type_, TensorType) or type_.sizes is None:
        raise UntraceableError("an argument whose rank is not known")
    sizes = [size for axis, size in enumerate(type_.sizes) if axis != dim]
    return type_.refine(sizes=tuple(sizes), strides=None)


def _return(batching: Batching, one: Graph, out_dims: Sequence[int]) -> None:
    graph = batching.graph
    [value] = one.returns
    is_tuple = isinstance(value.static_type, TupleType)
    maker = value.defining_node
    if is_tuple and (maker is None or maker.op != "prim::TupleConstruct"):
        refuse("a tuple that something chooses")
    parts = list(maker.operands) if is_tuple and maker is not None else [value]
    if not all(isinstance(part.static_type, TensorType) for part in parts):
        refuse("a result that is no tensor")
    results = [batching.moved(batching.of_each(part), 0, dim) for part, dim in zip(parts, out_dims, strict=True)]
    if is_tuple:
        type_ = value.static_type
        results = [graph.insert("prim::TupleConstruct", results, [without_refinement(type_)]).result()]
    graph.add_return(results[0])
