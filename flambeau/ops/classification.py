"""Losses of classes: negative log-likelihood, cross entropy of many classes and of two."""

# ruff: noqa: N803  # F is what bodies call the operators
from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from flambeau.ops.class_losses import loss_of_rows
from flambeau.ops.families import ranks
from flambeau.ops.families.arrays import Array, dtype_of, is_float, not_implemented, reduce_with, widened
from flambeau.ops.families.composite import composite
from flambeau.ops.families.element_loops import FLOATS
from flambeau.ops.families.opaque import declare
from flambeau.ops.families.rules import same_dtype
from flambeau.ops.gathering import along
from flambeau.ops.loss import MEAN, NONE, SUM, reduced
from flambeau.schema.opdef import UNKNOWN, ErrorSample, Sample, Sizes
from flambeau.schema.types import TensorType
from flambeau.tensor.array_library import is_host_array, is_outside, may_look, np
from flambeau.tensor.layout import broadcast
from flambeau.tensor.recorder import are_recorded
from flambeau.tensor.tensor import Tensor, wrap


def check_nll(self: Array, target: Array, weight: Array | None) -> None:
    """Raise for ranks, sizes and dtypes that do not fit."""
    if target.dtype not in (np.dtype(np.int64), np.dtype(np.uint8)):
        raise RuntimeError(f"expected target dtype to be Long or Byte, but got {dtype_of(target).display}")
    if not is_float(self):
        raise not_implemented("nll_loss_out_frame", dtype_of(self))
    classes = self.shape[1] if self.ndim > 1 else self.shape[0]
    if weight is not None and weight.shape != (classes,):
        raise RuntimeError(
            f"weight tensor should be defined either for all {classes} classes or no classes but got weight tensor of "
            f"shape: {list(weight.shape)}"
        )


def picked(self: Array, target: Array, weight: Array | None, ignore_index: int) -> tuple[Array, Array]:
    """Minus the chosen entries times their weights, and these weights; both zero where the target is ignored."""
    classes = self.shape[1]
    is_plain = is_host_array(self) and target.dtype == np.int64 and target.ndim == 1
    if is_plain and not 0 <= ignore_index < classes and not is_outside(target, 0, classes):
        scale = np.ones(target.shape, self.dtype) if weight is None else weight[target]
        chosen = self[np.arange(len(target)), target]
        return -chosen if weight is None else -chosen * scale, scale
    used = target != ignore_index
    labels = np.where(used, target, 0).astype(np.int64)
    if is_outside(labels, 0, classes):
        raise IndexError(f"Target {labels[(labels < 0) | (labels >= classes)].reshape(-1)[0]} is out of bounds.")
    chosen = self[along(np.expand_dims(labels, 1), 1)].squeeze(1)  # on a device places outside come round again
    scale = np.ones(target.shape, self.dtype) if weight is None else weight[labels]
    scale = np.where(used, scale, self.dtype.type(0))
    return np.where(used, -chosen * scale, self.dtype.type(0)), scale


def nll_forward(
    self: Array, target: Array, weight: Array | None, reduction: int, ignore_index: int
) -> tuple[Array, Array]:
    """The loss and the sum of weights, over arrays whose classes are dimension 1."""
    wide = widened(self)
    losses, scale = picked(wide, target, None if weight is None else widened(weight), ignore_index)
    if reduction == NONE:
        return losses.astype(self.dtype, copy=False), np.zeros((), self.dtype)
    total = reduce_with(np.add, scale, axis=None, dtype=np.float64)
    loss = reduce_with(np.add, losses, axis=None, dtype=np.float64)
    with np.errstate(all="ignore"):
        loss = loss / total if reduction == MEAN else loss
    return np.asarray(loss).astype(self.dtype), np.asarray(total).astype(self.dtype)


def _of_rows(self: Array, target: Array, reduction: int, ignore_index: int) -> tuple[Array, Array]:
    """The same for rows of classes without weights: only the chosen elements are looked at."""
    count = target.size
    if 0 <= ignore_index < self.shape[1] or is_outside(target, 0, self.shape[1]):
        used = target != ignore_index
        count = int(np.count_nonzero(used))
        if count < target.size:
            self, target = self[used], target[used]
        if is_outside(target, 0, self.shape[1]):
            raise IndexError(f"Target {target[(target < 0) | (target >= self.shape[1])][0]} is out of bounds.")
    chosen = self[np.arange(count), target]
    with np.errstate(all="ignore"):
        loss = 0.0 - np.add.reduce(chosen, dtype=np.float64)
        loss = loss / np.float64(count) if reduction == MEAN else loss
    return np.asarray(loss).astype(self.dtype), np.asarray(count, self.dtype)


