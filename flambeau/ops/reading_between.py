"""Images read between their pixels, linearly along both axes, and both adjoints.

`rows` is (batch, channels, height * width); `places` is (batch, 2, points), how far down and how far to the right. A
pixel outside of the image counts for nothing, as does a place that is nan. The gradients of reading are the two others.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product

from flambeau.ops.families.arrays import Array, widened
from flambeau.ops.families.opaque import declare
from flambeau.ops.weighted_reading import add_weighted, read_weighted, weigh
from flambeau.schema.dtype import float32, float64
from flambeau.schema.gradient import formulas
from flambeau.schema.opdef import Sample
from flambeau.schema.traits import Traits
from flambeau.tensor.array_library import np
from flambeau.tensor.tensor import Tensor, wrap
from flambeau.util.inversions import READING_BETWEEN


def _natively(function: str, operands: tuple[Array, ...], height: int, width: int) -> Array | None:
    """What native code gives; None where there is none for such arrays."""
    rows = [np.ascontiguousarray(one) for one in operands]
    result: Array | None = READING_BETWEEN.implementation(function, rows, height, width)
    return result


def corners(coordinates: Array, height: int, width: int) -> tuple[Array, Array, Array]:
    """(batch, 4, points) each: the pixel of each corner, -1 outside; its weight; the signs of its slopes per axis."""
    offsets, weights, slopes = [], [], []
    with np.errstate(all="ignore"):
        below = np.floor(coordinates)
        for side in product((0, 1), repeat=2):
            index = below + np.array(side).reshape(2, 1)
            parts = np.where(np.array(side).reshape(2, 1) == 1, coordinates - below, below + 1 - coordinates)
            is_in = (index >= 0) & (index < np.array([height, width]).reshape(2, 1))
            whole = np.where(is_in, index, 0).astype(np.int64)
            offsets.append(np.where(is_in.all(axis=1), whole[:, 0] * width + whole[:, 1], -1))
            weights.append(parts[:, 0] * parts[:, 1])
            signs = np.where(np.array(side).reshape(2, 1) == 1, 1, -1).astype(coordinates.dtype)
            slopes.append(signs * parts[:, ::-1])
    return np.stack(offsets, 1), np.stack(weights, 1), np.stack(slopes, 1)


def read_between(rows: Array, places: Array, height: int, width: int) -> Array:
    """What is read at the places."""
    wide, where = widened(rows), widened(places)
    result = _natively("read_between", (wide, where), height, width)
    if result is None:
        offsets, weights, _ = corners(where, height, width)
        result = read_weighted(wide, offsets, weights)
    return result.astype(rows.dtype, copy=False)


def spread_between(numbers: Array, places: Array, height: int, width: int) -> Array:
    """Numbers of points spread over the pixels around them: images."""
    wide, where = widened(numbers), widened(places)
    result = _natively("spread_between", (wide, where), height, width)
    if result is None:
        offsets, weights, _ = corners(where, height, width)
        result = add_weighted(wide, offsets, weights, height * width)
    return result.astype(numbers.dtype, copy=False)


def tilt_between(numbers: Array, rows: Array, places: Array, height: int, width: int) -> Array:
    """How what is read, weighted with numbers, changes with the places."""
    wide, others, where = widened(numbers), widened(rows), widened(places)
    result = _natively("tilt_between", (wide, others, where), height, width)
    if result is None:
        offsets, _, slopes = corners(where, height, width)
        per_corner = weigh(wide, others, offsets)
        result = np.where(per_corner[:, :, None] != 0, per_corner[:, :, None] * slopes, 0).sum(axis=1)
    return result.astype(places.dtype, copy=False)


def _numbers(*sizes: int) -> Tensor:
    return wrap(((np.arange(int(np.prod(sizes)), dtype=np.float32) * 37 % 23) / 9 - 1.25).reshape(sizes))


def _samples(*operands: str) -> Iterable[Sample]:
    sizes = {"rows": (2, 3, 12), "numbers": (2, 3, 5), "places": (2, 2, 5)}
    yield Sample(args=(*[_numbers(*sizes[name]) for name in operands], 3, 4))


_ULP = {float32: 64.0, float64: 64.0}
_TRAITS = Traits(has_routine=True)
declare(
    "flambeau::read_between(Tensor rows, Tensor places, SymInt height, SymInt width) -> Tensor", kernel=read_between,
    doc="Images read linearly between their pixels.", dtype=lambda rows: rows.dtype,
    shape=lambda rows, places: (
        None if None in (rows.sizes, places.sizes) else (*rows.sizes[:2], places.sizes[2])
    ),
    ulp=_ULP, samples=lambda: _samples("rows", "places"), is_method=False, is_function=False, traits=_TRAITS,
)  # fmt: skip
declare(
    "flambeau::spread_between(Tensor numbers, Tensor places, SymInt height, SymInt width) -> Tensor",
    kernel=spread_between, doc="Numbers added to the pixels around their places.",
    dtype=lambda numbers: numbers.dtype,
    shape=lambda numbers: None if numbers.sizes is None else (*numbers.sizes[:2], None),
    ulp=_ULP, samples=lambda: _samples("numbers", "places"), is_method=False, is_function=False, traits=_TRAITS,
)  # fmt: skip
declare(
    "flambeau::tilt_between(Tensor numbers, Tensor rows, Tensor places, SymInt height, SymInt width) -> Tensor",
    kernel=tilt_between, doc="How what is read between pixels changes with the places.",
    dtype=lambda places: places.dtype, shape=lambda places: places.sizes,
    ulp=_ULP, samples=lambda: _samples("numbers", "rows", "places"), is_method=False, is_function=False, traits=_TRAITS,
)  # fmt: skip
formulas(
    "flambeau::read_between",
    rows=lambda f, grad, places, height, width: f.own("spread_between", grad, places, height, width),
    places=lambda f, grad, rows, places, height, width: f.own("tilt_between", grad, rows, places, height, width),
)
formulas(
    "flambeau::spread_between",
    numbers=lambda f, grad, places, height, width: f.own("read_between", grad, places, height, width),
    places=lambda f, grad, numbers, places, height, width: f.own("tilt_between", numbers, grad, places, height, width),
)
