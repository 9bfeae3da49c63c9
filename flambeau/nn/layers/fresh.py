"""New parameters and tensors of layers, not filled yet, and sizes given once for several dimensions."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from flambeau.nn.parameter import Parameter
from flambeau.schema.device import Device
from flambeau.schema.dtype import DType
from flambeau.tensor import dispatch
from flambeau.tensor.tensor import Tensor


def empty(*sizes: int, dtype: DType | None = None, device: Device | str | None = None) -> Tensor:
    """A tensor that the caller fills."""
    tensor = dispatch.call("aten::empty", list(sizes), dtype=dtype, device=device)
    assert isinstance(tensor, Tensor)
    return tensor


def parameter(*sizes: int, dtype: DType | None = None, device: Device | str | None = None) -> Parameter:
    """A parameter that the caller fills."""
    return Parameter(empty(*sizes, dtype=dtype, device=device))


def repeated(value: Any, count: int) -> Any:
    """`value` as a tuple: itself if it holds several already. A string stays one.

    >>> repeated(3, 2), repeated([1, 2], 2)
    ((3, 3), (1, 2))
    """
    if isinstance(value, str):
        return value
    return tuple(value) if isinstance(value, Iterable) else (value,) * count
