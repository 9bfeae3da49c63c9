"""Sums, means and maxima of rows of a table by bags of indices; rows cut to a length."""

from __future__ import annotations

from typing import Any, Final

from flambeau.ops.bag_loops import largest_natively, sum_natively
from flambeau.ops.bags_together import largest_of_bags, owners_of, sums_of_bags
from flambeau.ops.families.arrays import Array, dtype_of, is_float, not_implemented, reduce_with, widened
from flambeau.ops.families.opaque import declare
from flambeau.ops.families.variants import check_overlap
from flambeau.schema.dtype import float32, int64
from flambeau.schema.opdef import UNKNOWN, ErrorSample, Sample, Sizes
from flambeau.tensor.array_library import is_host_array, np
from flambeau.tensor.tensor import Tensor, wrap

SUM, MEAN, MAX = range(3)
INTEGERS: Final = (np.dtype(np.int64), np.dtype(np.int32))


@np.errstate(all="ignore")
def embedding_renorm(self: Tensor, indices: Tensor, max_norm: float, norm_type: float) -> Tensor:
    """Rows that are read and longer than `max_norm` are made that long. Raises for what is no table, no index."""
    table, row_indices = self._array, np.unique(indices._array)
    if table.ndim != 2:
        raise RuntimeError("'self' must be 2-D")
    if row_indices.size and (row_indices[0] < 0 or row_indices[-1] >= table.shape[0]):
        raise IndexError("index out of range in self")
    check_overlap(self, (indices,))
    rows = widened(table[row_indices])
    if norm_type == np.inf:
        norms = reduce_with(np.maximum, np.abs(rows), axis=1, initial=0)
    else:
        norms = (np.abs(rows) ** norm_type).sum(axis=1) ** (1 / norm_type)
    scale = np.where(norms > max_norm, max_norm / (norms + 1e-7), 1).astype(rows.dtype)
    table[row_indices] = (rows * scale[:, None]).astype(table.dtype, copy=False)
    self.bump_version()
    return self


def check_bags(
    weight: Array, indices: Array, offsets: Array, mode: int, per_sample_weights: Array | None, last: bool
) -> None:
    """Raise for dtypes, ranks and offsets that make no bags."""
    for name, one in (("indices", indices), ("offsets", offsets)):
        if one.dtype not in INTEGERS:
            raise RuntimeError(
                f"Expected tensor for argument '{name}' to have one of the following scalar types: Long, Int; but got "
                f"torch.{dtype_of(one).display}Tensor instead (while checking arguments for embedding_bag)"
            )
        if one.ndim != 1:
            raise RuntimeError(f"{name} has to be a 1-D Tensor, but got a tensor of dimension {one.ndim}")
    if not is_float(weight):
        raise not_implemented("embedding_bag", dtype_of(weight))
    _check_offsets(offsets, indices.size, last)
    if indices.size and (indices.min() < 0 or indices.max() >= weight.shape[0]):
        raise RuntimeError(
            f"embedding_bag: Expected idx >= 0 && idx < num_embeddings but found idx to be "
            f"{indices[(indices < 0) | (indices >= weight.shape[0])][0]}"
        )
    if per_sample_weights is not None:
        _check_sample_weights(per_sample_weights, indices, mode)


def _check_offsets(offsets: Array, count: int, last: bool) -> None:
    """Raise unless the offsets of bags begin at 0 and end at or before `count`, the number of indices."""
    if last and not offsets.size:
        raise RuntimeError("include_last_offset: number of offsets should be at least 1")
    if offsets.size and offsets[0] != 0:
        raise RuntimeError(f"offsets[0] has to be 0, i.e., the first sequence in the mini-batch has to start from "
                           f"position 0. However, got {offsets[0]}")  # fmt: skip
    if offsets.size and offsets[-1] > count:
        raise RuntimeError(
            f"offsets[-1] can not be greater than input's length. Got offsets[-1] {offsets[-1]} and input's length "
            f"{count}"
        )


def _check_sample_weights(per_sample_weights: Array, indices: Array, mode: int) -> None:
    if mode != SUM:
        raise RuntimeError("embedding_bag: per_sample_weights was only supported for mode='sum'")
    if per_sample_weights.shape != indices.shape:
        raise RuntimeError(
            f"expected per_sample_weights to have the same shape as indices, got {list(per_sample_weights.shape)} "
            f"and {list(indices.shape)}"
        )


