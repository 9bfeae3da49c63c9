"""What operators do with rows, the elements along the last axes of one array, in terms of NumPy's functions.

Kernels compute this over whole arrays; who makes native code of them asks here. `compute` gets an array of one row and
something that folds:

    Row(axes=1, way=MAPPED, compute=lambda r, x: x - r.fold(np.maximum, x))
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from flambeau.tensor.array_library import np
from flambeau.util.record import dataclass

FOLDED, KEPT, MAPPED = "folded", "kept", "mapped"
"""What becomes of a row: one element; one element, of axes with size one; a row."""
ANY_SIZE: Final = 1 << 62
EMPTY: Final[Any] = list
"""What stands for an empty list of dimensions."""

Describe = Callable[..., "Row | None"]
"""From rank, dtype and the other arguments of a call to what it does with rows; None where it does not go by rows."""


@dataclass(frozen=True, slots=True)
class Row:
    """What one kind of call does."""

    axes: int
    """How many of the last axes are a row."""
    way: str
    compute: Callable[[Any, Any], Any]
    most: int = ANY_SIZE
    """Elements of the array up to which the kernel computes just so."""
    longest: int = 0
    """Not 0 if rows are columns, along the first axis: elements of one up to which the kernel computes just so."""


@dataclass(frozen=True, slots=True)
class RowsMeaning:
    """What is known of one overload."""

    name: str
    describe: Describe


def folded(
    ndim: int,
    dim: Any,
    keepdim: bool,
    compute: Callable[[Any, Any], Any],
    *,
    most_of_several: int = ANY_SIZE,
    longest: int = ANY_SIZE,
) -> Row | None:
    """A fold over `dim`, or over all if it is None or `EMPTY`; `most_of_several` is for rows of several axes, `longest`
    for columns."""
    way = KEPT if keepdim else FOLDED
    if is_first(ndim, dim):
        return Row(1, way, compute, longest=longest)
    if type(dim) is int and -ndim <= dim < ndim and dim % ndim == ndim - 1:
        axes = 1
    elif dim is None or dim is EMPTY:
        axes = ndim
    else:
        return None
    return Row(axes, way, compute, ANY_SIZE if axes == 1 else most_of_several)


def mapped(ndim: int, dtype: np.dtype[Any], dim: int, compute: Callable[[Any, Any], Any]) -> Row | None:
    """What makes a row of each row along `dim`."""
    if is_first(ndim, dim) and is_usual(dtype):
        return Row(1, MAPPED, compute, longest=ANY_SIZE)
    is_last = -ndim <= dim < ndim and dim % ndim == ndim - 1
    return Row(1, MAPPED, compute) if is_last and is_usual(dtype) else None


def is_first(ndim: int, dim: Any) -> bool:
    """Whether the first of several axes is meant."""
    return type(dim) is int and ndim > 1 and dim in (0, -ndim)


def is_usual(dtype: np.dtype[Any]) -> bool:
    """Whether kernels compute in this very dtype: single and double floats."""
    return dtype in (np.dtype(np.float32), np.dtype(np.float64))
