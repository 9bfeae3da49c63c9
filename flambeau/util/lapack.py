"""Inverses of large matrices by the LAPACK that NumPy brought.

NumPy solves a system against the identity, whose zeros it multiplies with all the same. Factoring a matrix and
inverting the factors is a quarter less work, on half the memory.
"""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any, Final

import numpy as np

from flambeau.util import blas
from flambeau.util.record import dataclass

SPELLINGS: Final = (
    ("scipy_{}_64_", 64), ("{}_64_", 64), ("{}$NEWLAPACK$ILP64", 64), ("scipy_{}_", 32), ("{}$NEWLAPACK", 32),
    ("{}_", 32),
)  # fmt: skip
"""How the functions are called in NumPy's wheels, in other builds of OpenBLAS and MKL, and in Accelerate; and the
bits of their integers."""
_PREFIXES: Final = {np.dtype(np.float32): "s", np.dtype(np.float64): "d"}
_BLOCK: Final = 64
"""Columns that the second step works on together."""


@dataclass(frozen=True, slots=True)
class _Inversion:
    factor: Any
    invert: Any
    integer: type[ctypes.c_int64 | ctypes.c_int32]


@cache
def _inversion(dtype: np.dtype[Any]) -> _Inversion | None:
    """The functions for a dtype; None where they cannot be found."""
    library, prefix = blas.library(), _PREFIXES.get(dtype)
    if library is None or prefix is None:
        return None
    for spelling, bits in SPELLINGS:
        names = [spelling.format(prefix + name) for name in ("getrf", "getri")]
        if all(hasattr(library, name) for name in names):
            factor, invert = (
                ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * count)((name, library))
                for name, count in zip(names, (6, 7), strict=True)
            )
            return _Inversion(factor, invert, ctypes.c_int64 if bits == 64 else ctypes.c_int32)
    return None


def can_invert(array: Any) -> bool:
    """Whether `invert_columns` is for such matrices: large ones of floats, where LAPACK is found."""
    is_large = isinstance(array, np.ndarray) and array.shape[-1] ** 2 > blas.SMALL
    return is_large and _inversion(array.dtype) is not None


def invert_columns(matrices: np.ndarray) -> None:
    """Turn square matrices into their inverses; a batch (n, size, size) without gaps, each matrix by columns.

    Raises `numpy.linalg.LinAlgError` for a singular one.

    >>> large = np.diag(np.full(100, 4.0))[None]
    >>> if can_invert(large):
    ...     invert_columns(large)
    ... else:
    ...     large = np.linalg.inv(large)
    >>> float(large[0, 7, 7])
    0.25
    """
    function, size = _inversion(matrices.dtype), matrices.shape[-1]
    assert function is not None
    integer = function.integer
    n, room, failed = integer(size), integer(size * _BLOCK), integer(0)
    pivots, scratch = np.empty(size, integer), np.empty(size * _BLOCK, matrices.dtype)
    order, rooms, info = map(ctypes.addressof, (n, room, failed))
    exchanged, work = pivots.ctypes.data, scratch.ctypes.data
    with blas.threads_for(float(size) ** 3):
        for matrix in matrices:
            data = matrix.ctypes.data
            function.factor(order, order, data, order, exchanged, info)
            if not failed.value:
                function.invert(order, data, order, exchanged, work, rooms, info)
            if failed.value:
                raise np.linalg.LinAlgError("Singular matrix")
