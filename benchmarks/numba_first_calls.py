"""First calls of Numba's users' programs: `python -m benchmarks.numba_first_calls [--only REGEX] [--peers numba]`.

Each peer runs all programs in a process with nothing on disk, then in two more that find what the first one left
(Numba with `cache=True`): the processor's milliseconds of compiling and of the first call, imports aside.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from typing import Any

from benchmarks import peers
from benchmarks.programs.numba_users import EXAMPLES

USUAL = (
    "histogram lu spmv union_find dtw dijkstra life mergesort kmeans hmm_viterbi thomas sieve sobel conj_grad kalman"
)
PROCESSES = ("nothing on disk", "second process", "third process")


def parser() -> argparse.ArgumentParser:
    """The command line."""
    result = argparse.ArgumentParser(prog="benchmarks.numba_first_calls", description=__doc__)
    usual = "^(" + USUAL.replace(" ", "|") + ")$"
    result.add_argument("--only", default=usual, help="regular expression that a program's name contains; default 15")
    result.add_argument("--peers", default="flambeau,numba", help="comma-separated: flambeau, numba")
    result.add_argument("--child", help=argparse.SUPPRESS)
    return result


def first_calls(peer: str, pattern: str) -> dict[str, float]:
    """Milliseconds of each program's first call, in this process."""
    if peer == "numba":
        import numba  # noqa: F401
    else:
        import flambeau  # noqa: F401
    result: dict[str, float] = {}
    for example in EXAMPLES:
        name = example.program.__name__
        if name in result or not re.search(pattern, name):
            continue
        arguments = example.arguments(example.size)
        start = time.process_time()
        _call(peer)(example.program, *arguments)()
        result[name] = (time.process_time() - start) * 1e3
    return result


def _call(peer: str) -> Callable[..., Any]:
    if peer == "numba":
        return lambda *arguments: peers.numba(*arguments, cache=True)
    return peers.flambeau_arrays


def main() -> None:
    """Run the processes, and print a line for each."""
    options = parser().parse_args()
    if options.child:
        warnings.simplefilter("ignore")
        print(json.dumps(first_calls(options.child, options.only)))
        return
    for peer in options.peers.split(","):
        with tempfile.TemporaryDirectory() as folder:
            around = os.environ | {"FLAMBEAU_CACHE_DIR": folder, "NUMBA_CACHE_DIR": folder, "OMP_NUM_THREADS": "1"}
            for which in PROCESSES:
                command = [sys.executable, "-m", "benchmarks.numba_first_calls", "--child", peer]
                command += ["--only", options.only]
                said = subprocess.run(command, env=around, check=True, stdout=subprocess.PIPE, text=True).stdout
                took = json.loads(said)
                most = max(took, key=lambda name: took[name])
                print(
                    f"{peer}, {which}: {sum(took.values()):.0f} ms for {len(took)} programs, "
                    f"median {statistics.median(took.values()):.0f}, most {took[most]:.0f} ({most})", flush=True,
                )  # fmt: skip


if __name__ == "__main__":
    main()
