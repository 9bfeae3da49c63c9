"""What the executor tells: the passes that ran, the compilations and their causes, as objects that print well."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from flambeau.ir.draw import to_html
from flambeau.passes.pipeline import PassRecord
from flambeau.util.markup import escape
from flambeau.util.record import dataclass, field


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


def _diff_line(line: str) -> str:
    colour = {"+": "#e8f5e9", "-": "#ffebee"}.get(line[:1], "transparent")
    return f'<span style="background:{colour}">{escape(line)}</span>\n'


@dataclass(frozen=True, slots=True)
class KernelFacts:
    """One native kernel of a plan."""

    name: str
    operators: tuple[str, ...]
    state: str
    """`native`, or why it is interpreted."""
    milliseconds: float
    calls: int
    variants: int
    from_cache: int = 0
    """Variants whose machine code was found on disk."""


@dataclass(frozen=True, slots=True)
class Compilation:
    """One plan: made for what, because of what, in what time."""

    spec: str
    cause: str
    milliseconds: float
    stages: tuple[tuple[str, float], ...]
    calls: int
    kernels: tuple[KernelFacts, ...]


@dataclass(frozen=True)
class Explanation:
    """`fn.explain()`: every compilation of a function so far. Prints as a table."""

    name: str
    backend: str
    compilations: tuple[Compilation, ...]
    dropped: int
    notes: tuple[str, ...] = field(default=())

    def __str__(self) -> str:
        count = len(self.compilations)
        lines = [f"{self.name}: {count} compilation{'s' if count != 1 else ''}, backend {self.backend}"]
        for c in self.compilations:
            lines.append(f"  ({c.spec}): {c.cause}; {c.milliseconds:.1f} ms; called {c.calls} times")
            lines.append("      " + ", ".join(f"{stage} {ms:.1f} ms" for stage, ms in c.stages))
            for k in c.kernels:
                cached = f", {k.from_cache} from cache" if k.from_cache else ""
                shown = " ".join(k.operators[:8]) + (" ..." if len(k.operators) > 8 else "")
                lines.append(
                    f"      {k.name}: {k.state}, {k.variants} variant(s){cached}, {k.milliseconds:.1f} ms, "
                    f"{k.calls} calls: {shown}"
                )
        if self.dropped:
            lines.append(f"  {self.dropped} older plan(s) were dropped: raise max_plans to keep more")
        lines.extend(f"  {note}" for note in self.notes)
        return "\n".join(lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return to_html(str(self))
