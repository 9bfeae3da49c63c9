"""Annotations of parameters that take one number for several equal ones: `kernel_size: BroadcastingList2[int]`.

In a program the parameter is a list; who passes a number passes a list of that many.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Generic, TypeAlias, TypeVar

T = TypeVar("T")

if TYPE_CHECKING:
    BroadcastingList1: TypeAlias = T | Sequence[T]
    BroadcastingList2: TypeAlias = T | Sequence[T]
    BroadcastingList3: TypeAlias = T | Sequence[T]
    BroadcastingList4: TypeAlias = T | Sequence[T]
    BroadcastingList5: TypeAlias = T | Sequence[T]
    BroadcastingList6: TypeAlias = T | Sequence[T]
else:

    class BroadcastingList1(Generic[T]):
        """A list, or one number for a list of one.

        >>> import flambeau
        >>> text = "def sizes(n: BroadcastingList1[int]):\\n    return n"
        >>> flambeau.CompilationUnit(text).sizes(2)
        [2]
        """

    class BroadcastingList2(Generic[T]):
        """A list, or one number for a list of two.

        >>> import flambeau
        >>> text = "def sizes(n: BroadcastingList2[int]):\\n    return n"
        >>> flambeau.CompilationUnit(text).sizes(2)
        [2, 2]
        """

    class BroadcastingList3(Generic[T]):
        """A list, or one number for a list of three.

        >>> import flambeau
        >>> text = "def sizes(n: BroadcastingList3[int]):\\n    return n"
        >>> flambeau.CompilationUnit(text).sizes(2)
        [2, 2, 2]
        """

    class BroadcastingList4(Generic[T]):
        """A list, or one number for a list of four.

        >>> import flambeau
        >>> text = "def sizes(n: BroadcastingList4[int]):\\n    return n"
        >>> flambeau.CompilationUnit(text).sizes(2)
        [2, 2, 2, 2]
        """

    class BroadcastingList5(Generic[T]):
        """A list, or one number for a list of five.

        >>> import flambeau
        >>> text = "def sizes(n: BroadcastingList5[int]):\\n    return n"
        >>> flambeau.CompilationUnit(text).sizes(2)
        [2, 2, 2, 2, 2]
        """

    class BroadcastingList6(Generic[T]):
        """A list, or one number for a list of six.

        >>> import flambeau
        >>> text = "def sizes(n: BroadcastingList6[int]):\\n    return n"
        >>> flambeau.CompilationUnit(text).sizes(2)
        [2, 2, 2, 2, 2, 2]
        """


COUNTS = {f"BroadcastingList{count}": count for count in range(1, 7)}
"""How many numbers one stands for, by the annotation's name."""
