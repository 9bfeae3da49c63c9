"""Dtype and shape rules that many operators share. Arguments are named as in schemas; unknown parts give unknown
results.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from flambeau.ops.families.arrays import as_dtype, one_dim, some_dims
from flambeau.schema.dtype import Category, DType, bool_, float32, int64, promote
from flambeau.schema.opdef import UNKNOWN, Sizes
from flambeau.schema.types import TensorType


def same_dtype(self: TensorType) -> DType | None:
    """The first argument's dtype."""
    return self.dtype


def same_shape(self: TensorType) -> Sizes | None:
    """The first argument's sizes."""
    return self.sizes


def input_dtype(input: TensorType) -> DType | None:
    """The dtype of an argument called `input`."""
    return input.dtype


def input_shape(input: TensorType) -> Sizes | None:
    """The sizes of an argument called `input`."""
    return input.sizes


def to_int64() -> DType:
    """Always int64."""
    return int64


def summed_dtype(self: TensorType, dtype: Any = None) -> DType | None:
    """`dtype` if given; int64 for bools and integers; else the same."""
    return chosen(dtype, lambda: None if self.dtype is None else accumulate_dtype(self.dtype))


def float_dtype(self: TensorType, dtype: Any = None) -> DType | None:
    """`dtype` if given; float32 for bools and integers; else the same."""
    return chosen(dtype, lambda: None if self.dtype is None else to_float(self.dtype))


def given_dtype(self: TensorType, dtype: Any = None) -> DType | None:
    """`dtype` if given, else the same."""
    return chosen(dtype, lambda: self.dtype)


def real_dtype(self: TensorType, dtype: Any = None) -> DType | None:
    """The dtype of the real part of `dtype` or of the argument."""
    target = chosen(dtype, lambda: self.dtype)
    return None if target is None else target.to_real()


def flag_dtype(self: TensorType) -> DType | None:
    """bool, but uint8 for uint8."""
    return None if self.dtype is None else self.dtype if self.dtype.name == "uint8" else bool_


def value_and_index(self: TensorType) -> tuple[DType | None, ...]:
    """The argument's dtype, and int64."""
    return (self.dtype, int64)


def chosen(dtype: Any, otherwise: Callable[[], DType | None]) -> DType | None:
    """A dtype argument if it is given and known, else what `otherwise` says."""
    if dtype is UNKNOWN:
        return None
    return otherwise() if dtype is None else as_dtype(dtype)


def accumulate_dtype(dtype: DType) -> DType:
    """What sums and products of this dtype are."""
    return int64 if dtype.category <= Category.INTEGER else dtype


def to_float(dtype: DType) -> DType:
    """The float that stands for integers; floats are themselves."""
    return float32 if dtype.category <= Category.INTEGER else dtype


def promoted(*tensors: TensorType) -> DType | None:
    """What tensors promote to when none of them is 0-dim or unknown; None where that cannot be told."""
    common: DType | None = None
    for tensor in tensors:
        if tensor.dtype is None or not tensor.sizes:
            return None
        common = tensor.dtype if common is None else promote(common, tensor.dtype)
    return common


def reduced_shape(self: TensorType, dim: Any = None, keepdim: Any = False) -> Sizes | None:
    """Sizes without the dimensions in `dim` (all of them if there are none), or with 1 in their place."""
    if keepdim is UNKNOWN or dim is UNKNOWN:
        return None
    if _has_unknown(dim):
        rank = None if not self.sizes else len(self.sizes) - (0 if keepdim else len(dim))
        return None if rank is None else (None,) * rank
    if self.sizes is None:
        return () if not keepdim and (dim is None or dim == []) else None
    gone = some_dims(dim, len(self.sizes))
    return tuple(1 if i in gone else s for i, s in enumerate(self.sizes) if keepdim or i not in gone)


def reduced_pair(self: TensorType, dim: Any = None, keepdim: Any = False) -> tuple[Sizes | None, ...]:
    """Twice `reduced_shape`."""
    sizes = reduced_shape(self, dim, keepdim)
    return (sizes, sizes)


def same_pair(self: TensorType) -> tuple[Sizes | None, ...]:
    """Twice the first argument's sizes."""
    return (self.sizes, self.sizes)


def unknown_dims(sizes: Sizes, dim: int) -> Sizes:
    """`sizes` with dimension `dim` unknown."""
    axis = one_dim(dim, len(sizes))
    return tuple(None if i == axis else s for i, s in enumerate(sizes))


def known(*values: Any) -> bool:
    """Whether all values (and elements of lists) are known."""
    return not any(v is UNKNOWN or _has_unknown(v) for v in values)


def _has_unknown(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str) and any(v is UNKNOWN for v in value)
