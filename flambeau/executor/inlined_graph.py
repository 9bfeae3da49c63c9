"""The graph of a function with all that it calls in it: made once, copied by whatever starts from there.

Promotion, the flow of gradients and every plan begin alike: calls are inlined, what constants alone decide is folded,
and mixed precision is explicit casts. For a model that is most of the nodes there ever are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from flambeau.analysis import required_failures
from flambeau.executor.frozen_callees import freeze_callees
from flambeau.executor.stored import entry_of
from flambeau.ir.clone import clone_graph
from flambeau.ir.graph import Graph, Node
from flambeau.ir.walk import subgraphs
from flambeau.passes import autocast, constant_pooling, constant_propagation, dce, inline
from flambeau.program.function import Function
from flambeau.tensor.autocast_state import Precision
from flambeau.util.kept_on import KeptOn

_known: KeptOn[Function, tuple[int, Graph]] = KeptOn()
"""Of each function the graph with its calls inlined, and how often its own had become another before."""
_cast: KeptOn[Function, tuple[Graph, Graph]] = KeptOn()
"""Of each function the inlined graph, and that with explicit casts in the place of mixed precision."""


def inlined_graph(function: Function) -> Graph:
    """The function's graph with its calls inlined, not to be changed; its own graph if it calls nothing.

    The graph and those of its callees are frozen: whoever asks relies on them.
    """
    changes = function.changes
    graph = function.frozen_graph
    known = _known.get(function)
    if known is None or known[0] != changes:
        known = _known[function] = (changes, _found(function, graph))
    return known[1]


def cast_graph(function: Function) -> Graph:
    """The same with explicit casts in the place of mixed precision; that very graph if it has none."""
    graph = inlined_graph(function)
    known = _cast.get(function)
    if known is None or known[0] is not graph:
        written = graph
        if autocast.has_autocast(graph):
            written = clone_graph(graph)
            autocast.do(written)
        known = _cast[function] = (graph, written)
    return known[1]


def own_graph(function: Function) -> Graph:
    """What `cast_graph` gives, as a graph of the caller's: a copy only where somebody has asked for the other."""
    graph = function.frozen_graph
    if _known.get(function) is not None:
        return clone_graph(cast_graph(function))
    entry = entry_of(function, "inlined")
    kept = None if entry is None else entry.read()
    if not isinstance(kept, Graph):
        kept = _inlined(graph) if freeze_callees(graph) else clone_graph(graph)
    if autocast.has_autocast(kept):
        autocast.do(kept)
    return kept


def _found(function: Function, graph: Graph) -> Graph:
    """The graph with its calls inlined, from the cache on disk if an earlier process made it."""
    entry = entry_of(function, "inlined")
    kept = None if entry is None else entry.read()
    if isinstance(kept, Graph):
        return kept
    inlined = _inlined(graph) if freeze_callees(graph) else graph
    if entry is not None and inlined is not graph:
        entry.keep(inlined)
    return inlined


def within_precision(function: Function, precision: Precision) -> Function:
    """The function as it is called within blocks of mixed precision, with explicit casts."""
    graph = function.frozen_graph
    copy = _inlined(graph) if freeze_callees(graph) else clone_graph(graph)
    autocast.do(copy, precision)
    return Function(function.name, copy, function.schema, doc=function.doc)


def _inlined(graph: Graph) -> Graph:
    copy = clone_graph(graph)
    inline.do(copy, is_folding=True)
    required_failures.mark(copy)  # of functions whose results nobody uses
    constant_propagation.do(copy, values_only=True)
    dce.do(copy, keeps_writes=True)
    constant_pooling.do(copy)
    return copy


def reached_nodes(function: Function) -> Iterator[Node]:
    """The nodes of a function and of all that it calls, each once. Raises CompileError for what cannot be compiled."""
    known, waiting = {function}, [function]
    while waiting:
        graph: Graph = waiting.pop().frozen_graph
        for part in subgraphs(graph):
            for node in part.listed_nodes():
                yield node
                callee = inline.callee_of(node)
                if callee is not None and callee not in known:
                    known.add(callee)
                    waiting.append(callee)


def has_node(function: Function, what: str, is_meant: Callable[[Node], bool], *, before_inlining: bool = False) -> bool:
    """Whether a function, or what it calls, has a node of a kind that `what` names; from the cache on disk if known.

    With `before_inlining` these are looked for first where they were, so that nothing is inlined where there is none:
    inlining makes no other node such a one.
    """
    entry = entry_of(function, "has", what)
    kept = None if entry is None else entry.read()
    if isinstance(kept, bool):
        return kept
    has_one = not before_inlining or any(map(is_meant, reached_nodes(function)))
    has_one = has_one and any(map(is_meant, inlined_graph(function).listed_nodes()))
    if entry is not None:
        entry.keep(has_one)
    return has_one
