"""The limits of dtypes: `finfo(float32).eps`, `iinfo(int8).max`.

>>> from flambeau.schema.dtype import bfloat16, int8
>>> finfo(bfloat16).eps, iinfo(int8).min
(0.0078125, -128)
"""

from __future__ import annotations

from typing import Any, Final

import ml_dtypes
import numpy as np

from flambeau.schema import dtype as dtypes
from flambeau.schema.dtype import DType, by_code

NOT_FLOATING = "finfo() requires a floating point dtype, but {dtype} is none; iinfo tells the limits of integers"
NOT_INTEGER = "iinfo() requires an integer dtype, but {dtype} is none; finfo tells the limits of floats"
NO_DTYPE = "{name}() takes a dtype, such as flambeau.{example}, not a {found}"
_PARTS: Final = {dtypes.complex32: dtypes.float16, dtypes.complex64: dtypes.float32, dtypes.complex128: dtypes.float64}


class finfo:  # noqa: N801  (the name that programs know it by)
    """What a floating point dtype can hold; of a complex one, what its parts can.

    Raises TypeError for other dtypes. In programs the dtype may be one that is known only when they run.

    Args:
        dtype: a floating point or complex dtype; the default one if left out.

    >>> import flambeau
    >>> flambeau.finfo(flambeau.float32).max
    3.4028234663852886e+38
    """

    language_form: Final = "finfo"

    def __init__(self, dtype: DType = dtypes.float32) -> None:
        if not isinstance(dtype, DType):
            raise TypeError(NO_DTYPE.format(name="finfo", example="float32", found=type(dtype).__name__))
        part = _PARTS.get(dtype, dtype)
        if not part.is_floating_point:
            raise TypeError(NOT_FLOATING.format(dtype=dtype))
        known: Any = _of_bfloat16() if part is dtypes.bfloat16 else np.finfo(part.numpy)
        self.dtype = part.name
        self.bits = int(known.bits)
        self.min = float(known.min)
        """The lowest finite number."""
        self.max = float(known.max)
        """The highest."""
        self.eps = float(known.eps)
        """From 1 to the next number."""
        self.tiny = self.smallest_normal = float(known.smallest_normal)
        """The smallest positive number that has all digits."""
        self.resolution = float(10.0**-known.precision)
        """About the last decimal digit of 1."""

    def __repr__(self) -> str:
        shown = ("resolution", "min", "max", "eps", "smallest_normal", "tiny")
        return f"finfo({', '.join(f'{n}={getattr(self, n):.6g}' for n in shown)}, dtype={self.dtype})"


def _of_bfloat16() -> Any:
    return ml_dtypes.finfo(ml_dtypes.bfloat16)  # type: ignore[no-untyped-call]


class iinfo:  # noqa: N801
    """What an integer dtype can hold. Raises TypeError for other dtypes.

    Args:
        dtype: an integer dtype.

    >>> import flambeau
    >>> flambeau.iinfo(flambeau.int8).max
    127
    """

    language_form: Final = "iinfo"

    def __init__(self, dtype: DType) -> None:
        if not isinstance(dtype, DType):
            raise TypeError(NO_DTYPE.format(name="iinfo", example="int64", found=type(dtype).__name__))
        if dtype.category != dtypes.Category.INTEGER:
            raise TypeError(NOT_INTEGER.format(dtype=dtype))
        known = np.iinfo(dtype.numpy)
        self.dtype = dtype.name
        self.bits = known.bits
        self.min = int(known.min)
        self.max = int(known.max)

    def __repr__(self) -> str:
        return f"iinfo(min={self.min}, max={self.max}, dtype={self.dtype})"


def limit(code: int, name: str) -> Any:
    """One limit of the dtype with this number, as programs ask for it. Raises RuntimeError where there is none."""
    dtype = by_code(code)
    try:
        return getattr(iinfo(dtype) if dtype.category == dtypes.Category.INTEGER else finfo(dtype), name)
    except (TypeError, AttributeError) as error:
        raise RuntimeError(f"{type(error).__name__}: {error}") from None
