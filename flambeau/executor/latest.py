"""Which function this thread ran last, for `jit.last_executed_optimized_graph`.

Only calls that come through Python are noted: those that native code answers by itself are counted, not told. Where the
counts say that another function may have run since, the answer is an error, not a guess.

Whatever ran before a plan is made is older than the run that the plan is made for: so the functions that native code
answers for come through Python once more after it, when they run again. That costs a call of each function that does
run, where counting the calls of all functions for each plan would cost more with every function there is.
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

    def drop_fast_paths(self) -> None:
        """Have the next call come through Python."""


class _Latest(threading.local):
    executor: weakref.ref[Runs] | None = None


_latest = _Latest()
_answering: weakref.WeakKeyDictionary[Runs, int] = weakref.WeakKeyDictionary()
"""The executors whose calls native code answers, and how often their plans had run when they last came by."""
_lock = Lock()


def note(executor: Runs) -> None:
    """`executor` runs now, by way of Python."""
    _latest.executor = weakref.ref(executor)


def is_answered(executor: Runs) -> None:
    """From now on native code answers calls of `executor`, which has just run by way of Python."""
    with _lock:
        _answering[executor] = executor.calls


def succeed(before: Runs, after: Runs) -> None:
    """`after` is what `before` was until now."""
    with _lock:
        _answering.pop(before, None)
    if _latest.executor is not None and _latest.executor() is before:
        note(after)


def makes_plan() -> None:
    """A plan is about to be made: all calls until now are older than those of the plan."""
    with _lock:
        for executor in list(_answering):
            executor.drop_fast_paths()
        _answering.clear()


def last_graph() -> Graph:
    """The graph that this thread ran last. Raises RuntimeError if it ran none, or if that cannot be told."""
    noted = None if _latest.executor is None else _latest.executor()
    graph = None if noted is None else noted.latest_graph
    if noted is None or graph is None:
        raise RuntimeError(NOTHING)
    with _lock:
        others = [e.name for e, calls in _answering.items() if e is not noted and e.calls != calls]
    if others:
        raise RuntimeError(UNCLEAR.format(names=" or ".join(sorted({noted.name, *others}))))
    return graph
