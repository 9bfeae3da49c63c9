"""What is hot and interpreted: counted while the machine runs it, and warned of once for each function and line.

A loop is counted when it ends, a function that calls itself when it is called; both cost little beside one iteration.
What runs seldom is not worth a word.
"""

from __future__ import annotations

import warnings
import weakref
from collections.abc import Callable

from flambeau.executor.advice import SlowPart, Whole, calls_itself, loop_part, operator_part, recursion_part
from flambeau.executor.compiled_graph import HOT
from flambeau.executor.region import Region
from flambeau.interpreter.compile import compile_graph
from flambeau.ir.graph import Graph, Node
from flambeau.passes.inline import callee_of
from flambeau.program.function import Function
from flambeau.util.errors import PerformanceWarning
from flambeau.util.locks import Lock
from flambeau.util.source import SourceRange

TEXT = (
    "{name}: {part}.\n{place}It ran {count:,} iterations so far. To accept that, script it with "
    "backend='interpreter', or warnings.filterwarnings('ignore', '{name}: ', flambeau.PerformanceWarning)"
)

_warned: weakref.WeakKeyDictionary[Function, set[SourceRange | None]] = weakref.WeakKeyDictionary()
"""The source ranges of each function that were warned of."""
_lock = Lock()


AT_ONCE = 64
"""Iterations of a loop that are counted together: of short loops the counting would take as long as the running."""


class Watch:
    """Counts for one plan."""

    def __init__(self, function: Function) -> None:
        self._function = function
        self.whole: Whole = "", None
        """Why the function is not native as a whole."""
        self._counts: dict[SourceRange | None, int] = {}
        self._due: dict[SourceRange | None, Callable[[], SlowPart]] = {}

    def loop(self, node: Node, region: Region | None = None) -> Callable[[int], None]:
        """What is called with the iterations of a loop when it ends."""

        def part() -> SlowPart:
            if region is not None:
                return loop_part(node, region.reason, region.blamed, self.whole)
            return loop_part(node, "", None, self.whole)

        waiting = 0

        def ended(iterations: int) -> None:
            nonlocal waiting
            waiting += iterations
            if waiting >= AT_ONCE:
                self._count(node.range, waiting, part)
                waiting = 0

        return ended

    def operator(self, node: Node, reason: str) -> None:
        """Python has often run a node for native code."""
        self._counts[node.range] = HOT
        self._due[node.range] = lambda: operator_part(node, reason)
        self.tell()

    def calls(self, graph: Graph, reason: str, blamed: Node | None) -> None:
        """Have a function that calls itself count its calls, in a graph that has no native form."""
        call = calls_itself(graph)
        function = callee_of(call) if call is not None else None
        if call is None or function is None:
            return
        node = call

        def part() -> SlowPart:
            return recursion_part(node, reason, blamed)

        function.bytecode = compile_graph(
            function.graph, function.short_name, self.loop, lambda: self._count(node.range, 1, part)
        )

    def _count(self, source_range: SourceRange | None, more: int, part: Callable[[], SlowPart]) -> None:
        count = self._counts[source_range] = self._counts.get(source_range, 0) + more
        if count > HOT and count - more <= HOT:
            self._due[source_range] = part

    def tell(self) -> None:
        """Warn of what has become hot since this was last asked."""
        while self._due:
            source_range, part = self._due.popitem()
            with _lock:
                warned = _warned.setdefault(self._function, set())
                if source_range in warned:
                    continue
                warned.add(source_range)
            self._warn(source_range, part())

    def _warn(self, source_range: SourceRange | None, part: SlowPart) -> None:
        filename, line, _ = source_range.file_line_col() if source_range is not None else ("<script>", 1, 0)
        blamed = part.blamed or source_range
        shown = blamed.highlight(context_lines=1) if blamed is not None else ""
        text = TEXT.format(name=self._function.short_name, part=part, count=self._counts[source_range], place=shown)
        warnings.warn_explicit(text, PerformanceWarning, filename, line, registry={})
