"""NumPy's loops over complex numbers as routines: products of matrices, and Fourier transforms along one axis.

They are called like those over matrices; a transform has a factor between its signal and its result. What a loop is
given beside, which of some is where the direction of the transform stands, has a symbol of its own.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Final

import numpy as np

from flambeau.codegen.graph.routines.matrices import LOOP_TYPE
from flambeau.codegen.ufunc_loops import loop_of

PREFIX: Final = "flambeau_complex_"
_OF: Final = {
    "matmul": ("complex128", "complex128", "complex128"), "eigvals": ("float64", "complex128"),
    "eig": ("float64", "complex128", "complex128"), "fft": ("complex128", "float64", "complex128"),
    "ifft": ("complex128", "float64", "complex128"), "rfft_n_even": ("float64", "float64", "complex128"),
    "rfft_n_odd": ("float64", "float64", "complex128"), "irfft": ("complex128", "float64", "float64"),
}  # fmt: skip
"""Each loop by its function of NumPy, with the dtypes of its operands and results."""
DATA: Final = "_given"
"""Ends the symbol of what a loop is given."""
TYPES: Final = {PREFIX + name + end: LOOP_TYPE for name in _OF for end in ("", DATA)}
"""The types of the routines, by symbol."""


@cache
def loop_addresses() -> dict[str, int]:
    """Where the loops are, and what they are given, by symbol; without those that NumPy does not have."""
    homes: list[Any] = [np, getattr(np.linalg, "_umath_linalg", None), getattr(np.fft, "_pocketfft_umath", None)]
    addresses = {}
    for name, dtypes in _OF.items():
        function = next((f for f in (getattr(home, name, None) for home in homes) if isinstance(f, np.ufunc)), None)
        loop = None if function is None else loop_of(function, tuple(map(np.dtype, dtypes)))
        if loop is not None:
            addresses[PREFIX + name] = loop.function
            addresses |= {PREFIX + name + DATA: loop.data} if loop.data else {}
    return addresses
