"""What operators do with rows, the elements along the last axes of one array, in terms of NumPy's functions.

Kernels compute this over whole arrays; who makes native code of them asks here. `compute` gets an array of one row and
something that folds:

    Row(axes=1, way=MAPPED, compute=lambda r, x: x - r.fold(np.maximum, x))
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any, Final

from flambeau.tensor.array_library import np
from flambeau.util.record import dataclass

FOLDED, KEPT, MAPPED = "folded", "kept", "mapped"
"""What becomes of a row: one element; one element, of axes with size one; a row."""
ANY_SIZE: Final = 1 << 62
EMPTY: Final[Any] = list
"""What stands for an empty list of dimensions."""

class Axes(tuple[int, ...]):
    """What stands for a list of several dimensions, one object for each."""

    __slots__ = ()

    def last_of(self, ndim: int) -> int:
        """How many of the last dimensions they are; 0 where they are others too.

        >>> Axes((-1, 1)).last_of(3), Axes((0, 1)).last_of(3)
        (2, 0)
        """
        named = {dim % ndim for dim in self if -ndim <= dim < ndim} if ndim else set()
        return len(self) if named == set(range(ndim - len(self), ndim)) else 0


_AXES: Final[dict[tuple[int, ...], Axes]] = {}
LISTED: Final = (ctypes.c_void_p * (1 << 13))()
"""By the code of a list of two or three small numbers, `code_of`, where its `Axes` are; null where nobody asked."""


def code_of(dims: Sequence[int]) -> int:
    """A number for a list of numbers from -8 to 7: four bits of each behind a 1.

    >>> hex(code_of([1, -1]))
    '0x197'
    """
    code = 1
    for dim in dims:
        code = code << 4 | dim + 8
    return code


def axes_of(dims: list[Any]) -> Axes | None:
    """What stands for a list of several dimensions, known to native code from now on; None for a list that it does not
    take apart."""
    if len(dims) not in (2, 3) or not all(type(dim) is int and -8 <= dim < 8 for dim in dims):
        return None
    axes = _AXES.setdefault(tuple(dims), Axes(dims))
    LISTED[code_of(dims)] = id(axes)
    return axes


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
    beyond: int = 0
    """Of other rows, elements of one from which on, these excepted, the kernel does."""


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
    several_beyond: int | None = None,
) -> Row | None:
    """A fold over `dim`, or over all if it is None or `EMPTY`; `most_of_several` is for rows of several axes, `longest`
    for columns. With `several_beyond`, which is `Row.beyond`, several last axes may be a row where others stay."""
    way = KEPT if keepdim else FOLDED
    if isinstance(dim, Axes):
        count = dim.last_of(ndim)
        if count == ndim:
            return Row(ndim, way, compute, most_of_several)
        is_served = count > 0 and several_beyond is not None
        return Row(count, way, compute, most_of_several, beyond=several_beyond or 0) if is_served else None
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


_USUAL: Final = frozenset({np.dtype(np.float32), np.dtype(np.float64)})


def is_usual(dtype: np.dtype[Any]) -> bool:
    """Whether kernels compute in this very dtype: single and double floats."""
    return dtype in _USUAL
