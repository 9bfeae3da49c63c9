"""Functions that were decorated with `no_grad()`, `enable_grad()` or `autocast(...)`: their graphs enter that block.

graph(%x):                      graph(%x):
  %y = aten::mul(%x, %x)          %c : Any = ^no_grad()
  return (%y)              →      %e : Any = prim::Enter(%c)
                                  %y = aten::mul(%x, %x)
                                  prim::Exit(%c)
                                  return (%y)
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

from flambeau.ir.constants import insert_constant
from flambeau.program.function import Function
from flambeau.schema.types import ANY
from flambeau.tensor.autocast import AUTOCAST, autocast
from flambeau.tensor.grad_mode import GRAD_MODE, enable_grad, no_grad


def within_decorators(function: Function, written: Any) -> Function:
    """The compiled function, within the blocks of the decorators that the written one has."""
    decorators = _attributes(written)
    for arguments in reversed(_precisions(decorators)):
        _surround(function, autocast, arguments)
    enabled = _grad_mode(decorators)
    if enabled is not None:
        _surround(function, enable_grad if enabled else no_grad, ())
    return function


def has_blocks(written: Any) -> bool:
    """Whether a function has decorators that are blocks around it."""
    decorators = _attributes(written)
    return _grad_mode(decorators) is not None or bool(_precisions(decorators))


def _attributes(written: Any) -> dict[str, Any]:
    value = written
    while inspect.ismethod(value) or isinstance(value, staticmethod | classmethod):
        value = value.__func__
    return vars(value) if inspect.isfunction(value) else {}


def _grad_mode(decorators: dict[str, Any]) -> bool | None:
    mode = decorators.get(GRAD_MODE)
    return mode if isinstance(mode, bool) else None


def _precisions(decorators: dict[str, Any]) -> list[tuple[str, int, bool]]:
    """What each `autocast` above a function says, the outermost first."""
    return [(device, dtype.code, enabled) for device, dtype, enabled in decorators.get(AUTOCAST, ())]


def _surround(function: Function, context: Any, arguments: Sequence[Any]) -> None:
    """Enter a block at the beginning of a graph, and leave it at its end."""
    graph = function.graph
    first = next(iter(graph.body), graph.body.return_node)
    with graph.inserting(first):
        operands = [insert_constant(graph, argument) for argument in arguments]
        entered = graph.insert(f"^{context.__name__}", operands, [ANY], callable=context).result()
        graph.insert("prim::Enter", [entered], [ANY])
    with graph.inserting(graph.body):
        graph.insert("prim::Exit", [entered], [])