def nll_loss_forward_kernel(
    self: Array, target: Array, weight: Array | None, reduction: int, ignore_index: int
) -> tuple[Array, Array]:
    """(classes) with one target, or (batch, classes) with a target each."""
    if self.ndim not in (1, 2):
        raise RuntimeError("input tensor should be 1D or 2D")
    if target.ndim > 1:
        raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
    if not (self.ndim == 1 and target.ndim == 0) and (target.ndim == 0 or self.shape[0] != target.shape[0]):
        raise RuntimeError(f"size mismatch (got input: {list(self.shape)}, target: {list(target.shape)})")
    check_nll(self, target, weight)
    if weight is None and self.ndim == 2 and reduction != NONE and is_host_array(self) and self.dtype in FLOATS:
        return _of_rows(self, target, reduction, ignore_index)
    if self.ndim == 1:
        loss, total = nll_forward(self[None], target.reshape(1), weight, reduction, ignore_index)
        return loss.reshape(()), total
    return nll_forward(self, target, weight, reduction, ignore_index)


def nll_loss_kernel(
    self: Array, target: Array, weight: Array | None = None, reduction: int = MEAN, ignore_index: int = -100
) -> Array:
    """Only the loss."""
    return nll_loss_forward_kernel(self, target, weight, reduction, ignore_index)[0]


def nll_loss2d_kernel(
    self: Array, target: Array, weight: Array | None = None, reduction: int = MEAN, ignore_index: int = -100
) -> Array:
    """(batch, classes, height, width) with a target per place."""
    if target.ndim != 3:
        raise RuntimeError(
            f"only batches of spatial targets supported (3D tensors) but got targets of dimension: {target.ndim}"
        )
    if self.ndim != 4:
        raise RuntimeError(
            f"only batches of spatial inputs supported (4D tensors), but got input of dimension: {self.ndim}"
        )
    if (self.shape[0], *self.shape[2:]) != target.shape:
        raise RuntimeError(f"size mismatch (got input: {list(self.shape)} , target: {list(target.shape)}")
    check_nll(self, target, weight)
    return nll_forward(self, target, weight, reduction, ignore_index)[0]


def _are_usual_rows(self: Array, target: Array) -> bool:
    """Whether there are rows of classes, with a class for each."""
    fits = self.ndim == 2 and self.shape[:1] == target.shape and target.dtype == np.int64
    return fits and self.dtype in FLOATS and is_host_array(self)


def nll_loss_nd_kernel(
    self: Array, target: Array, weight: Array | None = None, reduction: int = MEAN, ignore_index: int = -100
) -> Array:
    """Any number of dimensions after the classes. Raises ValueError for batches that differ."""
    if weight is None and reduction != NONE and _are_usual_rows(self, target):
        return _of_rows(self, target, reduction, ignore_index)[0]
    if self.ndim < 1:
        raise ValueError(f"Expected 1 or more dimensions (got {self.ndim})")
    if self.ndim != 1 and self.shape[0] != (target.shape[0] if target.ndim else 1):
        raise ValueError(
            f"Expected input batch_size ({self.shape[0]}) to match target batch_size "
            f"({target.shape[0] if target.ndim else 1})."
        )
    if self.ndim <= 2:
        return nll_loss_kernel(self, target, weight, reduction, ignore_index)
    if self.ndim == 4:
        return nll_loss2d_kernel(self, target, weight, reduction, ignore_index)
    wanted = (self.shape[0], *self.shape[2:])
    if target.shape != wanted:
        raise RuntimeError(f"Expected target size {list(wanted)}, got {list(target.shape)}")
    check_nll(self, target, weight)
    return nll_forward(self, target, weight, reduction, ignore_index)[0]


