"""Element types of tensors, and how they promote.

A `DType` is one of nineteen singletons. Promotion follows the lattice bool < integers < floats < complex of PyTorch
(measured tables in the tests): `promote(int32, float16)` is float16, `promote(uint8, int8)` is int16.

>>> from flambeau.schema.dtype import float32, int64, promote
>>> promote(int64, float32)
flambeau.float32
"""

from __future__ import annotations

from enum import IntEnum
from functools import cache
from typing import Any, Final

import ml_dtypes
import numpy as np


class Category(IntEnum):
    """The kinds of number, in the order in which they absorb one another."""

    BOOL = 0
    INTEGER = 1
    FLOAT = 2
    COMPLEX = 3


class DType:
    """One element type. Compare with `is`; there is one object per type.

    >>> import flambeau
    >>> flambeau.float32.is_floating_point, flambeau.float32.itemsize, flambeau.ones(1).dtype is flambeau.float32
    (True, 4, True)
    """

    __slots__ = ("category", "code", "display", "is_signed", "itemsize", "name", "numpy", "short")

    name: str
    """The canonical name, as in `flambeau.float32`."""
    code: int
    """The number that stands for it in TorchScript programs (`dtype=6` is float32)."""
    numpy: np.dtype[Any]
    """The NumPy dtype that stores it; two float16 for `complex32`, which has arithmetic nowhere."""
    itemsize: int
    """Bytes per element."""
    category: Category
    """Kind of number, in promotion order."""
    is_signed: bool
    """Whether values below zero exist."""
    display: str
    """The name in type texts and error messages: Float, Long, ComplexDouble."""
    short: str
    """The C name in a few messages: float, long, c10::complex<double>."""

    def __init__(
        self, name: str, code: int, storage: np.dtype[Any], category: Category, display: str, short: str
    ) -> None:
        self.name, self.code, self.numpy, self.category = name, code, storage, category
        self.display, self.short = display, short
        self.itemsize = storage.itemsize
        self.is_signed = category != Category.BOOL and storage.kind != "u" and name != "quint8"

    @property
    def is_floating_point(self) -> bool:
        """True for float16, bfloat16, float32 and float64."""
        return self.category == Category.FLOAT

    @property
    def is_complex(self) -> bool:
        """True for the complex types."""
        return self.category == Category.COMPLEX

    @property
    def is_integral(self) -> bool:
        """True for the integers, not for bool."""
        return self.category == Category.INTEGER

    @property
    def is_quantized(self) -> bool:
        """True for qint8, quint8 and qint32."""
        return self in QUANTIZED

    @property
    def representation(self) -> DType:
        """The type of the integers that a quantised type stores; the type itself for others."""
        return _REPRESENTED_BY.get(self, self)

    def to_real(self) -> DType:
        """The type of the real part: float32 for complex64, the type itself for real types."""
        return _REAL_OF.get(self, self)

    def to_complex(self) -> DType:
        """The complex type whose parts have this type."""
        return next((c for c, r in _REAL_OF.items() if r is self), complex64 if not self.is_complex else self)

    def __repr__(self) -> str:
        return f"flambeau.{self.name}"

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        return (by_name, (self.name,))


def _declare(name: str, code: int, storage: Any, category: Category, display: str, short: str) -> DType:
    return DType(name, code, np.dtype(storage), category, display, short)


uint8: Final = _declare("uint8", 0, np.uint8, Category.INTEGER, "Byte", "unsigned char")
int8: Final = _declare("int8", 1, np.int8, Category.INTEGER, "Char", "signed char")
int16: Final = _declare("int16", 2, np.int16, Category.INTEGER, "Short", "short")
int32: Final = _declare("int32", 3, np.int32, Category.INTEGER, "Int", "int")
int64: Final = _declare("int64", 4, np.int64, Category.INTEGER, "Long", "long int")
float16: Final = _declare("float16", 5, np.float16, Category.FLOAT, "Half", "c10::Half")
float32: Final = _declare("float32", 6, np.float32, Category.FLOAT, "Float", "float")
float64: Final = _declare("float64", 7, np.float64, Category.FLOAT, "Double", "double")
complex32: Final = _declare(
    "complex32",
    8,
    [("real", np.float16), ("imag", np.float16)],
    Category.COMPLEX,
    "ComplexHalf",
    "c10::complex<c10::Half>",
)
complex64: Final = _declare("complex64", 9, np.complex64, Category.COMPLEX, "ComplexFloat", "c10::complex<float>")
complex128: Final = _declare("complex128", 10, np.complex128, Category.COMPLEX, "ComplexDouble", "c10::complex<double>")
bool_: Final = _declare("bool", 11, np.bool_, Category.BOOL, "Bool", "bool")
bfloat16: Final = _declare("bfloat16", 15, ml_dtypes.bfloat16, Category.FLOAT, "BFloat16", "c10::BFloat16")
uint16: Final = _declare("uint16", 27, np.uint16, Category.INTEGER, "UInt16", "uint16_t")
uint32: Final = _declare("uint32", 28, np.uint32, Category.INTEGER, "UInt32", "uint32_t")
uint64: Final = _declare("uint64", 29, np.uint64, Category.INTEGER, "UInt64", "uint64_t")

