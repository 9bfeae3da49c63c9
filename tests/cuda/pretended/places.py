"""Places in arrays as CuPy takes them: those out of range come round again, where NumPy raises."""

from __future__ import annotations

from typing import Any

import numpy as np


def wrapped(key: Any, shape: tuple[int, ...]) -> Any:
    """A key with the integers of its arrays brought into range; numbers and slices stay, and may be refused."""
    parts = list(key) if isinstance(key, tuple) else [key]
    taken = sum(_axes(part) for part in parts)
    axis, found = 0, []
    for part in parts:
        if part is Ellipsis:
            axis += len(shape) - taken
        if isinstance(part, list):
            part = np.asarray(part, None if part else np.intp)
        if isinstance(part, np.ndarray) and part.dtype.kind in "iu" and part.ndim and axis < len(shape):
            found.append(part % max(shape[axis], 1) if shape[axis] else part)
        else:
            found.append(part)
        axis += _axes(part)
    return tuple(found) if isinstance(key, tuple) else found[0]


def _axes(part: Any) -> int:
    if part is None or part is Ellipsis or isinstance(part, bool | np.bool_):
        return 0
    if isinstance(part, np.ndarray) and part.dtype.kind == "b":
        return part.ndim
    return 1
