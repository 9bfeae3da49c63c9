"""The sizes of a tensor.

>>> Size((2, 3)), Size((2, 3)).numel()
(flambeau.Size([2, 3]), 6)
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import count
from math import prod
from typing import Any, SupportsIndex, overload

_NONE = (str, bytes, float, complex, type(None), list, tuple, dict, set)
"""Classes of what is no size."""
NOT_WHOLE = "flambeau.Size() takes an iterable of 'int' (item {at} is '{kind}')"


def _whole(size: Any, at: int) -> Any:
    """A bool as an int; what stands for an int in a recording as it is. Raises TypeError for what is no number."""
    if isinstance(size, _NONE):
        raise TypeError(NOT_WHOLE.format(at=at, kind=type(size).__name__))
    return int(size) if isinstance(size, bool) else size


class Size(tuple[int, ...]):
    """A tuple of sizes, one per dimension.

    >>> import flambeau
    >>> size = flambeau.ones(2, 3).shape
    >>> size, size.numel(), size[1]
    (flambeau.Size([2, 3]), 6, 3)
    """

    __slots__ = ()

    def __new__(cls, sizes: Iterable[SupportsIndex] = ()) -> Size:
        """The sizes that an iterable gives, numbers as ints. Raises TypeError for what is none."""
        self = tuple.__new__(cls, sizes)
        if cls is not Size or all(type(size) is int for size in self):
            return self
        return tuple.__new__(cls, map(_whole, self, count()))

    def numel(self) -> int:
        """The number of elements of a tensor of these sizes."""
        return prod(self)

    def __repr__(self) -> str:
        return f"flambeau.Size([{', '.join(map(str, self))}])"

    def __add__(self, other: tuple[int, ...]) -> Size:  # type: ignore[override]
        return Size(tuple.__add__(self, tuple(other)))

    def __radd__(self, other: tuple[int, ...]) -> Size:
        return Size(tuple.__add__(tuple(other), self)) if isinstance(other, tuple) else NotImplemented

    def __mul__(self, times: int) -> Size:  # type: ignore[override]
        return Size(tuple.__mul__(self, times))

    __rmul__ = __mul__  # type: ignore[assignment]

    @overload
    def __getitem__(self, key: SupportsIndex) -> int: ...
    @overload
    def __getitem__(self, key: slice) -> Size: ...
    def __getitem__(self, key: Any) -> Any:
        item = tuple.__getitem__(self, key)
        return Size(item) if isinstance(item, tuple) else item

    def __reduce__(self) -> tuple[type[Size], tuple[tuple[int, ...]]]:
        return (Size, (tuple(self),))
