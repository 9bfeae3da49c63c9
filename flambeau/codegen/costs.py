"""What a specialised kernel moves and computes, and roughly how long that takes."""

from __future__ import annotations

import math
from collections.abc import Iterator

from flambeau.codegen.kernel.dtypes import element_type
from flambeau.codegen.kernel.nest import Accumulate, Let, Loop, Seldom, Statement, Store, index_axes, placed_axes
from flambeau.codegen.specialize import Specialized

NANOSECONDS = {
    "exp": 0.16, "exp2": 0.16, "expm1": 0.2, "log": 0.27, "log2": 0.3, "log10": 0.3, "log1p": 0.35, "sigmoid": 0.22,
    "tanh": 0.22, "sin": 0.3, "cos": 0.3, "tan": 0.4, "asin": 0.3, "acos": 0.3, "atan": 0.3, "sinh": 0.5, "cosh": 0.4,
    "asinh": 0.6, "acosh": 0.6, "atanh": 0.6, "erf": 0.5, "erfc": 0.5, "pow": 1.0, "atan2": 0.5, "hypot": 0.3,
    "erfinv": 0.6, "gcd": 8.0, "lgamma": 3.0, "digamma": 3.0,
    "div": 0.06, "sqrt": 0.06, "rsqrt": 0.1, "floordiv": 1.0, "remainder": 1.0, "fmod": 1.0, "truncdiv": 1.0,
}  # fmt: skip
"""Cost of an operation on one float32 of a wide vector; 0.012 for the others."""
CHANGE = 0.7
"""Cost of changing an element where a value says."""


def bytes_moved(special: Specialized) -> int:
    """Bytes of all inputs and outputs of a call."""
    indexed = index_axes(special.kernel)
    iterations = math.prod(n for a, n in special.sizes.items() if a not in placed_axes(special.kernel))
    total = 0
    for b in special.kernel.inputs + special.kernel.outputs:
        # Of a table, as much as is looked up.
        count = iterations if indexed & set(b.axes) else math.prod(special.sizes[a] for a in b.axes)
        total += count * element_type(b.dtype).itemsize
    return total


def iterations_of(special: Specialized) -> Iterator[tuple[Statement, int]]:
    """Every simple statement with how often it runs, but for those that seldom do."""
    stack = [(s, 1) for s in special.kernel.body]
    while stack:
        s, iterations = stack.pop()
        if isinstance(s, Loop):
            for a in s.axes:
                iterations *= special.sizes[a]
            stack.extend((inner, iterations) for inner in s.body)
        elif not isinstance(s, Seldom):
            yield s, iterations


def operation_count(special: Specialized) -> int:
    """Scalar operations of a call, folds included."""
    return sum(iterations for s, iterations in iterations_of(special) if isinstance(s, Let | Accumulate))


def estimate_nanoseconds(special: Specialized) -> float:
    """A rough duration on one thread: bytes moved, and operations by their cost."""
    total = bytes_moved(special) / 60.0
    for s, iterations in iterations_of(special):
        if isinstance(s, Let):
            total += iterations * NANOSECONDS.get(s.op, 0.012) * element_type(s.dtype).bits / 32
        elif isinstance(s, Store) and s.at:
            total += iterations * CHANGE
    return total
