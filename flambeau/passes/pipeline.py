"""Passes run on a graph, in the order that `passes.order` has.

>>> import flambeau.ops
>>> from flambeau.ir import parse_ir
>>> graph = parse_ir('''graph(%n : int):
...   %1 : int = prim::Constant[value=1]()
...   %2 : int = aten::mul(%n, %1)
...   return (%2)''')
>>> records = optimise(graph, record=lambda r: print(r.name, r.changed) if r.changed else None)
peephole True
dce True
>>> print(graph, end="")
graph(%n : int):
  return (%n)

Steps whose operators a graph has not are passed over. A step that fails leaves an `InternalError` that names it;
nothing else is caught, and what a signal handler raises meanwhile goes to whoever waits for it.
"""

from __future__ import annotations

import difflib
import time
from collections.abc import Callable, Collection, Container, Sequence

from flambeau.analysis.manager import check_analyses, forget_analyses, keeping_analyses
from flambeau.ir.graph import Graph
from flambeau.ir.snapshot import is_same, snapshot
from flambeau.ir.verify import verify
from flambeau.passes.order import STEPS, STEPS_OF_PREPARING, base_name, names
from flambeau.passes.steps import Step
from flambeau.util.errors import InternalError
from flambeau.util.foreign import is_foreign
from flambeau.util.record import dataclass


@dataclass(frozen=True, slots=True)
class PassRecord:
    """What one pass did to one graph."""

    phase: str
    name: str
    changed: bool
    seconds: float
    before: str
    after: str

    @property
    def diff(self) -> str:
        """What it changed, as a unified diff of graph text; empty if nothing."""
        old, new = self.before.splitlines(), self.after.splitlines()
        return "\n".join(difflib.unified_diff(old, new, "before", "after", lineterm="", n=2))


Record = Callable[[PassRecord], None]


def optimise(
    graph: Graph,
    *,
    without: Collection[str] = (),
    check: bool = False,
    record: Record | None = None,
    steps: Sequence[Step] = STEPS,
) -> bool:
    """Run the passes on a graph, in place; whether anything changed.

    Leaves out the passes named in `without`, verifies the graph after each with `check`, and tells `record` what each
    did. Raises ValueError for a name that is no pass, InternalError naming the pass that failed.
    """
    unknown = set(without) - {base_name(s.name) for s in steps} - set(names())
    if unknown:
        raise ValueError(f"there is no pass called {', '.join(sorted(unknown))}; there are {', '.join(names())}")
    changed = False
    check_after = _check_each() if check else None
    with keeping_analyses(graph):
        runner = _Runner(graph, check_after, record)
        for step in steps:
            if base_name(step.name) not in without:
                changed = runner.run(step) or changed
    return changed


def prepare(graph: Graph, left_out: Sequence[str] = ()) -> None:
    """Run the first passes, up to the one after which everything is known of each value, but for some that are named.
    What they found of memory is kept for the others.
    """
    graph.analyses = {}
    runner = _Runner(graph, None, None)
    for step in STEPS_OF_PREPARING:
        if step.name not in left_out:
            runner.run(step)


def _check_each() -> Callable[[Graph, str, bool], None]:
    """What verifies a graph after steps, and checks the analyses that are kept of it. What a step left as it was is
    right still; a step that says so of what it changed raises InternalError."""
    verified: list[object] = []

    def check(graph: Graph, stage: str, changed: bool) -> None:
        nonlocal verified
        now = snapshot(graph)
        if is_same(verified, now):
            return
        if verified and not changed:
            raise InternalError(stage, "it changed the graph and says that it did not")
        verify(graph, stage=stage)
        check_analyses(graph, stage)
        verified = now

    return check


class _Runner:
    """Runs steps on one graph."""

    def __init__(
        self, graph: Graph, check_after: Callable[[Graph, str, bool], None] | None, record: Record | None
    ) -> None:
        self._graph, self._check_after, self._record = graph, check_after, record
        self._operators: set[str] | None = None
        """The operators of the graph; None since it was changed."""

    def run(self, step: Step) -> bool:
        """Run a step that may have something to do; whether it changed the graph."""
        graph, record = self._graph, self._record
        before = str(graph) if record is not None else ""
        start = time.perf_counter()
        try:
            changed = self._has_work(step.looks_for) and step.run(graph)
        except RecursionError:
            raise  # a program that is nested too deeply, which is the caller's to say
        except Exception as error:
            if is_foreign(error, besides=(step.run.__module__,)):
                raise
            raise InternalError(f"pass '{step.name}'", f"{type(error).__name__}: {error}") from error
        seconds = time.perf_counter() - start
        if record is not None:
            record(PassRecord(step.phase, step.name, changed, seconds, before, str(graph) if changed else before))
        if changed:
            self._operators = None
            if not step.preserves_aliases:
                forget_analyses(graph)
        if self._check_after is not None:
            self._check_after(graph, f"pass '{step.name}'", changed)
        return changed

    def _has_work(self, looks_for: Container[str] | None) -> bool:
        if looks_for is None:
            return True
        if self._operators is None:
            self._operators = {node.op for node in self._graph.listed_nodes()}
        return any(op in looks_for for op in self._operators)
