"""What `tree_map` makes sure of before it goes over containers."""

from __future__ import annotations


def check_counts(first: int, second: int) -> int:
    """How many items each of two containers has. Raises ValueError where one has more."""
    if first != second:
        raise ValueError("Node arity mismatch; tree_map goes over containers of as many items")
    return first
