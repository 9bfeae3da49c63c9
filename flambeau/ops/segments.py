"""Sums, means and more of segments that lie one after the other along a dimension, of different lengths.

>>> import flambeau
>>> segment_reduce(flambeau.tensor([1.0, 2.0, 3.0]), "sum", lengths=flambeau.tensor([1, 2]))
tensor([1., 5.])
"""

from __future__ import annotations

import math
from typing import Any, Final

from flambeau.schema.dtype import int64
from flambeau.tensor.dispatch import call
from flambeau.tensor.overridden_functions import overridable
from flambeau.tensor.tensor import Tensor

BEGINNINGS: Final = {"sum": 0.0, "mean": 0.0, "prod": 1.0, "amax": -math.inf, "amin": math.inf}
NONE_GIVEN: Final = "segment_reduce(): Either lengths or offsets must be defined."
INDICES: Final = "segment_reduce(): indices based reduction is not supported yet."
UNKNOWN: Final = "reduce argument must be either sum, prod, mean, amax or amin, got {reduce}"
OTHER_AXIS: Final = "segment_reduce(): Expected axis to be the last dimension of {name} but got {axis}."
NEGATIVE: Final = "lengths contains negative value!"
OTHER_TOTAL: Final = (
    "segment_reduce(): Expected all rows of lengths along axis to sum to data.size(lengths.dim()-1) when !unsafe."
)
NO_FLOATS: Final = "\"_segment_reduce_cpu\" not implemented for '{dtype}'"
NO_LENGTHS: Final = "\"_segment_reduce_{name}_cpu_kernel1\" not implemented for '{dtype}'"


@overridable
def segment_reduce(
    data: Tensor, reduce: str, *, lengths: Tensor | None = None, indices: Tensor | None = None,
    offsets: Tensor | None = None, axis: int = 0, unsafe: bool = False, initial: float | None = None,
) -> Tensor:  # fmt: skip
    """What the elements of each segment along `axis` are together.

    Args:
        data: floats, of any sizes.
        reduce: `"sum"`, `"mean"`, `"prod"`, `"max"` or `"min"`.
        lengths: of the segments: integers, with the sizes of `data` before `axis`, and one axis more.
        indices: not there.
        offsets: in place of lengths, where each segment begins, and where the last one ends.
        axis: along which dimension segments lie.
        unsafe: whether lengths are not looked through; elements behind the last segment are then left out.
        initial: what each segment begins with: without it 0, 1 for products, an infinity for extremes.

    The mean of nothing is nan where nothing is said. Raises RuntimeError for lengths that are negative, or do not add
    up to the size of the dimension, and for other words; NotImplementedError for other dtypes.

    >>> import flambeau
    >>> x = flambeau.tensor([[1.0, 2.0], [5.0, 4.0], [3.0, 8.0]], requires_grad=True)
    >>> segment_reduce(x, "max", offsets=flambeau.tensor([0, 2, 3])).tolist()
    [[5.0, 4.0], [3.0, 8.0]]
    """
    reduce = {"max": "amax", "min": "amin"}.get(reduce, reduce)
    if reduce not in BEGINNINGS:
        raise RuntimeError(UNKNOWN.format(reduce=reduce))
    if indices is not None:
        raise RuntimeError(INDICES)
    if not data.is_floating_point():
        raise NotImplementedError(NO_FLOATS.format(dtype=data.dtype.display))
    edges = _edges(data, lengths, offsets, axis, unsafe)
    first = BEGINNINGS[reduce] if initial is None else float(initial)
    is_extreme = reduce in ("amax", "amin")
    reduced = _reduced(data, edges, reduce, axis, BEGINNINGS[reduce] if is_extreme else first)
    if is_extreme and initial is not None:  # where an element is equal to it, the gradient goes to the element
        beyond = reduced < first if reduce == "amax" else reduced > first
        return reduced.masked_fill(beyond, first)
    if reduce != "mean":
        return reduced
    counts = _like_result(call("aten::diff", edges), data, axis).to(data.dtype)
    mean: Tensor = reduced / counts.clamp(min=1)
    return mean if initial is not None else mean.masked_fill(counts == 0, math.nan)


def _edges(data: Tensor, lengths: Tensor | None, offsets: Tensor | None, axis: int, unsafe: bool) -> Tensor:
    """Where segments begin, and where the last one ends, for each place before `axis`."""
    name = "offsets" if lengths is None else "lengths"
    counted = offsets if lengths is None else lengths
    if counted is None:
        raise RuntimeError(NONE_GIVEN)
    if axis != counted.dim() - 1:
        raise RuntimeError(OTHER_AXIS.format(name=name, axis=axis % max(1, data.dim())))
    if counted.is_floating_point() or counted.is_complex():
        raise NotImplementedError(NO_LENGTHS.format(name=name, dtype=counted.dtype.display))
    if lengths is None:
        return counted.to(int64)
    if not unsafe and bool((lengths < 0).any()):
        raise RuntimeError(NEGATIVE)
    if not unsafe and not bool((lengths.sum(-1) == data.shape[axis]).all()):
        raise RuntimeError(OTHER_TOTAL)
    starts: Tensor = call("aten::cumsum", lengths.to(int64), -1)
    edges: Tensor = call("aten::pad", starts, [1, 0])
    return edges


def _like_result(counts: Tensor, data: Tensor, axis: int) -> Tensor:
    """Numbers of segments with the axes that follow in the data."""
    return counts.reshape([*counts.shape, *[1] * (data.dim() - axis - 1)])


def _reduced(data: Tensor, edges: Tensor, reduce: str, axis: int, first: float) -> Tensor:
    """Each element is added to its segment; what lies outside of all of them, to one more, which is left out."""
    count, size = edges.shape[-1] - 1, data.shape[axis]
    positions = call("aten::arange", size, dtype=int64, device=data.device).expand([*edges.shape[:-1], size])
    segment = call("aten::searchsorted", edges.contiguous(), positions.contiguous(), right=True) - 1
    segment = segment.masked_fill((segment < 0) | (segment >= count), count)
    into = _like_result(segment, data, axis).expand(list(data.shape))
    sizes = [*data.shape[:axis], count + 1, *data.shape[axis + 1 :]]
    start = call("aten::full", sizes, first, dtype=data.dtype, device=data.device)
    word: Any = "sum" if reduce == "mean" else reduce
    reduced: Tensor = start.scatter_reduce(axis, into, data, word).narrow(axis, 0, count).contiguous()
    return reduced
