"""NumPy's loops over complex numbers as routines: eigenvalues of real matrices, and Fourier transforms along one axis.

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
SINGLE: Final = "_single"
"""Ends the names of transforms in single precision."""
_TRANSFORMS: Final = {
    "fft": "DdD", "ifft": "DdD", "rfft_n_even": "ddD", "rfft_n_odd": "ddD", "irfft": "Ddd",
}  # fmt: skip
_OF: Final = {
    "eigvals": "dD", "eig": "dDD", **_TRANSFORMS,
    **{name + SINGLE: characters.translate({68: 70, 100: 102}) for name, characters in _TRANSFORMS.items()},
}  # fmt: skip
"""Each loop by its function of NumPy, with the characters of its dtypes: of operands, then of results."""
DATA: Final = "_given"
"""Ends the symbol of what a loop is given."""
TYPES: Final = {PREFIX + name + end: LOOP_TYPE for name in _OF for end in ("", DATA)}
"""The types of the routines, by symbol."""


@cache
def loop_addresses() -> dict[str, int]:
    """Where the loops are, and what they are given, by symbol; without those that NumPy does not have."""
    homes: list[Any] = [getattr(np.linalg, "_umath_linalg", None), getattr(np.fft, "_pocketfft_umath", None)]
    addresses = {}
    for name, characters in _OF.items():
        plain = name.removesuffix(SINGLE)
        function = next((f for f in (getattr(home, plain, None) for home in homes) if isinstance(f, np.ufunc)), None)
        loop = None if function is None else loop_of(function, tuple(map(np.dtype, characters)))
        if loop is not None:
            addresses[PREFIX + name] = loop.function
            addresses |= {PREFIX + name + DATA: loop.data} if loop.data else {}
    return addresses
