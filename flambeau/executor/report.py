"""What the executor tells: the passes that ran, the compilations and what became of them, as objects that print well.

Times are in seconds where a name ends in `seconds`, in milliseconds where it ends in `milliseconds`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from flambeau.ir.draw import to_html
from flambeau.passes.pipeline import PassRecord
from flambeau.specialise.cache import CacheStatistics
from flambeau.util.markup import escape
from flambeau.util.record import dataclass, field, replace
from flambeau.util.source import SourceRange

WIDTH = 100
"""Columns that a table may take."""


class PassReport(Sequence[PassRecord]):
    """Every pass in order. Prints each that changed something, with its diff."""

    def __init__(self, records: Sequence[PassRecord], spec: str) -> None:
        self._records = list(records)
        self.spec = spec
        """What was known of the arguments."""

    def __len__(self) -> int:
        return len(self._records)

    def __getitem__(self, index: int) -> PassRecord:  # type: ignore[override]
        return self._records[index]

    def __iter__(self) -> Iterator[PassRecord]:
        return iter(self._records)

    @property
    def changes(self) -> list[PassRecord]:
        """The passes that changed the graph."""
        return [r for r in self._records if r.changed]

    def __str__(self) -> str:
        lines = [f"for arguments ({self.spec}): {len(self)} passes, {len(self.changes)} changed the graph"]
        for record in self._records:
            mark = "changed" if record.changed else "nothing"
            lines.append(f"{record.phase:>12}  {record.name:28} {record.seconds * 1e3:8.3f} ms  {mark}")
            if record.changed:
                lines.extend("    " + line for line in record.diff.splitlines()[2:])
        return "\n".join(lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        rows = [f"<p>for arguments ({escape(self.spec)})</p>"]
        for record in self._records:
            title = f"{record.phase}: {record.name}, {record.seconds * 1e3:.3f} ms"
            if not record.changed:
                rows.append(f"<div style='color:#90a4ae'>{escape(title)}, nothing</div>")
                continue
            body = "".join(_diff_line(line) for line in record.diff.splitlines()[2:])
            rows.append(f"<details><summary>{escape(title)}</summary><pre>{body}</pre></details>")
        return "\n".join(rows)


IN_CACHE = 2.0
"""Beyond the limit by more than reading beside copying explains, data lies nearer than where the limit was measured."""


def _diff_line(line: str) -> str:
    colour = {"+": "#e8f5e9", "-": "#ffebee"}.get(line[:1], "transparent")
    return f'<span style="background:{colour}">{escape(line)}</span>\n'


class Interpreted(NamedTuple):
    """A node that Python runs."""

    kind: str
    """The node's kind: `aten::roll`, `prim::DictConstruct`."""
    reason: str
    range: SourceRange | None
    """Where the program has it."""


@dataclass(frozen=True, slots=True)
class Work:
    """What a kernel does for inputs of certain shapes, and how long that takes."""

    shapes: str
    """Of the inputs."""
    bytes_moved: int
    """All inputs and outputs, each once."""
    operations: int
    """Scalar operations, folds included; a function such as exp is one."""
    estimated_seconds: float
    """By the table that chooses schedules, on one thread."""
    threads: int
    """How many threads share the work."""
    seconds: float | None = None
    """Measured: the best of a few runs on arrays of ones, which then lie in a cache if they fit; None if it was not."""
    limit_seconds: float | None = None
    """What the machine needs at least: to copy as many bytes, or for as many operations as fused products and sums,
    whichever is more. Both rates are measured once for a process, on one thread, and taken times `threads`."""
    bound: str = ""
    """Which of them: `memory` or `arithmetic`."""

    @property
    def fraction(self) -> float | None:
        """Of the machine's limit; above 1 where reading alone is faster than copying. None if it was not measured."""
        return self.limit_seconds / self.seconds if self.seconds and self.limit_seconds is not None else None

    def __str__(self) -> str:
        size = f"{self.bytes_moved:,} bytes, {self.operations:,} operations"
        if self.seconds is None or self.limit_seconds is None:
            return f"{self.shapes}: {size}, about {duration(self.estimated_seconds)}"
        rates = f"{self.bytes_moved / self.seconds / 1e9:.1f} GB/s, {self.operations / self.seconds / 1e9:.1f} Gop/s"
        times = f"{duration(self.seconds)} (estimated {duration(self.estimated_seconds)})"
        fraction = self.fraction or 0.0
        percent = f"{fraction * 100:.0f}% of the {self.bound} limit" if fraction <= 1 else f"at the {self.bound} limit"
        if fraction > IN_CACHE:
            percent = f"in a cache, where the {self.bound} limit does not hold"
        shared = f" of {self.threads} threads" if self.threads > 1 else ""
        return f"{self.shapes}: {size}, {times}: {rates}, {percent}{shared}"


