"""The type of values that mean what NumPy's arrays mean: tensors of a known element type and number of dimensions.

>>> from flambeau.schema.dtype import float64
>>> x = array_of(float64, 2)
>>> x.annotation, x.rank, x.dtype is float64
('Tensor', 2, True)
>>> from flambeau.schema.types import TENSOR
>>> x == TENSOR, plain(x) == TENSOR
(False, True)

Only the compiler knows it: operators, graphs and archives have tensors. It is a tensor's type with a meaning of its own
for what is done with the value, and stays with the value through views, arithmetic, variables and calls.
"""

from __future__ import annotations

from flambeau.schema.dtype import DType
from flambeau.schema.types import TENSOR, TensorType, Type
from flambeau.util.record import dataclass


@dataclass(frozen=True)
class ArrayType(TensorType):
    """An array; dtype and rank are known, or None where only the run tells."""

    is_array = True

    def merge(self, other: TensorType) -> TensorType:
        """What holds of both: an array if both are."""
        if not isinstance(other, ArrayType):
            return TENSOR
        return array_of(
            self.dtype if self.dtype is other.dtype else None, self.rank if self.rank == other.rank else None
        )

    def __str__(self) -> str:
        return shown_array(self)


@dataclass(frozen=True)
class SpectrumType(ArrayType):
    """An array of complex numbers that NumPy has as real ones if all of them are, which only the run tells."""


def spectrum_of(dtype: DType, rank: int) -> SpectrumType:
    """The type of the eigenvalues and eigenvectors of real matrices.

    >>> from flambeau.schema.dtype import complex128
    >>> str(spectrum_of(complex128, 1))
    'np.ndarray of complex128 with 1 dimension'
    """
    return SpectrumType(dtype=dtype, sizes=(None,) * rank)


@dataclass(frozen=True)
class ScalarType(ArrayType):
    """A scalar of NumPy, which lies as an array without dimensions does, and which nothing changes in place."""

    def merge(self, other: TensorType) -> TensorType:
        """What holds of both: a scalar if both are."""
        merged = super().merge(other)
        return scalar_of(merged.dtype) if isinstance(other, ScalarType) else merged


def scalar_of(dtype: DType | None) -> ScalarType:
    """The type of NumPy's scalars of an element type.

    >>> from flambeau.schema.dtype import float32
    >>> half, whole = scalar_of(float32), scalar_of(float32)
    >>> str(half.merge(whole)), type(half.merge(array_of(float32, 0))).__name__
    ('np.ndarray of float32 with 0 dimensions', 'ArrayType')
    """
    return ScalarType(dtype=dtype, sizes=())


def array_of(dtype: DType | None, rank: int | None) -> ArrayType:
    """The type of arrays of an element type and a number of dimensions."""
    return ArrayType(dtype=dtype, sizes=None if rank is None else (None,) * rank)


def shown_array(type_: ArrayType) -> str:
    """An array's type in words: `np.ndarray of float64 with 2 dimensions`."""
    kind = "" if type_.dtype is None else f" of {type_.dtype.name}"
    rank = "" if type_.rank is None else f" with {type_.rank} dimension{'' if type_.rank == 1 else 's'}"
    return f"np.ndarray{kind}{rank}"


def plain(type_: Type) -> Type:
    """The type with tensors in the place of arrays."""
    if isinstance(type_, ArrayType):
        return TENSOR
    inner = type_.contained
    if not inner or not holds_arrays(type_):
        return type_
    return type_.with_contained(tuple(map(plain, inner)))


def holds_tensors(type_: Type) -> bool:
    """Whether a value is a tensor or has some in it."""
    return any(isinstance(t, TensorType) for t in type_.walk())


def holds_arrays(type_: Type) -> bool:
    """Whether a value is an array or has some in it."""
    return any(isinstance(t, ArrayType) for t in type_.walk())
