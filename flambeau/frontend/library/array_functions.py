"""NumPy's functions that put arrays together, take them apart and compare them, in the language itself."""

from __future__ import annotations

from typing import Any

import numpy as np

from flambeau.frontend.library.static import Static


def append(arr: Any, values: Any, axis: Any = None) -> Any:
    """The elements of one array, and behind them those of another, or a number; along an axis, if one is said."""
    if isinstance(values, list):
        return append(arr, np.asarray(values), axis)
    elif axis is not None:
        lines = np.concatenate((np.moveaxis(arr, axis, 0), np.moveaxis(values, axis, 0)))
        return np.moveaxis(lines, 0, axis)
    elif isinstance(values, np.ndarray):
        return np.concatenate((arr.reshape(-1), values.reshape(-1)))
    else:
        return np.concatenate((arr.reshape(-1), np.full(1, values)))


def insert(arr: Any, obj: Any, values: Any, axis: Any = None) -> Any:
    """A number, or the elements of an array, put in before a place of a flat array, or along an axis a line; before
    several places of a flat array one each. Raises IndexError for a place that is not there.
    """
    if isinstance(values, list):
        return insert(arr, obj, np.asarray(values), axis)
    elif isinstance(obj, np.ndarray | list):
        if axis is not None:
            raise ValueError("np.insert before several places takes no axis= here: insert into np.ravel(x)")
        return inserted_at(arr.reshape(-1), np.asarray(obj), values)
    elif axis is not None:
        rows = np.moveaxis(arr, axis, 0)
        at = place_of(obj, len(rows), len(rows) + 1, axis)
        line = rows[:1].copy()
        line = np.zeros((1, *rows.shape[1:]), dtype=arr.dtype) if len(rows) == 0 else line
        line[0] = values
        return np.moveaxis(np.concatenate((rows[:at], line, rows[at:])), 0, axis)
    flat = arr.reshape(-1)
    at = place_of(obj, len(flat), len(flat) + 1, 0)
    if isinstance(values, np.ndarray):
        return np.concatenate((flat[:at], values.reshape(-1).astype(arr.dtype), flat[at:]))
    return np.concatenate((flat[:at], np.full(1, values, dtype=arr.dtype), flat[at:]))


def inserted_at(flat: Any, places: Any, values: Any) -> Any:
    """The elements, with one put in before each place; before one place as many as there are, in their order."""
    n = len(flat)
    numbers = np.broadcast_to(np.asarray(values).astype(flat.dtype), (len(places),))
    if len(places) > 0 and (int(places.min()) < -n or int(places.max()) > n):
        raise IndexError(f"index is out of bounds for axis 0 with size {n}")
    before = np.where(places < 0, places + n, places)
    order = np.argsort(before, kind="stable")
    out = np.empty(n + len(places), dtype=flat.dtype)
    taken = 0
    for i in range(n + 1):
        while taken < len(places) and before[order[taken]] == i:
            out[i + taken] = numbers[order[taken]]
            taken += 1
        if i < n:
            out[i + taken] = flat[i]
    return out


def delete(arr: Any, obj: Any, axis: Any = None) -> Any:
    """A flat array without a place, or without several; along an axis without lines. Raises IndexError for a place that
    is not there.
    """
    lines = arr.reshape(-1) if axis is None else np.moveaxis(arr, axis, 0)
    kept = np.ones(len(lines), dtype=np.bool_)
    if isinstance(obj, int):
        kept[place_of(obj, len(lines), len(lines), 0 if axis is None else axis)] = False
    elif isinstance(obj, np.ndarray) and obj.dtype == np.bool_:
        if len(obj) != len(lines):
            raise ValueError(f"boolean array argument obj to delete must be one dimensional and match the axis length "
                             f"of {len(lines)}")
        kept = ~obj
    else:
        for one in obj:
            kept[place_of(int(one), len(lines), len(lines), 0 if axis is None else axis)] = False
    return lines[kept] if axis is None else np.moveaxis(lines[kept], 0, axis)


def place_of(index: int, size: int, end: int, axis: int) -> int:
    """A place counted from the front. Raises IndexError where it is not below an end."""
    position = index + size if index < 0 else index
    if position < 0 or position >= end:
        raise IndexError(f"index {index} is out of bounds for axis {axis} with size {size}")
    return position


def isin(element: Any, test_elements: Any, assume_unique: bool = False, invert: bool = False) -> Any:
    """Of each element, whether it is among others, in an array or a list; with `invert`, whether it is not."""
    others, flat = np.sort(np.asarray(test_elements).reshape(-1)), element.reshape(-1)
    out = np.zeros(len(flat), dtype=np.bool_)
    for i in range(len(flat)):
        low, high = 0, len(others)
        while low < high:
            middle = (low + high) // 2
            if others[middle] < flat[i]:
                low = middle + 1
            else:
                high = middle
        out[i] = (low < len(others) and others[low] == flat[i]) != invert
    return out.reshape(element.shape)