@dataclass(frozen=True, slots=True)
class KernelReport:
    """One fused group of a plan."""

    name: str
    operators: tuple[str, ...]
    state: str
    """`native`, and how if a native function runs it, `not called yet`, or `interpreted: ` with the reason."""
    milliseconds: float
    """Spent on lowering and on compiling, or on finding the code on disk."""
    calls: int
    """Calls by Python; calls of a native function around it are not counted."""
    variants: int
    """Pieces of machine code: one for each form that shapes and strides ask for."""
    from_cache: int = 0
    """Variants whose machine code was found on disk."""
    range: SourceRange | None = None
    """Where its first operator is."""
    work: Work | None = None
    """For the newest shapes of inputs; None before a call, and where nothing is computed."""

    def lines(self) -> Iterator[str]:
        """What `explain` prints of it."""
        cached = f", {self.from_cache} from cache" if self.from_cache else ""
        shown = " ".join(self.operators[:8]) + (" ..." if len(self.operators) > 8 else "")
        compiled = f", {self.variants} variant(s){cached}, {self.milliseconds:.1f} ms"
        if self.state == "native":
            compiled += f", {self.calls} calls"
        yield f"{self.name}: {self.state}{compiled if self.variants else ''}: {shown}"
        if self.work is not None:
            yield f"    {self.work}"


@dataclass(frozen=True, slots=True)
class NativeReport:
    """The native functions made of a whole graph, or of a part of it."""

    name: str
    """`whole graph`, or `region_0`, `region_1`, ... in the order in which the program has them."""
    reason: str
    """Why there is none; empty where there is one, or where it has not been called."""
    milliseconds: float
    """Spent on making it, LLVM included."""
    calls: int
    variants: int
    """Functions made: one for each way in which the tensors lie in memory."""
    from_cache: int
    object_bytes: int
    """Size of the object code."""
    groups: int
    """Fused groups that it calls."""
    tight_loops: int
    """Innermost loops that nothing leaves."""
    lanes: int
    """Loops that run several iterations at a time."""
    parallel: int = 0
    """Loops over `prange` whose iterations run on several threads."""
    range: SourceRange | None = None

    def lines(self) -> Iterator[str]:
        """What `explain` prints of it."""
        where = f" ({self.range})" if self.range is not None else ""
        if self.reason or not self.variants:
            yield f"{self.name}{where}: " + (f"interpreted: {self.reason}" if self.reason else "not called yet")
            return
        cached = f", {self.from_cache} from cache" if self.from_cache else ""
        summary = f"{self.variants} variant(s){cached}, {self.milliseconds:.1f} ms, {self.object_bytes:,} bytes of code"
        inner = [
            (self.parallel, "parallel loop(s)"), (self.tight_loops, "tight loop(s)"), (self.lanes, "as lanes"),
            (self.groups, "group(s)"),
        ]  # fmt: skip
        holds = ", ".join(f"{count} {what}" for count, what in inner if count)
        yield f"{self.name}{where}: native, {summary}, {self.calls} calls" + (f": {holds}" if holds else "")


