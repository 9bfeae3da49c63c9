"""Where time and counts are entered while a program is profiled, and what they look like: as a table, and as a page."""

from __future__ import annotations

import linecache
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from flambeau.executor.report import duration
from flambeau.util.markup import escape
from flambeau.util.record import dataclass, field
from flambeau.util.source import Source, SourceRange

Line = tuple[str, int]
"""A file and a 1-based line of it."""


class Ledger:
    """Counts and seconds by line, and by native part."""

    def __init__(self) -> None:
        self.hits: dict[Line, int] = {}
        self.spent: dict[Line, float] = {}
        self.sources: dict[Line, Source] = {}
        """For each source, at its first line."""
        self.regions: dict[str, tuple[int, float, Any]] = {}
        """By name: calls, seconds, and the fused group if it is one."""
        self.seconds = 0.0
        self.excess = 0.0
        """Seconds that went into compiling."""
        self._line: Line | None = None
        self._since = 0.0

    def _of(self, source_range: SourceRange | None) -> Line | None:
        if source_range is None:
            return None
        filename, line, _ = source_range.file_line_col()
        self.sources.setdefault((filename, source_range.source.first_line), source_range.source)
        return filename, line

    def hit(self, source_range: SourceRange | None, count: int) -> None:
        """A line's node ran so often: the line did if none of it ran more."""
        line = self._of(source_range)
        if line is not None:
            self.hits[line] = max(self.hits.get(line, 0), count)

    def spend(self, source_range: SourceRange | None, seconds: float) -> None:
        """Time that a line took."""
        line = self._of(source_range)
        if line is not None:
            self.spent[line] = self.spent.get(line, 0.0) + seconds

    def region(self, name: str, calls: int, seconds: float, kernel: Any = None) -> None:
        """Calls of a native part, and their time."""
        known = self.regions.get(name, (0, 0.0, kernel))
        self.regions[name] = (known[0] + calls, known[1] + seconds, kernel)

    # -- the interpreter's clock --------------------------------------------------------------------------------------

    def mark(self, source_range: SourceRange | None) -> Callable[[], None]:
        """What is called where a line begins."""
        line = self._of(source_range)
        assert line is not None
        self.hits.setdefault(line, 0)

        def begin() -> None:
            self.stop()
            self._line = line
            self.hits[line] += 1
            self._since = time.perf_counter()

        return begin

    def stop(self) -> None:
        """The line that runs ends."""
        if self._line is not None:
            self.spent[self._line] = self.spent.get(self._line, 0.0) + time.perf_counter() - self._since
            self._line = None

    @contextmanager
    def elsewhere(self) -> Iterator[None]:
        """What runs meanwhile enters its time itself."""
        line = self._line
        self.stop()
        yield
        self._line, self._since = line, time.perf_counter()


@dataclass(frozen=True, slots=True)
class LineCost:
    """A line of the program."""

    filename: str
    line: int
    """1-based."""
    source: str
    hits: int
    """How often it ran; of the line of a loop, how many iterations. 0 where nothing is left of it."""
    seconds: float


@dataclass(frozen=True, slots=True)
class RegionCost:
    """A native part: a fused group, a loop, or the whole graph. Its time is also in that of the lines in it."""

    name: str
    calls: int
    seconds: float
    operators: tuple[str, ...] = ()
    bytes_moved: int = 0
    """In all calls, if each had the newest shapes; 0 where it is no fused group."""
    operations: int = 0
    limit_seconds: float | None = None
    """What the machine needs at least for that: see `Work`."""

    @property
    def fraction(self) -> float | None:
        """Of the machine's limit."""
        return self.limit_seconds / self.seconds if self.limit_seconds is not None and self.seconds else None

    def __str__(self) -> str:
        text = f"{self.name}: {self.calls:,} calls, {duration(self.seconds)}"
        if self.bytes_moved and self.seconds:
            rates = self.bytes_moved / self.seconds / 1e9, self.operations / self.seconds / 1e9
            text += f", {rates[0]:.1f} GB/s, {rates[1]:.1f} Gop/s"
        if self.fraction is not None:
            text += f", {self.fraction * 100:.0f}% of the machine's limit"
        return text + (f": {' '.join(self.operators[:6])}" if self.operators else "")


