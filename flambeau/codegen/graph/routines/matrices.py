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
COMPLEX: Final = {
    "inv": "DD", "det": "DD", "slogdet": "DDd", "solve": "DDD", "cholesky_lo": "DD", "eigvalsh_lo": "Dd",
    "eigvalsh_up": "Dd", "eigh_lo": "DdD", "eigh_up": "DdD",
}  # fmt: skip
"""The loops that there are over complex128 too, with the characters of their dtypes."""
COMPLEX_PREFIX: Final = PREFIX + "complex_"
TYPES: Final = dict.fromkeys(
    [*(PREFIX + name for name in NAMES), *(COMPLEX_PREFIX + name for name in COMPLEX)], LOOP_TYPE
)
"""The types of the routines, by symbol."""


@cache
def loop_addresses() -> dict[str, int]:
    """Where the loops are, by symbol; without those that NumPy does not have."""
    functions: Any = getattr(np.linalg, "_umath_linalg", None)
    wanted = [(PREFIX + name, name, "") for name in NAMES]
    wanted += [(COMPLEX_PREFIX + name, name, characters) for name, characters in COMPLEX.items()]
    addresses = {}
    for symbol, name, characters in wanted:
        function = getattr(functions, name, None)
        if not isinstance(function, np.ufunc):
            continue
        loop = loop_of(function, tuple(map(np.dtype, characters or "d" * function.nargs)))
        if loop is not None and loop.data == 0:
            addresses[symbol] = loop.function
    return addresses