@dataclass(frozen=True, slots=True)
class Compilation:
    """One plan: made for what, because of what, in what time, and what became native."""

    spec: str
    cause: str
    milliseconds: float
    """Until the graph was ready to run; machine code is made at the first calls."""
    stages: tuple[tuple[str, float], ...]
    """Each with its milliseconds."""
    calls: int
    kernels: tuple[KernelReport, ...]
    natives: tuple[NativeReport, ...] = ()
    """The whole graph, then its regions where the whole has no native form."""
    state: str = ""
    """`native from end to end`, `native but for ...`, `interpreted`, or what has to happen first."""
    advice: tuple[str, ...] = ()
    """Of each loop, and of recursion, that is interpreted: why, where, and what to write instead."""
    interpreted: tuple[Interpreted, ...] = ()
    """What Python runs in a call; empty where all is native. Those with a reason of their own come first."""
    unusual: tuple[Interpreted, ...] = ()
    """What has a native form, and was run by Python in half of the calls or more, for sizes or layouts of tensors."""
    graphs: tuple[str, ...] = ()
    """Of a plan on devices: which calls are replayed as CUDA graphs, and why others are not."""

    @property
    def is_native(self) -> bool:
        """Whether calls run native code from end to end."""
        return not self.interpreted and self.state.startswith("native")

    def lines(self) -> Iterator[str]:
        """What `explain` prints of it."""
        for advice in self.advice:
            yield f"  {advice}"
        compiled = sum(n.milliseconds for n in self.natives) + sum(k.milliseconds for k in self.kernels)
        total = f"{self.milliseconds + compiled:.1f} ms"
        if compiled:
            total += f" ({self.milliseconds:.1f} ms until there was a graph to run, {compiled:.1f} ms for native code)"
        yield f"  ({self.spec}): {self.cause}; {total}; called {self.calls} times"
        yield f"    {self.state}"
        yield "      " + ", ".join(f"{stage} {ms:.1f} ms" for stage, ms in self.stages)
        yield from ("      " + line for line in self._parts())
        nodes, field = (self.interpreted, "interpreted") if self.interpreted else (self.unusual, "unusual")
        if nodes:
            yield f"    {len(nodes)} interpreted node{'s' if len(nodes) != 1 else ''}:"
        for kind, reason, where in nodes[:SHOWN]:
            yield f"      {kind}" + (f" ({where})" if where is not None else "") + f": {reason}"
        if len(nodes) > SHOWN:
            yield f"      and {len(nodes) - SHOWN} more: explain().compilations[k].{field} lists all"

    def _parts(self) -> Iterator[str]:
        for native in self.natives:
            yield from native.lines()
        yield from self.graphs
        for kernel in self.kernels:
            yield from kernel.lines()


SHOWN = 12
"""Interpreted nodes that are printed."""


@dataclass(frozen=True)
class Explanation:
    """`fn.explain()`: every compilation of a function so far. Prints as a table."""

    name: str
    backend: str
    compilations: tuple[Compilation, ...]
    dropped: int
    notes: tuple[str, ...] = field(default=())
    caches: tuple[CacheStatistics, ...] = field(default=())
    """Of each cache of specialised code: entries, hits, misses, evictions."""
    first_calls: int = 0
    """Calls that were answered as the program is written, before there was a plan."""

    @property
    def is_native(self) -> bool:
        """Whether there is a compilation, and every one runs native code from end to end."""
        return bool(self.compilations) and all(c.is_native for c in self.compilations)

    @property
    def interpreted(self) -> list[Interpreted]:
        """What Python runs: (kind, reason, source range) of each node, of all compilations."""
        return [node for c in self.compilations for node in c.interpreted]

    def joined(self, others: Iterable[Explanation]) -> Explanation:
        """The same with what was compiled of the function for other ways of calling it."""
        every = [self, *others]
        return replace(
            self, compilations=tuple([c for one in every for c in one.compilations]),
            dropped=sum(one.dropped for one in every), notes=tuple(dict.fromkeys([n for o in every for n in o.notes])),
            caches=tuple([cache for one in every for cache in one.caches]),
            first_calls=sum(one.first_calls for one in every),
        )  # fmt: skip

    def __str__(self) -> str:
        count = len(self.compilations)
        lines = [f"{self.name}: {count} compilation{'s' if count != 1 else ''}, backend {self.backend}"]
        for c in self.compilations:
            lines.extend(c.lines())
        if self.dropped:
            lines.append(f"  {self.dropped} older plan(s) were dropped: raise max_plans to keep more")
        lines.extend(f"  cache of {cache}" for cache in self.caches)
        lines.extend(f"  {note}" for note in self.notes)
        return "\n".join(part for line in lines for part in wrapped(line))

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return to_html(str(self))


def wrapped(line: str) -> list[str]:
    """A line in pieces of at most `WIDTH` columns; those that follow are indented further than the first."""
    indentation = line[: len(line) - len(line.lstrip())]
    words, lines = line.split(" "), []
    current = words[0]
    for word in words[1:]:
        if len(current) + 1 + len(word) > WIDTH and current.strip():
            lines.append(current)
            current = f"{indentation}    {word}"
        else:
            current += f" {word}"
    return [*lines, current]


def duration(seconds: float) -> str:
    """A time with three digits and its unit.

    >>> duration(0.0000123), duration(2.0)
    ('12.3 us', '2.00 s')
    """
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= scale:
            return f"{seconds / scale:.3g} {unit}" if unit != "s" else f"{seconds:.2f} s"
    return f"{seconds / 1e-9:.3g} ns"
