"""How things are timed: peers interleaved, warm, medians, each result checked before it counts."""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, TextIO

import numpy as np

Runner = Callable[[], Any]


@dataclass(frozen=True, kw_only=True)
class Workload:
    """One row of the table."""

    name: str
    peers: dict[str, Callable[[], Runner]]
    """Peer name to a factory that imports, prepares and compiles; it raises ImportError where the peer is missing."""
    expected: Callable[[], np.ndarray] | None = None
    """The answer in float64; None where equality of peers is not meaningful."""
    tolerance: float = 1e-4
    bytes_moved: int = 0
    """What must cross memory at least: inputs read once, outputs written once."""
    goal: float = 1.0
    """How many times the best peer's speed we want."""


@dataclass(kw_only=True)
class Row:
    """What was measured of one workload: medians in microseconds by peer, and why a peer is missing."""

    name: str
    microseconds: dict[str, float] = field(default_factory=dict)
    missing: dict[str, str] = field(default_factory=dict)
    bytes_moved: int = 0
    goal: float = 1.0

    @property
    def best_peer(self) -> str | None:
        """The fastest that is not ours."""
        peers = {k: v for k, v in self.microseconds.items() if k != "flambeau"}
        return min(peers, key=lambda k: peers[k]) if peers else None

    @property
    def ratio(self) -> float | None:
        """Best peer's time over ours: above 1 we are faster."""
        best = self.best_peer
        return None if best is None or "flambeau" not in self.microseconds else (
            self.microseconds[best] / self.microseconds["flambeau"]
        )

    @property
    def bandwidth(self) -> float | None:
        """GB/s of the bytes that had to move, ours."""
        ours = self.microseconds.get("flambeau")
        return self.bytes_moved / ours / 1e3 if ours and self.bytes_moved else None


def as_array(value: Any) -> np.ndarray:
    """Any peer's result as a NumPy array."""
    for name in ("detach", "numpy"):
        if hasattr(value, name):
            value = getattr(value, name)()
    return np.asarray(value)


def measure(workload: Workload, rounds: int, seconds: float) -> Row:
    """Prepare every peer, check its answer, then time them in turn, `rounds` times; the median counts."""
    row = Row(name=workload.name, bytes_moved=workload.bytes_moved, goal=workload.goal)
    runners: dict[str, Runner] = {}
    want = workload.expected() if workload.expected else None
    for peer, factory in workload.peers.items():
        try:
            runner = factory()
            got = runner()
        except ImportError as error:
            row.missing[peer] = f"not installed ({error.name})"
            continue
        except Exception as error:
            if peer == "flambeau":
                raise
            row.missing[peer] = f"{type(error).__name__}: {str(error).partition(chr(10))[0][:100]}"
            continue
        if want is not None:
            error = np.max(np.abs(as_array(got).astype(np.float64) - want) / (1.0 + np.abs(want)))
            if not error <= workload.tolerance:
                row.missing[peer] = f"wrong by {error:.1e}"
                continue
        runners[peer] = runner
    repeats = {peer: _repeats(runner, seconds / rounds) for peer, runner in runners.items()}
    samples: dict[str, list[float]] = {peer: [] for peer in runners}
    for _ in range(rounds):
        for peer, runner in runners.items():
            samples[peer].append(_time(runner, repeats[peer]))
    row.microseconds = {peer: statistics.median(s) * 1e6 for peer, s in samples.items()}
    return row


def _time(runner: Runner, repeats: int) -> float:
    start = time.perf_counter()
    for _ in range(repeats):
        runner()
    return (time.perf_counter() - start) / repeats


def _repeats(runner: Runner, seconds: float) -> int:
    """Warm up, and how many calls fill `seconds`."""
    once = min(_time(runner, 1) for _ in range(5))
    return max(1, min(100_000, int(seconds / max(once, 1e-8))))


def show(rows: Sequence[Row], peers: Iterable[str], out: TextIO) -> None:
    """The table: microseconds per peer, the ratio to the best one, our bandwidth."""
    peers = list(peers)
    head = ["workload", *peers, "best peer", "ratio", "goal", "GB/s"]
    table = [head]
    for row in rows:
        ratio, bandwidth = row.ratio, row.bandwidth
        table.append(
            [
                row.name,
                *(f"{row.microseconds[p]:.4g}" if p in row.microseconds else "-" for p in peers),
                row.best_peer or "-",
                f"{ratio:.2f}x" if ratio else "-",
                f"{row.goal:.1f}x",
                f"{bandwidth:.0f}" if bandwidth else "-",
            ]
        )
    widths = [max(len(r[i]) for r in table) for i in range(len(head))]
    for line in table:
        cells = zip(line, widths, strict=True)
        out.write("  ".join(c.rjust(w) if i else c.ljust(w) for i, (c, w) in enumerate(cells)) + "\n")
    ratios = [r.ratio for r in rows if r.ratio]
    if ratios:
        out.write(f"geometric mean of the ratios: {statistics.geometric_mean(ratios):.2f}x over {len(ratios)} rows\n")


def markdown(rows: Sequence[Row], peers: Iterable[str]) -> str:
    """The table for a page: medians in microseconds, the best peer's in bold."""
    peers = list(peers)
    lines = ["| workload | " + " | ".join(peers) + " | ratio | goal | GB/s |", "|---|" + "---:|" * (len(peers) + 3)]
    for row in rows:
        cells = []
        for peer in peers:
            number = f"{row.microseconds[peer]:,.4g}" if peer in row.microseconds else "-"
            cells.append(f"**{number}**" if peer == row.best_peer else number)
        ratio, bandwidth = row.ratio, row.bandwidth
        cells += [f"{ratio:.2f}x" if ratio else "-", f"{row.goal:.0f}x", f"{bandwidth:.0f}" if bandwidth else "-"]
        lines.append(f"| {row.name} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def as_json(row: Row, environment: dict[str, Any]) -> str:
    """One line of JSON: the row and where it ran."""
    return json.dumps(
        {"name": row.name, "microseconds": row.microseconds, "missing": row.missing, "ratio": row.ratio,
         "gigabytes_per_second": row.bandwidth, **environment}
    )  # fmt: skip
