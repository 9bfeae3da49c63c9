"""The BLAS that NumPy brought: addresses of its products, found by name in the library that NumPy has loaded.

Nothing is loaded or linked that is not there already. Where no name is known, products run on code of our own alone.
"""

from __future__ import annotations

import ctypes
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cache
from typing import Any

from flambeau.util import blas as numpy_blas
from flambeau.util.thread_count import ANY

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
    library = numpy_blas.library()
    if library is None:
        return None
    for spelling, bits in SPELLINGS:
        functions = {name: _address(library, spelling.format(name)) for name in ("sgemm", "dgemm")}
        if all(functions.values()):
            return Blas(functions, bits)
    return None


def _address(library: ctypes.CDLL, name: str) -> int:
    try:
        return ctypes.cast(getattr(library, name), ctypes.c_void_p).value or 0
    except AttributeError:
        return 0


@cache
def imports(wanted: int) -> dict[str, int]:
    """Addresses under the symbols that native code calls, for a function that wants so many threads, or `ANY`.

    They lead through Python, which says how many threads BLAS uses: products that come here take far longer than that.
    """
    library = blas()
    if library is None:
        return {}
    called = {name: _counted(address, library.bits, name, wanted) for name, address in library.addresses.items()}
    _kept.extend(called.values())
    return {SYMBOL + name: ctypes.cast(function, ctypes.c_void_p).value or 0 for name, function in called.items()}


_kept: list[Any] = []
"""What native code holds addresses of."""


def _counted(address: int, bits: int, name: str, wanted: int) -> Any:
    integer = ctypes.c_int64 if bits == 64 else ctypes.c_int32
    scalar, pointer = (ctypes.c_float if name == "sgemm" else ctypes.c_double), ctypes.c_void_p
    signature = ctypes.CFUNCTYPE(
        None, *[ctypes.c_int] * 3, *[integer] * 3, scalar, pointer, integer, pointer, integer, scalar, pointer, integer
    )
    product = signature(address)

    def counted(*arguments: Any) -> None:
        m, n, k = arguments[3:6]
        with nullcontext() if wanted == ANY else numpy_blas.at_most(wanted), numpy_blas.threads_for(float(m) * n * k):
            product(*arguments)

    return signature(counted)
