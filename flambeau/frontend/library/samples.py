"""NumPy's functions of samples: between, below and around them, and how many there are of each size."""

from __future__ import annotations

from typing import Any

import numpy as np

from flambeau.frontend.library.static import Static


def interp(x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None) -> Any:
    """The value at `x` of the line through points whose abscissas ascend, and below and above them `left` and `right`,
    or the value of the nearest. Raises ValueError without points.
    """
    if len(xp) == 0:
        raise ValueError("array of sample points is empty")
    if len(xp) != len(fp):
        raise ValueError("fp and xp are not of the same length.")
    low = float(fp[0]) if left is None else float(left)
    high = float(fp[len(fp) - 1]) if right is None else float(right)
    if isinstance(x, np.ndarray | list):
        points = np.asarray(x) * 1.0
        flat = points.reshape(-1)
        out = np.empty(len(flat))
        for i in range(len(flat)):
            out[i] = on_line(float(flat[i]), xp, fp, low, high)
        return out.reshape(points.shape)
    return on_line(float(x), xp, fp, low, high)


def on_line(x: float, xp: Any, fp: Any, below: float, above: float) -> float:
    """The value at one place, and those outside of the points."""
    last = len(xp) - 1
    if np.isnan(x):
        return x
    if x > float(xp[last]):
        return above
    if x < float(xp[0]):
        return below
    low = 0
    high = last + 1
    while high - low > 1:
        middle = (low + high) // 2
        if x >= float(xp[middle]):
            low = middle
        else:
            high = middle
    left = float(fp[low])
    if low == last or x == float(xp[low]):
        return left
    right = float(fp[low + 1])
    slope = (right - left) / (float(xp[low + 1]) - float(xp[low]))
    value = slope * (x - float(xp[low])) + left
    if np.isnan(value):
        value = slope * (x - float(xp[low + 1])) + right
        if np.isnan(value) and left == right:
            value = left
    return value


def convolve(a: Any, v: Any, mode: str = "full") -> Any:
    """Each element by each, summed where their places add up alike. Raises ValueError for nothing.

    Of the sums, `mode` takes all ("full"), as many as the longer array has elements ("same"), or those of as many
    products as the shorter one has ("valid").
    """
    if len(a) == 0:
        raise ValueError("a cannot be empty")
    if len(v) == 0:
        raise ValueError("v cannot be empty")
    first, second = np.asarray(a), np.asarray(v)
    sums = spread(first, second) if len(a) >= len(v) else spread(second, first)
    more, less = max(len(a), len(v)), min(len(a), len(v))
    if mode == "same":
        start = (less - 1) // 2
        return sums[start : start + more]
    if mode == "valid":
        return sums[less - 1 : more]
    if mode != "full":
        raise ValueError(f"mode '{mode}' is none of full, same and valid")
    return sums


def correlate(a: Any, v: Any, mode: str = "valid") -> Any:
    """`convolve` with the second array backwards. Raises ValueError where it is longer than the first."""
    if len(v) > len(a):
        raise ValueError("np.correlate takes the longer array first here")
    backwards = np.conj(np.flip(np.asarray(v), 0).copy())
    return convolve(np.asarray(a), backwards, mode)


def spread(long: Any, short: Any) -> Any:
    """The longer array once for each element of the shorter one."""
    out = np.zeros(len(long) + len(short) - 1, dtype=np.result_type(long, short))
    for j in range(len(short)):
        out[j : j + len(long)] += long * short[j]
    return out


def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: Any = None) -> Any:
    """The area below a line through points along an axis, the last one if none is said, `dx` apart or at `x`."""
    points = y if axis is None else np.moveaxis(y, axis, -1)
    sums = points[..., 1:] + points[..., :-1]
    if x is None:
        return (dx * sums / 2.0).sum(axis=-1)
    else:
        coordinates = x if axis is None or x.ndim == 1 else np.moveaxis(x, axis, -1)
        return ((coordinates[..., 1:] - coordinates[..., :-1]) * sums / 2.0).sum(axis=-1)


