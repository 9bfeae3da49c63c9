"""Places of the largest and the least of keys, in the language itself: `max(x, key=f)` where keys are numbers."""

from __future__ import annotations

from typing import Any


def place_of_largest(keys: Any) -> int:
    """Where the first is that none is larger than. Raises ValueError where there are none."""
    if len(keys) == 0:
        raise ValueError("max() arg is an empty sequence")
    best = 0
    for k in range(1, len(keys)):
        if keys[k] > keys[best]:
            best = k
    return best


def place_of_least(keys: Any) -> int:
    """Where the first is that none is less than. Raises ValueError where there are none."""
    if len(keys) == 0:
        raise ValueError("min() arg is an empty sequence")
    best = 0
    for k in range(1, len(keys)):
        if keys[k] < keys[best]:
            best = k
    return best
