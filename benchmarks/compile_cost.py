"""What compiling costs: imports, first calls in fresh processes, and time against the size of a program.

    python -m benchmarks.compile_cost                          three tables, as text
    python -m benchmarks.compile_cost --markdown               the same as Markdown
    python -m benchmarks.compile_cost --peers flambeau,numba --sizes 50,500 --rounds 3

Each figure is the best of some rounds, each round a process of its own. A cold first call finds the cache on disk
empty, a warm one finds what an earlier process left. Peers that are not installed are left out. Times are of the
processor, in milliseconds, so that other work on the machine counts little.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

PEERS = {"flambeau": "flambeau", "numba": "numba", "torch.jit": "torch", "torch.compile": "torch", "jax": "jax"}
"""Each with the package that it needs."""
GELU = "def f(x):\n    return 0.5 * x * (1.0 + {m}.tanh(0.7978845608 * (x + 0.044715 * x * x * x)))\n"
SIZES = (50, 500, 5000)
TIMEOUT = 300.0


def chain(n: int) -> str:
    """`n` operators, one after another."""
    steps = ("x = x * 1.5 + y", "x = {m}.tanh(x) - y")
    body = "".join(f"    {steps[k % 2]}\n" for k in range(n // 2))
    return f"def f(x, y, k: int):\n{body}    return x\n"


def branches(n: int) -> str:
    """`n` operators in ifs."""
    body = "".join(f"    if k > {i}:\n        x = x * 1.5\n    else:\n        x = x + y\n" for i in range(n // 3))
    return f"def f(x, y, k: int):\n{body}    return x\n"


def loops(n: int) -> str:
    """`n` operators in loops."""
    body = "".join("    for i in range(k):\n        x = x * 1.5 + y\n" for _ in range(n // 3))
    return f"def f(x, y, k: int):\n{body}    return x\n"


PROGRAMS: dict[str, Callable[[int], str]] = {"chain": chain, "ifs": branches, "loops": loops}

PRELUDES = {
    "flambeau": """
import flambeau
def make(text): return flambeau.CompilationUnit(text.replace('{m}', 'flambeau')).f
def values(n): return flambeau.ones(n)
""",
    "numba": """
import numba, numpy
def make(text):
    scope = {'numpy': numpy}
    exec(text.replace('{m}', 'numpy').replace(': int', ''), scope)
    return numba.njit(scope['f'])
def values(n): return numpy.ones(n)  # of the numbers' own type, as Numba wants it where branches meet
""",
    "torch.jit": """
import torch
def make(text): return torch.jit.CompilationUnit(text.replace('{m}', 'torch')).f
def values(n): return torch.ones(n)
""",
    "torch.compile": """
import torch, types, linecache
def make(text):
    text = text.replace('{m}', 'torch')
    scope = {'torch': torch}
    exec(compile(text, 'program.py', 'exec'), scope)
    return torch.compile(scope['f'])
def values(n): return torch.ones(n)
""",
    "jax": """
import jax, jax.numpy
def make(text):
    scope = {'np': jax.numpy}
    exec(text.replace('{m}', 'np').replace(': int', ''), scope)
    return jax.jit(scope['f'], static_argnums=range(2, scope['f'].__code__.co_argcount))
def values(n): return jax.numpy.ones(n)
""",
}
MEASURE = """
import json, sys, time
sys.setrecursionlimit(100_000)
clock = time.process_time
import numpy
try:
    import ml_dtypes
except ImportError:
    pass
start = clock()
{prelude}
imported = clock()
task = json.loads(sys.argv[1])
x = values(16)
if task['warm_up']:
    make(task['warm_up'])(x)
begin = clock()
f = make(task['text'])
made = clock()
arguments = (x,) if task['arity'] == 1 else (x, values(16), 3)
f(*arguments)
first = clock()
for _ in range(3):
    steady = clock()
    f(*arguments)
    steady = clock() - steady
