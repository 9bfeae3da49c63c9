"""Batches in programs: `prim::Vmap` becomes operators on whole batches, or a loop over the examples."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from flambeau.analysis import shapes
from flambeau.autodiff.not_differentiable import NotDifferentiableError
from flambeau.autodiff.proxies import UntraceableError
from flambeau.ir.clone import insert_graph
from flambeau.ir.graph import Graph, Node
from flambeau.jit.transforms import batched_own_gradients, batches_within  # rules
from flambeau.jit.transforms.batched_graph import batched_graph
from flambeau.jit.transforms.staging import has_effects
from flambeau.passes import inline, lower_tuples
from flambeau.program import fallbacks
from flambeau.program.batches import VMAP, as_call, in_dims_of
from flambeau.program.function import Function
from flambeau.schema.types import TensorType, TupleType, Type
from flambeau.specialise.cache import SpecialisationCache
from flambeau.util.inversions import VMAP_EXPANSION, VMAP_TYPES
from flambeau.util.kept_on import KeptOn

__all__ = ["batched_own_gradients", "batches_within"]

RANK: Final = "the rank of what holds the examples is not known"
EFFECTS: Final = "it writes, prints or raises"
MOST: Final = 16
"""Of how many patterns of arguments, and axes, the graphs of a function are kept."""
_graphs: Final[KeptOn[Function, SpecialisationCache[Any, Graph | str]]] = KeptOn()


def graph_of(node: Node) -> Graph | None:
    """The graph on whole batches for operands like those of a node; None where there is none."""
    graph = _known(node)
    return None if isinstance(graph, str) else graph


def _known(node: Node) -> Graph | str:
    """The graph of a batch for a node, made when first asked for, or why there is none."""
    function: Function = node.attribute("function")
    types = tuple([_without_memory(v.static_type) for v in node.operands])
    key = (types, tuple(in_dims_of(node)), tuple(node.attribute("out_dims")))
    known = _graphs.get(function)
    if known is None:
        known = _graphs[function] = SpecialisationCache("graphs of a batch", MOST, describe=str)
    return known.get_or_make(key, lambda cause: _made(function, *key))


def _without_memory(type_: Type) -> Type:
    return type_.refine(strides=None, requires_grad=None) if isinstance(type_, TensorType) else type_


def _made(
    function: Function, types: Sequence[Type], in_dims: Sequence[int | None], out_dims: Sequence[int]
) -> Graph | str:
    dims: list[int | None] = []
    for type_, dim in zip(types, in_dims, strict=True):
        rank = type_.rank if isinstance(type_, TensorType) else None
        if dim is not None and (rank is None or not -rank <= dim < rank):
            return RANK
        dims.append(None if dim is None or rank is None else dim % rank)
    if has_effects(function):
        return EFFECTS
    try:
        graph = batched_graph(function, types, dims, out_dims)
    except (UntraceableError, NotDifferentiableError, RuntimeError, IndexError) as error:
        return str(error)  # where rules refuse it, the loop says what is wrong of which example
    _unpack(graph)
    shapes.propagate(graph)
    return graph


def _unpack(graph: Graph) -> None:
    """Have a graph that returns a tuple return its items."""
    [result] = graph.returns
    maker = result.defining_node
    if isinstance(result.static_type, TupleType) and maker is not None:
        graph.body.remove_return(0)
        for part in maker.operands:
            graph.add_return(part)
        maker.erase()


@VMAP_TYPES.provide
def types_of(node: Node) -> list[Type] | None:
    """What is known of the results of a node; None for nothing."""
    if "function" not in node.attributes:
        return None
    graph = graph_of(node)
    return None if graph is None else [_without_memory(value.static_type) for value in graph.returns]


@VMAP_EXPANSION.provide
def do(graph: Graph) -> bool:
    """Expand every batch of a graph whose types say what is known of its tensors; whether there was any."""
    changed = False
    while nodes := [node for node in graph.find_all(VMAP) if "function" in node.attributes]:
        for node in nodes:
            _expand(node)
        lower_tuples.do(graph)
        changed = True
        graph.analyses = None if graph.analyses is None else {}
        shapes.propagate(graph)
    return changed


def _expand(node: Node) -> None:
    graph = node.graph
    whole = _known(node)
    if isinstance(whole, str):
        fallbacks.note(fallbacks.ONE_BY_ONE, node.attribute("function"), whole)
        return inline.expand_call(as_call(node))
    with graph.inserting(node), graph.at_range(node.range):
        values = insert_graph(graph, whole, node.operands)
    for old, new in zip(node.results, values, strict=True):
        old.replace_uses_with(new)
    node.erase()
    return None

