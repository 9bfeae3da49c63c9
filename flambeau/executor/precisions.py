"""Calls within `autocast`: plans of a function in which the mixed precision around the call is explicit casts.

A call that nobody else watches needs no operator to be seen: the plan has the casts (`flambeau.passes.autocast`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from flambeau.executor.inlined_graph import within_precision
from flambeau.program.function import Function
from flambeau.specialise.cache import SpecialisationCache
from flambeau.tensor.autocast_state import Precision
from flambeau.tensor.interceptors import Interceptors
from flambeau.tensor.observer import thread

MOST: Final = 4
"""Mixed precisions that a function has plans for."""


def alone() -> Precision:
    """The mixed precision of this thread, if nothing else is between calls and kernels."""
    here = thread.handlers
    if not here or not here.autocast or thread.observer is not None:
        return ()
    precision: Precision = here.autocast
    return precision if here == Interceptors(autocast=precision) else ()


class Precisions:
    """One function, for calls in each mixed precision."""

    def __init__(self, function: Function, attach: Callable[[Function], Callable[..., Any]]) -> None:
        self._function = function
        self._attach = attach
        """Gives a function what runs it."""
        self.cache: SpecialisationCache[Precision, Callable[..., Any]] = SpecialisationCache(
            "mixed precisions", MOST, describe=describe
        )

    def __call__(self, precision: Precision, arguments: Sequence[Any]) -> Any:
        """Run a call within blocks of this mixed precision."""
        runner = self.cache.get_or_make(precision, lambda cause: self._make(precision))
        before, thread.handlers = thread.handlers, ()
        try:
            return runner(*arguments)
        finally:
            thread.handlers = before

    def _make(self, precision: Precision) -> Callable[..., Any]:
        return self._attach(within_precision(self._function, precision))


def describe(precision: Precision) -> str:
    """A mixed precision in words: `bfloat16 on cpu`.

    >>> from flambeau.schema.dtype import bfloat16
    >>> describe((("cpu", bfloat16),))
    'bfloat16 on cpu'
    """
    return ", ".join(f"{dtype.name} on {device}" for device, dtype in precision)