def array_equal(a1: Any, a2: Any, equal_nan: Static = False) -> bool:
    """Whether two arrays have one shape and equal elements, with `equal_nan` nans being equal."""
    if a1.ndim != a2.ndim:
        return False
    elif equal_nan:
        return a1.shape == a2.shape and bool(((a1 == a2) | (np.isnan(a1) & np.isnan(a2))).all())
    else:
        return a1.shape == a2.shape and bool((a1 == a2).all())


def allclose(a: Any, b: Any, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: Static = False) -> bool:
    """Whether all elements are about equal, with `equal_nan` nans too."""
    close = (np.abs(a - b) <= atol + rtol * np.abs(b)) | (a == b)
    return bool((close | (np.isnan(a) & np.isnan(b)) if equal_nan else close).all())


def digitize(x: Any, bins: Any, right: bool = False) -> Any:
    """Of each element, the number of bounds, which ascend, up to it; below it with `right`."""
    flat = x.reshape(-1)
    out = np.zeros(len(flat), dtype=np.int64)
    for i in range(len(flat)):
        low, high = 0, len(bins)
        while low < high:
            middle = (low + high) // 2
            if bins[middle] < flat[i] or (not right and bins[middle] == flat[i]) or flat[i] != flat[i]:
                low = middle + 1
            else:
                high = middle
        out[i] = low
    return out.reshape(x.shape)


def sinc(x: Any) -> Any:
    """sin(pi x) / (pi x), 1 at 0."""
    y = x * np.pi
    return np.where(y == 0, 1, np.sin(y) / y).astype(y.dtype)


