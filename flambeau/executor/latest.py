"""Which function this thread ran last, for `jit.last_executed_optimized_graph`.

Only calls that come through Python are noted: those that native code answers by itself are counted, not told. So the
counts are looked at, and where they say that another function may have run since, the answer is an error, not a guess.
"""

from __future__ import annotations

import threading
import weakref
from typing import Protocol

from flambeau.ir.graph import Graph
from flambeau.util.locks import Lock

NOTHING = "no compiled function has run in this thread; call one, or ask a function itself: fn.graph_for(*args)"
UNCLEAR = (
    "cannot tell which function ran last, {names}: calls that native code answers are counted, not ordered. Ask the "
    "function itself: fn.graph_for(*args)"
)


class Runs(Protocol):
    """An executor, as far as this module knows it."""

    @property
    def calls(self) -> int:
        """How often its plans ran."""

    @property
    def latest_graph(self) -> Graph | None:
        """The graph of the plan used last."""

    @property
    def name(self) -> str:
        """The function's."""


class _Latest(threading.local):
    executor: weakref.ref[Runs] | None = None


_latest = _Latest()
_counts: weakref.WeakKeyDictionary[Runs, int] = weakref.WeakKeyDictionary()
"""The executors that have plans, and how often these had run when that was last looked at."""
_lock = Lock()


def note(executor: Runs) -> None:
    """`executor` runs now, by way of Python."""
    _latest.executor = weakref.ref(executor)


def makes_plan(executor: Runs) -> None:
    """`executor` is about to make a plan: all calls until now are older than those of the plan."""
    with _lock:
        _counts[executor] = 0
        for other in _counts:
            _counts[other] = other.calls


def last_graph() -> Graph:
    """The graph that this thread ran last. Raises RuntimeError if it ran none, or if that cannot be told."""
    noted = None if _latest.executor is None else _latest.executor()
    graph = None if noted is None else noted.latest_graph
    if noted is None or graph is None:
        raise RuntimeError(NOTHING)
    with _lock:
        others = [e.name for e, calls in _counts.items() if e is not noted and e.calls != calls]
    if others:
        raise RuntimeError(UNCLEAR.format(names=" or ".join(sorted({noted.name, *others}))))
    return graph