print(json.dumps([1e3 * t for t in (imported - start, made - begin, first - made - steady)]))
"""


def measure(peer: str, text: str, *, arity: int, warm_up: str, cache: str) -> tuple[float, float, float] | None:
    """Milliseconds of import, of making the function, and of its first call beyond a later one; None if it fails."""
    code = MEASURE.replace("{prelude}", PRELUDES[peer])
    task = json.dumps({"text": text, "warm_up": warm_up, "arity": arity})
    unwanted = ("PYTHONDONTWRITEBYTECODE", "OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")
    environment = {k: v for k, v in os.environ.items() if k not in unwanted}
    environment |= {"FLAMBEAU_CACHE_DIR": cache, "TORCHINDUCTOR_CACHE_DIR": cache, "OPENBLAS_NUM_THREADS": "1"}
    environment["PYTHONPATH"] = os.pathsep.join([str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    command = [sys.executable, "-c", code, task]
    try:
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=TIMEOUT, check=False)
    except subprocess.TimeoutExpired:
        return None
    if done.returncode:
        return None
    imported, made, first = json.loads(done.stdout.strip().splitlines()[-1])
    return imported, made, first


def best(rounds: int, take: Callable[[], tuple[float, float, float] | None]) -> tuple[float, float, float] | None:
    """Each figure's least over the rounds."""
    found = [r for r in (take() for _ in range(rounds)) if r is not None]
    return (min(r[0] for r in found), min(r[1] for r in found), min(r[2] for r in found)) if found else None


def _cold(peer: str) -> tuple[float, float, float] | None:
    with tempfile.TemporaryDirectory() as empty:
        return measure(peer, GELU, arity=1, warm_up="", cache=empty)


def first_calls(peers: Sequence[str], rounds: int) -> list[list[str]]:
    """The first table: a small function in fresh processes, the cache on disk empty and filled."""
    rows = [["peer", "import", "make, cold", "first call, cold", "make, warm", "first call, warm"]]
    for peer in peers:
        without = best(rounds, partial(_cold, peer))
        with tempfile.TemporaryDirectory() as cache:
            measure(peer, GELU, arity=1, warm_up="", cache=cache)
            within = best(rounds, partial(measure, peer, GELU, arity=1, warm_up="", cache=cache))
        rows.append([peer, *_figures(without), *_figures(within)[1:]])
    return rows


def sizes(peers: Sequence[str], wanted: Sequence[int], kind: str) -> list[list[str]]:
    """Making and first calling a program, against its number of operators; per operator in brackets."""
    rows = [[kind, *(f"{n} operators" for n in wanted)]]
    for peer in peers:
        row = [peer]
        for n in wanted:
            if row[-1] == "-":  # a smaller one failed, or took minutes
                row.append("-")
                continue
            with tempfile.TemporaryDirectory() as empty:
                got = measure(peer, PROGRAMS[kind](n), arity=3, warm_up=GELU, cache=empty)
            row.append("-" if got is None else f"{got[1] + got[2]:,.0f} ({(got[1] + got[2]) / n:.2f})")
        rows.append(row)
    return rows


def _figures(found: tuple[float, float, float] | None) -> list[str]:
    return ["-"] * 3 if found is None else [f"{t:,.1f}" for t in found]


def printed(rows: list[list[str]], markdown: bool) -> str:
    """A table as text, its columns aligned."""
    if markdown:
        lines = ["| " + " | ".join(row) + " |" for row in rows]
        lines.insert(1, "|---" + "|---:" * (len(rows[0]) - 1) + "|")
        return "\n".join(lines)
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
    lines = []
    for row in rows:
        first, *others = [cell.rjust(w) for cell, w in zip(row, widths, strict=True)]
        lines.append("  ".join([first.strip().ljust(widths[0]), *others]))
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.compile_cost", description=__doc__.partition("\n")[0])
    parser.add_argument("--peers", default=",".join(PEERS), help="which of them, with commas")
    parser.add_argument("--sizes", default=",".join(map(str, SIZES)), help="numbers of operators")
    parser.add_argument("--programs", default=",".join(PROGRAMS), help="which shapes of program")
    parser.add_argument("--rounds", type=int, default=5, help="processes per figure of the first table")
    parser.add_argument("--markdown", action="store_true", help="print Markdown")
    options = parser.parse_args(arguments)
    peers = [p for p in options.peers.split(",") if importlib.util.find_spec(PEERS[p]) is not None]
    wanted = [int(n) for n in options.sizes.split(",")]
    print(printed(first_calls(peers, options.rounds), options.markdown), flush=True)
    for kind in options.programs.split(","):
        print("\n" + printed(sizes(peers, wanted, kind), options.markdown), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
