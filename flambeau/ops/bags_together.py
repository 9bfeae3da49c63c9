"""Bags of rows of a table, all at once: what devices run."""

from __future__ import annotations

from flambeau.ops.families.arrays import Array, widened
from flambeau.tensor.array_folds import fold_into
from flambeau.tensor.array_library import np


def owners_of(count: int, bounds: Array) -> Array:
    """The bag of each of `count` indices; the number of bags for those behind the last."""
    return np.asarray(np.searchsorted(bounds[1:], np.arange(count), side="right"))


def sums_of_bags(
    table: Array, indices: Array, owners: Array, is_counted: Array, weights: Array | None, number: int
) -> tuple[Array, Array]:  # fmt: skip
    """The rows of each bag added up, and how many they are."""
    rows = table[np.where(is_counted, indices, 0)]
    if weights is not None:
        rows = rows * widened(weights)[:, None]
    sums, sizes = np.zeros((number, table.shape[1]), table.dtype), np.zeros(number, np.int64)
    if number:
        bags = np.where(is_counted, owners, 0)
        fold_into(np.add, sums, (bags,), np.where(is_counted[:, None], rows, 0).astype(table.dtype, copy=False))
        fold_into(np.add, sizes, (bags,), is_counted.astype(np.int64))
    return sums, sizes


def largest_of_bags(
    table: Array, indices: Array, owners: Array, is_counted: Array, sizes: Array
) -> tuple[Array, Array]:
    """The largest element of each column in each bag, and the index of the first row that has it; 0 for no rows."""
    number, width, last = len(sizes), table.shape[1], len(indices)
    largest = np.full((number, width), -np.inf, table.dtype)
    if not number or not width or not last:
        return np.zeros((number, width), table.dtype), np.zeros((number, width), indices.dtype)
    bag = np.where(is_counted, owners, 0)[:, None]
    columns = np.arange(width)
    rows = np.where(is_counted[:, None], table[np.where(is_counted, indices, 0)], -np.inf).astype(table.dtype)
    fold_into(np.maximum, largest, (bag, columns), rows)
    is_it = ((rows == largest[bag, columns]) | (np.isnan(rows))) & is_counted[:, None]
    first = np.full((number, width), last, np.int64)
    fold_into(np.minimum, first, (bag, columns), np.where(is_it, np.arange(last)[:, None], last))
    has_rows = (sizes > 0)[:, None]
    chosen = np.where(has_rows, indices[np.minimum(first, last - 1)], 0)
    return np.where(has_rows, largest, 0).astype(table.dtype, copy=False), chosen.astype(indices.dtype, copy=False)
