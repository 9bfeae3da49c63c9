"""The formulas of folding rows of a table by bags of indices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flambeau.ops.derivatives.plain_arrays import of_bags
from flambeau.ops.derivatives.shapes import perhaps, zeros
from flambeau.schema.dtype import int64
from flambeau.schema.gradient import formulas

_MEAN, _MAX = 1, 2


class _Bags:
    """Which bag each index is in, and whether it counts."""

    def __init__(self, f: Any, indices: Any, offsets: Any, has_last: bool, padding: int | None) -> None:
        bounds = f.narrow(offsets, 0, 0, offsets.shape[0] - 1) if has_last else offsets
        positions = f.to(f.arange(indices.shape[0], dtype=int64), offsets.dtype)
        owners = f.to(f.searchsorted(bounds, positions, right=True), int64) - 1
        counts = owners >= 0
        if has_last:
            counts = counts & (positions < f.select(offsets, 0, -1))
        if padding is not None:
            counts = counts & (indices != padding)
        self.counts = counts
        self.owners = f.clamp_min(owners, 0)


def _rows(f: Any, grad: Any, bags: _Bags) -> Any:
    """For each index the gradient of its bag; zeros where it does not count."""
    if not perhaps(grad.shape[0] != 0):
        return zeros(grad, [bags.owners.shape[0], grad.shape[1]])
    taken = f.index_select(grad, 0, bags.owners)
    return f.where(f.unsqueeze(bags.counts, 1), taken, 0)


def _weight(
    f: Any,
    grads: Sequence[Any],
    weight_sizes: Sequence[int],
    indices: Any,
    offsets: Any,
    result2: Any,
    result3: Any,
    scale_grad_by_freq: bool,
    mode: int,
    per_sample_weights: Any,
    include_last_offset: bool,
    padding_idx: int | None = None,
) -> Any:
    grad = grads[0]
    if mode == _MAX:
        is_filled = f.unsqueeze(result2 > 0, 1)
        max_indices = f.to(result3, int64)
        return f.scatter_add(zeros(grad, weight_sizes), 0, max_indices, f.where(is_filled, grad, 0))
    lengths = result2 if mode == _MEAN else None
    operands = indices, offsets, lengths, per_sample_weights, include_last_offset, padding_idx, scale_grad_by_freq
    return f.over_arrays(of_bags, _spread, grad, weight_sizes, *operands)


def _spread(
    f: Any,
    grad: Any,
    weight_sizes: Sequence[int],
    indices: Any,
    offsets: Any,
    lengths: Any,
    per_sample_weights: Any,
    has_last: bool,
    padding: int | None,
    by_frequency: bool,
) -> Any:
    """Zeros with the gradient of each bag added to the rows that are in it; a share of it, where there are lengths."""
    if lengths is not None:
        grad = grad / f.unsqueeze(f.clamp_min(lengths, 1), 1)
    rows = _rows(f, grad, _Bags(f, indices, offsets, has_last, padding))
    if per_sample_weights is not None:
        rows = rows * f.unsqueeze(per_sample_weights, 1)
    if by_frequency:
        often = f.index_add(zeros(grad, [weight_sizes[0]]), 0, indices, f.ones_like(indices, dtype=grad.dtype))
        rows = rows / f.unsqueeze(f.index_select(often, 0, indices), 1)
    return f.index_add(zeros(grad, weight_sizes), 0, indices, rows)


def _sample_weights(
    f: Any,
    grads: Sequence[Any],
    weight: Any,
    indices: Any,
    offsets: Any,
    include_last_offset: bool,
    padding_idx: int | None = None,
) -> Any:
    rows = _rows(f, grads[0], _Bags(f, indices, offsets, include_last_offset, padding_idx))
    return f.sum(rows * f.index_select(weight, 0, indices), [1])


def _wrapped(index: int | None, size: int) -> int | None:
    return index if index is None or index >= 0 else index + size


formulas("aten::embedding_bag", weight=_weight, per_sample_weights=_sample_weights)
formulas(
    "aten::embedding_bag.padding_idx",
    weight=lambda f, grads, weight_sizes, indices, offsets, result2, result3, scale_grad_by_freq, mode,
    per_sample_weights, include_last_offset, padding_idx: _weight(
        f, grads, weight_sizes, indices, offsets, result2, result3, scale_grad_by_freq, mode, per_sample_weights,
        include_last_offset, _wrapped(padding_idx, weight_sizes[0]),
    ),
    per_sample_weights=lambda f, grads, weight, indices, offsets, include_last_offset, padding_idx: _sample_weights(
        f, grads, weight, indices, offsets, include_last_offset, _wrapped(padding_idx, weight.shape[0])
    ),
)  # fmt: skip
formulas(
    "aten::_embedding_bag",
    "aten::_embedding_bag_forward_only",
    weight=_weight,
    per_sample_weights=_sample_weights,
)
