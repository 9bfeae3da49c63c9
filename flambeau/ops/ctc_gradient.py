"""The gradient of connectionist temporal classification, as an operator of its own.

The share of a class at a step in all ways to write a text comes of two tables: what is written up to a mark, and what
is left from it on (Graves et al., 2006, section 4.2).
"""

from __future__ import annotations

from collections.abc import Sequence

from flambeau.ops.ctc import forward, marks_of
from flambeau.ops.ctc_loops import share_loop
from flambeau.ops.ctc_together import shares
from flambeau.ops.families.arrays import Array, widened
from flambeau.ops.families.element_loops import FLOATS, loop_for
from flambeau.ops.families.opaque import declare
from flambeau.schema.dtype import float32
from flambeau.schema.opdef import Sample
from flambeau.tensor.array_library import is_host_array, np
from flambeau.tensor.tensor import wrap

Lengths = Sequence[int]


def gradient_kernel(
    grad: Array, log_probs: Array, targets: Array, input_lengths: Lengths, target_lengths: Lengths, losses: Array,
    table: Array, blank: int, zero_infinity: bool,
) -> Array:  # fmt: skip
    """By the logarithms of probabilities; nan for texts that cannot be written, or 0 where infinities count as 0."""
    wide = np.ascontiguousarray(widened(log_probs))
    batch = wide.shape[1]
    result = np.zeros_like(wide)
    marks, counts = marks_of(targets, target_lengths, blank)
    used = np.array(input_lengths, np.int64).reshape(batch)
    is_lost = np.isneginf(_ends(table, used, counts)) if table.size else np.zeros(batch, bool)
    if not is_host_array(wide):
        rows, weights = np.swapaxes(wide, 0, 1), widened(grad)
        result = shares(rows, marks, used, counts, widened(losses), np.broadcast_to(weights, (batch,)), blank)
        lost = np.where((np.arange(len(wide)) < used[:, None])[:, :, None], 0 if zero_infinity else np.nan, 0)
        result = np.where(is_lost[:, None, None], lost, result)
        return np.ascontiguousarray(np.swapaxes(result, 0, 1).astype(log_probs.dtype, copy=False))
    if not zero_infinity:
        for b in np.flatnonzero(is_lost):
            result[: used[b], b] = np.nan
    used = np.where(is_lost, 0, used)
    loop = loop_for(share_loop, table.size) if result.dtype in FLOATS and table.size else None
    if loop is None:
        _shares(result, wide, marks, used, counts, losses, widened(grad), blank)
    else:
        behind = np.empty(2 * marks.shape[1])
        sums = widened(losses), np.ascontiguousarray(np.broadcast_to(widened(grad), (batch,)))
        flat = [np.ascontiguousarray(one).reshape(-1) for one in (wide, marks, used, counts, widened(table))]
        loop(*flat, *sums, behind, result.reshape(-1), blank)
    return result.astype(log_probs.dtype, copy=False)


def _ends(table: Array, used: Array, counts: Array) -> Array:
    """The greater of the last two logarithms of each text: -inf of one that cannot be written."""
    batch, last = np.arange(len(counts)), np.maximum(used - 1, 0)
    return np.asarray(np.maximum(table[batch, last, counts - 1], table[batch, last, np.maximum(counts - 2, 0)]))


def _shares(
    result: Array, wide: Array, marks: Array, used: Array, counts: Array, losses: Array, grad: Array, blank: int
) -> None:
    """Fill the gradient text by text: what is left from a mark on is what is written up to it, backwards."""
    for b in range(len(counts)):
        text, rows = marks[b, : counts[b]], wide[: used[b], b]
        if not len(rows):
            continue
        written = forward(rows, text[1::2], blank)
        left = forward(rows[::-1], text[1::2][::-1], blank)[::-1, ::-1]
        with np.errstate(invalid="ignore"):
            share = np.exp(written + left - rows[:, text] + losses[b])
        share = np.where(np.isneginf(rows[:, text]), 0, share)
        here = np.exp(rows)
        for at, mark in enumerate(text):
            here[:, mark] -= share[:, at]
        result[: used[b], b] = grad[b] * here


def _sample() -> Sample:
    raw = ((np.arange(40, dtype=np.float32) * 37 % 23) / 9 - 1.25).reshape(5, 2, 4)
    logs = raw - np.log(np.exp(raw).sum(axis=-1, keepdims=True))
    targets = np.array([[1, 1], [2, 3]])
    table = np.stack([forward(logs[:, b], targets[b], 0) for b in range(2)])
    losses = -np.logaddexp(table[:, -1, -1], table[:, -1, -2])
    tensors = [wrap(a) for a in (np.array([0.5, -1], np.float32), logs, targets)]
    return Sample(args=(*tensors, [5, 5], [2, 2], wrap(losses), wrap(table), 0, False))


declare(
    "flambeau::ctc_gradient(Tensor grad, Tensor log_probs, Tensor targets, int[] input_lengths, int[] target_lengths, "
    "Tensor losses, Tensor table, int blank, bool zero_infinity) -> Tensor",
    kernel=gradient_kernel,
    doc="The gradient of losses of texts by the logarithms of probabilities, from the losses and their tables.",
    dtype=lambda log_probs: log_probs.dtype,
    shape=lambda log_probs: log_probs.sizes,
    samples=lambda: [_sample()],
    ulp={float32: 256.0},
    is_method=False,
    is_function=False,
)
