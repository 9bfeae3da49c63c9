"""Arrays of nested Python sequences: their sizes, their dtype and their elements.

>>> array_of([[1, 2], [3, 4]]).shape
(2, 2)
>>> array_of([np.float64(1), 2]).dtype
dtype('float64')
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from itertools import chain
from typing import Any, Final

import numpy as np

from flambeau.schema import dtype as dtypes
from flambeau.schema.dtype import DType, from_numpy_dtype
from flambeau.tensor import defaults
from flambeau.tensor.tensor import Array, Tensor
from flambeau.util.float_errors import errstate

QUANTIZED: Final = (
    "numbers alone do not say what integers of {dtype} stand for: write flambeau.quantize_per_tensor(x, scale, "
    "zero_point, flambeau.{dtype})"
)
_RANGES: Final = {
    d: (0 if not d.is_signed else -(1 << (8 * d.itemsize - 1)), (1 << (8 * d.itemsize - d.is_signed)) - 1)
    for d in dtypes.ALL
    if d.is_integral
}


def array_of(data: Any, target: DType | None = None) -> Array:
    """An array of the numbers in a nested sequence, of a dtype or of the one that they are promoted to.

    Raises ValueError for ragged sequences, TypeError and RuntimeError for what is no number or does not fit the dtype.
    """
    array = _of_one_kind(data, target)
    if array is not None:
        return array
    shape = _shape_of(data)
    flat: list[Any] = []
    declared: set[DType] = set()
    _flatten(data, shape, 0, flat, declared)
    dtype = target or (reduce(dtypes.promote, declared) if declared else defaults.float_dtype())
    if not flat:
        return np.empty(shape, dtype.numpy)
    _check_values(flat, dtype)
    with np.errstate(all="ignore"):
        if dtype is dtypes.complex32:
            array = np.array([(complex(v).real, complex(v).imag) for v in flat], dtype.numpy)
        elif dtype is dtypes.bool_:
            array = np.array([bool(v) for v in flat])
        elif dtype.is_integral:
            bits = (1 << 64) - 1
            array = np.array([int(v) & bits for v in flat], np.uint64).astype(dtype.numpy)
        else:
            array = np.array(flat, np.complex128 if dtype.is_complex else np.float64).astype(dtype.numpy)
    return array.reshape(shape)


def _of_one_kind(data: Any, target: DType | None) -> Array | None:
    """The same of a number, a list of numbers or one of lists of equal lengths, where all are ints, or floats, or
    bools, and become what they are or floats; None for all else, and for what is refused."""
    flat, shape = _flat_list(data)
    kinds = set(map(type, flat))
    if len(kinds) != 1:
        return None
    [kind] = kinds
    known = _KINDS.get(kind)
    dtype = target or (defaults.float_dtype() if kind is float else known)
    if known is None or (dtype is not known and (kind is bool or dtype not in _USUAL_FLOATS)):
        return None
    try:
        array = np.array(flat, known.numpy if dtype is known else np.float64)
    except OverflowError:
        return None
    if dtype is not known:
        with errstate(all="ignore"):
            array = array.astype(dtype.numpy, copy=False)
    return array if shape is None else array.reshape(shape)


def _flat_list(data: Any) -> tuple[list[Any], tuple[int, ...] | None]:
    """The numbers of a list, or of one of lists of equal lengths, with the sizes if there are not just one; nothing for
    all else."""
    if type(data) in _KINDS:
        return [data], ()
    if type(data) is not list or not data:
        return [], None
    if type(data[0]) is not list:
        return data, None
    length = len(data[0])
    if any(type(row) is not list or len(row) != length for row in data):
        return [], None
    return list(chain.from_iterable(data)), (len(data), length)


_KINDS: Final = {int: dtypes.int64, float: dtypes.float64, bool: dtypes.bool_}
_USUAL_FLOATS: Final = frozenset({dtypes.float32, dtypes.float64})


def _shape_of(data: Any) -> tuple[int, ...]:
    """The sizes of nested sequences, by their first elements; a tensor of one element is a number there."""
    sizes: list[int] = []
    while True:
        if isinstance(data, Tensor):
            return tuple(sizes) if sizes and data.numel() == 1 else (*sizes, *data.shape)
        if isinstance(data, np.ndarray):
            return (*sizes, *data.shape)
        if not _is_sequence(data):
            return tuple(sizes)
        sizes.append(len(data))
        if not len(data):
            return tuple(sizes)
        data = data[0]


def _is_sequence(data: Any) -> bool:
    return isinstance(data, list | tuple | range) or (
        hasattr(data, "__len__") and hasattr(data, "__getitem__") and not isinstance(data, str | bytes | dict | set)
    )


def _flatten(data: Any, shape: tuple[int, ...], depth: int, out: list[Any], declared: set[DType]) -> None:
    """Append the numbers in `data` to `out`, and their dtypes to `declared`."""
    if isinstance(data, Tensor | np.ndarray):
        _flatten_array(data, shape, depth, out, declared)
        return
    if depth == len(shape):
        number = _number(data)
        declared.add(from_numpy_dtype(data.dtype) if isinstance(data, np.generic) else infer_dtype([number]))
        out.append(number)
        return
    if not _is_sequence(data):
        raise TypeError("not a sequence")
    if len(data) != shape[depth]:
        raise ValueError(f"expected sequence of length {shape[depth]} at dim {depth} (got {len(data)})")
    if depth == len(shape) - 1 and all(type(v) in _PLAIN for v in data):
        declared.add(infer_dtype(data))
        out.extend(data)
        return
    for element in data:
        _flatten(element, shape, depth + 1, out, declared)


def _flatten_array(
    data: Tensor | Array, shape: tuple[int, ...], depth: int, out: list[Any], declared: set[DType]
) -> None:
    """The same of a tensor or an array; a tensor of one element is a number where one is due."""
    declared.add(data.dtype if isinstance(data, Tensor) else from_numpy_dtype(data.dtype))
    if isinstance(data, Tensor) and depth == len(shape):
        if data.numel() != 1:
            raise ValueError(SEVERAL_ELEMENTS)
        out.append(data.item())
        return
    if tuple(data.shape) != shape[depth:]:
        raise ValueError(f"expected sequence of shape {list(shape[depth:])} at dim {depth} (got {list(data.shape)})")
    values: Any = data.tolist()
    is_number = isinstance(values, int | float | complex)
    out.extend([values] if is_number else np.asarray(values, dtype=object).reshape(-1))


SEVERAL_ELEMENTS: Final = (
    "only one element tensors can be converted to Python scalars: beside numbers, each tensor in a list is one of "
    "them; flambeau.stack(...) makes a tensor of tensors"
)
_PLAIN: Final = frozenset((int, float, bool, complex))


def _number(value: Any) -> Any:
    if type(value) in _PLAIN:
        return value
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, str) or not isinstance(value, int | float | complex):
        if not isinstance(value, str) and hasattr(value, "__index__"):
            return value.__index__()
        if not isinstance(value, str) and hasattr(value, "__float__"):
            return float(value)
        if value is None:
            raise RuntimeError("Could not infer dtype of NoneType")
        if isinstance(value, str):
            raise TypeError("new(): invalid data type 'str'")
        raise RuntimeError(f"Could not infer dtype of {type(value).__name__}")
    return value


_FLOATS: Final = {float}


def infer_dtype(values: Sequence[Any]) -> DType:
    """The dtype for Python numbers: the highest kind among them decides. float32 for none."""
    kinds = set(map(type, values))
    if not kinds or kinds == _FLOATS:
        return defaults.float_dtype()
    if any(issubclass(k, complex) for k in kinds):
        return defaults.float_dtype().to_complex()
    if any(issubclass(k, float) for k in kinds):
        return defaults.float_dtype()
    return dtypes.bool_ if kinds == {bool} else dtypes.int64


def _check_values(values: Sequence[Any], dtype: DType) -> None:
    """Refuse numbers that integers and real dtypes cannot hold."""
    if dtype.is_complex or dtype is dtypes.bool_:
        return
    if any(isinstance(v, complex) for v in values):
        raise TypeError("must be real number, not complex")
    if dtype.is_quantized:
        raise RuntimeError(QUANTIZED.format(dtype=dtype.name))
    if not dtype.is_integral:
        return
    low, high = _RANGES[dtype]
    for value in values:
        if isinstance(value, int) and not -(1 << 63) <= value < 1 << (64 if dtype is dtypes.uint64 else 63):
            raise ValueError("Overflow when unpacking long long")
        if not _fits_range(value, low, high):
            raise RuntimeError(f"value cannot be converted to type {dtype.name} without overflow")


def _fits_range(value: Any, low: int, high: int) -> bool:
    """Whether an integral dtype holds a number; unsigned ones take negative ints, which wrap around."""
    if isinstance(value, int):
        return (-high if low == 0 else low) <= value <= high
    return value - value == 0 and low <= int(value) <= high
