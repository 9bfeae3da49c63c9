"""Connectionist temporal classification: Graves et al. (2006).

The probability of a text is the sum over all ways to write it, one class a step, with repetitions and blanks left out.
"""

# ruff: noqa: N803  # F is what bodies call the operators
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flambeau.ops.ctc_loops import prefix_loop
from flambeau.ops.ctc_together import losses_of, prefixes
from flambeau.ops.families.arrays import Array, dtype_of, is_float, not_implemented, widened
from flambeau.ops.families.composite import brought, composite
from flambeau.ops.families.element_loops import FLOATS, loop_for
from flambeau.ops.families.opaque import declare
from flambeau.ops.loss import MEAN, reduced
from flambeau.ops.recurrent_cells import numbers
from flambeau.schema.dtype import float32
from flambeau.schema.opdef import UNKNOWN, ErrorSample, Sample, Sizes
from flambeau.tensor.array_library import is_host_array, np
from flambeau.tensor.tensor import Tensor, wrap

Lengths = Sequence[int]


def forward(log_probs: Array, target: Array, blank: int) -> Array:
    """(steps, 2 length + 1): logarithms of the probabilities to have written so far each prefix of a text with blanks.
    """
    written = np.full(2 * len(target) + 1, blank, np.int64)
    written[1::2] = target
    skips = np.zeros(len(written), bool)
    skips[2:] = (written[2:] != blank) & (written[2:] != written[:-2])
    minus = log_probs.dtype.type(-np.inf)
    alpha = np.full((len(log_probs), len(written)), minus)
    if not len(log_probs):
        return alpha
    alpha[0, :2] = log_probs[0, written[:2]]
    for t in range(1, len(log_probs)):
        before = alpha[t - 1]
        paths = np.full((3, len(written)), minus)
        paths[0], paths[1, 1:] = before, before[:-1]
        paths[2, 2:] = np.where(skips[2:], before[:-2], minus)
        top = paths.max(axis=0)
        base = np.where(np.isneginf(top), 0, top)
        with np.errstate(divide="ignore"):
            alpha[t] = base + np.log(np.exp(paths - base).sum(axis=0)) + log_probs[t, written]
    return alpha


def ctc(
    log_probs: Array, targets: Array, input_lengths: Lengths, target_lengths: Lengths, blank: int = 0,
    zero_infinity: bool = False,
) -> tuple[Array, Array]:  # fmt: skip
    """Minus the logarithm of the probability of each text, and the table of prefixes for the gradient."""
    if not is_float(log_probs):
        raise not_implemented("ctc_loss_cpu", dtype_of(log_probs))
    if log_probs.ndim != 3:
        raise RuntimeError(f"log_probs must be (time, batch, classes), got {list(log_probs.shape)}")
    steps, batch, classes = log_probs.shape
    if not 0 <= blank < classes:
        raise RuntimeError("blank must be in label range")
    for name, lengths in (("input_lengths", input_lengths), ("target_lengths", target_lengths)):
        if len(lengths) != batch:
            raise RuntimeError(f"{name} must be of size batch_size")
    if max(input_lengths, default=0) > steps:
        raise RuntimeError(f"Expected input_lengths to have value at most {steps}, but got value {max(input_lengths)}")
    wide = widened(log_probs)
    marks, counts = marks_of(targets, target_lengths, blank)
    table = np.full((batch, steps, marks.shape[1]), -np.inf, wide.dtype)
    used = np.array(input_lengths, np.int64).reshape(batch)
    if not is_host_array(table):
        return _together(wide, marks, used, counts, blank, zero_infinity, log_probs.dtype)
    _fill(table, wide, marks, used, counts, blank)
    losses = np.zeros(batch, wide.dtype)
    for b, (step, length) in enumerate(zip(input_lengths, target_lengths, strict=True)):
        if not step:
            losses[b] = 0 if not length else np.inf
            continue
        ends = table[b, step - 1, 2 * length - 1 : 2 * length + 1] if length else table[b, step - 1, :1]
        with np.errstate(invalid="ignore"):
            losses[b] = -np.logaddexp(ends[-1], ends[0]) if length else -ends[0]
    if zero_infinity:
        losses[np.isposinf(losses)] = 0
    return losses.astype(log_probs.dtype, copy=False), table.astype(log_probs.dtype, copy=False)


def _together(
    wide: Array, marks: Array, used: Array, counts: Array, blank: int, zero_infinity: bool, dtype: Any
) -> tuple[Array, Array]:  # fmt: skip
    """Losses and tables of all texts at once."""
    table = prefixes(np.swapaxes(wide, 0, 1), marks, used, counts, blank)
    losses = losses_of(table, used, counts)
    if zero_infinity:
        losses = np.where(np.isposinf(losses), 0, losses)
    return losses.astype(dtype, copy=False), table.astype(dtype, copy=False)


def marks_of(targets: Array, lengths: Lengths, blank: int) -> tuple[Array, Array]:
    """(batch, 2 longest + 1): each text with blanks between its labels, around them and behind; and the marks of each.

    Raises RuntimeError where there are fewer labels than the lengths say.
    """
    marks = np.full((len(lengths), 2 * max(lengths, default=0) + 1), blank, np.int64)
    start = 0
    for b, length in enumerate(lengths):
        text = targets[start : start + length] if targets.ndim == 1 else targets[b, :length]
        start += length
        if len(text) != length:
            raise RuntimeError(f"Expected targets with room for {length} labels of text {b}, got {list(targets.shape)}")
        marks[b, 1 : 2 * length : 2] = text
    return marks, 2 * np.array(lengths, np.int64).reshape(len(lengths)) + 1


