"""Runs the benchmarks: `python -m benchmarks [--threads 1,2] [--cpu x86-64-v3] [--only REGEX] [--json FILE]`."""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks import levels

SLOWING = ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")
"""Settings of some environments that halve NumPy's matrix products."""
THREADS = (
    "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS", "NUMEXPR_NUM_THREADS",
    "FLAMBEAU_NUM_THREADS",
)  # fmt: skip
INTERRUPTED = 130
DOCS = Path(__file__).resolve().parent.parent / "docs"
PAGES = {"host": DOCS / "benchmarks.md", "x86-64-v3": DOCS / "benchmarks-avx2.md"}


def parser() -> argparse.ArgumentParser:
    """The command line."""
    found = argparse.ArgumentParser(prog="benchmarks", description=__doc__)
    found.add_argument("--threads", default="1,2", help="numbers of threads for every peer, one table each (1,2)")
    found.add_argument("--cpu", default="host", help="x86-64-v2, x86-64-v3, x86-64-v4: no library uses more (host)")
    found.add_argument("--only", default="", help="regular expression that `kind: name` of a row must contain")
    found.add_argument("--peers", default="", help="comma-separated peers; default all that are installed")
    found.add_argument("--rounds", type=int, default=9, help="rounds; the median of them counts (9)")
    found.add_argument("--seconds", type=float, default=0.2, help="seconds per peer and row (0.2)")
    found.add_argument("--processor-time", action="store_true", help="the process's time, not the clock's")
    found.add_argument("--json", type=Path, help="append a line per row to this file")
    found.add_argument("--page", type=Path, help="write the page here; docs/benchmarks.md where all rows are run")
    found.add_argument("--child", type=Path, help=argparse.SUPPRESS)
    found.add_argument("--at-once", action="store_true", help=argparse.SUPPRESS)
    return found


def settings(threads: int, cpu: str = "host") -> dict[str, str]:
    """The environment of a process in which every peer has that many threads and keeps to a level of processors.

    All of it is read at import.
    """
    clean = {k: v for k, v in os.environ.items() if k not in SLOWING} | {k: str(threads) for k in THREADS}
    level = {} if cpu == "host" else levels.settings(cpu)
    eigen = "--xla_cpu_multi_thread_eigen=" + ("true" if threads > 1 else "false")
    return {**clean, **level, "XLA_FLAGS": " ".join(filter(None, (eigen, level.get("XLA_FLAGS"))))}


def child(options: argparse.Namespace) -> None:
    """Measure, in a process of its own: a line for the machine, one per row, one for the machine again."""
    threads = int(options.threads)
    if threads == 1 and not options.at_once and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})

    from benchmarks import limits
    from benchmarks.harness import OURS, measure
    from benchmarks.report import as_dict
    from benchmarks.workloads import workloads

    clock = time.process_time if options.processor_time else time.perf_counter
    wanted = set(options.peers.split(",")) | {OURS} if options.peers else None
    chosen = [w for w in workloads() if (w.kind == "threads") == options.at_once]
    chosen = [w for w in chosen if re.search(options.only, f"{w.kind}: {w.name}")]
    with options.child.open("w", encoding="utf-8") as lines:
        if not chosen:
            return
        machine = {"environment": limits.environment(threads), "limits": limits.measure(threads).as_dict()}
        lines.write(json.dumps(machine) + "\n")
        lines.flush()
        for i, workload in enumerate(chosen):
            progress(f"{options.threads} thread(s), {i + 1}/{len(chosen)}: {workload.name}")
            for entries in (workload.peers, workload.left_out):
                for peer in [p for p in entries if wanted is not None and family(p) not in wanted]:
                    del entries[peer]
            row = measure(workload, options.rounds, options.seconds, clock)
            lines.write(json.dumps(as_dict(row)) + "\n")
            lines.flush()
        lines.write(json.dumps({"limits": limits.measure(threads).as_dict()}) + "\n")
        progress("")


def family(peer: str) -> str:
    """The peer of which this is a variant, or a way of calling."""
    return peer.partition("/")[0].removesuffix(" alone")


def progress(line: str) -> None:
    """Where we are, on standard error: over the last line on a terminal."""
    if sys.stderr.isatty():
        print(f"\r{line:70}", end="", file=sys.stderr, flush=True)
    elif line:
        print(f"{time.strftime('%H:%M:%S')} {line}", file=sys.stderr, flush=True)


def collect(threads: int, at_once: bool, cpu: str) -> tuple[list[str], int]:
    """What a process of its own measures, line by line, and how it ended; an interrupted one keeps its rows."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.jsonl"
        command = [sys.executable, "-m", "benchmarks", *sys.argv[1:], "--threads", str(threads), "--child", str(path)]
        command += ["--at-once"] if at_once else []
        try:
            code = subprocess.run(command, env=settings(threads, cpu), check=False).returncode
        except KeyboardInterrupt:
            code = INTERRUPTED
        return path.read_text(encoding="utf-8").splitlines() if path.exists() else [], code


def main() -> None:
    options = parser().parse_args()
    if options.child:
        child(options)
        return

    from benchmarks import report
    from benchmarks.limits import Limits

    counts = [int(n) for n in options.threads.split(",")]
    plans = [(n, False, "One thread" if n == 1 else f"{n} threads") for n in counts]
    plans += [(1, True, "Calls from two Python threads at once, libraries with one thread")] if max(counts) > 1 else []
    runs: list[report.Run] = []
    for threads, at_once, title in plans:
        lines, code = collect(threads, at_once, options.cpu)
        found = [json.loads(line) for line in lines]
        machines = [x for x in found if "limits" in x]
        if not machines and not code:
            continue  # no row is chosen
        if not machines:
            sys.exit(f"benchmarks: the process for {threads} thread(s) ended with {code} before its first row")
        rows = [report.from_dict(x) for x in found if "limits" not in x]
        run = report.Run(
            title=title, environment=machines[0]["environment"], rows=rows,
            limits=Limits.from_dict(machines[0]["limits"]).best(Limits.from_dict(machines[-1]["limits"])),
            stopped=f"stopped after {len(rows)} rows: exit status {code}" if code else "",
        )  # fmt: skip
        runs.append(run)
        if options.json:
            with options.json.open("a", encoding="utf-8") as out:
                out.writelines(json.dumps(report.as_dict(row) | run.environment) + "\n" for row in rows)
        if code == INTERRUPTED:
            break
    if not runs:
        sys.exit(f"benchmarks: no row matches --only {options.only!r}")
    print(report.text(runs), end="")
    place = options.page or (None if options.only or options.peers else PAGES.get(options.cpu))
    if place:
        place.write_text(report.page(runs, shlex.join(["python", "-m", "benchmarks", *sys.argv[1:]])), encoding="utf-8")
        print(f"\nwritten to {place}")
    failures = [f"{row.name}: {row.failure}" for run in runs for row in run.rows if row.failure]
    if failures or any(run.stopped for run in runs):
        sys.exit("\n".join(["benchmarks: not everything ran", *failures]))


if __name__ == "__main__":
    main()
