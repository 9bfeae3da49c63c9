"""A breakpoint in the code of a graph.

>>> from flambeau import fx
>>> traced = set_trace(fx.symbolic_trace(lambda x: x + 1))
>>> "breakpoint()" in traced.code
True
"""

from __future__ import annotations

from flambeau.fx.graph_module import GraphModule

__all__ = ["set_trace"]


def set_trace(gm: GraphModule) -> GraphModule:
    """Have the code of a graph stop in the debugger where it begins, and give the module.

    Args:
        gm: the module; what changes its code already stays.

    >>> from flambeau import fx
    >>> set_trace(fx.symbolic_trace(lambda x: x)).code.strip().splitlines()[1].strip()
    'breakpoint()'
    """
    gm.graph.on_generate_code(lambda before: lambda lines: ["breakpoint()\n", *(before(lines) if before else lines)])
    gm.recompile()
    return gm