@dataclass(frozen=True)
class Profile:
    """`fn.profile(*args)`: one call, line by line. Prints as a table beside the source."""

    name: str
    seconds: float
    """Of the call; what went into compiling left aside."""
    lines: tuple[LineCost, ...]
    """All lines of the functions that ran, in order of files and lines."""
    regions: tuple[RegionCost, ...]
    result: Any = field(repr=False)
    """What the call gave."""

    def __getitem__(self, line: int) -> LineCost:
        """A line by its number, if there is one file. Raises KeyError for a line that is not there."""
        for cost in self.lines:
            if cost.line == line:
                return cost
        raise KeyError(f"line {line} is not in the profile of {self.name}")

    def __str__(self) -> str:
        text = [f"{self.name}: {duration(self.seconds)}", f"{'line':>6} {'hits':>12} {'time':>9} {'%':>5}  source"]
        for filename, lines in self._files():
            text.append(f"-- {filename}")
            for cost in lines:
                spent = duration(cost.seconds) if cost.seconds else ""
                hits = f"{cost.hits:,}" if cost.hits else ""
                share = f"{self._share(cost) * 100:.1f}" if cost.seconds else ""
                text.append(f"{cost.line:>6} {hits:>12} {spent:>9} {share:>5}  {cost.source[:61]}".rstrip())
        return "\n".join([*text, *(f"   {region}" for region in self.regions)])

    __repr__ = __str__

    def _share(self, cost: LineCost) -> float:
        return min(cost.seconds / self.seconds, 1.0) if self.seconds else 0.0

    def _files(self) -> Iterator[tuple[str, list[LineCost]]]:
        for filename in dict.fromkeys(cost.filename for cost in self.lines):
            yield filename, [cost for cost in self.lines if cost.filename == filename]

    def to_html(self) -> str:
        """A picture: the source with a bar for the time of each line, as HTML without scripts."""
        rows = [f"<p><b>{escape(self.name)}</b>: {duration(self.seconds)}</p><table {_TABLE}>"]
        for filename, lines in self._files():
            rows.append(f"<tr><td colspan=5 style='color:#607d8b;text-align:left'>{escape(filename)}</td></tr>")
            rows += [_row(cost, self._share(cost)) for cost in lines]
        rows.append("</table>")
        rows += [f"<div style='font:12px ui-monospace,monospace'>{escape(str(r))}</div>" for r in self.regions]
        return "\n".join(rows)

    _repr_html_ = to_html

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the picture as a page. Raises OSError where that is not possible."""
        head = f"<!doctype html><html lang='en'><meta charset='utf-8'><title>{escape(self.name)}</title>"
        Path(path).write_text(f"{head}{self.to_html()}</html>\n", encoding="utf-8")


_TABLE = "style='font:12px/1.4 ui-monospace,monospace;border-collapse:collapse;text-align:right'"


def _row(cost: LineCost, share: float) -> str:
    spent = duration(cost.seconds) if cost.seconds else ""
    colour = "#ef6c00" if share > 0.3 else "#ffb74d" if share > 0.05 else "#ffe0b2"
    bar = f"<div style='background:{colour};width:{share * 160:.0f}px;height:11px'></div>"
    cells = (f"{cost.line}", f"{cost.hits:,}" if cost.hits else "", spent)
    left = "".join(f"<td style='padding:0 8px'>{cell}</td>" for cell in cells)
    return f"<tr>{left}<td style='width:160px'>{bar}</td>" + (
        f"<td style='text-align:left;white-space:pre;padding-left:8px'>{escape(cost.source)}</td></tr>"
    )


def lines_of(ledger: Ledger) -> tuple[LineCost, ...]:
    """The lines of all sources in a ledger."""
    texts: dict[Line, str] = {}
    for (filename, first), source in ledger.sources.items():
        if source.text is None:
            continue
        for number, text in enumerate(source.text.rstrip("\n").split("\n")):
            texts[filename, first + number] = " " * source.leading_whitespace + text
    foreign = {source.filename for source in ledger.sources.values() if not source.is_local}
    for filename, line in [*ledger.hits, *ledger.spent]:
        quoted = "" if filename in foreign else linecache.getline(filename, line).rstrip("\n")
        texts.setdefault((filename, line), quoted)
    return tuple(
        LineCost(*line, texts[line], ledger.hits.get(line, 0), ledger.spent.get(line, 0.0)) for line in sorted(texts)
    )
