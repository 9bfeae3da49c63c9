"""NumPy's functions that take arrays apart, views of them, and that apply a function to each line."""

from __future__ import annotations

from typing import Any

import numpy as np

from flambeau.frontend.library.static import Static


def split(ary: Any, indices_or_sections: Any, axis: Static = 0) -> Any:
    """Parts of equal length along an axis, or cut at places: views of the array. Raises ValueError where equal parts
    leave a rest.
    """
    lines = np.moveaxis(ary, axis, 0)
    if isinstance(indices_or_sections, int):
        if len(lines) % indices_or_sections != 0:
            raise ValueError("array split does not result in an equal division")
        size = len(lines) // indices_or_sections
        return [np.moveaxis(lines[k * size : (k + 1) * size], 0, axis) for k in range(indices_or_sections)]
    else:
        return cut(lines, [int(index) for index in indices_or_sections], axis)


def array_split(ary: Any, indices_or_sections: Any, axis: Static = 0) -> Any:
    """Parts along an axis whose lengths differ by one at most, the longer ones first, or cut at places: views of the
    array.
    """
    lines = np.moveaxis(ary, axis, 0)
    if isinstance(indices_or_sections, int):
        size, rest = len(lines) // indices_or_sections, len(lines) % indices_or_sections
        indices = [(k + 1) * size + min(k + 1, rest) for k in range(indices_or_sections - 1)]
        return cut(lines, indices, axis)
    else:
        return cut(lines, [int(index) for index in indices_or_sections], axis)


def cut(lines: Any, indices: list[int], axis: Static) -> Any:
    """The parts between places along the first axis, which then goes where it was."""
    begins, ends = [0, *indices], [*indices, len(lines)]
    return [np.moveaxis(lines[begins[k] : ends[k]], 0, axis) for k in range(len(begins))]


def hsplit(ary: Any, indices_or_sections: Any) -> Any:
    """Parts side by side, views of the array. Raises ValueError where equal parts leave a rest."""
    return split(ary, indices_or_sections, 0) if ary.ndim == 1 else split(ary, indices_or_sections, 1)


def vsplit(ary: Any, indices_or_sections: Any) -> Any:
    """Parts below each other, views of the array. Raises ValueError where equal parts leave a rest."""
    return split(ary, indices_or_sections, 0)


def dsplit(ary: Any, indices_or_sections: Any) -> Any:
    """Parts along the third axis, views of the array. Raises ValueError where equal parts leave a rest."""
    return split(ary, indices_or_sections, 2)


def apply_along_axis(func1d: Any, axis: Static, arr: Any) -> Any:
    """What a function gives for each line along an axis, a number or an array of one axis, in its place. Raises
    ValueError where there are no lines.
    """
    lines = np.moveaxis(arr, axis, -1)
    rows = lines.reshape(-1, lines.shape[-1])
    if len(rows) == 0:
        raise ValueError("Cannot apply_along_axis when any iteration dimensions are 0")
    first = func1d(rows[0])
    if isinstance(first, np.ndarray):
        arrays = np.empty((len(rows), len(first)), dtype=first.dtype)
        arrays[0] = first
        for i in range(1, len(rows)):
            arrays[i] = func1d(rows[i])
        return np.moveaxis(arrays.reshape((*lines.shape[:-1], len(first))), -1, axis)
    else:
        numbers = np.full(len(rows), first)
        for i in range(1, len(rows)):
            numbers[i] = func1d(rows[i])
        return numbers.reshape(lines.shape[:-1])


def resize(a: Any, new_shape: Any) -> Any:
    """An array of other sizes, filled with the elements in order, again and again."""
    flat = a.reshape(-1)
    out = np.zeros(new_shape, dtype=a.dtype)
    filled = out.reshape(-1)
    if len(flat) > 0:
        for i in range(len(filled)):
            filled[i] = flat[i % len(flat)]
    return out


def piecewise(x: Any, condlist: Any, funclist: Any) -> Any:
    """Of each place what the function, or the number, of the last condition that holds there gives; else 0, or what
    the one function more gives.
    """
    out = np.zeros_like(x)
    if len(funclist) > len(condlist):
        is_known = np.zeros(x.shape, dtype=np.bool_)
        for condition in condlist:
            is_known = is_known | condition
        out[~is_known] = of_piece(funclist[-1], x[~is_known])
    for condition, function in zip(condlist, funclist):  # noqa: B905
        out[condition] = of_piece(function, x[condition])
    return out


def of_piece(function: Any, x: Any) -> Any:
    """What a function gives, or a number."""
    return function(x) if callable(function) else function
