"""The formulas of losses with a margin, and of the older names of losses."""

from __future__ import annotations

from typing import Any

from flambeau.schema.gradient import decomposed

_MEAN, _SUM = 1, 2


def _folded(f: Any, losses: Any, reduction: int, is_single: bool) -> Any:
    """Per sample, or their mean or sum."""
    if reduction == _MEAN:
        return f.mean(losses)
    if reduction == _SUM:
        return f.sum(losses)
    return f.reshape(losses, []) if is_single else losses


@decomposed("aten::multi_margin_loss")
def _multi_margin(f: Any, self: Any, target: Any, p: Any, margin: Any, weight: Any, reduction: int) -> Any:
    rows = f.reshape(self, [-1, self.shape[-1] if self.dim() else 1])
    labels = f.reshape(target, [-1, 1])
    lacks = f.relu(margin - f.gather(rows, 1, labels) + rows)
    lacks = lacks * lacks if p == 2 else lacks
    if weight is not None:
        lacks = lacks * f.unsqueeze(f.index_select(weight, 0, f.reshape(target, [-1])), 1)
    losses = f.sum(f.scatter(lacks, 1, labels, 0), [1]) / rows.shape[1]
    return _folded(f, losses, reduction, self.dim() < 2 and target.dim() == 0)


def _multilabel_margin(f: Any, self: Any, target: Any, reduction: int) -> tuple[Any, Any]:
    """What each target that is named before the first -1 lacks to a margin of 1 from each class that is none."""
    rows = f.reshape(self, [-1, self.shape[-1] if self.dim() else 1])
    listed = f.reshape(target, list(rows.shape))
    is_named = f.eq(f.cumsum(f.to(listed < 0, listed.dtype), 1), 0)
    safe = f.where(is_named, listed, 0)
    is_target = f.scatter_add(f.zeros_like(f.detach(rows)), 1, safe, f.to(is_named, rows.dtype)) > 0
    lacks = f.relu(1 - f.unsqueeze(f.gather(rows, 1, safe), 2) + f.unsqueeze(rows, 1))
    counts = f.logical_and(f.unsqueeze(is_named, 2), f.logical_not(f.unsqueeze(is_target, 1)))
    losses = f.sum(f.where(counts, lacks, 0), [1, 2]) / rows.shape[1]
    return _folded(f, losses, reduction, self.dim() < 2), f.to(f.reshape(is_target, list(self.shape)), self.dtype)


@decomposed("aten::multilabel_margin_loss")
def _multilabel_margin_loss(f: Any, self: Any, target: Any, reduction: int) -> Any:
    return _multilabel_margin(f, self, target, reduction)[0]


@decomposed("aten::multilabel_margin_loss_forward")
def _multilabel_margin_loss_forward(f: Any, self: Any, target: Any, reduction: int) -> Any:
    return _multilabel_margin(f, self, target, reduction)


@decomposed("aten::nll_loss_forward")
def _nll_loss_forward(f: Any, self: Any, target: Any, weight: Any, reduction: int, ignore_index: int) -> Any:
    total = f.nll_loss_forward(f.detach(self), target, weight, reduction, ignore_index)[1]
    return f.nll_loss(self, target, weight, reduction, ignore_index), total
