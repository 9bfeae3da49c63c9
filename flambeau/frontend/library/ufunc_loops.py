"""Folds of functions of two that are no operators: a loop over the elements, or over the lines along an axis."""

from __future__ import annotations

from typing import Any

import numpy as np

from flambeau.frontend.library.static import Static


def reduced(function: Any, identity: Static, a: Any, axis: Static = 0, keepdims: Static = False) -> Any:
    """What a function makes of the first two, then of that and the third, and so on: of nothing its identity. Raises
    ValueError for nothing where it has none.
    """
    if axis is None:
        return reduced(function, identity, a.reshape(-1), 0, keepdims)
    elif keepdims:
        return np.moveaxis(reduced(function, identity, np.moveaxis(a, axis, 0)[:, None], 0), 0, axis)
    else:
        lines = np.moveaxis(a, axis, 0)
        if len(lines) == 0:
            if identity is None:
                raise ValueError("zero-size array to reduction operation which has no identity")
            else:
                return np.full((1, *lines.shape[1:]), identity, dtype=a.dtype)[0]
        total = np.asarray(lines[0]).copy() if a.ndim > 1 else lines[0]
        for i in range(1, len(lines)):
            total = function(total, lines[i])
        return total


def accumulated(function: Any, a: Any, axis: Static = 0) -> Any:
    """All that `reduced` comes by on its way along an axis."""
    lines = np.moveaxis(a, axis, 0)
    totals = np.empty_like(lines)
    for i in range(len(lines)):
        totals[i] = lines[i] if i == 0 else function(totals[i - 1], lines[i])
    return np.moveaxis(totals, 0, axis)
