"""Losses of classes with a margin, for one class or several."""

from __future__ import annotations

from typing import Any

from flambeau.ops.families.arrays import Array, dtype_of, is_float, not_implemented, reduce_with, widened
from flambeau.ops.families.opaque import declare
from flambeau.ops.families.rules import same_dtype
from flambeau.ops.loss import MEAN, NONE
from flambeau.schema.opdef import UNKNOWN, ErrorSample, Sample, Sizes
from flambeau.schema.types import TensorType
from flambeau.tensor.array_library import is_host_array, np
from flambeau.tensor.tensor import Tensor, wrap


def _folded(losses: Array, reduction: int, dtype: np.dtype[Any], is_single: bool) -> Array:
    """Per sample, or their mean or sum."""
    if reduction == NONE:
        return np.asarray(losses.reshape(()) if is_single else losses).astype(dtype)
    total = reduce_with(np.add, losses, axis=None, dtype=np.float64)
    with np.errstate(all="ignore"):
        return np.asarray(total / np.float64(losses.size) if reduction == MEAN else total).astype(dtype)


def _rows(name: str, self: Array) -> Array:
    if self.ndim > 2 or (self.ndim and self.shape[-1] == 0):
        raise RuntimeError(
            f"Expected non-empty vector or matrix with optional 0-dim batch size, but got: {list(self.shape)}"
        )
    if not is_float(self):
        raise not_implemented(name, dtype_of(self))
    return widened(self).reshape(-1, self.shape[-1] if self.ndim else 1)


def multi_margin_kernel(
    self: Array, target: Array, p: float = 1, margin: float = 1, weight: Array | None = None, reduction: int = MEAN
) -> Array:
    """Raises RuntimeError for other powers and for targets that do not fit."""
    if p not in (1, 2):
        raise RuntimeError("only p == 1 and p == 2 supported")
    rows = _rows("multi_margin_loss", self)
    if target.size != len(rows) or target.ndim > 1:
        raise RuntimeError(f"inconsistent target size, expected {len(rows)} but got {list(target.shape)}")
    labels = target.reshape(-1)
    if labels.size and (labels.min() < 0 or labels.max() >= rows.shape[1]):
        raise RuntimeError("target out of range")
    if weight is not None and weight.shape != (rows.shape[1],):
        raise RuntimeError(f"inconsistent weight size, expected {rows.shape[1]} but got {list(weight.shape)}")
    chosen = np.take_along_axis(rows, labels[:, None], axis=1)
    lacks = np.maximum(rows.dtype.type(margin) - chosen + rows, 0) ** int(p)
    if weight is not None:
        lacks = lacks * widened(weight)[labels][:, None]
    np.put_along_axis(lacks, labels[:, None], 0, axis=1)
    losses = reduce_with(np.add, lacks, axis=1) / rows.dtype.type(rows.shape[1])
    return _folded(losses, reduction, self.dtype, self.ndim < 2 and target.ndim == 0)


def multilabel_margin_kernel(self: Array, target: Array, reduction: int = MEAN) -> tuple[Array, Array]:
    """The loss, and which classes are targets. Raises RuntimeError for targets that do not fit."""
    rows = _rows("multilabel_margin_loss_forward_out", self)
    if target.shape != self.shape:
        raise RuntimeError(f"inconsistent target size: {list(target.shape)} for input of size: {list(self.shape)}")
    wanted = target.reshape(rows.shape)
    if wanted.size and (wanted.min() < -1 or wanted.max() >= rows.shape[1]):
        raise RuntimeError(f"{'target' if wanted.max() >= rows.shape[1] else 'argument #2'} is out of range")
    is_target = np.zeros(rows.shape, self.dtype)
    losses = np.zeros(len(rows), rows.dtype)
    if not is_host_array(rows):
        is_listed = np.cumsum(wanted < 0, axis=1) == 0
        chosen = (wanted[:, :, None] == np.arange(rows.shape[1])) & is_listed[:, :, None]
        is_target = chosen.any(axis=1)
        scores = np.take_along_axis(rows, np.maximum(wanted, 0), axis=1)
        lacks = np.maximum(1 - scores[:, :, None] + rows[:, None], 0)
        losses = np.where(is_listed[:, :, None] & ~is_target[:, None], lacks, 0).sum(axis=(1, 2)) / rows.shape[1]
        folded = _folded(losses.astype(rows.dtype, copy=False), reduction, self.dtype, self.ndim < 2)
        return folded, is_target.astype(self.dtype).reshape(self.shape)
    for i, (row, listed) in enumerate(zip(rows, wanted, strict=True)):
        ends = np.flatnonzero(listed < 0)
        classes = listed[: ends[0]] if ends.size else listed
        is_target[i, classes] = 1
        others = row[is_target[i] == 0]
        losses[i] = np.maximum(1 - row[classes][:, None] + others[None, :], 0).sum() / rows.shape[1]
    return _folded(losses, reduction, self.dtype, self.ndim < 2), is_target.reshape(self.shape)


