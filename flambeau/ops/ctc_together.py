"""Connectionist temporal classification of all texts of a batch at once, step by step: what devices run.

A text with blanks has `counts` marks, its input `used` steps; whatever is behind them is masked out.
"""

from __future__ import annotations

from flambeau.ops.families.arrays import Array
from flambeau.tensor.array_library import np


def prefixes(rows: Array, marks: Array, used: Array, counts: Array, blank: int) -> Array:
    """(batch, steps, marks): the logarithm of the probability to have written so far each prefix of each text; `rows`
    are (batch, steps, classes)."""
    batch, steps, _ = rows.shape
    positions = np.arange(marks.shape[1])
    is_mark = positions < counts[:, None]
    skips = np.zeros(marks.shape, bool)
    skips[:, 2:] = (marks[:, 2:] != blank) & (marks[:, 2:] != marks[:, :-2])
    table = np.full((batch, steps, marks.shape[1]), -np.inf, rows.dtype)
    nothing = np.full((batch, 2), -np.inf, rows.dtype)
    emitted = np.take_along_axis(rows, np.broadcast_to(marks[:, None], table.shape), axis=2)
    for t in range(steps):
        if t:
            before = np.concatenate([nothing, table[:, t - 1]], axis=1)
            paths = np.stack([before[:, 2:], before[:, 1:-1], np.where(skips, before[:, :-2], -np.inf)])
            top = paths.max(axis=0)
            base = np.where(np.isneginf(top), 0, top)
            reached = base + np.log(np.exp(paths - base).sum(axis=0)) + emitted[:, t]
        else:
            reached = np.where(positions < 2, emitted[:, 0], -np.inf)
        table[:, t] = np.where(is_mark & (t < used)[:, None], reached, -np.inf)
    return table


def losses_of(table: Array, used: Array, counts: Array) -> Array:
    """Minus the logarithms of the probabilities of the texts."""
    batch = np.arange(len(counts))
    ends = [table[batch, np.maximum(used - 1, 0), np.maximum(counts - n, 0)] for n in (1, 2)]
    both = np.where(counts > 1, np.logaddexp(*ends), ends[0])
    return np.asarray(-np.where(used > 0, both, np.where(counts > 1, -np.inf, 0)))


def shares(
    rows: Array, marks: Array, used: Array, counts: Array, losses: Array, grad: Array, blank: int
) -> Array:  # fmt: skip
    """(batch, steps, classes): the gradients of the losses, each times its own."""
    batch, steps, _ = rows.shape
    turned_steps = np.maximum(used[:, None] - 1 - np.arange(steps), 0)
    turned_marks = np.maximum(counts[:, None] - 1 - np.arange(marks.shape[1]), 0)
    back = np.take_along_axis(rows, np.broadcast_to(turned_steps[:, :, None], rows.shape), axis=1)
    written = prefixes(rows, marks, used, counts, blank)
    left = prefixes(back, np.take_along_axis(marks, turned_marks, axis=1), used, counts, blank)
    left = np.take_along_axis(left, np.broadcast_to(turned_steps[:, :, None], left.shape), axis=1)
    left = np.take_along_axis(left, np.broadcast_to(turned_marks[:, None], left.shape), axis=2)
    emitted = np.take_along_axis(rows, np.broadcast_to(marks[:, None], written.shape), axis=2)
    is_there = (np.arange(steps) < used[:, None])[:, :, None] & (np.arange(marks.shape[1]) < counts[:, None])[:, None]
    share = np.exp(written + left - emitted + losses[:, None, None])
    share = np.where(is_there & ~np.isneginf(emitted), share, 0)
    result = np.exp(rows)
    texts, by_class = np.arange(batch), np.swapaxes(result, 1, 2)
    for at in range(marks.shape[1]):
        by_class[texts, marks[:, at]] -= share[:, :, at]
    result *= grad[:, None, None]
    return np.asarray(np.where((np.arange(steps) < used[:, None])[:, :, None], result, 0))
