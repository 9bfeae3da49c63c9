"""`np.pad` with statistics of the lines and with ramps, an axis at a time, in the language itself."""

from __future__ import annotations

from typing import Any

import numpy as np

NO_VALUE = "stat_length of 0 yields no value for padding"


def lines_of(x: Any, axis: int, before: int, after: int) -> Any:
    """The lines along an axis, each as a row. Raises ValueError where there are none to surround."""
    lines = np.moveaxis(x, axis, 0)
    if len(lines) == 0 and before + after > 0:
        raise ValueError(f"can't extend empty axis {axis} using modes other than 'constant' or 'empty'")
    width = 1
    for k in range(1, lines.ndim):
        width *= lines.shape[k]
    return lines.reshape(len(lines), width)


def near_ends(rows: Any, left: Any, right: Any) -> tuple[Any, Any]:
    """The rows at both ends that a statistic is of: all, or as many as said."""
    size = len(rows)
    first = size if left is None else min(left, size)
    last = size if right is None else min(right, size)
    return rows[:first], rows[size - last :]


def surrounded(x: Any, axis: int, before: int, after: int, rows: Any, low: Any, high: Any) -> Any:
    """The array with so many equal rows before and behind its lines, in its own dtype."""
    size = len(rows)
    out = np.empty((before + size + after, rows.shape[1]), dtype=x.dtype)
    out[before : before + size] = rows
    for k in range(before):
        out[k] = low
    for k in range(before + size, before + size + after):
        out[k] = high
    return back(x, axis, out)


def back(x: Any, axis: int, rows: Any) -> Any:
    """Rows as lines along an axis, in the sizes that the array has along the others."""
    lines = np.moveaxis(x, axis, 0)
    return np.ascontiguousarray(np.moveaxis(rows.reshape(len(rows), *lines.shape[1:]), 0, axis))


def rounded_like(values: Any, x: Any) -> Any:
    """Means in the dtype of what they are of: integers are the nearest ones, even between two."""
    return values.astype(x.dtype) if is_of_floats(x) else np.rint(values).astype(x.dtype)


def is_of_floats(x: Any) -> bool:
    """Whether the elements are floats."""
    return bool(x.dtype == np.float64 or x.dtype == np.float32)


def pad_mean(x: Any, axis: int, before: int, after: int, left: Any, right: Any) -> Any:
    """Means of the lines at both ends."""
    rows = lines_of(x, axis, before, after)
    head, tail = near_ends(rows, left, right)
    low, high = rounded_like(head.mean(axis=0), x), rounded_like(tail.mean(axis=0), x)
    return surrounded(x, axis, before, after, rows, low, high)


def pad_median(x: Any, axis: int, before: int, after: int, left: Any, right: Any) -> Any:
    """Medians of the lines at both ends."""
    rows = lines_of(x, axis, before, after)
    head, tail = near_ends(rows, left, right)
    low, high = rounded_like(np.median(head, axis=0), x), rounded_like(np.median(tail, axis=0), x)
    return surrounded(x, axis, before, after, rows, low, high)


def pad_maximum(x: Any, axis: int, before: int, after: int, left: Any, right: Any) -> Any:
    """The largest elements of the lines at both ends."""
    rows = lines_of(x, axis, before, after)
    head, tail = ends_with_extremes(rows, left, right)
    return surrounded(x, axis, before, after, rows, head.max(axis=0), tail.max(axis=0))


def pad_minimum(x: Any, axis: int, before: int, after: int, left: Any, right: Any) -> Any:
    """The least elements of the lines at both ends."""
    rows = lines_of(x, axis, before, after)
    head, tail = ends_with_extremes(rows, left, right)
    return surrounded(x, axis, before, after, rows, head.min(axis=0), tail.min(axis=0))


def ends_with_extremes(rows: Any, left: Any, right: Any) -> tuple[Any, Any]:
    """The rows at both ends. Raises ValueError where there are none at one, which have no largest and no least."""
    head, tail = near_ends(rows, left, right)
    if len(head) == 0 or len(tail) == 0:
        raise ValueError(NO_VALUE)
    return head, tail


def pad_linear_ramp(x: Any, axis: int, before: int, after: int, left: Any, right: Any) -> Any:
    """Even steps from a number at each end to the line next to it."""
    rows = lines_of(x, axis, before, after)
    size = len(rows)
    out = np.empty((before + size + after, rows.shape[1]), dtype=x.dtype)
    out[before : before + size] = rows
    for k in range(before):
        out[k] = on_ramp(rows[0], left, k, before)
    for k in range(after):
        out[before + size + after - 1 - k] = on_ramp(rows[size - 1], right, k, after)
    return back(x, axis, out)


def on_ramp(line: Any, start: Any, step: int, count: int) -> Any:
    """A line of those that go up to another one by even steps; of integers the ones below."""
    distance = line.astype(np.float64) - start
    steps = distance / count
    value = (step / count * distance if bool((steps == 0).any()) else step * steps) + start
    return value.astype(line.dtype) if is_of_floats(line) else np.floor(value).astype(line.dtype)
