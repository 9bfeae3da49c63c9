"""The way back through operators that come often: the formulas of all operands as one plan, where each operator of each
formula ran by itself.

What holds of `repeated_operators` holds here: a plan is made behind the calls, and serves values like those of one
only where it gives the same bits sooner.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from flambeau.autodiff.proxies import UntraceableError
from flambeau.executor.large_gradients import IndexedFormulas, traced
from flambeau.executor.repeated_operators import Planned, native_for, planned_for
from flambeau.util.inversions import REPEATED_GRADIENTS
from flambeau.util.missed import MISSED

Native = Callable[..., Any]

_formulas: list[IndexedFormulas] = []
"""The formulas of plans, which are known by them: they stay alive."""


@REPEATED_GRADIENTS.provide
def _native(name: str, formulas: IndexedFormulas, run: Native, values: Sequence[Any], count: int) -> Any:
    """What computes gradients from the tensors among values; None where there is nothing yet, `MISSED` where there
    will be nothing."""

    def new() -> Planned:
        _formulas.append(formulas)
        try:
            graph, passed = traced(formulas, values, True)
        except UntraceableError:
            return Planned(name, None)
        return Planned(f"gradients_of_{name}", graph if passed == [None] * len(passed) else None)

    planned = planned_for((name, *map(id, formulas)), values, new)
    listed = _in_list if len(formulas) == 1 else _listed
    return MISSED if planned is None else native_for(planned, f"gradients of {name}", run, values, count, listed)


def _in_list(native: Native) -> Native:
    """Native code of one gradient, as a list."""

    def call(*tensors: Any) -> Any:
        result = native(*tensors)
        return result if result is MISSED else [result]

    return call


def _listed(native: Native) -> Native:
    """Native code of several, as a list."""

    def call(*tensors: Any) -> Any:
        result = native(*tensors)
        return result if result is MISSED else [*result]

    return call
