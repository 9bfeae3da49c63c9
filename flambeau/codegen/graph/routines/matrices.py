"""The loops of `numpy.linalg` over matrices, as routines: C functions of NumPy's around the LAPACK that it brought.

``(ptr addresses, ptr sizes, ptr steps, ptr data)``: the address of each operand and result; how many matrices there
are, then the sizes that the function's signature names; the bytes from one matrix to the next in each, then those
along each axis of each. What has no result for a matrix writes nan there.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Final

import numpy as np

from flambeau.codegen.ufunc_loops import loop_of

LOOP_TYPE: Final = "void (ptr, ptr, ptr, ptr)"
NAMES: Final = (
    "inv", "det", "slogdet", "solve", "cholesky_lo", "eigvalsh_lo", "eigvalsh_up", "eigh_lo", "eigh_up", "svd",
    "svd_f", "svd_s", "qr_r_raw", "qr_reduced",
)  # fmt: skip
"""What they are called there. Of each it is the loop over float64 that `numpy.linalg` takes, for float32 too."""
PREFIX: Final = "flambeau_matrices_"
TYPES: Final = dict.fromkeys([PREFIX + name for name in NAMES], LOOP_TYPE)
"""The types of the routines, by symbol."""


@cache
def loop_addresses() -> dict[str, int]:
    """Where the loops are, by symbol; without those that NumPy does not have."""
    functions: Any = getattr(np.linalg, "_umath_linalg", None)
    addresses = {}
    for name in NAMES:
        function = getattr(functions, name, None)
        if not isinstance(function, np.ufunc):
            continue
        loop = loop_of(function, (np.dtype(np.float64),) * function.nargs)
        if loop is not None and loop.data == 0:
            addresses[PREFIX + name] = loop.function
    return addresses
