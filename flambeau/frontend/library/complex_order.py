"""NumPy's order of complex numbers: by real parts, then by imaginary ones; what is not a number comes last in sorts,
and is the largest and the smallest of all.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from flambeau.frontend.library.static import Static

KEEPS = "extremes of complex numbers with keepdims take axis= here"


def argsort(a: Any, axis: Static = -1) -> Any:
    """The places along an axis, or of all, in order, equals as they stood; behind numbers those whose imaginary part is
    none, then those whose real part is none.
    """
    return (
        sorted_places(a.reshape(-1)) if axis is None else np.moveaxis(sorted_places(np.moveaxis(a, axis, -1)), -1, axis)
    )


def sort(a: Any, axis: Static = -1) -> Any:
    """The numbers along an axis, or all, in order."""
    return (
        sorted_lines(a.reshape(-1)) if axis is None else np.moveaxis(sorted_lines(np.moveaxis(a, axis, -1)), -1, axis)
    )


def sorted_lines(lines: Any) -> Any:
    """The numbers along the last axis in order."""
    return np.take_along_axis(lines, sorted_places(lines), axis=-1)


def sorted_places(lines: Any) -> Any:
    """The places along the last axis in order."""
    order = np.argsort(lines.imag, axis=-1)
    order = np.take_along_axis(order, np.argsort(np.take_along_axis(lines.real, order, axis=-1), axis=-1), axis=-1)
    kinds = np.isnan(lines.real) * 2 + np.isnan(lines.imag) * 1
    return np.take_along_axis(order, np.argsort(np.take_along_axis(kinds, order, axis=-1), axis=-1), axis=-1)


def argmax(a: Any, axis: Static = None, keepdims: Static = False) -> Any:
    """Where the largest is first, of all or along an axis. Raises ValueError if there is none."""
    return places(a, axis, keepdims, False)


def argmin(a: Any, axis: Static = None, keepdims: Static = False) -> Any:
    """Where the smallest is first, of all or along an axis. Raises ValueError if there is none."""
    return places(a, axis, keepdims, True)


def amax(a: Any, axis: Static = None, keepdims: Static = False) -> Any:
    """The largest of all or along an axis. Raises ValueError if there is none."""
    return picked(a, axis, keepdims, False)


def amin(a: Any, axis: Static = None, keepdims: Static = False) -> Any:
    """The smallest of all or along an axis. Raises ValueError if there is none."""
    return picked(a, axis, keepdims, True)


def maximum(x1: Any, x2: Any) -> Any:
    """The larger of two, element by element; the first that is not a number."""
    return np.where((x1 >= x2) | np.isnan(x1), x1, x2)


def minimum(x1: Any, x2: Any) -> Any:
    """The smaller of two, element by element; the first that is not a number."""
    return np.where((x1 <= x2) | np.isnan(x1), x1, x2)


def places(a: Any, axis: Static, keepdims: Static, least: Static) -> Any:
    """Where the first of the largest, or smallest, is. Raises ValueError for `keepdims` of all."""
    if axis is None:
        if keepdims:
            raise ValueError(KEEPS)
        else:
            return first_of(a.reshape(-1), least)
    else:
        indices = first_of_lines(np.moveaxis(a, axis, -1), least)
        return np.moveaxis(indices[..., None], -1, axis) if keepdims else indices


def picked(a: Any, axis: Static, keepdims: Static, least: Static) -> Any:
    """The first of the largest, or smallest. Raises ValueError for `keepdims` of all."""
    if axis is None:
        if keepdims:
            raise ValueError(KEEPS)
        else:
            flat = a.reshape(-1)
            return flat[first_of(flat, least)]
    else:
        lines = np.moveaxis(a, axis, -1)
        extremes = np.take_along_axis(lines, first_of_lines(lines, least)[..., None], axis=-1)
        return np.moveaxis(extremes, -1, axis) if keepdims else extremes[..., 0]


def first_of_lines(lines: Any, least: bool) -> Any:
    """The places of the first of the largest, or smallest, along the last axis."""
    flat = lines.reshape(-1, lines.shape[-1])
    out = np.zeros(len(flat), dtype=np.int64)
    for i in range(len(flat)):
        out[i] = first_of(flat[i], least)
    return out.reshape(lines.shape[:-1])


def first_of(line: Any, least: bool) -> int:
    """The place of the first of the largest, or smallest, numbers of a line. Raises ValueError for an empty one."""
    if len(line) == 0:
        raise ValueError("zero-size array to reduction operation maximum or minimum which has no identity")
    at = 0
    for i in range(len(line)):
        re, im, best, beside = line[i].real, line[i].imag, line[at].real, line[at].imag
        if re != re or im != im:
            return i
        is_beyond = (
            (re < best or (re == best and im < beside)) if least else (re > best or (re == best and im > beside))
        )
        if is_beyond:
            at = i
    return at
