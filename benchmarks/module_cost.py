"""What large modules cost: scripting, tracing and first calls against the number of layers.

    python -m benchmarks.module_cost                                       a table, as text
    python -m benchmarks.module_cost --markdown                            the same as Markdown
    python -m benchmarks.module_cost --peers flambeau --layers 10,100

Each row is a process of its own, which makes a module of so many equal layers (a linear layer and a ReLU each), scripts
or traces it, and calls it. "first call" is the first one beyond a usual one; "until fast" all calls up to the fourth,
until the last of which both peers have compiled what they compile. Times are of the processor, in seconds.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks.compile_cost import printed

PEERS = {"flambeau": "flambeau", "torch.jit": "torch"}
"""Each with the package that it needs."""
LAYERS = (10, 100, 1000, 3000)
TIMEOUT = 900.0
PRELUDES = {
    "flambeau": "import flambeau as package\nfrom flambeau import nn, script, trace\n",
    "torch.jit": "import torch as package\nfrom torch import nn\nfrom torch.jit import script, trace\n"
    "package.set_num_threads(1)\n",
}
MEASURE = """
import json, sys, time
sys.setrecursionlimit(100_000)
{prelude}
class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)
    def forward(self, x):
        return package.relu(self.linear(x))

class Net(nn.Module):
    def __init__(self, count):
        super().__init__()
        self.layers = nn.ModuleList([Layer() for _ in range(count)])
    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x

clock = time.process_time
job, count = sys.argv[1], int(sys.argv[2])
x = package.ones(2, 4)
make = script if job == 'script' else lambda module: trace(module, x, check_trace=False)
def times(count):
    module = Net(count).eval()
    found = [clock()]
    made = make(module)
    found.append(clock())
    for _ in range(6):
        made(x)
        found.append(clock())
    spent = [b - a for a, b in zip(found, found[1:])]
    return spent[0], spent[1] - spent[-1], sum(spent[1:5]) - 4 * spent[-1], spent[-1]
times(2)
print(json.dumps(times(count)))
"""


def measure(peer: str, job: str, layers: int) -> tuple[float, float, float, float] | None:
    """Seconds of making, of the first call, of all until they are fast, and of a fast one; None if it fails."""
    code = MEASURE.replace("{prelude}", PRELUDES[peer])
    with tempfile.TemporaryDirectory() as cache:
        environment = os.environ | {"FLAMBEAU_CACHE_DIR": cache, "OPENBLAS_NUM_THREADS": "1"}
        places = [str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
        environment["PYTHONPATH"] = os.pathsep.join(places)
        program = Path(cache) / "program.py"  # in a file, where compilers look for source
        program.write_text(code, encoding="utf-8")
        command = [sys.executable, "-W", "ignore", str(program), job, str(layers)]
        try:
            done = subprocess.run(
                command, env=environment, capture_output=True, text=True, timeout=TIMEOUT, check=False
            )
        except subprocess.TimeoutExpired:
            return None
    if done.returncode:
        return None
    made, first, until, fast = json.loads(done.stdout.strip().splitlines()[-1])
    return made, first, until, fast


def table(peers: Sequence[str], layers: Sequence[int]) -> list[list[str]]:
    """A row for each peer, way and number of layers."""
    rows = [["", "layers", "made", "first call", "until fast", "a call then"]]
    for peer in peers:
        for job in ("script", "trace"):
            for count in layers:
                found = measure(peer, job, count)
                figures = ["-"] * 4
                if found is not None:
                    figures = [*(f"{t:.2f} s" for t in found[:3]), f"{found[3] * 1e3:.2f} ms"]
                rows.append([f"{peer}, {job}", f"{count:,}", *figures])
    return rows


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.module_cost", description=__doc__.partition("\n")[0])
    parser.add_argument("--peers", default=",".join(PEERS), help="which of them, with commas")
    parser.add_argument("--layers", default=",".join(map(str, LAYERS)), help="numbers of layers")
    parser.add_argument("--markdown", action="store_true", help="print Markdown")
    options = parser.parse_args(arguments)
    peers = [p for p in options.peers.split(",") if importlib.util.find_spec(PEERS[p]) is not None]
    print(printed(table(peers, [int(n) for n in options.layers.split(",")]), options.markdown), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