def _fill(table: Array, wide: Array, marks: Array, used: Array, counts: Array, blank: int) -> None:
    """Fill the tables of all texts, by a native loop if there is enough to do."""
    batch, classes = wide.shape[1:]
    loop = loop_for(prefix_loop, table.size) if table.dtype in FLOATS and table.size else None
    if loop is not None and marks.min() >= 0 and marks.max() < classes:
        rows = np.ascontiguousarray(wide).reshape(-1)
        loop(rows, marks.reshape(-1), used, counts, table.reshape(-1), batch, classes, blank)
        return
    for b in range(batch):
        table[b, : used[b], : counts[b]] = forward(wide[: used[b], b], marks[b, 1 : counts[b] : 2], blank)


def _by_tensors(
    log_probs: Array, targets: Array, input_lengths: Array, target_lengths: Array, blank: int = 0,
    zero_infinity: bool = False,
) -> tuple[Array, Array]:  # fmt: skip
    return ctc(log_probs, targets, input_lengths.tolist(), target_lengths.tolist(), blank, zero_infinity)


def loss(
    F: Any, log_probs: Tensor, targets: Tensor, input_lengths: Any, target_lengths: Any, blank: int, reduction: int,
    zero_infinity: bool,
) -> Any:  # fmt: skip
    """The losses folded; the mean is per label, then over the batch. A single text may come without the batch."""
    is_single = log_probs.ndim == 2
    rows = F.unsqueeze(log_probs, 1) if is_single else log_probs
    labels = F.unsqueeze(targets, 0) if is_single and targets.ndim == 1 else targets
    lengths = [v.tolist() if isinstance(v, Tensor) else list(v) for v in (input_lengths, target_lengths)]
    lists = [[v] if isinstance(v, int) else v for v in lengths]
    losses = F._ctc_loss(rows, labels, lists[0], lists[1], blank, zero_infinity)[0]
    if reduction == MEAN:
        counts = brought(wrap(np.maximum(np.array(lists[1]), 1).astype(losses._array.dtype)))
        return F.mean(F.div(losses, counts))
    return F.squeeze(losses, 0) if is_single and not reduction else reduced(F, losses, reduction)


def loss_shape(log_probs: Any, reduction: Any) -> Sizes | None:
    """Nothing left unless the loss per text is wanted."""
    if reduction is UNKNOWN or log_probs.sizes is None:
        return None
    return () if reduction or len(log_probs.sizes) == 2 else (None,)


def _logs() -> Tensor:
    raw = numbers(5, 2, 4)._array
    return wrap(raw - np.log(np.exp(raw).sum(axis=-1, keepdims=True)))


def _longs(*rows: Any) -> Tensor:
    return wrap(np.array(rows, np.int64))


_LISTS = "Tensor log_probs, Tensor targets, int[] input_lengths, int[] target_lengths, int blank=0"
_TENSORS = "Tensor log_probs, Tensor targets, Tensor input_lengths, Tensor target_lengths, int blank=0"

declare(
    f"aten::_ctc_loss({_LISTS}, bool zero_infinity=False) -> (Tensor, Tensor)",
    kernel=ctc,
    differentiable=(True, False),
    doc="The loss of each text, and the table of prefixes.",
    dtype=lambda log_probs: (log_probs.dtype, log_probs.dtype),
    shape=lambda: ((None,), (None, None, None)),
    samples=lambda: [Sample(args=(_logs(), _longs([1, 1], [2, 3]), [5, 5], [2, 2]))],
    errors=lambda: [
        ErrorSample(args=(_logs(), _longs([1], [2]), [5], [1, 1]), error=RuntimeError, message="input_lengths must be"),
        ErrorSample(args=(_logs(), _longs([1], [2]), [6, 5], [1, 1]), error=RuntimeError, message="at most 5"),
        ErrorSample(args=(_logs(), _longs([1], [2]), [5, 5], [1, 1], 9), error=RuntimeError, message="in label range"),
    ],
    ulp={float32: 64.0},
    is_method=False,
    is_function=False,
)
declare(
    f"aten::_ctc_loss.Tensor({_TENSORS}, bool zero_infinity=False) -> (Tensor, Tensor)",
    kernel=_by_tensors,
    is_method=False,
    is_function=False,
)
for _name, _arguments in (("ctc_loss.IntList", _LISTS), ("ctc_loss.Tensor", _TENSORS)):
    _is_first = _name == "ctc_loss.IntList"
    composite(
        f"aten::{_name}({_arguments}, int reduction=1, bool zero_infinity=False) -> Tensor",
        body=loss,
        doc="Minus the logarithm of the probability of all ways to write the targets." if _is_first else "",
        dtype=lambda log_probs: log_probs.dtype,
        shape=loss_shape,
        samples=(
            (lambda: [Sample(args=(_logs(), _longs([1, 1], [2, 3]), [5, 4], [2, 1], 0, r)) for r in (0, 1, 2)])
            if _is_first
            else None
        ),
    )