def gradient(f: Any, *varargs: Any, axis: Static = None, edge_order: Static = 1) -> Any:
    """Half of the difference of the neighbours of each, one-sided at the ends, over the distance that follows, or
    between places that do: along an axis, or in a tuple along each, of distances of their own. With `edge_order` 2 the
    ends are as exact as the rest.

    Raises ValueError for fewer elements than it takes, and for each of more than three axes.
    """
    if axis is not None:
        return np.moveaxis(slopes(np.moveaxis(f, axis, -1), varargs[0] if varargs else 1.0, edge_order), -1, axis)
    elif f.ndim == 1:
        return slopes(f, varargs[0] if varargs else 1.0, edge_order)
    elif f.ndim == 2:
        return (
            gradient(f, varargs[0] if varargs else 1.0, axis=0, edge_order=edge_order),
            slopes(f, varargs[-1] if varargs else 1.0, edge_order),
        )
    elif f.ndim == 3:
        return (
            gradient(f, varargs[0] if varargs else 1.0, axis=0, edge_order=edge_order),
            gradient(f, varargs[1 if len(varargs) == 3 else 0] if varargs else 1.0, axis=1, edge_order=edge_order),
            slopes(f, varargs[-1] if varargs else 1.0, edge_order),
        )
    else:
        raise ValueError("np.gradient of an array with more than three axes takes axis= here")


def slopes(f: Any, h: Any, edge_order: Static) -> Any:
    """The gradient along the last axis."""
    n = f.shape[-1]
    if n < edge_order + 1:
        raise ValueError(
            f"Shape of array too small to calculate a numerical gradient, at least {edge_order + 1} elements are "
            "required."
        )
    x = f * 1.0
    out = np.empty_like(x)
    if isinstance(h, np.ndarray):
        gaps = h[1:] * 1.0 - h[:-1] * 1.0
        left, right = gaps[:-1], gaps[1:]
        below, above = -right / (left * (left + right)), left / (right * (left + right))
        at = (right - left) / (left * right)
        out[..., 1:-1] = below * x[..., :-2] + at * x[..., 1:-1] + above * x[..., 2:]
        if edge_order == 1:
            out[..., 0] = (x[..., 1] - x[..., 0]) / gaps[0]
            out[..., n - 1] = (x[..., n - 1] - x[..., n - 2]) / gaps[n - 2]
        else:
            out[..., 0] = at_end(x[..., 0], x[..., 1], x[..., 2], gaps[0], gaps[1])
            out[..., n - 1] = -at_end(x[..., n - 1], x[..., n - 2], x[..., n - 3], gaps[n - 2], gaps[n - 3])
    else:
        out[..., 1:-1] = (x[..., 2:] - x[..., :-2]) / (2.0 * h)
        if edge_order == 1:
            out[..., 0] = (x[..., 1] - x[..., 0]) / h
            out[..., n - 1] = (x[..., n - 1] - x[..., n - 2]) / h
        else:
            out[..., 0] = (-1.5 * x[..., 0] + 2.0 * x[..., 1] - 0.5 * x[..., 2]) / h
            out[..., n - 1] = (0.5 * x[..., n - 3] - 2.0 * x[..., n - 2] + 1.5 * x[..., n - 1]) / h
    return out


def at_end(first: Any, second: Any, third: Any, near: Any, far: Any) -> Any:
    """The slope at the first of three places, of the parabola through them."""
    both = near + far
    return -(near + both) / (near * both) * first + both / (near * far) * second - near / (far * both) * third


def histogram(a: Any, bins: Any = 10, range: Any = None, density: Static = False, weights: Any = None) -> Any:
    """How many elements, or how much of their weights, are in each of so many bins of one width, or between edges, and
    the edges; with `density` what part of all, over the width of the bin.
    """
    if isinstance(bins, np.ndarray | list):
        edges = np.asarray(bins)
        counts = counted(a.reshape(-1), edges) if weights is None else weighed(a.reshape(-1), weights, edges)
        return over_widths(counts, edges) if density else counts, edges
    else:
        of_width, borders = histogram_of_width(a, bins, range)
        amounts = of_width if weights is None else weighed(a.reshape(-1) * 1.0, weights, borders)
        return over_widths(amounts, borders) if density else amounts, borders


