"""Types of values, said while a function is traced.

>>> from flambeau import Tensor, fx
>>> traced = fx.symbolic_trace(lambda x: annotate(x + 1, Tensor).relu())
>>> [node.type for node in traced.graph.nodes if node.name == "add"] == [Tensor]
True
"""

from __future__ import annotations

from typing import Any, Final

from flambeau.fx.proxy import Proxy

TYPED_TWICE: Final = "{node} has the type {known} already, and is annotated with {type}: annotate another value"
__all__ = ["annotate"]


def annotate(val: Any, type: Any) -> Any:
    """The value itself; where it stands for a traced one, its node has the type from now on.

    Args:
        val: any value.
        type: what it is.

    Raises TypeError for a traced value whose node has a type.

    >>> annotate(3, int)
    3
    """
    if isinstance(val, Proxy):
        if val.node.type is not None:
            raise TypeError(TYPED_TWICE.format(node=val.node, known=val.node.type, type=type))
        val.node.type = type
    return val
