"""Order numbers of the nodes of a block, so that which of two comes first is one comparison."""

from __future__ import annotations

from typing import Any

GAP = 1 << 20
"""Between the numbers of neighbours at first."""
_LEAST_GAP = 1 << 10
"""Between neighbours after their numbers were spread."""


def spread(node: Any, last: Any) -> None:
    """Make a gap around a node that has none: give as many neighbours as it takes new numbers.

    All of them each time would cost the square of the nodes where many are inserted.
    """
    left = right = node
    count, reach = 1, 8
    while True:
        for _ in range(reach):
            if left._previous is not None:
                left, count = left._previous, count + 1
            if right._next is not None:
                right, count = right._next, count + 1
        low, high = left._order, right._order
        if right is last:
            step = GAP
        elif left._previous is None:
            low, step = high - GAP * count, GAP
        else:
            step = (high - low) // count
        if step >= _LEAST_GAP:
            break
        reach *= 2
    current, order = left._next, low
    left._order = low
    while current is not None and current is not right:
        order += step
        current._order = order
        current = current._next
    if right is last:
        right._order = order + step
