"""Padding layers: a border of one number, or of the input itself.

`padding` is one size for all sides, or the sizes before and behind each dimension, the last dimension first.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from flambeau.nn import functional
from flambeau.nn.layers import fresh
from flambeau.nn.module import Module
from flambeau.tensor.tensor import Tensor

Sizes = int | Sequence[int]


class _Padding(Module):
    __constants__: ClassVar[list[str]] = ["padding"]
    dims: int

    def __init__(self, padding: Sizes) -> None:
        super().__init__()
        self.padding: tuple[int, ...] = fresh.repeated(padding, 2 * type(self).dims)
        if len(self.padding) != 2 * type(self).dims:
            raise ValueError(f"padding must be one int or {2 * type(self).dims} of them, got {padding}")

    def extra_repr(self) -> str:
        """The sizes of the border."""
        return f"{self.padding}"


class _Constant(_Padding):
    __constants__ = ["padding", "value"]

    def __init__(self, padding: Sizes, value: float) -> None:
        super().__init__(padding)
        self.value = float(value)

    def forward(self, input: Tensor) -> Tensor:
        """With the border."""
        return functional.pad(input, self.padding, "constant", self.value)

    def extra_repr(self) -> str:
        """The sizes of the border and its number."""
        return f"padding={self.padding}, value={self.value}"


class _Zeros(_Padding):
    def forward(self, input: Tensor) -> Tensor:
        """With the border."""
        return functional.pad(input, self.padding, "constant", 0.0)


class _Reflection(_Padding):
    def forward(self, input: Tensor) -> Tensor:
        """With the border."""
        return functional.pad(input, self.padding, "reflect")


class _Replication(_Padding):
    def forward(self, input: Tensor) -> Tensor:
        """With the border."""
        return functional.pad(input, self.padding, "replicate")


class _Circular(_Padding):
    def forward(self, input: Tensor) -> Tensor:
        """With the border."""
        return functional.pad(input, self.padding, "circular")


class ConstantPad1d(_Constant):
    """A border of `value` around the last dimension.

    Args:
        padding: one int for all sides, or one for each: left and right.
        value: what the border is filled with.

    Shape:
        (N, C, L) or (C, L) to the same with the border added to the last dimension.

    >>> import flambeau
    >>> flambeau.nn.ConstantPad1d(1, 5.0)(flambeau.ones(1, 2, 8)).shape
    flambeau.Size([1, 2, 10])
    """

    dims = 1


class ConstantPad2d(_Constant):
    """A border of `value` around the last two dimensions.

    Args:
        padding: one int for all sides, or one for each: left, right, top, bottom.
        value: what the border is filled with.

    Shape:
        (N, C, H, W) or (C, H, W) to the same with the border added to the last two dimensions.

    >>> import flambeau
    >>> flambeau.nn.ConstantPad2d(1, 5.0)(flambeau.ones(1, 2, 8, 8)).shape
    flambeau.Size([1, 2, 10, 10])
    """

    dims = 2


class ConstantPad3d(_Constant):
    """A border of `value` around the last three dimensions.

    Args:
        padding: one int for all sides, or one for each: left, right, top, bottom, front, back.
        value: what the border is filled with.

    Shape:
        (N, C, D, H, W) or (C, D, H, W) to the same with the border added to the last three dimensions.

    >>> import flambeau
    >>> flambeau.nn.ConstantPad3d(1, 5.0)(flambeau.ones(1, 2, 8, 8, 8)).shape
    flambeau.Size([1, 2, 10, 10, 10])
    """

    dims = 3


class ZeroPad1d(_Zeros):
    """A border of zeros around the last dimension.

    Args:
        padding: one int for all sides, or one for each: left and right.

    Shape:
        (N, C, L) or (C, L) to the same with the border added to the last dimension.

    >>> import flambeau
    >>> flambeau.nn.ZeroPad1d(1)(flambeau.ones(1, 2, 8)).shape
    flambeau.Size([1, 2, 10])
    """

    dims = 1


class ZeroPad2d(_Zeros):
    """A border of zeros around the last two dimensions.

    Args:
        padding: one int for all sides, or one for each: left, right, top, bottom.

    Shape:
        (N, C, H, W) or (C, H, W) to the same with the border added to the last two dimensions.

    >>> import flambeau
    >>> flambeau.nn.ZeroPad2d(1)(flambeau.ones(1, 2, 8, 8)).shape
    flambeau.Size([1, 2, 10, 10])
    """

    dims = 2


class ZeroPad3d(_Zeros):
    """A border of zeros around the last three dimensions.

    Args:
        padding: one int for all sides, or one for each: left, right, top, bottom, front, back.

    Shape:
        (N, C, D, H, W) or (C, D, H, W) to the same with the border added to the last three dimensions.

    >>> import flambeau
    >>> flambeau.nn.ZeroPad3d(1)(flambeau.ones(1, 2, 8, 8, 8)).shape
    flambeau.Size([1, 2, 10, 10, 10])
    """

    dims = 3


class ReflectionPad1d(_Reflection):
    """A border that mirrors what is inside, without the edge itself, around the last dimension.

    Args:
        padding: one int for all sides, or one for each: left and right.

    Shape:
        (N, C, L) or (C, L) to the same with the border added to the last dimension.

    >>> import flambeau
    >>> flambeau.nn.ReflectionPad1d(1)(flambeau.ones(1, 2, 8)).shape
    flambeau.Size([1, 2, 10])
    """

    dims = 1


class ReflectionPad2d(_Reflection):
    """A border that mirrors what is inside, without the edge itself, around the last two dimensions.

    Args:
        padding: one int for all sides, or one for each: left, right, top, bottom.

    Shape:
        (N, C, H, W) or (C, H, W) to the same with the border added to the last two dimensions.

    >>> import flambeau
    >>> flambeau.nn.ReflectionPad2d(1)(flambeau.ones(1, 2, 8, 8)).shape
    flambeau.Size([1, 2, 10, 10])
    """

    dims = 2


class ReflectionPad3d(_Reflection):
    """A border that mirrors what is inside, without the edge itself, around the last three dimensions.

    Args:
        padding: one int for all sides, or one for each: left, right, top, bottom, front, back.

    Shape:
        (N, C, D, H, W) or (C, D, H, W) to the same with the border added to the last three dimensions.

    >>> import flambeau
    >>> flambeau.nn.ReflectionPad3d(1)(flambeau.ones(1, 2, 8, 8, 8)).shape
    flambeau.Size([1, 2, 10, 10, 10])
    """

    dims = 3


class ReplicationPad1d(_Replication):
    """A border that repeats the edge around the last dimension.

    Args:
        padding: one int for all sides, or one for each: left and right.

    Shape:
        (N, C, L) or (C, L) to the same with the border added to the last dimension.

    >>> import flambeau
    >>> flambeau.nn.ReplicationPad1d(1)(flambeau.ones(1, 2, 8)).shape
    flambeau.Size([1, 2, 10])
    """

    dims = 1


class ReplicationPad2d(_Replication):
    """A border that repeats the edge around the last two dimensions.

    Args:
        padding: one int for all sides, or one for each: left, right, top, bottom.

    Shape:
        (N, C, H, W) or (C, H, W) to the same with the border added to the last two dimensions.

    >>> import flambeau
    >>> flambeau.nn.ReplicationPad2d(1)(flambeau.ones(1, 2, 8, 8)).shape
    flambeau.Size([1, 2, 10, 10])
    """

    dims = 2


class ReplicationPad3d(_Replication):
    """A border that repeats the edge around the last three dimensions.

    Args:
        padding: one int for all sides, or one for each: left, right, top, bottom, front, back.

    Shape:
        (N, C, D, H, W) or (C, D, H, W) to the same with the border added to the last three dimensions.

    >>> import flambeau
    >>> flambeau.nn.ReplicationPad3d(1)(flambeau.ones(1, 2, 8, 8, 8)).shape
    flambeau.Size([1, 2, 10, 10, 10])
    """

    dims = 3


class CircularPad1d(_Circular):
    """A border taken from the other side around the last dimension.

    Args:
        padding: one int for all sides, or one for each: left and right.

    Shape:
        (N, C, L) or (C, L) to the same with the border added to the last dimension.

    >>> import flambeau
    >>> flambeau.nn.CircularPad1d(1)(flambeau.ones(1, 2, 8)).shape
    flambeau.Size([1, 2, 10])
    """

    dims = 1


class CircularPad2d(_Circular):
    """A border taken from the other side around the last two dimensions.

    Args:
        padding: one int for all sides, or one for each: left, right, top, bottom.

    Shape:
        (N, C, H, W) or (C, H, W) to the same with the border added to the last two dimensions.

    >>> import flambeau
    >>> flambeau.nn.CircularPad2d(1)(flambeau.ones(1, 2, 8, 8)).shape
    flambeau.Size([1, 2, 10, 10])
    """

    dims = 2


class CircularPad3d(_Circular):
    """A border taken from the other side around the last three dimensions.

    Args:
        padding: one int for all sides, or one for each: left, right, top, bottom, front, back.

    Shape:
        (N, C, D, H, W) or (C, D, H, W) to the same with the border added to the last three dimensions.

    >>> import flambeau
    >>> flambeau.nn.CircularPad3d(1)(flambeau.ones(1, 2, 8, 8, 8)).shape
    flambeau.Size([1, 2, 10, 10, 10])
    """

    dims = 3
