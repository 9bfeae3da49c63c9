"""Tangents in programs: `prim::Tangents` becomes the function that it names, with tangents along with its values.

What has none as a graph becomes a call of what gives the same by gradients.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from flambeau.analysis import shapes
from flambeau.analysis.gradients import is_real
from flambeau.autodiff.derivatives import ready, settled
from flambeau.autodiff.graph_operators import Builder
from flambeau.autodiff.not_differentiable import NotDifferentiableError
from flambeau.autodiff.symbolic_sizes import SymbolicSizes
from flambeau.autodiff.tangents import add_tangents
from flambeau.ir.clone import clone_graph, insert_graph
from flambeau.ir.graph import Graph, Node, Value
from flambeau.passes import dce, inline, pipeline, remove_mutation
from flambeau.program import fallbacks
from flambeau.program.batches import as_call
from flambeau.program.function import Function
from flambeau.program.tangents import TANGENTS
from flambeau.schema.types import TensorType, TupleType, Type
from flambeau.specialise.cache import SpecialisationCache
from flambeau.util import log
from flambeau.util.inversions import TANGENT_TYPES
from flambeau.util.kept_on import KeptOn

MOST: Final = 16
"""Of how many patterns of arguments the graphs of a function are kept."""
_graphs: Final[KeptOn[Function, SpecialisationCache[Any, Graph | str]]] = KeptOn()


def do(graph: Graph) -> bool:
    """Expand all tangents of a graph whose types say what is known of its tensors; whether there were any."""
    nodes = [node for node in graph.find_all(TANGENTS) if "function" in node.attributes]
    for node in nodes:
        along = _known(node)
        if isinstance(along, str):
            fallbacks.note(fallbacks.BY_GRADIENTS, node.attribute("function"), along)
            inline.expand_call(as_call(node))
            continue
        with graph.inserting(node), graph.at_range(node.range):
            values = insert_graph(graph, along, node.operands)
        for old, new in zip(node.results, values, strict=True):
            old.replace_uses_with(new)
        node.erase()
    return bool(nodes)


def _known(node: Node) -> Graph | str:
    """The graph with tangents for operands like those of a node, or why there is none."""
    function: Function = node.attribute("function")
    types = tuple([_without_memory(v.static_type) for v in node.operands])
    key = (types, tuple(node.attribute("argnums")))
    known = _graphs.get(function)
    if known is None:
        known = _graphs[function] = SpecialisationCache("graphs with tangents", MOST, describe=str)
    return known.get_or_make(key, lambda cause: _made(function, *key))


def _without_memory(type_: Type) -> Type:
    return type_.refine(strides=None, requires_grad=None) if isinstance(type_, TensorType) else type_


def _made(function: Function, types: Sequence[Type], numbers: Sequence[int]) -> Graph | str:
    try:
        return _along(function, types, numbers)
    except NotDifferentiableError as error:
        if log.level("executor"):
            log.write("executor", f"tangents of {function.short_name}() go by gradients: {error}")
        return str(error)


def _along(function: Function, types: Sequence[Type], numbers: Sequence[int]) -> Graph:
    """The graph of a function, which returns the tangents behind its results."""
    graph = clone_graph(function.frozen_graph)
    inline.do(graph, is_folding=True)
    for parameter, type_ in zip(graph.parameters, types[: len(types) - len(numbers)], strict=True):
        parameter.set_type(type_)
    pipeline.prepare(graph)
    graph.analyses = None
    settled(graph)
    remove_mutation.do(graph)
    sources = [graph.parameters[n] for n in numbers]
    if any(not isinstance(v.static_type, TensorType) or not is_real(v.static_type) for v in sources):
        raise NotDifferentiableError("an argument is no tensor of real numbers")
    ready(graph, sources)
    _unpack(graph)
    seeds = [_seed(graph, source, type_) for source, type_ in zip(sources, types[-len(numbers) :], strict=True)]
    add_tangents(graph, sources, seeds)
    dce.do(graph)
    shapes.propagate(graph)
    return graph


def _seed(graph: Graph, source: Value, type_: Type) -> Value:
    """A parameter for the tangent of another, in its dtype."""
    wanted = source.static_type
    assert isinstance(wanted, TensorType)
    if not isinstance(type_, TensorType) or type_.rank != wanted.rank or None in (wanted.dtype, type_.dtype):
        raise NotDifferentiableError("a tangent of another rank, or of one that is not known")
    if _ones(type_) != _ones(wanted):
        raise NotDifferentiableError("a tangent of other sizes")
    seed = graph.add_parameter(type_)
    if type_.dtype is wanted.dtype:
        return seed
    builder = Builder(graph, SymbolicSizes(graph))
    with graph.inserting(graph.body.first or graph.body.return_node):
        converted: Value = builder.operators.to(builder.proxy(seed), wanted.dtype).value
    return converted


def _ones(type_: TensorType) -> list[bool]:
    """Which sizes are surely 1."""
    return [size == 1 for size in type_.sizes or ()]


def _unpack(graph: Graph) -> None:
    """Have a graph that returns a tuple return its items. Raises NotDifferentiableError where it cannot."""
    [result] = graph.returns
    if not isinstance(result.static_type, TupleType):
        return
    maker = result.defining_node
    if maker is None or maker.op != "prim::TupleConstruct":
        raise NotDifferentiableError("a tuple that something chooses")
    graph.body.remove_return(0)
    for part in maker.operands:
        graph.add_return(part)
    if not result.is_used:
        maker.erase()


@TANGENT_TYPES.provide
def types_of(node: Node) -> list[Type] | None:
    """What is known of the results of a node; None for nothing."""
    if "function" not in node.attributes:
        return None
    graph = _known(node)
    return None if isinstance(graph, str) else [_without_memory(value.static_type) for value in graph.returns]
