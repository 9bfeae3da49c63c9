"""Views that come often: what a view of a row-major tensor shows follows from its sizes, its dtype and the other
arguments, and is worked out once.

>>> import flambeau
>>> x = flambeau.ones(2, 3)
>>> show = window_of(lambda x, dim: x.diagonal(), (x, 0))
>>> show(x)
tensor([1., 1.])
>>> show(x)._base is x
True
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from flambeau.schema.opdef import OpDef
from flambeau.schema.types import TensorType
from flambeau.tensor.subclasses import PLAIN
from flambeau.tensor.tensor import Tensor, share
from flambeau.util.array_address import address_of
from flambeau.util.missed import MISSED

Run = Callable[..., Any]
GAIN: Final = 0.6e-6
"""Seconds by which showing a window that is known is sooner: what it takes to find it."""
_RUNS: Final = 5


def is_window(definition: OpDef) -> bool:
    """Whether an overload gives one view of its first argument, by its sizes and those of other tensors, as
    `expand_as` does."""
    schema = definition.schema
    may_copy = definition.traits.stays is not None
    is_view = definition.family == "view" and not may_copy and not schema.is_mutable
    if not is_view or len(schema.returns) != 1 or "storage_offset" in schema.index:  # which counts from another place
        return False
    types = [schema.arguments[0].type, schema.returns[0].type]
    others = [part for a in schema.arguments[1:] if type(a.type) is not TensorType for part in a.type.walk()]
    are_tensors = all(isinstance(t, TensorType) for t in types)
    return are_tensors and not any(isinstance(part, TensorType) for part in others)


def window_of(run: Run, arguments: Sequence[Any]) -> Run | Any:
    """What shows the same of tensors like the one of a call; MISSED where that is no window, NotImplemented where it
    takes as long."""
    tensor = arguments[0]
    array, result = tensor._array, run(*arguments)
    is_usual = _is_plain(tensor) and array.flags.c_contiguous and array.size and type(array) is np.ndarray
    if not is_usual or not _is_plain(result) or not _shows(result, tensor):
        return MISSED
    shown = result._array
    shape, strides, dtype = shown.shape, shown.strides, array.dtype
    offset = address_of(shown) - address_of(array)

    def show(tensor: Any, *others: Any) -> Any:
        if type(tensor) is not Tensor and type(tensor) not in PLAIN:
            return MISSED
        return share(tensor, _new_array(shape, dtype, tensor._array, offset, strides))

    try:
        gain = _seconds(run, arguments) - _seconds(show, (tensor,))
    except (ValueError, TypeError):  # what lies outside of the array
        return MISSED
    return show if gain > GAIN else NotImplemented


_new_array: Final[Callable[..., Any]] = np.ndarray


def _is_plain(tensor: Any) -> bool:
    return (type(tensor) is Tensor or type(tensor) in PLAIN) and not tensor.is_wrapped_number


def _shows(result: Tensor, tensor: Tensor) -> bool:
    """Whether a result is a view of a tensor's elements, as they are, and nothing else."""
    base = tensor if tensor._base is None else tensor._base
    is_of_it = result is not tensor and result._base is base and result._storage is tensor._storage
    is_bare = result._node is None and not result._requires_grad and not result.output_nr
    return is_of_it and is_bare and result._array.dtype is tensor._array.dtype and bool(result._array.size)


def _seconds(run: Run, arguments: Sequence[Any]) -> float:
    """The least of some calls."""
    least = float("inf")
    for _ in range(_RUNS):
        start = time.perf_counter()
        run(*arguments)
        least = min(least, time.perf_counter() - start)
    return least
