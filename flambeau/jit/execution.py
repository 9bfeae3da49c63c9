"""TorchScript's switches of its executor: what each means here, where plans and kernels belong to functions."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any

from flambeau.executor.latest import last_graph
from flambeau.executor.profiling.settings import settings
from flambeau.executor.profiling.switches import change, fusion_strategy
from flambeau.ir.graph import Graph
from flambeau.ir.printer import hiding_source_ranges
from flambeau.schema.opdef import OpDef
from flambeau.tensor import interceptors
from flambeau.tensor.dispatch import intercepting
from flambeau.tensor.observer import thread

STRATEGY = (
    "set_fusion_strategy is about the profiling executor, which is off in this thread: plans by arguments serve all "
    "sizes of tensors. Turn it on with flambeau._C._jit_set_profiling_executor(True), or with jit.fuser('fuser1')"
)
UNKNOWN_FUSER = "unrecognized fuser option (name: {name}): there are 'fuser0' to 'fuser3', and 'none'"
FUSERS: dict[str, dict[str, bool]] = {
    "fuser0": {},
    "fuser1": {"is_on": True, "has_mode": True, "fuses": True},
    "fuser2": {"fuses": False},
    "fuser3": {"is_on": True, "has_mode": True, "fuses": True},
    "none": {"fuses": False},
}
"""What each of TorchScript's fusers asks of this thread's calls."""


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


optimized_execution.language_form = "around_calls"  # type: ignore[attr-defined]  # programs are told where it stands
_standing = interceptors.Standing(_unoptimised)


def is_optimised() -> bool:
    """Whether this thread optimises programs."""
    return _unoptimised not in interceptors.stack().handlers


def set_optimised(should_optimize: bool) -> None:
    """Have this thread optimise programs, or run them as compiled, from here on; `optimized_execution` is for a block.
    """
    _standing.put(there=not should_optimize)


@contextmanager
def fuser(name: str) -> Iterator[None]:
    """Within the block, in this thread, calls are planned as TorchScript does it with one of its fusers.

    "fuser1" and "fuser3" profile: runs are recorded, then specialised on what was seen, behind guards. "none", and
    "fuser2", whose fuser is not here, run without fused groups. "fuser0" leaves all as it is: plans by arguments, with
    groups. Results are the same, up to the rounding of floats. Raises RuntimeError for other names.

    Args:
        name: "fuser0", "fuser1", "fuser2", "fuser3" or "none".

    >>> import flambeau
    >>> unit = flambeau.CompilationUnit("def f(x: Tensor): return flambeau.tanh(x * x) + 1")
    >>> x = flambeau.zeros(2)
    >>> with flambeau.jit.fuser("fuser1"):
    ...     unit.f(x), unit.f(x), unit.f.graph_for(x).findNode("prim::TypeCheck") is not None
    (tensor([1., 1.]), tensor([1., 1.]), True)
    """
    if name not in FUSERS:
        raise RuntimeError(UNKNOWN_FUSER.format(name=name))
    before = change(**FUSERS[name])
    try:
        yield
    finally:
        change(is_on=before.is_on, has_mode=before.has_mode, fuses=before.fuses)


fuser.language_form = "around_calls"  # type: ignore[attr-defined]


def set_fusion_strategy(strategy: Sequence[tuple[str, int]]) -> list[tuple[str, int]]:
    """Which guards the profiling executor makes in this thread, and how often; what held before.

    A guard of "STATIC" asks for the sizes and strides that were seen, one of "DYNAMIC" for dtypes and ranks alone.
    Where one fails, what runs instead is recorded and guarded in its turn, as often as the strategy says; behind the
    last, plans are made by arguments. Warns where that executor is off. Raises ValueError for other words and for
    counts below 0.

    Args:
        strategy: pairs of "STATIC" or "DYNAMIC" and a number.

    >>> with fuser("fuser1"):
    ...     before = set_fusion_strategy([("STATIC", 1), ("DYNAMIC", 1)])
    ...     set_fusion_strategy(before)
    [('STATIC', 1), ('DYNAMIC', 1)]
    """
    if not settings().is_profiling:
        warnings.warn(STRATEGY, UserWarning, stacklevel=2)
    return fusion_strategy(strategy)


_onednn = [False]


def enable_onednn_fusion(enabled: bool) -> None:
    """Say whether oneDNN may run groups of operators: programs compile them themselves, whatever is said.

    Args:
        enabled: what `onednn_fusion_enabled` then gives.

    >>> enable_onednn_fusion(False)
    """
    _onednn[0] = bool(enabled)


def onednn_fusion_enabled() -> bool:
    """What `enable_onednn_fusion` said last.

    >>> onednn_fusion_enabled()
    False
    """
    return _onednn[0]


_hide_source_ranges = hiding_source_ranges
"""Within the block, texts of graphs of this thread have no source ranges."""