def loss_shape(self: TensorType, reduction: Any) -> Sizes | None:
    """Nothing left unless the loss per sample is wanted."""
    if reduction is UNKNOWN:
        return None
    return () if reduction else None if self.sizes is None else self.sizes[:-1]


def _loss_shape(self: TensorType, target: TensorType, reduction: Any) -> Sizes | None:
    """The same, for one sample too whose class is a vector."""
    sizes = loss_shape(self, reduction)
    if sizes is None or self.sizes is None or len(self.sizes) > 1 or reduction:
        return sizes
    return None if target.sizes is None else (1,) * len(target.sizes)


def _scores() -> Tensor:
    return wrap(np.array([[0.5, -1.0, 0.25, 1.5], [1.0, 0.75, -0.5, 0.0]], np.float32))


def reference(self: Any, target: Any, p: float = 1, margin: float = 1, weight: Any = None, reduction: int = 1) -> Any:
    """Class by class, in float64."""
    losses = []
    for row, label in zip(self.astype(np.float64), target, strict=True):
        scale = 1 if weight is None else weight[label]
        lacks = [scale * max(0, margin - row[label] + x) ** p for j, x in enumerate(row) if j != label]
        losses.append(sum(lacks) / len(row))
    return np.array(losses) if reduction == 0 else np.mean(losses) if reduction == 1 else np.sum(losses)


declare(
    "aten::multi_margin_loss(Tensor self, Tensor target, Scalar p=1, Scalar margin=1, Tensor? weight=None, "
    "int reduction=1) -> Tensor",
    outs=("out",),
    kernel=multi_margin_kernel,
    doc="What lacks to `margin` between the target class and the others, to the power of `p`.",
    dtype=same_dtype,
    shape=_loss_shape,
    samples=lambda: [
        Sample(args=(_scores(), wrap(np.array([3, 1])), p, 0.5, None, reduction))
        for p in (1, 2)
        for reduction in (0, 1, 2)
    ],
    errors=lambda: [
        ErrorSample(args=(_scores(), wrap(np.array([3, 4]))), error=RuntimeError, message="target out of range"),
        ErrorSample(args=(_scores(), wrap(np.array([3, 1])), 3), error=RuntimeError, message="only p == 1 and p == 2"),
    ],
    reference=reference,
    is_method=False,
    is_function=False,
)

declare(
    "aten::multilabel_margin_loss(Tensor self, Tensor target, int reduction=1) -> Tensor",
    outs=("out",),
    kernel=lambda self, target, reduction=MEAN: multilabel_margin_kernel(self, target, reduction)[0],
    doc="What lacks to a margin of 1 between the classes that the target lists, up to a -1, and the others.",
    dtype=same_dtype,
    shape=loss_shape,
    samples=lambda: [
        Sample(args=(_scores(), wrap(np.array([[3, 0, -1, 1], [1, -1, 0, 0]])), reduction)) for reduction in (0, 1, 2)
    ],
    errors=lambda: [
        ErrorSample(args=(_scores(), wrap(np.array([3, 1]))), error=RuntimeError, message="inconsistent target size")
    ],
    is_method=False,
    is_function=False,
)

declare(
    "aten::multilabel_margin_loss_forward(Tensor self, Tensor target, int reduction) "
    "-> (Tensor output, Tensor is_target)",
    kernel=multilabel_margin_kernel,
    differentiable=(True, False),
    doc="`multilabel_margin_loss`, and which classes are targets.",
    dtype=lambda self: (self.dtype, self.dtype),
    shape=lambda self, reduction: (loss_shape(self, reduction), self.sizes),
    samples=lambda: [Sample(args=(_scores(), wrap(np.array([[3, 0, -1, 1], [1, -1, 0, 0]])), 1))],
    is_method=False,
    is_function=False,
)
