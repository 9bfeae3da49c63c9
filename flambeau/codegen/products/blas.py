"""The BLAS that NumPy brought: addresses of its products, found by name in the library that NumPy has loaded.

Nothing is loaded or linked that is not there already. Where no name is known, products run on code of our own alone.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from functools import cache
from importlib import import_module

SPELLINGS = (
    ("scipy_cblas_{}64_", 64),
    ("cblas_{}64_", 64),
    ("cblas_{}$NEWLAPACK$ILP64", 64),
    ("scipy_cblas_{}", 32),
    ("cblas_{}$NEWLAPACK", 32),
    ("cblas_{}", 32),
)
"""How the functions are called in NumPy's wheels, in other builds of OpenBLAS and MKL, and in Accelerate; and the
bits of their integers."""
SYMBOL = "flambeau_blas_"
"""Native code calls them under this prefix."""


@dataclass(frozen=True, slots=True)
class Blas:
    """The functions of one library."""

    addresses: dict[str, int]
    """By the names of the C interface, such as `sgemm`."""
    bits: int
    """Width of sizes and strides."""


@cache
def blas() -> Blas | None:
    """The library's `sgemm` and `dgemm`; None where they cannot be found."""
    try:
        library = ctypes.CDLL(import_module("numpy._core._multiarray_umath").__file__)
    except (ImportError, OSError):
        return None
    for spelling, bits in SPELLINGS:
        found = {name: _address(library, spelling.format(name)) for name in ("sgemm", "dgemm")}
        if all(found.values()):
            return Blas(found, bits)
    return None


def _address(library: ctypes.CDLL, name: str) -> int:
    try:
        return ctypes.cast(getattr(library, name), ctypes.c_void_p).value or 0
    except AttributeError:
        return 0


def imports() -> dict[str, int]:
    """Addresses under the symbols that native code calls."""
    found = blas()
    return {} if found is None else {SYMBOL + name: address for name, address in found.addresses.items()}