def over_widths(counts: Any, edges: Any) -> Any:
    """What part of all is in each bin, over its width."""
    return counts / (edges[1:] - edges[:-1]) / counts.sum()


def weighed(x: Any, weights: Any, edges: Any) -> Any:
    """How much of the weights is between each two edges; the last bin has its upper edge too."""
    last = len(edges) - 1
    flat = weights.reshape(-1)
    sums = np.zeros(last, dtype=weights.dtype)
    for i, v in enumerate(x):
        if edges[0] <= v <= edges[last]:
            k = min(int(np.searchsorted(edges, v, side="right")) - 1, last - 1)
            sums[k] += flat[i]
    return sums


def counted(x: Any, edges: Any) -> Any:
    """How many elements are between each two edges; the last bin has its upper edge too. Raises ValueError for edges
    that do not ascend.
    """
    if np.any(edges[:-1] > edges[1:]):
        raise ValueError("`bins` must increase monotonically, when an array")
    last = len(edges) - 1
    counts = np.zeros(last, dtype=np.int64)
    for v in x:
        if edges[0] <= v <= edges[last]:
            low, high = 0, last
            while high - low > 1:
                middle = (low + high) // 2
                if v >= edges[middle]:
                    low = middle
                else:
                    high = middle
            counts[low] += 1
    return counts


def histogram_of_width(a: Any, bins: int, range: Any = None) -> Any:
    """The counts in bins of one width, and their edges."""
    if bins < 1:
        raise ValueError("`bins` must be positive, when an integer")
    x = a.reshape(-1) * 1.0
    if range is None:
        if len(x) == 0:
            return np.zeros(bins, dtype=np.int64), np.linspace(0.0, 1.0, bins + 1).astype(x.dtype)
        low, high = x.min(), x.max()
        check_range(float(low), float(high))
        if low == high:
            low, high = low - 0.5, high + 0.5
        edges = np.arange(bins + 1).astype(x.dtype) * ((high - low) / bins) + low
        edges[bins] = high
        if x.dtype == np.float64:
            counts = count_of_width(x, float(low), float(high), bins, edges)
        else:
            counts = count_between(x, low, high, edges)
        return counts, edges
    first, last = float(range[0]), float(range[1])
    check_range(first, last)
    if first == last:
        first, last = first - 0.5, last + 0.5
    borders = np.linspace(first, last, bins + 1).astype(x.dtype)
    return count_between(x, first, last, borders), borders


def check_range(low: float, high: float) -> None:
    """Raise ValueError for a range without elements."""
    if not (np.isfinite(low) and np.isfinite(high)):
        raise ValueError("autodetected or supplied range is not finite")
    if low > high:
        raise ValueError("max must be larger than min in range parameter.")


def count_of_width(x: Any, low: float, high: float, bins: int, edges: Any) -> Any:
    """What `count_between` counts where all elements are in between: the bins of all at once, by a product in place of
    a quotient, which is off by one at most where bins are wide beside what floats there are apart by.
    """
    width = (high - low) / bins
    if not (1e-9 * max(abs(low), abs(high)) < width < 1e300 and width > 1e-300) or bins > 1000000:
        return count_between(x, low, high, edges)
    scale, last = 1.0 / width, bins - 1.0
    k = np.minimum(np.floor((x - low) * scale), last)
    is_above = (x >= (k + 1.0) * width + low) & (k != last)
    k = np.where(x < k * width + low, k - 1.0, np.where(is_above, k + 1.0, k))
    counts = np.zeros(bins, dtype=np.int64)
    for index in k.astype(np.int32):
        counts[index] += 1
    return counts


