"""The sizes of a tensor.

>>> Size((2, 3)), Size((2, 3)).numel()
(flambeau.Size([2, 3]), 6)
"""

from __future__ import annotations

from math import prod
from typing import Any, SupportsIndex, overload


class Size(tuple[int, ...]):
    """A tuple of sizes, one per dimension.

    >>> import flambeau
    >>> size = flambeau.ones(2, 3).shape
    >>> size, size.numel(), size[1]
    (flambeau.Size([2, 3]), 6, 3)
    """

    __slots__ = ()

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
