"""Every operator's samples on the device, as one JSON file: which agree with the host, and what is wrong with others.

    python -m tests.cuda.operator_report --out FILE [--workers 14] [--seconds 60] [--gradients]

On a machine without a card they run on the double. Workers are processes: one that dies is started again behind the
sample that killed it.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections import Counter
from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import Any

STUCK = 20.0
"""Seconds after which a sample that says nothing is given up."""


def work(first: int, step: int, skipped: set[int], gradients: bool) -> None:
    """Run every step-th sample from the first on, with a line for each begin and each end."""
    import faulthandler

    from flambeau.cuda import library
    from tests.cuda import device_gradients, device_samples

    faulthandler.enable()
    if library.is_real():
        place: Any = nullcontext()
    else:
        from tests.cuda.pretended.library import cupy

        place = library.use(cupy)
    check = device_gradients.check if gradients else None
    with place:
        calls = [(n, k, c) for n in device_samples.names() for k, c in enumerate(device_samples.calls_of(n))]
        for k in range(first, len(calls), step):
            if k in skipped:
                continue
            name, number, call = calls[k]
            print(json.dumps({"k": k, "name": name, "begins": True}), flush=True)
            row = {"k": k, **asdict(device_samples.outcome(call, number, check))}
            print(json.dumps(row), flush=True)


class Worker:
    """A process that runs a share of the samples."""

    def __init__(self, first: int, step: int, gradients: bool) -> None:
        self.first, self.step, self.gradients = first, step, gradients
        self.done: set[int] = set()
        self.running: dict[str, Any] | None = None
        self.rest = b""
        self.start()

    def start(self) -> None:
        share = json.dumps([self.first, self.step, sorted(self.done), self.gradients])
        command = [sys.executable, "-m", "tests.cuda.operator_report", "--share", share]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        assert self.process.stdout is not None
        os.set_blocking(self.process.stdout.fileno(), False)
        self.heard = time.monotonic()

    def rows(self) -> list[dict[str, Any]]:
        """What came since the last time."""
        assert self.process.stdout is not None
        data = self.process.stdout.read() or b""
        *lines, self.rest = (self.rest + data).split(b"\n")
        found = []
        for line in lines:
            self.heard = time.monotonic()
            row = json.loads(line)
            if row.get("begins"):
                self.running = row
            else:
                self.done.add(row["k"])
                self.running = None
                found.append(row)
        return found

    def next_state(self) -> tuple[bool, list[dict[str, Any]]]:
        """Whether it goes on, and a row for the sample that killed it."""
        if self.running is not None and time.monotonic() - self.heard > STUCK:
            self.process.kill()
            self.process.wait()
        if self.process.poll() is None:
            return True, []
        found = self.rows()
        if self.running is None:
            return False, found
        row = {"k": self.running["k"], "name": self.running["name"], "state": "crash", "error": 0.0, "places": []}
        self.done.add(row["k"])
        self.running = None
        self.start()
        return True, [*found, row | {"text": f"the process ended with {self.process.returncode}"}]


def collect(workers: int, seconds: float, gradients: bool) -> list[dict[str, Any]]:
    """All rows, as far as the time goes."""
    end = time.monotonic() + seconds
    live = [Worker(k, workers, gradients) for k in range(workers)]
    rows: list[dict[str, Any]] = []
    while live and time.monotonic() < end:
        time.sleep(0.02)
        for worker in list(live):
            rows += worker.rows()
            goes_on, last = worker.next_state()
            rows += last
            if not goes_on:
                live.remove(worker)
    for worker in live:
        worker.process.kill()
    return sorted(rows, key=lambda row: int(row["k"]))


def summary(rows: list[dict[str, Any]]) -> str:
    """Counts, and for each cause the operators."""
    lines = [str(dict(Counter(r["state"] for r in rows)))]
    for state in ("crash", "wrong", "error", "refused"):
        causes: dict[str, list[str]] = {}
        for row in rows:
            if row["state"] == state:
                cause = row["text"].partition("(")[2][:90] if state == "refused" else row["text"][:110]
                places = [p for p in row["places"][::-1] if "pretended" not in p][:3]
                causes.setdefault(f"{cause} @ {' < '.join(places)}", []).append(row["name"])
        lines.append(f"== {state} {sum(map(len, causes.values()))}")
        for cause, names in sorted(causes.items(), key=lambda pair: -len(pair[1])):
            lines.append(f"{len(names)} {cause} :: {', '.join(sorted(set(names))[:8])}")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 2)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--gradients", action="store_true")
    parser.add_argument("--share")
    options = parser.parse_args()
    if options.share:
        first, step, skipped, gradients = json.loads(options.share)
        work(first, step, set(skipped), gradients)
        return
    rows = collect(options.workers, options.seconds, options.gradients)
    if options.out:
        options.out.write_text(json.dumps(rows, indent=1))
    print(summary(rows))


if __name__ == "__main__":
    main()
