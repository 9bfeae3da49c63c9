"""Histograms of points with several coordinates.

>>> import flambeau
>>> points = flambeau.tensor([[0.0, 1.0], [1.0, 0.0], [2.0, 0.0]])
>>> histogramdd(points, bins=[2, 2]).hist
tensor([[0., 1.],
        [2., 0.]])
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from flambeau.schema.named_results import class_of
from flambeau.tensor.array_library import np
from flambeau.tensor.overridden_functions import overridable
from flambeau.tensor.tensor import Tensor, wrap

Histogram: Final[Any] = class_of("histogramdd", ("hist", "bin_edges"))
Edges = Sequence[np.ndarray[Any, Any]]
FEW_AXES: Final = "torch.histogramdd: input tensor should have at least 2 dimensions"
COUNT: Final = "histogramdd: The size of bins must be equal to the innermost dimension of the input."
NO_BINS: Final = "torch.histogram(): bins must be > 0, but got {bins} for dimension {axis}"
RANGES: Final = (
    "torch.histogramdd: for a {axes}-dimensional histogram range should have {wanted} elements, but got {got}"
)
ORDER: Final = "torch.histogramdd: min should not exceed max, but got min {low:g} max {high:g} for dimension {axis}"
INFINITE: Final = "torch.histogramdd: dimension {axis}'s range [{low:g}, {high:g}] is not finite"
WEIGHTS: Final = (
    "torch.histogramdd: if weight tensor is provided it should have the same shape as the input tensor excluding its "
    "innermost dimension, but got input with shape {points} and weight with shape {weights}"
)
WEIGHT_DTYPE: Final = (
    "torch.histogramdd: if weight tensor is provided, input tensor and weight tensor should have the same dtype, but "
    "got input({points}), and weight({weights})"
)
ONE_AXIS: Final = (
    "torch.histogramdd: bins tensor should have one dimension, but got {axes} dimensions in the bins tensor for "
    "dimension {axis}"
)
EDGE_DTYPE: Final = (
    "torch.histogramdd: input tensor and bins tensors should have the same dtype, but got input with dtype {points} "
    "and bins for dimension {axis} with dtype {edges}"
)
NO_FLOATS: Final = "\"histogramdd\" not implemented for '{dtype}'"


@overridable
def histogramdd(
    input: Tensor, bins: int | Sequence[int] | Sequence[Tensor], *, range: Sequence[float] | None = None,
    weight: Tensor | None = None, density: bool = False,
) -> Any:  # fmt: skip
    """How many points, or how much of their weight, lie in each box of a grid, and the edges of the grid.

    A box has its lower edges, and the last one along an axis its upper edge too; points outside are left out.

    Args:
        input: the points: float32 or float64, with the coordinates along the last dimension.
        bins: how many boxes there are along each axis, or along all; or the edges along each.
        range: where the grid begins and ends, axis after axis; without it, where the points lie.
        weight: of each point.
        density: whether heights are divided by their sum and by the sizes of boxes.

    Returns a named tuple: `hist`, with an axis for each coordinate, and `bin_edges`. Raises RuntimeError for sizes and
    ranges that do not fit, NotImplementedError for other dtypes.

    >>> import flambeau
    >>> result = histogramdd(flambeau.tensor([[0.0, 0.0], [2.0, 2.0]]), 2, range=(0.0, 4.0, 0.0, 4.0), density=True)
    >>> result.hist.tolist(), result.bin_edges[0].tolist()
    ([[0.125, 0.0], [0.0, 0.125]], [0.0, 2.0, 4.0])
    """
    _check(input, weight)
    points = input.detach().numpy().reshape(-1, input.shape[-1])
    edges = _edges(input, points, bins, range)
    weights = np.ones(len(points)) if weight is None else weight.detach().numpy().reshape(-1).astype(np.float64)
    bin_indices, is_inside = [], np.ones(len(points), bool)
    for axis, along in enumerate(edges):
        coordinate = points[:, axis]
        is_inside &= (coordinate >= along[0]) & (coordinate <= along[-1])
        bin_indices.append(np.searchsorted(along, coordinate, "right").clip(1, len(along) - 1) - 1)
    heights = np.zeros([len(along) - 1 for along in edges])
    np.add.at(heights, tuple(bins_of[is_inside] for bins_of in bin_indices), weights[is_inside])
    if density:
        with np.errstate(all="ignore"):
            heights = heights / heights.sum()
            for axis, along in enumerate(edges):
                widths = np.diff(along.astype(np.float64))
                heights = heights / widths.reshape([-1 if k == axis else 1 for k in _axes(edges)])
    pairs = zip(_each(bins, len(edges)), edges, strict=True)
    shown = [one if isinstance(one, Tensor) else wrap(along) for one, along in pairs]
    return Histogram(wrap(heights.astype(points.dtype)), tuple(shown))


def _each(bins: Any, axes: int) -> list[Any]:
    """Bins for each axis."""
    return [bins] * axes if isinstance(bins, int) else list(bins)


def _axes(edges: Edges) -> Sequence[int]:
    return [axis for axis, _ in enumerate(edges)]


def _check(points: Tensor, weight: Tensor | None) -> None:
    if points.dim() < 2:
        raise RuntimeError(FEW_AXES)
    if points.dtype.name not in ("float32", "float64"):
        raise NotImplementedError(NO_FLOATS.format(dtype=points.dtype.display))
    if weight is None:
        return
    if weight.dtype is not points.dtype:
        raise RuntimeError(WEIGHT_DTYPE.format(points=points.dtype.name, weights=weight.dtype.name))
    if weight.shape != points.shape[:-1]:
        raise RuntimeError(WEIGHTS.format(points=list(points.shape), weights=list(weight.shape)))


def _edges(points: Tensor, rows: np.ndarray[Any, Any], bins: Any, range: Sequence[float] | None) -> Edges:
    """The edges along each axis."""
    count = rows.shape[1]
    each = _each(bins, count)
    if len(each) != count:
        raise RuntimeError(COUNT)
    if range is not None and len(range) != 2 * count:
        raise RuntimeError(RANGES.format(axes=count, wanted=2 * count, got=len(range)))
    edges = []
    for axis, one in enumerate(each):
        if isinstance(one, Tensor):
            edges.append(_given(points, one, axis))
            continue
        if one <= 0:
            raise RuntimeError(NO_BINS.format(bins=one, axis=axis))
        low, high = _ends(rows[:, axis], axis, range)
        edges.append(np.linspace(low, high, one + 1).astype(rows.dtype))
    return edges


def _given(points: Tensor, edges: Tensor, axis: int) -> np.ndarray[Any, Any]:
    if edges.dim() != 1:
        raise RuntimeError(ONE_AXIS.format(axes=edges.dim(), axis=axis))
    if edges.dtype is not points.dtype:
        raise RuntimeError(EDGE_DTYPE.format(points=points.dtype.name, axis=axis, edges=edges.dtype.name))
    return np.array(edges.detach().numpy())


def _ends(coordinates: np.ndarray[Any, Any], axis: int, range: Sequence[float] | None) -> tuple[float, float]:
    """Where the grid begins and ends along an axis."""
    if range is not None:
        low, high = float(range[2 * axis]), float(range[2 * axis + 1])
    elif coordinates.size:
        low, high = float(coordinates.min()), float(coordinates.max())
    else:
        low, high = 0.0, 1.0
    if not np.isfinite([low, high]).all():
        raise RuntimeError(INFINITE.format(axis=axis, low=low, high=high))
    if low > high:
        raise RuntimeError(ORDER.format(low=low, high=high, axis=axis))
    return (low, high) if low < high else (low - 0.5, high + 0.5)