def whole_reciprocal(x: Any) -> Any:
    """1 over whole numbers, rounded towards 0. Raises ZeroDivisionError for 0."""
    return np.where(x < 0, -(1 // np.abs(x)), 1 // x).astype(x.dtype)


def bitwise_count(x: Any) -> Any:
    """How many bits of each absolute value are 1: in each pair of bits, then in four, in a byte, and in all of them."""
    y = (x & x).astype(np.int64)  # floats have no `&`
    if x.dtype != np.uint64:
        y = np.abs(y)
    y = y - ((y >> 1) & 0x5555555555555555)
    y = (y & 0x3333333333333333) + ((y >> 2) & 0x3333333333333333)
    y = (y + (y >> 4)) & 0x0F0F0F0F0F0F0F0F
    return ((y * 0x0101010101010101) >> 56).astype(np.uint8)


def spacing(x: Any) -> Any:
    """How far the next number of the dtype is, away from 0."""
    y = np.copysign(x, x)
    return np.nextafter(y, np.where(y < 0, -np.inf, np.inf).astype(y.dtype)) - y


def real_if_close(a: Any, tol: float = 100) -> Any:
    """The array, if it is real. Raises TypeError for complex numbers, of which only their values tell what is given."""
    if np.iscomplexobj(a):
        raise TypeError("np.real_if_close of complex numbers gives real ones or complex ones: write x.real, or x")
    return a


def asarray_chkfinite(a: Any) -> Any:
    """The array itself. Raises ValueError where it holds infinities or nans."""
    if not np.all(np.isfinite(a)):
        raise ValueError("array must not contain infs or NaNs")
    return a


def heaviside(x1: Any, x2: Any) -> Any:
    """0 below 0, 1 above, and `x2` at 0; of nan, nan."""
    return np.where(x1 < 0, 0.0, np.where(x1 > 0, 1.0, np.where(x1 == 0, x2, x1)))


def polyval(p: Any, x: Any) -> Any:
    """A polynomial whose coefficients begin with that of the highest power."""
    factors = np.asarray(p)
    result = x * 0 + factors[0] * 0
    for k in range(len(factors)):
        result = result * x + factors[k]
    return result


def union1d(ar1: Any, ar2: Any) -> Any:
    """The distinct elements of both, in order."""
    return np.unique(np.concatenate((np.asarray(ar1).reshape(-1), np.asarray(ar2).reshape(-1))))


def intersect1d(ar1: Any, ar2: Any) -> Any:
    """The distinct elements that both have, in order."""
    theirs = np.asarray(ar2).reshape(-1)
    ours = np.unique(np.concatenate((np.asarray(ar1).reshape(-1), theirs[:0])))  # in the dtype that both have
    return ours[np.isin(ours, theirs)]


def setdiff1d(ar1: Any, ar2: Any) -> Any:
    """The distinct elements that the second has not, in order."""
    ours = np.unique(ar1)
    return ours[~np.isin(ours, ar2)]


def average(a: Any, axis: Any = None, weights: Any = None) -> Any:
    """The mean, by weights of the same sizes, or, along an axis, of its length. Raises ZeroDivisionError if they add
    up to 0.
    """
    if axis is None:
        if weights is None:
            return a.mean()
        else:
            total = weights.sum()
            if total == 0:
                raise ZeroDivisionError("Weights sum to zero, can't be normalized")
            return (a * 1.0 * weights).sum() / total
    else:
        x = np.moveaxis(a, axis, -1)
        if weights is None:
            return x.mean(axis=-1)
        else:
            return weighed(x, weights) if weights.ndim == 1 else weighed(x, np.moveaxis(weights, axis, -1))


def weighed(x: Any, weights: Any) -> Any:
    """The means along the last axis."""
    total = weights.sum(axis=-1)
    if np.count_nonzero(weights.sum(axis=-1, keepdims=True) == 0) > 0:
        raise ZeroDivisionError("Weights sum to zero, can't be normalized")
    return (x * 1.0 * weights).sum(axis=-1) / total


def ediff1d(ary: Any) -> Any:
    """The differences of neighbours in a flat array."""
    return np.diff(ary.reshape(-1))


def compress(condition: Any, a: Any, axis: Static = None) -> Any:
    """The elements of a flat array, or the lines along an axis, where a condition holds; it may be shorter."""
    indices = np.nonzero(np.asarray(condition))[0]
    return a.reshape(-1)[indices] if axis is None else np.take(a, indices, axis=axis)


def extract(condition: Any, arr: Any) -> Any:
    """The elements where a condition holds, in order."""
    return arr.reshape(-1)[condition.reshape(-1) != 0]


def vdot(a: Any, b: Any) -> Any:
    """The sum of the products of elements, the first ones conjugated."""
    return np.dot(np.conj(a.reshape(-1)), b.reshape(-1))


def fix(x: Any) -> Any:
    """Whole numbers towards zero."""
    return np.trunc(x)


def modf(x: Any) -> Any:
    """The parts behind and before the point, both with the sign; behind infinity there is 0."""
    parts = np.copysign(x, x)  # in the dtype of floats that ints have
    whole = np.trunc(parts)
    return np.copysign(np.where(np.isinf(parts), 0.0, parts - whole), parts), whole


def diagflat(v: Any, k: int = 0) -> Any:
    """A matrix with the elements, in order, along a diagonal, and zeros elsewhere."""
    return np.diag(v.reshape(-1), k)


def putmask(a: Any, mask: Any, values: Any) -> None:
    """A number written where a mask holds, or of each place there the element of an array, again and again."""
    if isinstance(values, np.ndarray):
        if values.size > 0:
            a[mask] = values.reshape(-1)[np.flatnonzero(mask) % values.size].astype(a.dtype)
    else:
        a[mask] = values


def trim_zeros(filt: Any) -> Any:
    """A view without the zeros at both ends."""
    first, last = 0, len(filt)
    while first < last and filt[first] == 0:
        first += 1
    while last > first and filt[last - 1] == 0:
        last -= 1
    return filt[first:last]


def atleast_1d(a: Any) -> Any:
    """An array with one axis or more."""
    x = np.asarray(a)
    if x.ndim == 0:
        return x.reshape(1)
    else:
        return x


def atleast_2d(a: Any) -> Any:
    """An array with two axes or more: of one axis, a row."""
    x = np.asarray(a)
    if x.ndim < 2:
        return x.reshape(1, -1)
    else:
        return x


def atleast_3d(a: Any) -> Any:
    """An array with three axes or more: of one axis in the middle, of two axes first."""
    x = np.asarray(a)
    if x.ndim == 0:
        return x.reshape(1, 1, 1)
    elif x.ndim == 1:
        return x[None, :, None]
    elif x.ndim == 2:
        return x[:, :, None]
    else:
        return x


def fill_diagonal(a: Any, val: Any, wrap: bool = False) -> None:
    """A number written to all places (i, i) of a matrix; with `wrap` on from the top again below a square and a row."""
    columns = a.shape[1]
    if wrap:
        for i in range(0, a.shape[0] * columns, columns + 1):
            a[i // columns, i % columns] = val
    else:
        for i in range(min(a.shape[0], columns)):
            a[i, i] = val


def copyto(dst: Any, src: Any, *, where: Static = True) -> None:
    """Elements written over those of another array, all or where a mask holds."""
    if isinstance(where, np.ndarray):
        dst[...] = np.where(where, src, dst).astype(dst.dtype)
    else:
        dst[...] = src


def block(arrays: Any) -> Any:
    """Arrays side by side, and of lists of them below each other."""
    if isinstance(arrays[0], list):
        rows = [np.concatenate([np.asarray(a) for a in row], axis=-1) for row in arrays]
        return np.concatenate([np.atleast_2d(row) for row in rows], axis=-2)
    else:
        return np.concatenate([np.asarray(a) for a in arrays], axis=-1)
