"""The default generator for native code: a function that fills memory with its next numbers, as the operators do.

    rand(2, 3)  →  flambeau_fill_drawn(kind of "uniform" in float32, address, 6, 0, 0)

It draws under the generator's lock, so that numbers are those that the operator gives at this place of the stream.
"""

from __future__ import annotations

import _thread
import ctypes
from collections.abc import Callable
from functools import cache
from typing import Any, Final

import numpy as np

from flambeau.ops.random import integers, normal, uniform
from flambeau.schema import dtype as dtypes
from flambeau.schema.dtype import DType
from flambeau.tensor.random import drawing
from flambeau.tensor.random_draws import Draws

FILL, FILL_TYPE = "flambeau_fill_drawn", "void (i64, ptr, i64, i64, i64)"
"""Takes the number of a kind, the address of elements in one piece, how many there are, and two numbers."""
Draw = Callable[[Draws, int, DType, int, int], Any]
_DRAWS: Final[dict[str, Draw]] = {
    "uniform": lambda rng, count, dtype, low, high: uniform(rng, (count,), dtype),
    "normal": lambda rng, count, dtype, low, high: normal(rng, (count,), dtype),
    "integers": lambda rng, count, dtype, low, high: integers(rng, low, high, (count,), dtype),
    "exponential": lambda rng, count, dtype, rate, _: rng.exponential(1.0 / _float_of(rate), count),
    "permutation": lambda rng, count, dtype, low, high: rng.permutation(count),
}
_DTYPES: Final = {
    "uniform": (dtypes.float32, dtypes.float64), "normal": (dtypes.float32, dtypes.float64),
    "integers": (dtypes.int64, dtypes.int32, dtypes.float32, dtypes.float64), "permutation": (dtypes.int64,),
    "exponential": (dtypes.float32, dtypes.float64),
}  # fmt: skip
KINDS: Final = {(name, dtype): k for k, (name, dtype) in enumerate((n, d) for n, ds in _DTYPES.items() for d in ds)}
"""The number of what is drawn in a dtype."""


def bits_of(number: float) -> int:
    """A float as one of the two numbers that are given."""
    return int(np.float64(number).view(np.int64))


def _float_of(bits: int) -> float:
    return float(np.int64(bits).view(np.float64))


@cache
def _fill() -> Any:
    kinds = list(KINDS)

    def fill(kind: int, address: int, count: int, low: int, high: int) -> None:
        name, dtype = kinds[kind]
        memory: Any = (ctypes.c_char * (count * dtype.itemsize)).from_address(address)
        target = np.frombuffer(memory, dtype.numpy)
        try:
            with drawing() as rng:
                target[:] = _DRAWS[name](rng, count, dtype, low, high)
        except KeyboardInterrupt:
            _thread.interrupt_main()  # native code goes on behind this, and looks for signals next

    return ctypes.CFUNCTYPE(None, *[ctypes.c_int64] * 5)(fill)


def fill_addresses() -> dict[str, int]:
    """Where the function is, by symbol."""
    return {FILL: ctypes.cast(_fill(), ctypes.c_void_p).value or 0}
