"""What this machine can do at best: how fast it copies memory and how fast it adds and multiplies, measured once.

Each number is the best of a few short trials on one thread, some milliseconds together, and is kept for the process.
"""

from __future__ import annotations

import ctypes
import time
from functools import cache

import numpy as np

from flambeau.codegen.llvm.engine import engine

SMALLEST, LARGEST = 1 << 16, 1 << 25
"""Bytes of the arrays that are copied: what is smaller or larger is taken to go as fast as these."""
CHAINS = 12
"""Sums that the processor works on side by side: enough to hide the latency of two units."""
ROUNDS = 1 << 14

_FUNCTION = ctypes.CFUNCTYPE(ctypes.c_float, ctypes.c_int64)


def least_seconds(moved: int, operations: int, threads: int) -> tuple[float, str]:
    """What the machine needs at least to copy `moved` bytes and for so many operations, and for which of the two.

    Raises RuntimeError without LLVM.
    """
    memory, arithmetic = moved / bytes_per_second(moved), operations / operations_per_second()
    return max(memory, arithmetic) / threads, "memory" if memory >= arithmetic else "arithmetic"


def bytes_per_second(touched: int) -> float:
    """How fast one thread copies memory when it touches so many bytes, which decides in what cache they lie."""
    size = min(max(touched, SMALLEST), LARGEST)
    return _copied(1 << (size - 1).bit_length())


@cache
def _copied(touched: int) -> float:
    source, target = np.ones(touched // 2, np.uint8), np.ones(touched // 2, np.uint8)
    repeats = max(1, (1 << 21) // touched)
    best = float("inf")
    for _ in range(3):
        start = time.perf_counter()
        for _ in range(repeats):
            np.copyto(target, source)
        best = min(best, time.perf_counter() - start)
    return touched * repeats / best


@cache
def operations_per_second() -> float:
    """How many float32 operations one thread does: a product and a sum of the widest vectors are two for each lane.

    Raises RuntimeError without LLVM.
    """
    lanes = engine().target.vector_bits // 32
    code = engine().link(_text(lanes), ("flambeau_limit",), {})
    run = _FUNCTION(code.addresses["flambeau_limit"])
    best = float("inf")
    for _ in range(8):
        start = time.perf_counter()
        run(ROUNDS)
        best = min(best, time.perf_counter() - start)
    return 2.0 * lanes * CHAINS * ROUNDS / best


def _text(lanes: int) -> str:
    kind = f"<{lanes} x float>"
    half = "splat (float 0.5)"
    heads = "\n".join(f"  %s{k} = phi {kind} [splat (float {k}.0), %entry], [%t{k}, %iteration]" for k in range(CHAINS))
    iterations = "\n".join(
        f"  %p{k} = fmul contract {kind} %s{k}, {half}\n  %t{k} = fadd contract {kind} %p{k}, {half}"
        for k in range(CHAINS)
    )
    sums = "\n".join(
        f"  %u{k} = fadd {kind} {'%t0' if k == 1 else f'%u{k - 1}'}, %t{k}" for k in range(1, CHAINS)
    )
    return f"""
define float @flambeau_limit(i64 %n) {{
entry:
  br label %iteration
iteration:
  %i = phi i64 [0, %entry], [%next, %iteration]
{heads}
{iterations}
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, %n
  br i1 %more, label %iteration, label %done
done:
{sums}
  %first = extractelement {kind} %u{CHAINS - 1}, i64 0
  ret float %first
}}
"""
