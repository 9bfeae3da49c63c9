"""What a tensor is for Python while it is traced: it tells the recorder what else Python asks of it.

Tensors that a trace knows get this class until it ends. Questions about sizes and contents go through the observer for
every tensor; those that nobody needs to see otherwise, about dtype, rank and layout, are asked here, because they are
asked all the time.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from typing import Any

from flambeau.schema.dtype import DType
from flambeau.schema.symbolic import SymbolicInt
from flambeau.tensor import observer
from flambeau.tensor.size import Size
from flambeau.tensor.subclasses import disabled_function
from flambeau.tensor.tensor import Tensor
from flambeau.util.user_code import PACKAGE

LAYERS = os.path.join(PACKAGE, "nn") + os.sep


def _is_asked_by_user() -> bool:
    """Whether the question comes from a program, layers included, and not from the machinery below."""
    filename = sys._getframe(2).f_code.co_filename
    return not filename.startswith(PACKAGE) or filename.startswith(LAYERS)


class TracedTensor(Tensor):
    """A tensor inside a trace."""

    __slots__ = ()
    __flambeau_function__ = staticmethod(disabled_function)

    @property
    def dtype(self) -> DType:
        """The element type."""
        dtype: DType = Tensor.dtype.__get__(self)
        watching = observer.current()
        if watching is not None and _is_asked_by_user():
            watching.converted("dtype", self, dtype)
        return dtype

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        watching = observer.current()
        rank = self._array.ndim
        return rank if watching is None or not _is_asked_by_user() else int(watching.converted("rank", self, rank))

    def dim(self) -> int:
        """The number of dimensions."""
        watching = observer.current()
        return self._array.ndim if watching is None else int(watching.converted("rank", self, self._array.ndim))

    ndimension = dim

    def numel(self) -> Any:
        """The number of elements."""
        watching = observer.current()
        return self._array.size if watching is None else watching.converted("numel", self, self._array.size)

    nelement = numel

    def is_floating_point(self) -> bool:
        """Whether elements are real floats."""
        return self._kind().is_floating_point

    def is_complex(self) -> bool:
        """Whether elements are complex."""
        return self._kind().is_complex

    def is_signed(self) -> bool:
        """Whether elements can be negative."""
        return self._kind().is_signed

    def _kind(self) -> DType:
        dtype: DType = Tensor.dtype.__get__(self)
        watching = observer.current()
        if watching is not None:
            watching.converted("dtype", self, dtype)
        return dtype

    def is_contiguous(self, memory_format: int = 0) -> bool:
        """Whether its elements lie in that order without gaps."""
        answer = super().is_contiguous(memory_format)
        watching = observer.current()
        return answer if watching is None or memory_format else bool(watching.converted("is_contiguous", self, answer))

    def stride(self, dim: int | None = None) -> Any:
        """The distance in elements between neighbours along each dimension, or along one."""
        watching = observer.current()
        if watching is not None and _is_asked_by_user():
            watching.converted("stride", self, list(super().stride()))
        return super().stride(dim)

    def __iter__(self) -> Iterator[Tensor]:
        watching = observer.current()
        if watching is not None and self._array.ndim:
            watching.converted("iter", self, self._array.shape[0])
        return super().__iter__()

    def __contains__(self, element: Any) -> bool:
        if observer.current() is None or not isinstance(element, Tensor | int | float | complex | SymbolicInt):
            return bool(Tensor.__contains__(self, element))
        return bool((self == element).any())

    def __repr__(self) -> str:
        with observer.observing(None):
            return super().__repr__()


class TracedShape(Size):
    """The sizes of a traced tensor. How many there are is told to the recorder if it matters."""

    _ask: Callable[[], Any]
    _at: Callable[[int], Any]

    @classmethod
    def of(cls, sizes: tuple[Any, ...], ask: Callable[[], Any], at: Callable[[int], Any]) -> TracedShape:
        """`ask` is told when Python learns the rank; `at` gives the size of a dimension counted from the end."""
        shape = cls(sizes)
        shape._ask, shape._at = ask, at
        return shape

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, slice):
            bounds = (key.start, key.stop)
            if key.stop is None or any(isinstance(b, int) and b < 0 for b in bounds):
                self._ask()
        elif isinstance(key, int) and key < 0 and -key <= tuple.__len__(self):
            return self._at(key)
        sizes = tuple.__getitem__(self, key)
        return Size(sizes) if isinstance(key, slice) else sizes

    def __len__(self) -> int:
        self._ask()
        return tuple.__len__(self)

    def __iter__(self) -> Iterator[Any]:
        self._ask()
        return tuple.__iter__(self)

    def __eq__(self, other: object) -> bool:
        self._ask()
        return tuple.__eq__(self, other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = None  # type: ignore[assignment]  # what it is equal to may be another in a later call

    def __add__(self, other: tuple[int, ...]) -> Size:  # type: ignore[override]
        self._ask()
        return super().__add__(other)

    def __mul__(self, times: int) -> Size:  # type: ignore[override]
        self._ask()
        return super().__mul__(times)

    __rmul__ = __mul__
