"""What pickles in archives name to say which type a list has: Python needs none of it, and takes the value as it is.

>>> restore_type_tag([1, 2], "List[int]"), build_intlist([3])
([1, 2], [3])
"""

from __future__ import annotations

from typing import TypeVar

T = TypeVar("T")


def build_intlist(data: list[int]) -> list[int]:
    """A list of ints."""
    return data


def build_tensorlist(data: list[T]) -> list[T]:
    """A list of tensors."""
    return data


def build_doublelist(data: list[float]) -> list[float]:
    """A list of floats."""
    return data


def build_boollist(data: list[bool]) -> list[bool]:
    """A list of bools."""
    return data


def build_tensor_from_id(data: object) -> int | None:
    """The number of a tensor, where it is one.

    >>> build_tensor_from_id(3), build_tensor_from_id("3")
    (3, None)
    """
    return data if isinstance(data, int) else None


def restore_type_tag(value: T, type_str: str) -> T:
    """A container whose type is written beside it.

    Args:
        value: the container.
        type_str: its type, as programs write it.
    """
    return value
