"""Types of what is taken out of tuples, from the types of these.

>>> from flambeau import fx
>>> traced = fx.symbolic_trace(lambda pair: pair[0])
>>> pair, item, _ = traced.graph.nodes
>>> pair.type = tuple[int, str]
>>> annotate_getitem_nodes(traced.graph)
>>> item.type
<class 'int'>
"""

from __future__ import annotations

import operator
from typing import Any, get_args, get_origin

from flambeau.fx.graph import Graph

__all__ = ["annotate_getitem_nodes"]


def annotate_getitem_nodes(graph: Graph) -> None:
    """Give nodes that take an item of a list, a tuple or a named tuple the type of that item, where it has one.

    Args:
        graph: a graph in which values have types.

    >>> annotate_getitem_nodes(Graph())
    """
    for node in graph.find_nodes(op="call_function", target=operator.getitem):
        source, index = node.args
        kind = getattr(source, "type", None)
        if kind is None or not isinstance(index, int):
            continue
        node.type = _item(kind, index) or node.type


def _item(kind: Any, index: int) -> Any:
    """The type of an item of something of a type; None where that does not say it."""
    parts = get_args(kind)
    if get_origin(kind) is list:
        return parts[0]
    if get_origin(kind) is tuple:
        if len(parts) == 2 and parts[1] is ...:
            return parts[0]
        return parts[index] if -len(parts) <= index < len(parts) else None
    hints = [kind.__annotations__[name] for name in getattr(kind, "_fields", ()) if name in kind.__annotations__]
    return hints[index] if -len(hints) <= index < len(hints) else None
