"""`np.unique` along an axis: the distinct rows of a matrix, in the language itself."""

from __future__ import annotations

from typing import Any

import numpy as np

from flambeau.frontend.library.static import Static


def unique_lines(ar: Any, axis: Static) -> Any:
    """The distinct lines along an axis in order, where each is first, for each line its position among them, and how
    often each is there.
    """
    lines = np.moveaxis(ar, axis, 0)
    width = 1
    for size in lines.shape[1:]:
        width *= size
    flat = lines.reshape(len(lines), width)
    order = np.arange(len(flat))
    for k in range(flat.shape[1] - 1, -1, -1):
        order = order[np.argsort(flat[:, k][order], kind="stable")]
    firsts = np.zeros(len(flat), dtype=np.int64)
    inverse = np.zeros(len(flat), dtype=np.int64)
    counts = np.zeros(len(flat), dtype=np.int64)
    count = 0
    for i in range(len(flat)):
        if i == 0 or not is_same(flat[order[i]], flat[order[i - 1]]):
            firsts[count] = order[i]
            count += 1
        inverse[order[i]] = count - 1
        counts[count - 1] += 1
    distinct = lines[firsts[:count]]
    return np.moveaxis(distinct, 0, axis), firsts[:count].copy(), inverse, counts[:count].copy()


def is_same(a: Any, b: Any) -> bool:
    """Whether two lines have equal elements; nan is equal to nothing."""
    for k in range(len(a)):  # noqa: SIM110
        if a[k] != b[k]:
            return False
    return True
