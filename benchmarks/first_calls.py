"""What loading an archive and calling it first cost, each archive in a fresh process.

    python -m benchmarks.first_calls FOLDER                            every archive that has a recorded call
    python -m benchmarks.first_calls FOLDER --only 'nanogpt|lenet'     some of them
    python -m benchmarks.first_calls FOLDER --rounds 5 --cache warm --json FILE

`FOLDER` has `NAME.pt` and beside it `NAME.inputs.npz` (`flambeau.testing.archives`). The first recorded call is made
six times. Figures are the least over the rounds, in milliseconds of the processor, all threads together: warm, the
cache on disk has what an earlier process left; cold, it is empty. "steady" is the last of the calls, "until fast" what
those between the first and the last cost beyond it: graphs without loops become native then. Calls make their plans
themselves (`benchmarks.longest_calls` has both).
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks.compile_cost import printed

FIGURES = ("import", "load", "first call", "until fast", "steady")
TIMEOUT = 300.0
SCRIPT = "script"
"""A row beside the archives: a function of three lines, scripted from a file."""
MEASURE = """
import json, sys, time
import numpy
try:
    import ml_dtypes
except ImportError:
    pass
clock = time.process_time
start = clock()
import flambeau
times = [clock()]
def load(name):
    if name == 'script':
        arguments, keywords = [flambeau.ones(16)], {}
        times.append(clock())
        @flambeau.script
        def gelu(x):
            inner = 0.7978845608 * (x + 0.044715 * x * x * x)
            return 0.5 * x * (1.0 + flambeau.tanh(inner))
        return gelu, arguments, keywords
    from flambeau.testing.archives import decoded
    with numpy.load(name + '.inputs.npz') as inputs:
        call = json.loads(str(inputs['spec']))[0]
        arguments = [decoded(v, inputs) for v in call['args']]
        keywords = {k: decoded(v, inputs) for k, v in call.get('kwargs', {}).items()}
    times.append(clock())
    module = flambeau.jit.load(name + '.pt')
    return getattr(module, '__call__' if call['method'] == 'forward' else call['method']), arguments, keywords
method, arguments, keywords = load(sys.argv[1])
times.append(clock())
for _ in range(6):
    try:
        method(*arguments, **keywords)
    except Exception:
        pass  # as it was recorded
    times.append(clock())
spent = [1e3 * (b - a) for a, b in zip([start, *times], times)]
print(json.dumps([spent[0], spent[2], spent[3], sum(spent[4:-1]) - 4 * spent[-1], spent[-1]]))
"""


def measure(archive: str, cache: str) -> list[float]:
    """Milliseconds as in `FIGURES`; raises RuntimeError with the last line of what the process said."""
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    environment |= {"FLAMBEAU_CACHE_DIR": cache, "OPENBLAS_NUM_THREADS": "1", "FLAMBEAU_BACKGROUND": "off"}
    environment["PYTHONPATH"] = os.pathsep.join([str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    program = Path(cache) / "first_calls_program.py"  # in a file, where compilers look for source
    program.write_text(MEASURE, encoding="utf-8")
    command = [sys.executable, "-W", "ignore", str(program), archive]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=TIMEOUT, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr.strip().splitlines()[-1])
    figures: list[float] = json.loads(done.stdout.strip().splitlines()[-1])
    return figures


def least(archive: str, rounds: int, is_warm: bool) -> list[float]:
    """Each figure's least over the rounds."""
    taken = []
    with tempfile.TemporaryDirectory() as cache:
        if is_warm:
            measure(archive, cache)
        for _ in range(rounds):
            if is_warm:
                taken.append(measure(archive, cache))
                continue
            with tempfile.TemporaryDirectory() as empty:
                taken.append(measure(archive, empty))
    return [min(column) for column in zip(*taken, strict=True)]


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.first_calls", description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path, help="archives with recorded calls")
    parser.add_argument("--only", default="", help="regular expression that the name must match in full")
    parser.add_argument("--rounds", type=int, default=3, help="processes per figure")
    parser.add_argument("--cache", default="warm,cold", help="states of the cache on disk, with commas")
    parser.add_argument("--markdown", action="store_true", help="print Markdown")
    parser.add_argument("--json", type=Path, help="append a line per row to this file")
    options = parser.parse_args(arguments)
    names = [SCRIPT, *sorted(p.name.partition(".")[0] for p in options.folder.glob("*.inputs.npz"))]
    rows = [["", "cache", *FIGURES]]
    for name in names:
        if options.only and not re.fullmatch(options.only, name):
            continue
        for state in options.cache.split(","):
            where = SCRIPT if name == SCRIPT else str(options.folder.resolve() / name)
            try:
                figures = least(where, options.rounds, state == "warm")
            except (RuntimeError, subprocess.TimeoutExpired) as error:
                rows.append([name, state, str(error)[:60], *["-"] * (len(FIGURES) - 1)])
                continue
            rows.append([name, state, *(f"{t:,.1f}" for t in figures)])
            if options.json:
                row = {"name": name, "cache": state, **dict(zip(FIGURES, figures, strict=True))}
                with options.json.open("a", encoding="utf-8") as out:
                    out.write(json.dumps(row) + "\n")
    print(printed(rows, options.markdown))
    return 0


if __name__ == "__main__":
    sys.exit(main())
