"""NumPy's C functions that draw from a generator of bits, as routines: what `rng.standard_normal()` calls itself.

NumPy exports them for other compilers: of the address of a `bitgen_t` they give one number.
"""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Final

import numpy as np

NORMAL, EXPONENTIAL, BOUNDED = "flambeau_generator_normal", "flambeau_generator_exponential", "flambeau_generator_int"
_EXPORTED: Final = {
    NORMAL: "random_standard_normal", EXPONENTIAL: "random_standard_exponential", BOUNDED: "random_bounded_uint64",
}  # fmt: skip
TYPES: Final = {NORMAL: "double (ptr)", EXPONENTIAL: "double (ptr)", BOUNDED: "i64 (ptr, i64, i64, i64, i32)"}
"""The types of the routines, by symbol."""


@cache
def function_addresses() -> dict[str, int]:
    """Where the functions are, by symbol; without those that NumPy does not export."""
    file = getattr(getattr(np.random, "_generator", None), "__file__", None)
    try:
        library = None if file is None else ctypes.CDLL(file)
    except OSError:
        library = None
    addresses = {}
    for symbol, name in _EXPORTED.items():
        function = getattr(library, name, None)
        address = None if function is None else ctypes.cast(function, ctypes.c_void_p).value
        if address is not None:
            addresses[symbol] = address
    return addresses