def _fill_bags(
    wide: Array, indices: Array, bounds: Array, mode: int, per_sample_weights: Array | None, padding: int,
    filled: tuple[Array, Array, Array],
) -> None:  # fmt: skip
    """Bag by bag, the rows folded, how many they are, and which is largest."""
    sums, sizes, largest = filled
    width = wide.shape[1]
    for bag in range(len(sizes)):
        positions = np.arange(bounds[bag], bounds[bag + 1])
        positions = positions[indices[positions] != padding]
        sizes[bag] = len(positions)
        if not len(positions):
            continue
        rows = wide[indices[positions]]
        if mode == MAX:
            best = rows.argmax(axis=0)
            sums[bag], largest[bag] = rows[best, np.arange(width)], indices[positions][best]
            continue
        if per_sample_weights is not None:
            rows = rows * widened(per_sample_weights)[positions][:, None]
        added = reduce_with(np.add, rows, axis=0)
        sums[bag] = added / wide.dtype.type(len(positions)) if mode == MEAN else added


def embedding_bag(
    weight: Array, indices: Array, offsets: Array, mode: int = SUM, per_sample_weights: Array | None = None,
    include_last_offset: bool = False, padding_idx: int | None = -1,
) -> tuple[Array, Array, Array, Array]:  # fmt: skip
    """The bags; and what a mean or a maximum needs for its gradient: which bag each index is in, how many count in each
    bag, which row a maximum comes from.
    """
    check_bags(weight, indices, offsets, mode, per_sample_weights, include_last_offset)
    padding = -1 if padding_idx is None else padding_idx
    bounds = offsets if include_last_offset else np.concatenate([offsets, np.array([indices.size], np.int64)])
    count, width = max(len(bounds) - 1, 0), weight.shape[1]
    wide = widened(weight)
    if not is_host_array(wide):
        return _together(weight, wide, indices, bounds, mode, per_sample_weights, padding, include_last_offset)
    sums = np.zeros((count, width), wide.dtype)
    sizes = np.zeros(count, indices.dtype)
    largest = np.zeros((count, width), indices.dtype)
    if mode == MAX:
        is_done = largest_natively(wide, indices, bounds, padding, (sums, sizes, largest))
    else:
        is_done = sum_natively(wide, indices, bounds, per_sample_weights, padding, sums, sizes)
    if is_done and mode == MEAN:
        sums /= np.maximum(sizes, 1).astype(wide.dtype)[:, None]
    if not is_done:
        _fill_bags(wide, indices, bounds, mode, per_sample_weights, padding, (sums, sizes, largest))
    result = sums.astype(weight.dtype, copy=False)
    if mode == SUM and padding == -1:
        return result, np.zeros(0, indices.dtype), *_nothing(offsets, indices)
    owners = np.repeat(np.arange(count), bounds[1:] - bounds[:-1]).astype(indices.dtype, copy=False)
    if mode == SUM:
        return result, owners, *_nothing(offsets, indices)
    return result, owners, sizes, largest if mode == MAX else sizes.copy()


def _nothing(offsets: Array, indices: Array) -> tuple[Array, Array]:
    """What sums need for their gradients of each bag."""
    return np.zeros(offsets.size, indices.dtype), np.zeros(offsets.size, indices.dtype)


def _together(
    weight: Array, wide: Array, indices: Array, bounds: Array, mode: int, weights: Array | None, padding: int,
    include_last_offset: bool,
) -> tuple[Array, Array, Array, Array]:  # fmt: skip
    """All bags at once."""
    count = max(len(bounds) - 1, 0)
    owners = owners_of(len(indices), bounds)
    is_counted = (owners < count) & (indices != padding)
    sums, sizes = sums_of_bags(wide, indices, owners, is_counted, weights, count)
    counts = sizes.astype(indices.dtype)
    largest = counts.copy()
    if mode == MAX:
        sums, largest = largest_of_bags(wide, indices, owners, is_counted, sizes)
    elif mode == MEAN:
        sums = sums / np.maximum(sizes, 1).astype(wide.dtype)[:, None]
    result, owners = sums.astype(weight.dtype, copy=False), owners.astype(indices.dtype)
    owners = owners[: int(bounds[-1])] if include_last_offset and count else owners if count else owners[:0]
    if mode == SUM:
        nothing = np.zeros(len(bounds) - (not include_last_offset), indices.dtype)
        return result, owners[:0] if padding == -1 else owners, nothing, nothing.copy()
    return result, owners, counts, largest


