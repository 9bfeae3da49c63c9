"""What was measured, as tables on the terminal, as a page, and for JSON."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from benchmarks.harness import OURS, Cost, Goal, Row
from benchmarks.limits import Limits

ORDER = (OURS, "numpy", "numba", "numexpr", "torch", "torch.jit", "torch.compile", "jax")
MARKS = {"parallel": "p", "fastmath": "f", "library": "l", "slices": "s"}
"""How the variant that was fastest is told beside its time."""
MEANS = {"rows": 1.2, "loops": 1.5}
"""What the geometric mean of a kind should reach, where its rows alone do not say enough."""
LEGEND = """\
Medians in microseconds per call; of each its fastest variant counts: `fastmath=True` (f; ours too, in loops),
loops over `prange` on several threads, of one program for Numba (`parallel=True`) and us (p), Numba's with slices in
place of loops (s), PyTorch's own operation for the whole (l). The best peer is in bold. **ratio** is the best peer's
time over ours: above 1 Flambeau is faster. **goal** says against whom it
is, where not the best peer; **reached** gives the ratio to that one. **of limit** is the least time that the machine
needs for the row's bytes or arithmetic, over ours.
What is left out is told below the tables."""


@dataclass(kw_only=True)
class Run:
    """One process's rows, all with the same number of threads."""

    title: str
    environment: dict[str, Any]
    limits: Limits
    rows: list[Row] = field(default_factory=list)
    stopped: str = ""
    """Why rows are missing at the end."""


def as_dict(row: Row) -> dict[str, Any]:
    """A row for JSON."""
    return asdict(row) | {"ratio": row.ratio(), "met": row.met}


def from_dict(found: dict[str, Any]) -> Row:
    """The row of such a dict."""
    return Row(
        name=found["name"], kind=found["kind"], goal=Goal(**found["goal"]), cost=Cost(**found["cost"]),
        microseconds=found["microseconds"], missing=found["missing"],
    )  # fmt: skip


def number(value: float) -> str:
    """Three places, never an exponent."""
    if value >= 100:
        return f"{float(f'{value:.3g}'):,.0f}"
    return f"{value:.3g}"


def peers_of(rows: Iterable[Row]) -> list[str]:
    """The columns that these rows need."""
    found = dict.fromkeys(peer for row in rows for peer in row.families())
    return [p for p in ORDER if p in found] + [p for p in found if p not in ORDER]


def table(rows: Sequence[Row], limits: Limits) -> list[list[str]]:
    """Head and cells; the best peer's are between asterisks."""
    peers = peers_of(rows)
    lines = [["workload", *peers, "ratio", "goal", "reached", "of limit"]]
    for row in rows:
        families, best = row.families(), row.best_peer
        cells = []
        for peer in peers:
            variant, value = families.get(peer, ("", 0.0))
            text = number(value) + (f" {MARKS[variant]}" if variant else "") if peer in families else "-"
            cells.append(f"**{text}**" if peer == best else text)
        ratio = row.ratio()
        cells += [f"{ratio:.2f}x" if ratio else "-", str(row.goal), reached(row), share(row, limits)]
        lines.append([row.name, *cells])
    return lines


def reached(row: Row) -> str:
    """Whether the goal is met, with the ratio where it is against a peer of its own."""
    if row.met is None:
        return "-"
    ratio = row.ratio(row.goal.against) if row.goal.against != "best" else None
    if row.goal.nanoseconds is not None:
        ratio = None
    return (f"{ratio:.2f}x " if ratio else "") + ("yes" if row.met else "no")


def share(row: Row, limits: Limits) -> str:
    """How much of what the machine can do, and which limit."""
    if row.ours is None or row.cost == Cost():
        return "-"
    least, what = limits.microseconds(row.cost)
    return f"{least / row.ours:.0%} {what}" if least / row.ours >= 0.005 else "-"


