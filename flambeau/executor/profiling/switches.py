"""Calls of threads that have asked for the profiling executor, or for no groups: what runs them, and what they ran."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from flambeau.executor import lost_numbers
from flambeau.executor.executor import Executor
from flambeau.executor.options import FUSING
from flambeau.executor.profiling.profiled_function import ProfiledFunction
from flambeau.executor.profiling.settings import WORDS, Settings, is_alone, set_settings, settings
from flambeau.executor.recording import local as recording
from flambeau.ir.frozen import freeze
from flambeau.ir.graph import Graph
from flambeau.schema.dtype import DType
from flambeau.tensor.defaults import get_default_dtype
from flambeau.tensor.dispatch import uninterrupted
from flambeau.tensor.grad_mode import is_grad_enabled
from flambeau.util.kept_on import KeptOn
from flambeau.util.record import replace

NO_PAIR: Final = (
    "a fusion strategy is a list of pairs of 'STATIC' or 'DYNAMIC' and a number, such as "
    "[('STATIC', 2), ('DYNAMIC', 10)]; got {pair!r} in it"
)
_profiled: KeptOn[Executor, tuple[Settings, DType, ProfiledFunction]] = KeptOn()
_unfused: KeptOn[Executor, Executor] = KeptOn()


def change(**parts: Any) -> Settings:
    """Have these parts of this thread's settings be others from here on; the settings before."""
    before = settings()
    set_settings(replace(before, **parts), _run)
    return before


def fusion_strategy(strategy: Sequence[tuple[str, int]]) -> list[tuple[str, int]]:
    """Set which guards this thread's calls have, one within the fallback of another; those before.

    Raises TypeError for what is no list of pairs, ValueError for an unknown word or a count below 0.
    """
    pairs = []
    for pair in strategy:
        if not (isinstance(pair, tuple | list) and len(pair) == 2 and isinstance(pair[1], int)):
            raise TypeError(NO_PAIR.format(pair=pair))
        if pair[0] not in WORDS:
            raise ValueError(f"FusionBehavior only supported 'STATIC' or 'DYNAMIC', got: {pair[0]}")
        if pair[1] < 0:
            raise ValueError(f"{pair[0]} guards are made 0 or more times, not {pair[1]}")
        pairs.append((str(pair[0]), int(pair[1])))
    return list(change(strategy=tuple(pairs)).strategy)


def _run(executor: Executor, arguments: Sequence[Any]) -> Any:
    """Run the function of an executor as this thread asks."""
    is_plain = is_alone() and executor.is_noted and executor.options.backend == "native"
    if not is_plain or executor.is_dispatched(arguments) or _needs_derivative(executor, arguments):
        recording.recorder = None
        try:
            return executor(*arguments)
        finally:
            recording.recorder = _run
    runner = _profiled_of(executor) if settings().is_profiling else _unfused_of(executor)
    with uninterrupted():
        return runner(*arguments)


def _needs_derivative(executor: Executor, arguments: Sequence[Any]) -> bool:
    """Whether derivatives go through numbers that are read from tensors: operators one by one would lose them."""
    if not is_grad_enabled() or not settings().is_profiling:
        return False
    try:
        lost_numbers.refuse(executor.function, arguments, lost_numbers.WATCHED)
    except RuntimeError:
        return True
    return False


def _profiled_of(executor: Executor) -> ProfiledFunction:
    wanted, dtype = settings(), get_default_dtype()
    known = _profiled.get(executor)
    if known is None or known[:2] != (wanted, dtype) or known[2].source is not executor.function.frozen_graph:
        known = _profiled[executor] = wanted, dtype, ProfiledFunction(executor.function, executor.options, wanted)
    return known[2]


def _unfused_of(executor: Executor) -> Executor:
    known = _unfused.get(executor)
    if known is None:
        options = replace(executor.options, without=executor.options.without | FUSING)
        known = _unfused[executor] = Executor(executor.function, options)
    return known


def graph_for(executor: Executor, arguments: Sequence[Any]) -> Graph:
    """The optimised graph that runs in this thread for arguments like these."""
    if settings().is_profiling:
        graph = _profiled_of(executor).graph
    else:
        graph = (executor if settings().fuses else _unfused_of(executor)).plan_for(arguments).graph
    freeze(graph, plan_of=executor.name)
    return graph


def profiled_function(executor: Executor) -> ProfiledFunction | None:
    """The function as this or another thread had it profiled last; None where nobody did."""
    known = _profiled.get(executor)
    return None if known is None else known[2]


def forget(executor: Executor) -> None:
    """Count runs of a function anew."""
    _profiled.pop(executor)
    _unfused.pop(executor)
