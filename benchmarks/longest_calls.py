"""How long a call may take until native code answers: plans made by calls themselves, and behind them.

    python -m benchmarks.longest_calls FOLDER                          every archive that has a recorded call
    python -m benchmarks.longest_calls FOLDER --only 'nanogpt.*'       some of them

A process of its own, with nothing on disk, loads a model and calls it under `no_grad`, with a pause between calls,
until ten calls in a row took less than a fifth of the longest one, or `--seconds` have passed. Milliseconds of the
clock on the wall, as whoever waits has them: the first call, the longest and the median of those behind it until then,
and when that was.
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
from collections.abc import Sequence
from pathlib import Path

from benchmarks.compile_cost import printed
from benchmarks.first_answers import recorded_call

HEAD = ("", "plan", "first call", "longest behind it", "median", "calls", "seconds until fast")
PAUSE = 0.005
TIMEOUT = 120.0


def child(archive: Path, seconds: float) -> None:
    """What a process of its own does: prints its figures."""
    import flambeau as fb

    fb.set_num_threads(1)
    name, arguments, keywords = recorded_call(archive)
    method = getattr(fb.jit.load(archive), name)
    taken: list[float] = []
    begin = time.perf_counter()
    with fb.no_grad():
        while time.perf_counter() - begin < seconds:
            start = time.perf_counter()
            method(*arguments, **keywords)
            taken.append(1e3 * (time.perf_counter() - start))
            if len(taken) > 10 and max(taken[-10:]) < min(max(taken[1:]) / 5, taken[0] / 20):
                break
            time.sleep(PAUSE)
    behind = taken[1:-10] or taken[1:]
    print(json.dumps([taken[0], max(behind), statistics.median(behind), len(behind), time.perf_counter() - begin]))


def measure(archive: Path, seconds: float, mode: str) -> list[str]:
    """A line of the table."""
    command = [sys.executable, "-W", "ignore", "-m", "benchmarks.longest_calls", str(archive), "--child"]
    with tempfile.TemporaryDirectory() as cache:
        environment = {**os.environ, "FLAMBEAU_CACHE_DIR": cache, "OPENBLAS_NUM_THREADS": "1"}
        environment["FLAMBEAU_BACKGROUND"] = mode
        command += ["--seconds", str(seconds)]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=TIMEOUT, check=True)
    first, longest, median, calls, until = json.loads(done.stdout.strip().splitlines()[-1])
    by = "by the second call" if mode == "off" else "behind calls"
    return [archive.stem, by, f"{first:,.0f}", f"{longest:,.1f}", f"{median:,.2f}", str(calls), f"{until:.1f}"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.longest_calls", description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path, help="archives with recorded calls")
    parser.add_argument("--only", default="", help="regular expression that the name must match in full")
    parser.add_argument("--seconds", type=float, default=20.0, help="for which calls are made at most")
    parser.add_argument("--markdown", action="store_true", help="print Markdown")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.child:
        child(options.folder, options.seconds)
        return 0
    table = [list(HEAD)]
    for archive in sorted(options.folder.resolve().glob("*.pt")):
        is_recorded = archive.with_name(f"{archive.stem}.inputs.npz").exists()
        if is_recorded and (not options.only or re.fullmatch(options.only, archive.stem)):
            table += [measure(archive, options.seconds, mode) for mode in ("off", "on")]
    print(printed(table, options.markdown))
    return 0


if __name__ == "__main__":
    sys.exit(main())
