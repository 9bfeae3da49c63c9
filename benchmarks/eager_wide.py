"""Some five hundred calls of operators, layers and tensors' methods as programs make them, beside PyTorch's: small
arrays, one thread.

    python -m benchmarks.eager_wide [PATTERN]

For each call the time of the processor, of tensors that ask for nothing and of ones that ask, and of that with the way
back, once native code is made for what comes often. Both libraries run in one process, in turn; the least of some
rounds. Needs torch.
"""

from __future__ import annotations

import os
import re
import statistics
import sys
import warnings
from collections.abc import Callable, Sequence
from typing import Any, Final

from benchmarks.eager_operators import UNTIL_NATIVE, least
from benchmarks.programs import wide_calls_of_layers, wide_calls_of_memory, wide_calls_of_numbers
from benchmarks.programs.wide_operands import WideOperands

MODULES: Final = (wide_calls_of_layers, wide_calls_of_numbers, wide_calls_of_memory)
ROUNDS: Final = 12
BEFORE: Final = 160
"""Calls of each that are not measured."""
OFTEN: Final = 16
"""Calls that are often here: what is measured are calls that have their native code, if they ever do."""
Times = tuple[float, float]


def of_both(call: Callable[[Any], Any], operands: Sequence[Any]) -> Times:
    """The times of a call in each library."""
    own, other = [least(lambda o=o: call(o), BEFORE, ROUNDS) for o in operands]
    return own, other


def and_back(call: Callable[[Any], Any], operands: Sequence[Any]) -> Times | None:
    """The same with the way back; None where nothing asks for gradients."""
    times = []
    for one in operands:
        result = call(one)
        if not getattr(result, "requires_grad", False):
            return None
        gradient = one.L.ones_like(result)
        times.append(least(lambda o=one, g=gradient: call(o).backward(g), BEFORE // 2, ROUNDS))
    return times[0], times[1]


def report(rows: Sequence[tuple[str, list[Times | None]]]) -> str:
    """A table, the slowest beside PyTorch first, and the geometric means of the ratios."""
    head = "| call | us | PyTorch | ratio | recorded | PyTorch | ratio | and back | PyTorch | ratio |"
    lines = [head, f"|---|{'---:|' * 9}"]
    for name, times in sorted(rows, key=lambda row: row[1][0][1] / row[1][0][0] if row[1][0] else 0.0):
        cells = [f"{own:.1f} | {other:.1f} | {other / own:.2f}" if (own, other) != (0, 0) else "| | "
                 for own, other in (t or (0, 0) for t in times)]  # fmt: skip
        lines.append(f"| {name} | {' | '.join(cells)} |")
    for number, what in enumerate(("the call", "recorded", "and back")):
        ratios = [t[1] / t[0] for _, times in rows if (t := times[number]) is not None]
        if ratios:
            below = sum(r < 0.5 for r in ratios)
            lines.append(f"{what}: {statistics.geometric_mean(ratios):.2f}x of {len(ratios)}, {below} below 0.5x")
    return "\n".join(lines)


def main(arguments: Sequence[str]) -> None:
    """Measure, and print the table."""
    import torch

    import flambeau
    from flambeau.executor import background, repeated_operators
    from flambeau.tensor import repeated_kernels

    warnings.simplefilter("ignore")
    os.environ[background.VARIABLE] = "off"
    repeated_kernels.LOOKED_AT = OFTEN  # type: ignore[misc]
    repeated_operators.FROM_LLVM = OFTEN  # type: ignore[misc]
    repeated_operators.MOST_PLANS = 1 << 12  # type: ignore[misc]  # no program has so many kinds of calls
    torch.set_num_threads(1)
    flambeau.set_num_threads(1)
    x = flambeau.ones(4)
    for _ in range(UNTIL_NATIVE):
        x + x
    plain = [WideOperands(library, asks=False) for library in (flambeau, torch)]
    asking = [WideOperands(library, asks=True) for library in (flambeau, torch)]
    rows: list[tuple[str, list[Times | None]]] = []
    for module in MODULES:
        for name, call in [*module.CALLS.items(), *module.PLAIN.items()]:
            if not arguments or re.search(arguments[0], name):
                is_recorded = name in module.CALLS
                times = [of_both(call, plain), of_both(call, asking) if is_recorded else None]
                rows.append((name, [*times, and_back(call, asking) if is_recorded else None]))
    print(report(rows))


if __name__ == "__main__":
    main(sys.argv[1:])
