"""Batches of items: tensors stacked, numbers as tensors, containers of them item by item."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from flambeau.ops.families.composite import F
from flambeau.tensor.bridge import from_numpy
from flambeau.tensor.create import as_tensor, tensor
from flambeau.tensor.tensor import Tensor

UNKNOWN: Final = "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {kind}"
TEXTS: Final = frozenset("SaUO")
"""NumPy's kinds of arrays that tensors cannot hold."""


def default_collate(batch: Sequence[Any]) -> Any:
    """A batch of items of one kind.

    Tensors and arrays are stacked, numbers become a tensor (floats one of float64), texts stay a list; tuples, lists
    and dicts become one of batches. Raises TypeError for other items, RuntimeError for lists of different lengths.

    >>> default_collate([(1, "a"), (2, "b")])
    [tensor([1, 2]), ('a', 'b')]
    """
    first = batch[0]
    match first:
        case Tensor():
            return F.stack(list(batch))
        case np.ndarray() | np.generic():
            if first.dtype.kind in TEXTS:
                raise TypeError(UNKNOWN.format(kind=first.dtype.str.lstrip("|=<>")))
            return F.stack([as_tensor(np.asarray(item)) for item in batch])
        case float():
            return from_numpy(np.array(batch, np.float64))
        case int():
            return tensor(list(batch))
        case str() | bytes():
            return batch
    return _collated_containers(batch)


def _collated_containers(batch: Sequence[Any]) -> Any:
    """Dicts, tuples and lists of batches. Raises as `default_collate` does."""
    first = batch[0]
    match first:
        case Mapping():
            return _like(first, {key: default_collate([item[key] for item in batch]) for key in first})
        case tuple() if hasattr(first, "_fields"):
            return type(first)(*(default_collate(column) for column in zip(*batch, strict=True)))
        case Sequence():
            if any(len(item) != len(first) for item in batch):
                raise RuntimeError("each element in list of batch should be of equal size")
            columns = [default_collate(column) for column in zip(*batch, strict=True)]
            return columns if isinstance(first, tuple) else _like(first, columns)
    raise TypeError(UNKNOWN.format(kind=type(first)))


def default_convert(data: Any) -> Any:
    """An item with tensors in the place of NumPy's arrays and numbers; what is of another kind stays.

    >>> default_convert({"a": np.ones(2, np.float32)})
    {'a': tensor([1., 1.])}
    """
    match data:
        case np.ndarray() | np.generic():
            return data if data.dtype.kind in TEXTS else as_tensor(np.asarray(data))
        case str() | bytes() | Tensor():
            return data
        case Mapping():
            return _like(data, {key: default_convert(value) for key, value in data.items()})
        case tuple() if hasattr(data, "_fields"):
            return type(data)(*(default_convert(value) for value in data))
        case tuple():
            return [default_convert(value) for value in data]
        case Sequence():
            return _like(data, [default_convert(value) for value in data])
    return data


def _like(original: Any, values: Any) -> Any:
    """Values in a container of the kind of another one, if that can be made of them."""
    try:
        return type(original)(values)
    except TypeError:
        return values
