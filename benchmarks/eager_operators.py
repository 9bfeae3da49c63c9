"""Operators by themselves, as training loops in plain Python call them, beside PyTorch's, on one thread.

    python -m benchmarks.eager_operators [PATTERN]            small arrays
    python -m benchmarks.eager_operators --large [PATTERN]    arrays of some hundred thousand elements

For each operator the time of the processor of a call that is recorded, and of that with the way back. Both libraries
run in one process, in turn; the least of some rounds. Needs torch.
"""

from __future__ import annotations

import re
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any, Final

from benchmarks.programs import eager_calls, large_eager_calls

ROUNDS: Final = 25
CALLS_A_ROUND: Final = 3
BEFORE: Final = 8
"""Calls of each that are not measured."""
UNTIL_NATIVE: Final = 17_000
"""Calls of a first operator from which on all have their native code."""


def least(call: Callable[[], Any], before: int = BEFORE, rounds: int = ROUNDS) -> float:
    """Microseconds of the processor's time that a call takes at least, after some that are not measured."""
    for _ in range(before):
        call()
    best = float("inf")
    for _ in range(rounds):
        start = time.process_time()
        for _ in range(CALLS_A_ROUND):
            call()
        best = min(best, (time.process_time() - start) / CALLS_A_ROUND * 1e6)
    return best


def measured(library: Any, call: Callable[..., Any], operands: Any) -> tuple[float, float]:
    """A call of an operator, and one with its way back."""
    gradient = library.ones_like(call(operands))

    def both() -> None:
        call(operands).backward(gradient)

    return least(lambda: call(operands)), least(both)


def rows(
    libraries: Sequence[Any], pattern: str, *, is_large: bool = False
) -> list[tuple[str, list[tuple[float, float]]]]:
    """The operators whose names match, with the times in each library."""
    make = large_eager_calls.LargeOperands if is_large else eager_calls.Operands
    operands = [make(library) for library in libraries]
    found = []
    for name, call in (large_eager_calls if is_large else eager_calls).CALLS.items():
        if re.search(pattern, name):
            found.append((name, [measured(lib, call, own) for lib, own in zip(libraries, operands, strict=True)]))
            print(".", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    return found


def report(found: Sequence[tuple[str, list[tuple[float, float]]]]) -> str:
    """A table, the slowest beside PyTorch first, and the geometric means of the ratios."""
    lines = ["| operator | us | PyTorch | ratio | and back, us | PyTorch | ratio |", "|---|---|---|---|---|---|---|"]
    for name, ((own, own_both), (other, other_both)) in sorted(found, key=lambda r: r[1][1][1] / r[1][0][1]):
        numbers = (own, other, other / own, own_both, other_both, other_both / own_both)
        lines.append("| {} | {:.1f} | {:.1f} | {:.2f} | {:.1f} | {:.1f} | {:.2f} |".format(name, *numbers))
    means = [statistics.geometric_mean([t[1][k] / t[0][k] for _, t in found]) for k in (0, 1)]
    return "\n".join([*lines, f"geometric means: {means[0]:.2f}x, and back {means[1]:.2f}x"])


def main(arguments: Sequence[str]) -> None:
    """Measure, and print the table."""
    import torch

    import flambeau

    torch.set_num_threads(1)
    flambeau.set_num_threads(1)
    x = flambeau.ones(4)
    for _ in range(UNTIL_NATIVE):
        x + x
    patterns = [argument for argument in arguments if argument != "--large"]
    print(report(rows([flambeau, torch], *patterns[:1] or [""], is_large="--large" in arguments)))


if __name__ == "__main__":
    main(sys.argv[1:])
