"""Rows of a table folded by bags in native loops, where bags lie one behind the other: sums, and the largest.

>>> table, bounds = np.array([[1.0, 5.0], [3.0, 2.0]], np.float32), np.array([0, 2])
>>> values, rows, counts = np.zeros((1, 2)), np.zeros((1, 2), np.int64), np.zeros(1, np.int64)
>>> largest_in_bags(table, np.array([0, 1]), bounds, values, rows, counts, -1)
>>> values, rows, counts
(array([[3., 5.]]), array([[1, 0]]), array([2]))
"""

from __future__ import annotations

from flambeau.ops.families.arrays import Array
from flambeau.ops.families.element_loops import FLOATS, loop_for
from flambeau.tensor.array_library import np


def sum_bags(
    table: np.ndarray, indices: np.ndarray, bounds: np.ndarray, weights: np.ndarray, sums: np.ndarray,
    sizes: np.ndarray, padding: int, is_weighted: bool,
) -> None:  # fmt: skip
    """Rows of a table added up by bags, and how many each has."""
    for bag in range(len(sizes)):
        taken = 0
        for k in range(bounds[bag], bounds[bag + 1]):
            row = indices[k]
            if row != padding:
                taken += 1
                if is_weighted:
                    for j in range(table.shape[1]):
                        sums[bag, j] += table[row, j] * weights[k]
                else:
                    for j in range(table.shape[1]):
                        sums[bag, j] += table[row, j]
        sizes[bag] = taken


def largest_in_bags(
    table: np.ndarray, indices: np.ndarray, bounds: np.ndarray, values: np.ndarray, rows: np.ndarray,
    sizes: np.ndarray, padding: int,
) -> None:  # fmt: skip
    """The largest of rows of a table by bags, the first of equals and of nan, which row has it, and how many there are.
    """
    for bag in range(len(sizes)):
        taken = 0
        for k in range(bounds[bag], bounds[bag + 1]):
            row = indices[k]
            if row != padding:
                for j in range(table.shape[1]):
                    one, best = table[row, j], values[bag, j]
                    if taken == 0 or one > best or (one != one and best == best):
                        values[bag, j] = one
                        rows[bag, j] = row
                taken += 1
        sizes[bag] = taken


def largest_natively(
    table: Array, indices: Array, bounds: Array, padding: int, filled: tuple[Array, Array, Array]
) -> bool:
    """Find the largest of bags by a native loop; whether it was done."""
    values, sizes, largest = filled
    loop = loop_for(largest_in_bags, indices.size * table.shape[1]) if _are_in_order(table, bounds) else None
    if loop is None:
        return False
    rows, counts = np.zeros(largest.shape, np.int64), np.zeros(len(sizes), np.int64)
    index_arrays = np.ascontiguousarray(indices, np.int64), np.ascontiguousarray(bounds, np.int64)
    loop(np.ascontiguousarray(table), *index_arrays, values, rows, counts, int(padding))
    sizes[...], largest[...] = counts, rows
    return True


def _are_in_order(table: Array, bounds: Array) -> bool:
    """Whether bags of rows of floats lie one behind the other."""
    return table.dtype in FLOATS and bool((bounds[1:] >= bounds[:-1]).all())


def sum_natively(
    table: Array, indices: Array, bounds: Array, weights: Array | None, padding: int, sums: Array, sizes: Array
) -> bool:  # fmt: skip
    """Add up bags by a native loop; whether it was done."""
    loop = loop_for(sum_bags, indices.size * table.shape[1]) if _are_in_order(table, bounds) else None
    if loop is None:
        return False
    scale = np.zeros(0, table.dtype) if weights is None else weights.astype(table.dtype)
    counts = np.zeros(len(sizes), np.int64)
    index_arrays = np.ascontiguousarray(indices, np.int64), np.ascontiguousarray(bounds, np.int64)
    loop(np.ascontiguousarray(table), *index_arrays, scale, sums, counts, int(padding), weights is not None)
    sizes[...] = counts
    return True
