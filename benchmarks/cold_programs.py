"""First calls of many programs with nothing on disk, beside JAX's and Numba's: `python -m benchmarks.cold_programs`.

    python -m benchmarks.cold_programs --only 'training|loop gradients' --peers flambeau,jax
    python -m benchmarks.cold_programs --rounds 3 --json FILE

The programs are those of the benchmarks' tables, on little data (`--large`: on as much as the tables have). All of a
peer's run in one process, with nothing on disk; each figure is the processor's milliseconds of making a program and of
its first three calls, a fourth taken off three times; the least over the rounds. Imports, and what a peer makes for its
first program of all, are not in it.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.compile_cost import printed

USUAL = "^(training|transforms|loop gradients|loops with tensors|everyday): "

CALLS = 3
"""Calls by which a peer has compiled what it compiles."""


def parser() -> argparse.ArgumentParser:
    """The command line."""
    result = argparse.ArgumentParser(prog="benchmarks.cold_programs", description=__doc__.partition("\n")[0])
    result.add_argument("--only", default=USUAL, help="regular expression that `kind: name` of a row must contain")
    result.add_argument("--peers", default="flambeau,jax,numba", help="comma-separated")
    result.add_argument("--rounds", type=int, default=1, help="processes per peer (1)")
    result.add_argument("--large", action="store_true", help="the sizes of the tables")
    result.add_argument("--json", type=Path, help="write all figures to this file")
    result.add_argument("--markdown", action="store_true", help="print Markdown")
    result.add_argument("--child", help=argparse.SUPPRESS)
    return result


def first_calls(peer: str, pattern: str, *, is_large: bool) -> dict[str, float]:
    """Milliseconds of each program's first call, in this process."""
    from benchmarks.workloads import workloads

    result: dict[str, float] = {}
    for workload in workloads(small=not is_large):
        name = f"{workload.kind}: {workload.name}"
        if peer not in workload.peers or not re.search(pattern, name):
            continue
        if not result:
            _first_of_all(peer)
        try:
            result[name] = _milliseconds(workload.peers[peer])
        except ImportError:
            continue
    return result


def _first_of_all(peer: str) -> None:
    """Let the peer load its compiler: another program than those that are measured."""
    from benchmarks.programs import pointwise
    from benchmarks.workloads.entries import normal

    x = normal(16)
    if peer == "flambeau":
        import flambeau

        flambeau.script(pointwise.gelu)(flambeau.from_numpy(x))
    elif peer == "jax":
        import jax

        jax.jit(lambda a: a * 2.0)(x).block_until_ready()
    elif peer == "numba":
        import numba

        numba.njit(lambda a: a[0] + 1.0)(x)


def _milliseconds(make: Callable[[], Any]) -> float:
    clock = time.process_time
    start = clock()
    call = make()
    for _ in range(CALLS):
        call()
    spent = clock() - start
    start = clock()
    call()
    return (spent - CALLS * (clock() - start)) * 1e3


def measured(peer: str, options: argparse.Namespace) -> dict[str, float]:
    """The same, in a process of its own with nothing on disk."""
    with tempfile.TemporaryDirectory() as folder:
        around = os.environ | {"FLAMBEAU_CACHE_DIR": folder, "FLAMBEAU_BACKGROUND": "off", "OMP_NUM_THREADS": "1"}
        command = [sys.executable, "-m", "benchmarks.cold_programs", "--child", peer, "--only", options.only]
        command += ["--large"] if options.large else []
        said = subprocess.run(command, env=around, check=True, stdout=subprocess.PIPE, text=True).stdout
    figures: dict[str, float] = json.loads(said.splitlines()[-1])
    return figures


def main() -> None:
    """Run the processes in turn, and print a line for each program."""
    options = parser().parse_args()
    if options.child:
        warnings.simplefilter("ignore")
        print(json.dumps(first_calls(options.child, options.only, is_large=options.large)))
        return
    peers = options.peers.split(",")
    least: dict[str, dict[str, float]] = {peer: {} for peer in peers}
    for _ in range(options.rounds):
        for peer in peers:
            for name, spent in measured(peer, options).items():
                least[peer][name] = min(spent, least[peer].get(name, spent))
    if options.json:
        options.json.write_text(json.dumps(least), encoding="utf-8")
    names = list(dict.fromkeys(name for figures in least.values() for name in figures))
    rows = [["", *peers]]
    for name in names:
        rows.append([name, *(f"{least[p][name]:,.0f}" if name in least[p] else "" for p in peers)])
    rows.append(["all", *(f"{sum(least[p].values()):,.0f}" for p in peers)])
    for peer in peers[1:]:
        both = [name for name in names if name in least[peers[0]] and name in least[peer]]
        sums = [f"{sum(least[p][name] for name in both):,.0f}" if p in (peers[0], peer) else "" for p in peers]
        rows.append([f"the {len(both)} that {peer} has", *sums])
    print(printed(rows, options.markdown))


if __name__ == "__main__":
    main()