def cross_entropy(
    F: Any, self: Tensor, target: Tensor, weight: Tensor | None, reduction: int, ignore_index: int,
    label_smoothing: float,
) -> Any:  # fmt: skip
    """Targets are classes, or probabilities of them when they have the shape of the input."""
    if not 0 <= label_smoothing <= 1:
        raise RuntimeError(f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing:g}")
    class_dim = 0 if self.ndim == 1 else 1
    is_plain = weight is None and not label_smoothing and reduction != NONE
    if is_plain and are_recorded([self, target]) and _are_usual_rows(self._array, target._array):
        return loss_of_rows(self, target, reduction, ignore_index)
    logs = F.log_softmax(self, class_dim)
    if self.shape == target.shape:
        if ignore_index >= 0:
            raise RuntimeError("ignore_index is not supported for floating point target: probabilities leave none out")
        return of_probabilities(F, logs, target, weight, reduction, label_smoothing, _rows(logs, class_dim))
    loss = F.nll_loss_nd(logs, target, weight, reduction, ignore_index)
    if label_smoothing == 0:
        return loss
    return smoothed(F, logs, loss, target, weight, reduction, ignore_index, label_smoothing)


def _rows(logs: Tensor, class_dim: int) -> int:
    """How many places have a loss; at least one."""
    return max(int(logs._array.size) // tuple(logs.shape)[class_dim], 1)


def of_probabilities(
    F: Any,
    logs: Tensor,
    target: Tensor,
    weight: Tensor | None,
    reduction: int,
    label_smoothing: float,
    count: Any,
) -> Any:
    """The loss where there is a probability for each class; `count` is what a mean is divided by."""
    if not target.dtype.is_floating_point:
        raise RuntimeError(
            f"Expected floating point type for target with class probabilities, got {target.dtype.display}"
        )
    class_dim = 0 if logs.ndim == 1 else 1
    classes = tuple(logs.shape)[class_dim]
    if label_smoothing:
        target = F.add(F.mul(target, 1 - label_smoothing), label_smoothing / classes)
    products = F.mul(logs, target)
    if weight is not None:
        products = F.mul(products, _along(F, weight, logs.ndim))
    losses = F.neg(F.sum(products, [class_dim]))
    if reduction == MEAN:
        return F.div(F.sum(losses), count)
    return reduced(F, losses, reduction)


def _along(F: Any, weight: Tensor, ndim: int) -> Any:
    return weight if ndim == 1 else F.view(weight, [1, -1] + [1] * (ndim - 2))


def smoothed(
    F: Any, logs: Tensor, loss: Tensor, target: Tensor, weight: Tensor | None, reduction: int, ignore_index: int,
    label_smoothing: float,
) -> Any:  # fmt: skip
    """The loss mixed with that of all classes being equally likely."""
    class_dim = 0 if logs.ndim == 1 else 1
    classes = tuple(logs.shape)[class_dim]
    spread = logs if weight is None else F.mul(logs, _along(F, weight, logs.ndim))
    spread = F.where(F.eq(target, ignore_index), 0.0, F.neg(F.sum(spread, [class_dim])))
    if reduction == MEAN:
        used = F.ne(target, ignore_index)
        if weight is None:
            count = F.sum(used)
        else:
            labels = F.where(used, target, 0)
            count = F.sum(
                F.mul(F.reshape(F.index_select(weight, 0, F.reshape(labels, [-1])), list(target.shape)), used)
            )
        spread = F.div(F.sum(spread), count)
    elif reduction == SUM:
        spread = F.sum(spread)
    return F.add(F.mul(loss, 1 - label_smoothing), F.mul(spread, label_smoothing / classes))


def binary_cross_entropy_kernel(
    self: Array, target: Array, weight: Array | None = None, reduction: int = MEAN
) -> Array:
    """Logarithms are cut off at -100. Raises RuntimeError for elements outside [0, 1] and for mixed dtypes."""
    for one in (target, weight):
        if one is not None and one.dtype != self.dtype:
            raise RuntimeError(f"Found dtype {dtype_of(one).display} but expected {dtype_of(self).display}")
    if not is_float(self):
        raise not_implemented("binary_cross_entropy", dtype_of(self))
    broadcast(self.shape, target.shape)
    x, y = widened(self), widened(target)
    if x.size and may_look(x) and not ((x >= 0) & (x <= 1)).all():
        raise RuntimeError("all elements of input should be between 0 and 1")
    with np.errstate(all="ignore"):
        loss = (y - 1) * np.maximum(np.log1p(-x), -100) - y * np.maximum(np.log(x), -100)
    loss = loss if weight is None else loss * widened(weight)
    if reduction != NONE:
        with np.errstate(all="ignore"):
            added = reduce_with(np.add, loss, axis=None, dtype=np.float64)
            loss = added / np.float64(loss.size) if reduction == MEAN else added
    return np.asarray(loss).astype(self.dtype, copy=False)


def nll_shape(target: TensorType, reduction: Any = MEAN) -> Sizes | None:
    """Nothing left unless the loss per element is wanted."""
    return None if reduction is UNKNOWN else target.sizes if reduction == NONE else ()


_LOGS = np.log(np.array([[0.5, 0.25, 0.25], [0.1, 0.2, 0.7]], np.float32))


def nll_samples() -> Iterable[Sample]:
    """Every reduction, weights, an ignored target."""
    for reduction in (MEAN, SUM, NONE):
        yield Sample(args=(wrap(_LOGS.copy()), wrap(np.array([0, 2])), None, reduction))
    yield Sample(args=(wrap(_LOGS.copy()), wrap(np.array([0, 1])), wrap(np.array([1, 2, 3], np.float32))))
    yield Sample(args=(wrap(_LOGS.copy()), wrap(np.array([0, -100]))), note="the second is ignored")


def nll_errors() -> Iterable[ErrorSample]:
    """A class that does not exist, a dtype."""
    yield ErrorSample(
        args=(wrap(_LOGS.copy()), wrap(np.array([0, 5]))), error=IndexError, message="Target 5 is out of bounds."
    )
    yield ErrorSample(
        args=(wrap(_LOGS.copy()), wrap(np.array([0, 1], np.float32))),
        error=RuntimeError,
        message="expected target dtype to be Long or Byte, but got Float",
    )


def _cross_entropy_shape(self: TensorType, reduction: Any) -> Sizes | None:
    if reduction is UNKNOWN or reduction:
        return None if reduction is UNKNOWN else ()
    return None if self.sizes is None else ranks.self_rank(self, -1)


for _name, _kernel, _outs in (
    ("nll_loss", nll_loss_kernel, ("out",)),
    ("nll_loss2d", nll_loss2d_kernel, ("out",)),
    ("nll_loss_nd", nll_loss_nd_kernel, ()),
):
    declare(
        f"aten::{_name}(Tensor self, Tensor target, Tensor? weight=None, int reduction=1, SymInt ignore_index=-100)"
        " -> Tensor",
        outs=_outs,
        kernel=_kernel,
        doc="Minus the entries that the targets choose." if _name == "nll_loss" else "",
        dtype=same_dtype,
        shape=nll_shape,
        samples=None if _name == "nll_loss2d" else nll_samples,
        errors=None if _name == "nll_loss2d" else nll_errors,
        is_method=False,
        is_function=False,
    )

declare(
    "aten::nll_loss_forward(Tensor self, Tensor target, Tensor? weight, int reduction, SymInt ignore_index)"
    " -> (Tensor output, Tensor total_weight)",
    kernel=nll_loss_forward_kernel,
    is_method=False,
    is_function=False,
)

composite(
    "aten::cross_entropy_loss(Tensor self, Tensor target, Tensor? weight=None, int reduction=1, "
    "SymInt ignore_index=-100, float label_smoothing=0.) -> Tensor",
    body=cross_entropy,
    doc="The negative log-likelihood of the targets after log_softmax.",
    dtype=same_dtype,
    shape=_cross_entropy_shape,
    samples=nll_samples,
    errors=nll_errors,
    is_function=False,
)

declare(
    "aten::binary_cross_entropy(Tensor self, Tensor target, Tensor? weight=None, int reduction=1) -> Tensor",
    outs=("out",),
    kernel=binary_cross_entropy_kernel,
    doc="Cross entropy of two classes; `self` is the probability of the second.",
    dtype=same_dtype,
    shape=lambda self, reduction: None if reduction is UNKNOWN else () if reduction else self.sizes,
    samples=lambda: [Sample(args=(wrap(np.array([0.25, 1], np.float32)), wrap(np.array([1, 0.5], np.float32))))],
    errors=lambda: [
        ErrorSample(
            args=(wrap(np.array([2], np.float32)), wrap(np.array([1], np.float32))),
            error=RuntimeError,
            message="all elements of input should be between 0 and 1",
        )
    ],
    is_method=False,
    is_function=False,
)
