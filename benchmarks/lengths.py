"""Many lengths in turn against one at a time: what calls cost whose sizes were never the same before.

    python -m benchmarks.lengths                  a table: microseconds a call, and how many times as long in turn
    python -m benchmarks.lengths --lengths 300

Each program is called with arrays of as many lengths, one after another, in rounds. Beside that stand calls with some
of these lengths, each many times over with arrays of its own. Times are of the processor, the least of the rounds, on
one thread.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from typing import Any

import flambeau

SHORTEST = 64
SAMPLE = 20
"""Lengths that are called many times over."""
TEXT = """
def softmax(x: Tensor) -> Tensor:
    return flambeau.softmax(x, -1)

def product(x: Tensor) -> Tensor:
    return flambeau.matmul(x, x.t())

def total(x: Tensor) -> Tensor:
    return flambeau.sum(x, -1)

def layer_norm(x: Tensor) -> Tensor:
    return flambeau.layer_norm(x, [x.size(1)])

def attention(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return flambeau.matmul(flambeau.softmax(flambeau.matmul(q, k.transpose(-2, -1)) * 0.25, -1), v)
"""
Arguments = tuple[Any, ...]


def _rows(length: int) -> Arguments:
    return (flambeau.ones(4, length),)


def _sequences(length: int) -> Arguments:
    return tuple(flambeau.ones(2, length // 4, 16) for _ in range(3))


PROGRAMS: dict[str, Callable[[int], Arguments]] = {
    "softmax": _rows,
    "product": _rows,
    "total": _rows,
    "layer_norm": _rows,
    "attention": _sequences,
}


def seconds(function: Callable[..., Any], calls: Sequence[Arguments]) -> float:
    """Processor time of some calls."""
    start = time.process_time()
    for arguments in calls:
        function(*arguments)
    return time.process_time() - start


def measure(name: str, count: int, rounds: int) -> tuple[float, float]:
    """Seconds a call, one length at a time and all in turn."""
    function = getattr(flambeau.CompilationUnit(TEXT), name)
    all_calls = [PROGRAMS[name](SHORTEST + k) for k in range(count)]
    repeats = max(1, count // SAMPLE)
    lengths = range(SHORTEST, SHORTEST + count, max(1, count // SAMPLE))
    # As many arrays as in turn: what lies in the processor's caches is the same.
    sample = [[PROGRAMS[name](length) for _ in range(repeats)] for length in lengths]
    for calls in sample:
        seconds(function, calls)
    one = min(sum(seconds(function, calls) for calls in sample) for _ in range(rounds)) / (len(sample) * repeats)
    seconds(function, all_calls)  # what a new length costs the first time is no part of it
    seconds(function, all_calls)
    turns = min(seconds(function, all_calls) for _ in range(rounds)) / count
    return one, turns


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--lengths", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--programs", default=",".join(PROGRAMS))
    options = parser.parse_args()
    flambeau.set_num_threads(1)
    print(f"{'program':12} {'one at a time':>14} {'in turn':>10} {'ratio':>6}")
    for name in options.programs.split(","):
        one, turns = measure(name, options.lengths, options.rounds)
        print(f"{name:12} {one * 1e6:11.2f} us {turns * 1e6:7.2f} us {turns / one:6.2f}")


if __name__ == "__main__":
    main()