def embedding_bag_with_padding(
    weight: Array, indices: Array, offsets: Array, mode: int, per_sample_weights: Array | None,
    include_last_offset: bool, padding_idx: int | None,
) -> tuple[Array, Array, Array, Array]:  # fmt: skip
    """The same; a negative index that does not count is one from the end of the table. Raises RuntimeError for others.
    """
    rows = weight.shape[0]
    if padding_idx is not None and not -rows <= padding_idx < rows:
        raise RuntimeError(f"padding_idx must be within the number of embeddings, -{rows} through {rows - 1}, but got "
                           f"{padding_idx}")  # fmt: skip
    wrapped = None if padding_idx is None else padding_idx % rows
    return embedding_bag(weight, indices, offsets, mode, per_sample_weights, include_last_offset, wrapped)


def bag_shapes(mode: Any) -> tuple[Sizes | None, ...]:
    """The last result is a matrix for maxima, a vector otherwise."""
    last = None if mode is UNKNOWN else (None, None) if mode == MAX else (None,)
    return (None, None), (None,), (None,), last


def _table() -> Tensor:
    return wrap(((np.arange(12, dtype=np.float32) * 7 % 11) / 4 - 1).reshape(4, 3))


def _longs(*values: int) -> Tensor:
    return wrap(np.array(values, np.int64))


def _padded(padding_idx: int) -> tuple[Any, ...]:
    return (_table(), _longs(0, 3, 3, 1), _longs(0, 3), False, SUM, False, None, False, padding_idx)


def _padded_samples() -> list[Sample]:
    return [Sample(args=_padded(padding)) for padding in (3, -1)]


def _padded_errors() -> list[ErrorSample]:
    return [ErrorSample(args=_padded(4), error=RuntimeError, message="padding_idx must be within the number of")]


declare(
    "aten::embedding_renorm_(Tensor(a!) self, Tensor indices, float max_norm, float norm_type) -> Tensor(a!)",
    kernel=embedding_renorm,
    doc="Rows that are named and longer than `max_norm` made that long.",
    dtype=lambda self: self.dtype,
    shape=lambda self: self.sizes,
    samples=lambda: [Sample(args=(_table(), _longs(0, 2, 2), 0.5, 2.0))],
    errors=lambda: [
        ErrorSample(args=(_table(), _longs(4), 1.0, 2.0), error=IndexError, message="index out of range in self")
    ],
    is_method=False,
    on_tensors=True,
)

_ARGUMENTS = (
    "(Tensor weight, Tensor indices, Tensor offsets, bool scale_grad_by_freq{}, int mode{}, bool sparse{}, "
    "Tensor? per_sample_weights{}, bool include_last_offset{}"
)
_RETURNS = ") -> (Tensor, Tensor, Tensor, Tensor)"
_OPTIONAL = _ARGUMENTS.format("=False", "=0", "=False", "=None", "=False")
for _schema, _kernel in (
    (f"embedding_bag{_OPTIONAL}{_RETURNS}", embedding_bag),
    (
        f"embedding_bag.padding_idx{_ARGUMENTS.format('', '', '', '', '')}, int? padding_idx{_RETURNS}",
        embedding_bag_with_padding,
    ),
    (f"_embedding_bag{_OPTIONAL}, int padding_idx=-1{_RETURNS}", embedding_bag),
    (f"_embedding_bag_forward_only{_OPTIONAL}, int padding_idx=-1{_RETURNS}", embedding_bag),
):
    declare(
        f"aten::{_schema}",
        kernel=_kernel,
        doc="Rows of a table folded by bags of indices: mode 0 adds, 1 averages, 2 takes the largest.",
        dtype=lambda weight: (weight.dtype, int64, int64, int64),
        shape=bag_shapes,
        samples=_padded_samples if _kernel is embedding_bag_with_padding else lambda: [
            Sample(args=(_table(), _longs(0, 3, 3, 1), _longs(0, 3), False, mode, False)) for mode in (SUM, MEAN, MAX)
        ],
        errors=_padded_errors if _kernel is embedding_bag_with_padding else lambda: [
            ErrorSample(
                args=(_table(), _longs(0, 4), _longs(0)), error=RuntimeError, message="idx < num_embeddings but found"
            ),
            ErrorSample(args=(_table(), _longs(0, 1), _longs(1)), error=RuntimeError, message="offsets[0] has to be 0"),
        ],
        ulp={float32: 4.0},
        is_method=False,
    )  # fmt: skip
