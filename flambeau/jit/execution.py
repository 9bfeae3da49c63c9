"""TorchScript's switches of its executor: what each means here, where plans and kernels belong to functions."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any

from flambeau.executor.latest import last_graph
from flambeau.ir.graph import Graph
from flambeau.ir.printer import hiding_source_ranges
from flambeau.schema.opdef import OpDef
from flambeau.tensor import interceptors
from flambeau.tensor.dispatch import intercepting
from flambeau.tensor.observer import thread

STRATEGY = (
    "set_fusion_strategy has nothing to set: one plan serves all sizes of tensors. How many plans (by dtype, rank and "
    "sizes of 1) a function keeps is its own choice: script(fn, max_plans=16)"
)
ONE_FUSER = "{name} is not here: there is one fuser. script(fn, without=('fuse', 'fuse_products')) leaves it out"
UNKNOWN_FUSER = "unrecognized fuser option (name: {name}): 'fuser0' and 'fuser1' stand for the one there is"


def last_executed_optimized_graph() -> Graph:
    """The optimised graph of the function that this thread called last.

    Raises RuntimeError if no compiled function has run, and where calls that never came through Python leave open which
    function was the last; `fn.graph_for(*args)` always answers.

    >>> import flambeau
    >>> unit = flambeau.CompilationUnit("def f(x: Tensor): return x + x")
    >>> y = unit.f(flambeau.ones(2))
    >>> last_executed_optimized_graph().find("prim::FusionGroup") is not None
    True
    """
    return last_graph()


def _unoptimised(definition: OpDef, arguments: Sequence[Any], proceed: Callable[[Sequence[Any]], Any]) -> Any:
    """An interceptor that changes nothing: what is intercepted runs as it was compiled, an operator at a time."""
    return proceed(arguments)


@contextmanager
def optimized_execution(should_optimize: bool) -> Iterator[None]:
    """With False, this thread runs programs within the block as compiled: no passes, no native code.

    With True they are optimised, as they are outside of any block. Results are the same, up to the rounding of floats.

    Args:
        should_optimize: whether programs are optimised.

    >>> import flambeau
    >>> unit = flambeau.CompilationUnit("def f(x: Tensor): return x + x")
    >>> with optimized_execution(False):
    ...     unit.f(flambeau.ones(2))
    tensor([2., 2.])
    """
    before = thread.handlers
    stack = interceptors.stack()
    others = tuple(handler for handler in stack.handlers if handler is not _unoptimised)
    try:
        interceptors.set_stack(stack._replace(handlers=others))
        with nullcontext() if should_optimize else intercepting(_unoptimised):
            yield
    finally:
        thread.handlers = before


@contextmanager
def fuser(name: str) -> Iterator[None]:
    """Accepts 'fuser0' and 'fuser1', which stand for the one fuser there is: the block runs as any other.

    Raises RuntimeError for other back ends, 'fuser2' (nvFuser) and 'fuser3' (oneDNN), and for what is none.

    Args:
        name: "fuser0" or "fuser1".

    >>> import flambeau
    >>> with flambeau.jit.fuser("fuser1"):
    ...     total = flambeau.ones(2).sum()
    >>> total
    tensor(2.)
    """
    if name in ("fuser2", "fuser3"):
        raise RuntimeError(ONE_FUSER.format(name=name))
    if name not in ("fuser0", "fuser1"):
        raise RuntimeError(UNKNOWN_FUSER.format(name=name))
    yield


def set_fusion_strategy(strategy: Sequence[tuple[str, int]]) -> list[tuple[str, int]]:
    """Warns that there is nothing to set: plans do not depend on sizes, and a function chooses how many it keeps.

    Args:
        strategy: pairs of a word and a number.
    """
    warnings.warn(STRATEGY, UserWarning, stacklevel=2)
    return []


_hide_source_ranges = hiding_source_ranges
"""Within the block, texts of graphs of this thread have no source ranges."""
