"""Functions that were decorated with `no_grad()` or `enable_grad()`: their graphs enter what the decorator does.

graph(%x):                      graph(%x):
  %y = aten::mul(%x, %x)          %c : Any = ^no_grad()
  return (%y)              →      %e : Any = prim::Enter(%c)
                                  %y = aten::mul(%x, %x)
                                  prim::Exit(%c)
                                  return (%y)
"""

from __future__ import annotations

import inspect
from typing import Any

from flambeau.program.function import Function
from flambeau.schema.types import ANY
from flambeau.tensor.grad_mode import GRAD_MODE, enable_grad, no_grad


def within_grad_mode(function: Function, written: Any) -> Function:
    """The compiled function, within the block of the decorator that the written one has, if it has one."""
    enabled = grad_mode_of(written)
    if enabled is None:
        return function
    graph, context = function.graph, enable_grad if enabled else no_grad
    first = next(iter(graph.body), graph.body.return_node)
    with graph.inserting(first):
        entered = graph.insert(f"^{context.__name__}", [], [ANY], callable=context).result()
        graph.insert("prim::Enter", [entered], [ANY])
    with graph.inserting(graph.body):
        graph.insert("prim::Exit", [entered], [])
    return function


def grad_mode_of(written: Any) -> bool | None:
    """Whether the decorator of a function records; None for a function without one."""
    value = written
    while inspect.ismethod(value) or isinstance(value, staticmethod | classmethod):
        value = value.__func__
    mode = vars(value).get(GRAD_MODE) if inspect.isfunction(value) else None
    return mode if isinstance(mode, bool) else None