def count_between(x: Any, low: Any, high: Any, edges: Any) -> Any:
    """How many elements are between each two edges: by their distance from the first, then set right by the edges.
    Raises ValueError where floats are too far apart for so many bins.
    """
    bins = len(edges) - 1
    if np.any(edges[:-1] >= edges[1:]):
        raise ValueError(f"Too many bins for data range. Cannot create {bins} finite-sized bins.")
    counts = np.zeros(bins, dtype=np.int64)
    width = high - low
    for v in x:
        if low <= v <= high:
            k = min(int((v - low) / width * bins), bins - 1)
            if v < edges[k]:
                k -= 1
            elif v >= edges[k + 1] and k != bins - 1:
                k += 1
            counts[k] += 1
    return counts


def meshgrid(x: Any, y: Any, z: Any = None, *, indexing: Static = "xy", sparse: Static = False) -> Any:
    """The columns and rows of a grid, and its depths: `x` in each row, `y` in each column; with `indexing` "ij" the
    other way round; with `sparse` arrays that only broadcast to that.

    Raises ValueError for another indexing.
    """
    if indexing != "xy" and indexing != "ij":
        raise ValueError("Valid values for `indexing` are 'xy' and 'ij'.")
    elif z is not None:
        across = x.reshape(1, -1, 1) if indexing == "xy" else x.reshape(-1, 1, 1)
        down = y.reshape(-1, 1, 1) if indexing == "xy" else y.reshape(1, -1, 1)
        deep = z.reshape(1, 1, -1)
        if sparse:
            return across, down, deep
        else:
            rows, columns = (len(y), len(x)) if indexing == "xy" else (len(x), len(y))
            return spread_over(across, rows, columns, len(z)), spread_over(down, rows, columns, len(z)), spread_over(
                deep, rows, columns, len(z)
            )
    else:
        first = x.reshape(1, -1) if indexing == "xy" else x.reshape(-1, 1)
        second = y.reshape(-1, 1) if indexing == "xy" else y.reshape(1, -1)
        if sparse:
            return first, second
        else:
            height, width = (len(y), len(x)) if indexing == "xy" else (len(x), len(y))
            return np.broadcast_to(first, (height, width)).copy(), np.broadcast_to(second, (height, width)).copy()


def spread_over(x: Any, rows: int, columns: int, depth: int) -> Any:
    """An array repeated to sizes."""
    return np.broadcast_to(x, (rows, columns, depth)).copy()


def cov(m: Any, y: Any = None, rowvar: Static = True, bias: Static = False, ddof: Any = None) -> Any:
    """The covariance of variables, one a row, or with `rowvar` False one a column, or of two: over one less than their
    elements, or with `bias` over all, or over `ddof` less. Raises ValueError for one variable in a matrix.
    """
    if y is not None:
        return cov(np.stack((m, y)), None, True, bias, ddof)
    else:
        x = m.reshape(1, -1) if m.ndim == 1 else (m if rowvar else m.T)
        n = x.shape[1]
        over = max(n - (ddof if ddof is not None else (0 if bias else 1)), 0)
        numbers = x * np.ones((1, 1))
        apart = numbers - numbers.mean(axis=1, keepdims=True)
        if m.ndim > 1 and len(x) == 1:
            raise ValueError("np.cov of one variable is a number in NumPy: pass it without an axis, np.cov(x[0])")
        products = apart @ np.conj(apart.T) / over
        return products[0, 0] if m.ndim == 1 else products


def corrcoef(x: Any, y: Any = None, rowvar: Static = True) -> Any:
    """The correlation of variables, one a row, or with `rowvar` False one a column, or of two."""
    if y is not None:
        return corrcoef(np.stack((x, y)))
    elif x.ndim == 1:
        own = cov(x)
        return own / own
    else:
        c = cov(x, None, rowvar)
        d = np.sqrt(c.diagonal())
        return np.clip(c / d[:, None] / d[None, :], -1.0, 1.0)