def means(rows: Iterable[Row]) -> dict[str, tuple[float, int, int, int]]:
    """Per kind and for all: geometric mean of the ratios to the goals' references, rows, those at 1x, goals met."""
    kinds: dict[str, list[Row]] = {}
    for row in rows:
        if row.ratio(row.goal.against) is not None:
            kinds.setdefault(row.kind, []).append(row)
            kinds.setdefault("all", []).append(row)
    kinds["all"] = kinds.pop("all", [])
    found = {}
    for kind, members in kinds.items():
        ratios = [r for row in members if (r := row.ratio(row.goal.against)) is not None]
        if ratios:
            found[kind] = (
                statistics.geometric_mean(ratios), len(ratios), sum(r >= 1 for r in ratios),
                sum(bool(row.met) for row in members),
            )  # fmt: skip
    return found


def aligned(lines: Sequence[Sequence[str]]) -> str:
    """A table for the terminal."""
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    padded = [[c.rjust(w) if i else c.ljust(w) for i, (c, w) in enumerate(zip(x, widths, strict=True))] for x in lines]
    return "".join("  ".join(line).rstrip() + "\n" for line in padded)


def markdown(lines: Sequence[Sequence[str]]) -> str:
    """A table for a page."""
    head, *body = ["| " + " | ".join(c.replace("|", "\\|") for c in line) + " |\n" for line in lines]
    return head + "|---|" + "---:|" * (len(lines[0]) - 1) + "\n" + "".join(body)


def notes(rows: Iterable[Row]) -> list[str]:
    """Why peers are missing, a line per peer and reason; of those that are not installed, one line without the rows."""
    found: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        for peer, why in row.missing.items():
            found.setdefault((peer, why), []).append(row.name)
    return [
        f"{peer}: {why}" + ("" if why.startswith("not installed") else f" ({'; '.join(names)})")
        for (peer, why), names in found.items()
    ]


def text(runs: Iterable[Run]) -> str:
    """Everything, for the terminal."""
    parts = []
    for run in runs:
        parts.append(f"\n== {run.title}\n   limits: {run.limits}\n")
        for kind in dict.fromkeys(row.kind for row in run.rows):
            rows = [row for row in run.rows if row.kind == kind]
            parts.append(f"\n{kind}\n" + aligned(table(rows, run.limits)).replace("**", ""))
        parts.append("\n" + aligned(_summary(run)))
        parts += [f"  {note}\n" for note in notes(run.rows)]
        parts.append(f"  {run.stopped}\n" if run.stopped else "")
    return "".join(parts)


def _summary(run: Run) -> list[list[str]]:
    lines = [["kind", "geometric mean", "goal", "rows", "at 1x or more", "goals reached"]]
    for kind, (mean, count, even, met) in means(run.rows).items():
        goal = f"{MEANS[kind]:.1f}x" if kind in MEANS else "-"
        lines.append([kind, f"{mean:.2f}x", goal, str(count), str(even), str(met)])
    return lines


def slower(rows: Iterable[Row]) -> str:
    """The rows in which the best peer is faster, the worst ratio first; nothing if there are none."""
    ratios = [(ratio, row.name, row.best_peer) for row in rows if (ratio := row.ratio()) is not None and ratio < 1]
    listed = "; ".join(f"{name} {ratio:.2f} ({peer})" for ratio, name, peer in sorted(ratios))
    return f"\n**Below 1x**, and the best peer: {listed}.\n" if listed else ""


def page(runs: Sequence[Run], command: str) -> str:
    """Everything, as a page."""
    first = runs[0].environment
    versions = ", ".join(f"{k} {v}" for k, v in first["versions"].items())
    parts = [
        "# Benchmarks\n\n",
        f"Written by `{command}` on {first['date']}; [performance](performance/index.md) explains it.\n\n",
        f"{first['processor']}, {first['cores']} cores, Python {first['python']}; {versions}.\n\n{LEGEND}\n",
    ]
    for run in runs:
        parts.append(f"\n## {run.title}\n\nLimits measured: {run.limits}.\n\n{markdown(_summary(run))}")
        parts.append(slower(run.rows))
        for kind in dict.fromkeys(row.kind for row in run.rows):
            rows = [row for row in run.rows if row.kind == kind]
            parts.append(f"\n### {kind.capitalize()}\n\n{markdown(table(rows, run.limits))}")
        left = notes(run.rows) + ([run.stopped] if run.stopped else [])
        parts.append("\nLeft out:\n\n" + "".join(f"* {note}\n" for note in left) if left else "")
    return "".join(parts)