ALL: Final[tuple[DType, ...]] = (
    bool_, uint8, int8, int16, int32, int64, uint16, uint32, uint64, float16, bfloat16, float32, float64,
    complex32, complex64, complex128,
)  # fmt: skip
qint8: Final = _declare("qint8", 12, [("qint8", np.int8)], Category.INTEGER, "QInt8", "c10::qint8")
quint8: Final = _declare("quint8", 13, [("quint8", np.uint8)], Category.INTEGER, "QUInt8", "c10::quint8")
qint32: Final = _declare("qint32", 14, [("qint32", np.int32)], Category.INTEGER, "QInt32", "c10::qint32")
BARE_UNSIGNED: Final = frozenset((uint16, uint32, uint64))
"""Unsigned integers of which PyTorch has no dtype that they share with other integers."""
QUANTIZED: Final = (qint8, quint8, qint32)
"""Integers that stand for real numbers, by a scale and a zero point that the tensor has. They are stored as records,
with which NumPy computes nothing by itself, and take no part in promotion."""
ALIASES: Final[dict[str, DType]] = {
    "half": float16, "float": float32, "double": float64, "short": int16, "int": int32, "long": int64,
    "chalf": complex32, "cfloat": complex64, "cdouble": complex128,
}  # fmt: skip
_REAL_OF: Final = {complex32: float16, complex64: float32, complex128: float64}
_BY_NUMPY: Final = {d.numpy: d for d in ALL}
_BY_CODE: Final = {d.code: d for d in (*ALL, *QUANTIZED)}
_BY_NAME: Final = {d.name: d for d in (*ALL, *QUANTIZED)} | ALIASES
_BY_DISPLAY: Final = {d.display: d for d in (*ALL, *QUANTIZED)}
_REPRESENTED_BY: Final = {qint8: int8, quint8: uint8, qint32: int32}
_FLOAT_RANK: Final = {float16: 0, bfloat16: 0, float32: 1, float64: 2}


def by_name(name: str) -> DType:
    """The type of that name or alias. Raises KeyError."""
    return _BY_NAME[name]


class NoDTypeError(RuntimeError):
    """There is no dtype of some number."""


def by_code(code: int) -> DType:
    """The type that TorchScript writes as this number. Raises NoDTypeError."""
    dtype = _BY_CODE.get(code)
    if dtype is None:
        raise NoDTypeError(f"there is no dtype of number {code}")
    return dtype


def is_dtype_code(code: int) -> bool:
    """Whether TorchScript writes a type as this number."""
    return code in _BY_CODE


def by_display(display: str) -> DType | None:
    """The type that type texts call so (`Float`, `Long`), or None."""
    return _BY_DISPLAY.get(display)


def from_numpy_dtype(dtype: np.dtype[Any]) -> DType:
    """The type that stores its elements as `dtype`.

    Raises TypeError for the dtypes that no tensor has (objects, strings, big endian).
    """
    match = _BY_NUMPY.get(dtype)
    if match is None:
        raise TypeError(
            f"can't convert np.ndarray of type {dtype}. The only supported types are: "
            + ", ".join(d.name for d in ALL if d is not complex32)
            + ". Convert it first, for example with array.astype(np.float32)."
        )
    return match


NO_COMMON_UNSIGNED: Final = (
    "Promotion for uint16, uint32, uint64 types is not supported, attempted to promote {a} and {b}: convert one of "
    "them, with x.to(flambeau.int64)"
)


@cache
def promote(a: DType, b: DType) -> DType:
    """The smallest type that both convert to, as PyTorch's `promote_types`.

    Raises RuntimeError for uint16, uint32 or uint64 with another type of integers.
    """
    if a is b:
        return a
    if a.category < b.category:
        a, b = b, a
    if a.category == Category.COMPLEX:
        return _promote_complex(a, b)
    if a.category != b.category:
        return a
    if a.category == Category.FLOAT:
        if _FLOAT_RANK[a] == _FLOAT_RANK[b]:
            return float32
        return a if _FLOAT_RANK[a] > _FLOAT_RANK[b] else b
    return _promote_integers(a, b)


def _promote_complex(a: DType, b: DType) -> DType:
    part = b.to_real()
    if part is bfloat16:
        part = float32
    if part.category != Category.FLOAT:
        return a
    mine = a.to_real()
    return a if _FLOAT_RANK[mine] >= _FLOAT_RANK[part] else part.to_complex()


def _promote_integers(a: DType, b: DType) -> DType:
    if a in BARE_UNSIGNED or b in BARE_UNSIGNED:
        raise RuntimeError(NO_COMMON_UNSIGNED.format(a=a.display, b=b.display))
    if a.itemsize == b.itemsize:
        return int16
    larger, smaller = (a, b) if a.itemsize > b.itemsize else (b, a)
    del smaller
    return larger
