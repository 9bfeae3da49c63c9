"""A tensor of one element as a Python number."""

from __future__ import annotations

from typing import Any

from flambeau.schema import dtype as dtypes
from flambeau.tensor.tensor import Tensor


def to_number(tensor: Tensor) -> Any:
    """The only element as bool, int, float or complex. Raises RuntimeError unless there is exactly one."""
    array = tensor._array
    if array.size != 1:
        raise RuntimeError(f"a Tensor with {array.size} elements cannot be converted to Scalar")
    value = array.item()
    if tensor.dtype is dtypes.bfloat16:
        return float(value)
    return complex(*value) if tensor.dtype is dtypes.complex32 else value
