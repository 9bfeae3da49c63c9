"""The elements of a tensor that a view of it shows: read from gradients, written to them, added up in them.

Where nothing is recorded and the base lies row-major, this goes by sizes and strides. Else the elements are counted,
and operators take them by their numbers.

>>> import flambeau
>>> x = flambeau.zeros(2, 3)
>>> Window(x, x[:, 1]).read(flambeau.arange(6.0).reshape(2, 3))
tensor([1., 4.])
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from flambeau.ops.derivatives.operators import OPERATORS
from flambeau.tensor.dispatch import call
from flambeau.tensor.grad_mode import mode
from flambeau.tensor.observer import thread
from flambeau.tensor.settled import is_readable
from flambeau.tensor.tensor import Tensor, wrap
from flambeau.util.array_address import address_of


class Window:
    """Which elements of a base a view shows."""

    __slots__ = ("_counted", "_device", "_first", "_is_row_major", "_strides", "_view_strides", "sizes", "view_sizes")

    def __init__(self, base: Tensor, view: Tensor) -> None:
        array, shown = base._array, view._array
        if array.dtype != shown.dtype:
            raise NotImplementedError(
                f"a view of {base.dtype} as {view.dtype} was written while gradients were recorded: write to the "
                "tensor itself"
            )
        item = array.itemsize
        self.sizes = array.shape
        self.view_sizes = shown.shape
        self._strides = [s // item for s in array.strides]
        self._view_strides = [s // item for s in shown.strides]
        self._first = (_address(shown) - _address(array)) // item
        """Elements from the base's first one to the view's."""
        self._is_row_major = type(array) is np.ndarray and bool(array.flags.c_contiguous)
        self._device = None if is_readable(base) else base.device
        self._counted: Tensor | None = None

    def read(self, whole: Tensor) -> Any:
        """The view's elements of a tensor as large as the base."""
        if self._goes_by_strides(whole):
            return wrap(self._shown(np.ascontiguousarray(whole._array)).copy())
        flat = OPERATORS.reshape(whole, [-1])
        return OPERATORS.reshape(OPERATORS.index_select(flat, 0, self._indices), list(self.view_sizes))

    def written(self, whole: Tensor, part: Tensor | None) -> Any:
        """A tensor as large as the base with other elements, or zeros, in the place of the view's."""
        if self._goes_by_strides(whole) and (part is None or self._goes_by_strides(part)):
            array = whole._array.copy(order="C")
            self._shown(array)[...] = 0 if part is None else part._array
            return wrap(array)
        flat = OPERATORS.reshape(whole, [-1])
        if part is None:
            return OPERATORS.reshape(OPERATORS.index_fill(flat, 0, self._indices, 0), list(self.sizes))
        part = OPERATORS.reshape(part, [-1])
        return OPERATORS.reshape(OPERATORS.index_copy(flat, 0, self._indices, part), list(self.sizes))

    def spread(self, part: Tensor) -> Any:
        """Zeros as large as the base with the view's elements added up where they are."""
        if self._goes_by_strides(part) and not _repeats(self.view_sizes, self._view_strides):
            array = np.zeros(self.sizes, part._array.dtype)
            self._shown(array)[...] = part._array
            return wrap(array)
        flat = part.new_zeros([int(np.prod(self.sizes))])
        return OPERATORS.reshape(
            OPERATORS.index_add(flat, 0, self._indices, OPERATORS.reshape(part, [-1])), list(self.sizes)
        )

    def _goes_by_strides(self, tensor: Tensor) -> bool:
        is_plain = self._is_row_major and type(tensor) is Tensor and type(tensor._array) is np.ndarray
        return is_plain and not (mode.enabled or thread.handlers) and tensor._array.dtype.kind in "fc"

    def _shown(self, array: Any) -> Any:
        """The view's elements of an array as large as the base, which lies row-major."""
        item = array.itemsize
        if not array.size or 0 in self.view_sizes:
            return array.reshape(-1)[:0].reshape(self.view_sizes)
        strides = [s * item for s in self._view_strides]
        return np.ndarray(self.view_sizes, array.dtype, array, self._first * item, strides)

    @property
    def _indices(self) -> Tensor:
        """For each element of the view, which one of the base it is, counted in row-major order."""
        if self._counted is None:
            indices = wrap(_counted(self.sizes, self._strides, self._first, self.view_sizes, self._view_strides))
            self._counted = indices if self._device is None else call("aten::to", indices, self._device)
        return self._counted


def _address(array: Any) -> int:
    return address_of(array) if type(array) is np.ndarray else int(array.data.ptr)


def _counted(
    sizes: Sequence[int], strides: Sequence[int], first: int, view_sizes: Sequence[int], view_strides: Sequence[int]
) -> Any:
    extent = 1 + sum((n - 1) * s for n, s in zip(sizes, strides, strict=True))
    numbers = np.zeros(max(extent, 1), np.int64)
    lying = np.lib.stride_tricks.as_strided(numbers, sizes, [s * 8 for s in strides])
    lying[...] = np.arange(lying.size).reshape(sizes)
    shown = np.lib.stride_tricks.as_strided(numbers[first:], view_sizes, [s * 8 for s in view_strides])
    return np.ascontiguousarray(shown).reshape(-1)


def _repeats(sizes: Sequence[int], strides: Sequence[int]) -> bool:
    """Whether some elements may share memory."""
    reach = 0
    for stride, size in sorted([(s, n) for s, n in zip(strides, sizes, strict=True) if n > 1]):
        if stride <= reach:
            return True
        reach += stride * (size - 1)
    return False
