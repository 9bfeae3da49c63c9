"""Runs the benchmarks: `python -m benchmarks [--threads 1] [--only REGEX] [--json FILE]`."""

from __future__ import annotations

import argparse
import os
import re
import sys
from pathlib import Path

SLOWING = ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")
"""Settings of some environments that halve NumPy's matrix products."""
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS", "NUMEXPR_NUM_THREADS")


def restart_clean(threads: int) -> None:
    """Run this process again without the slowing settings and with the thread count set, both read only at import."""
    wanted = {k: str(threads) for k in THREADS} | {"FLAMBEAU_NUM_THREADS": str(threads)}
    wanted["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=" + ("true" if threads > 1 else "false")
    if any(k in os.environ for k in SLOWING) or any(os.environ.get(k) != v for k, v in wanted.items()):
        clean = {k: v for k, v in os.environ.items() if k not in SLOWING} | wanted
        if threads == 1 and hasattr(os, "sched_setaffinity"):
            os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
        os.execvpe(sys.executable, [sys.executable, "-m", "benchmarks", *sys.argv[1:]], clean)


def main() -> None:
    parser = argparse.ArgumentParser(prog="benchmarks", description=__doc__)
    parser.add_argument("--threads", type=int, default=1, help="threads for every peer (default 1)")
    parser.add_argument("--only", default="", help="regular expression that workload names must match")
    parser.add_argument("--peers", default="", help="comma-separated peers; default all that are installed")
    parser.add_argument("--rounds", type=int, default=9, help="rounds; the median of them counts")
    parser.add_argument("--seconds", type=float, default=0.5, help="seconds per peer and workload")
    parser.add_argument("--json", type=Path, help="append a JSON line per workload to this file")
    parser.add_argument("--markdown", type=Path, help="write the table to this file as Markdown")
    options = parser.parse_args()
    restart_clean(options.threads)

    from benchmarks import limits
    from benchmarks.harness import as_json, markdown, measure, show
    from benchmarks.workloads import workloads

    environment = limits.environment(options.threads)
    print(f"{environment['processor']}, {environment['cores']} cores, {options.threads} thread(s); "
          f"{environment['versions']}; OpenBLAS settings {environment['openblas'] or 'none'}")  # fmt: skip
    for name, value in limits.measure().items():
        print(f"  limit: {name} {value:.0f}")
    rows = []
    chosen = [w for w in workloads() if re.search(options.only, w.name)]
    wanted = set(options.peers.split(",")) if options.peers else None
    for i, workload in enumerate(chosen):
        if sys.stderr.isatty():
            print(f"\r{i + 1}/{len(chosen)} {workload.name:40}", end="", file=sys.stderr)
        if wanted is not None:
            for peer in list(workload.peers):
                if peer not in wanted | {"flambeau"}:
                    del workload.peers[peer]
        rows.append(measure(workload, options.rounds, options.seconds))
        if options.json:
            with options.json.open("a", encoding="utf-8") as lines:
                lines.write(as_json(rows[-1], environment) + "\n")
    peers = list(dict.fromkeys(p for r in rows for p in r.microseconds))
    show(rows, peers, sys.stdout)
    if options.markdown:
        options.markdown.write_text(markdown(rows, peers), encoding="utf-8")
    for row in rows:
        for peer, why in row.missing.items():
            if not why.startswith("not installed"):
                print(f"  {row.name}: {peer} left out: {why}")


if __name__ == "__main__":
    main()
