"""The formulas of connectionist temporal classification (Graves et al., 2006).

The gradient of the loss is an operator with loops of its own. Its derivatives are those of the same sums in terms of
operators: all texts of a batch go forward and backward together, one step of time at a time.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flambeau.schema.gradient import decomposed, formulas

_NEVER = -1e30
"""The logarithm of a probability of 0: finite, so that gradients are; added to others it counts for nothing."""


def _by_probabilities(
    f: Any, grads: Any, log_probs: Any, targets: Any, input_lengths: Any, target_lengths: Any, blank: int,
    zero_infinity: bool, result0: Any, result1: Any,
) -> Any:  # fmt: skip
    lengths = [v if isinstance(v, list | tuple) else v.tolist() for v in (input_lengths, target_lengths)]
    return f.own("ctc_gradient", grads[0], log_probs, targets, *lengths, result0, result1, blank, zero_infinity)


formulas("aten::_ctc_loss", log_probs=_by_probabilities)


def _texts(f: Any, targets: Any, lengths: Sequence[int], blank: int) -> Any:
    """(batch, 2 longest + 1): each text with blanks between its labels, and around them, and behind."""
    longest = max(lengths, default=0)
    rows = []
    start = 0
    for number, length in enumerate(lengths):
        labels = f.narrow(targets, 0, start, length) if targets.dim() == 1 else f.narrow(targets[number], 0, 0, length)
        rows.append(f.constant_pad_nd(f.to(labels, f.arange(1).dtype), [0, longest - length], blank))
        start += length
    labels = f.stack(rows, 0)
    pairs = f.stack([f.full_like(labels, blank), labels], 2)
    return f.constant_pad_nd(f.reshape(pairs, [len(lengths), 2 * longest]), [0, 1], blank)


def _logarithm(f: Any, condition: Any, like: Any) -> Any:
    """0 where a condition holds, else the logarithm of nothing."""
    return f.to(f.where(condition, 0.0, _NEVER), like.dtype)


def _written(f: Any, emitted: Sequence[Any], texts: Any, blank: int) -> list[Any]:
    """(batch, marks) of each step: logarithms of the probabilities to have written what is up to a mark."""
    number = texts.shape[1]
    may_skip = (texts != blank) & (texts != f.narrow(f.constant_pad_nd(texts, [2, 0], blank), 1, 0, number))
    skipping = _logarithm(f, may_skip, emitted[0])
    begin = f.expand(_logarithm(f, f.arange(number) < 2, emitted[0]), list(texts.shape))
    steps = [begin + emitted[0]]
    for here in emitted[1:]:
        around = f.constant_pad_nd(steps[-1], [2, 0], _NEVER)
        skipped = f.narrow(around, 1, 0, number) + skipping
        paths = f.stack([steps[-1], f.narrow(around, 1, 1, number), skipped], 0)
        steps.append(f.logsumexp(paths, [0]) + here)
    return steps


def _left(f: Any, emitted: Sequence[Any], texts: Any, blank: int, used: Any, counts: Any) -> list[Any]:
    """(batch, marks) of each step: the same of what comes behind a mark, that of the step itself left out."""
    number = texts.shape[1]
    following = f.narrow(f.constant_pad_nd(texts, [0, 2], blank), 1, 2, number)
    skipping = _logarithm(f, (texts != blank) & (texts != following), emitted[0])
    positions = f.unsqueeze(f.arange(number), 0)
    ends = _logarithm(f, (positions < counts) & (positions >= counts - 2), emitted[0])
    after = f.full_like(ends, _NEVER)
    steps = []
    for step in reversed(range(len(emitted))):
        if step + 1 < len(emitted):
            around = f.constant_pad_nd(after + emitted[step + 1], [0, 2], _NEVER)
            skipped = f.narrow(around, 1, 2, number) + skipping
            paths = f.stack([f.narrow(around, 1, 0, number), f.narrow(around, 1, 1, number), skipped], 0)
            after = f.logsumexp(paths, [0])
        after = f.where(f.eq(used, step + 1), ends, after)
        steps.append(after)
    return steps[::-1]


def _losses(f: Any, written: Sequence[Any], used: Any, counts: Any) -> Any:
    """(batch, 1): minus the logarithms of the probabilities of the texts."""
    ends = f.index(f.stack(list(written), 0), [f.squeeze(used, 1) - 1, f.arange(used.shape[0])])
    states = f.gather(ends, 1, f.cat([counts - 1, f.clamp_min(counts - 2, 0)], 1))
    other = f.where(f.squeeze(counts, 1) > 1, f.select(states, 1, 1), _NEVER)
    return -f.logsumexp(f.stack([f.select(states, 1, 0), other], 1), [1], True)


@decomposed("flambeau::ctc_gradient")
def _ctc_gradient(
    f: Any, grad: Any, log_probs: Any, targets: Any, input_lengths: Sequence[int], target_lengths: Sequence[int],
    losses: Any, table: Any, blank: int, zero_infinity: bool,
) -> Any:  # fmt: skip
    """The probability of each class at each step, less its share in all ways to write the text."""
    steps, longest = log_probs.shape[0], max(input_lengths, default=0)
    if not longest:
        return log_probs * 0 * f.unsqueeze(f.unsqueeze(grad, 0), 2)
    texts = _texts(f, targets, target_lengths, blank)
    used = f.unsqueeze(f.tensor_of(list(input_lengths)), 1)
    counts = f.unsqueeze(f.tensor_of(list(target_lengths)), 1) * 2 + 1
    labels = f.expand(f.unsqueeze(texts, 0), [steps, *texts.shape])
    emitted = f.unbind(f.clamp_min(f.gather(log_probs, 2, labels), _NEVER), 0)[:longest]
    written = _written(f, emitted, texts, blank)
    left = _left(f, emitted, texts, blank, used, counts)
    losses = _losses(f, written, f.clamp_min(used, 1), counts)
    is_lost = (losses > -_NEVER / 2) | f.eq(used, 0)
    losses = f.where(is_lost, 0, losses)
    lost = 0.0 if zero_infinity else float("nan")
    rows = []
    for step in range(longest):
        here = f.select(log_probs, 0, step)
        shares = f.scatter_add(f.zeros_like(here), 1, texts, f.exp(written[step] + left[step] + losses))
        row = f.where(is_lost, lost, f.exp(here) - shares) * f.unsqueeze(grad, 1)
        rows.append(f.where(used > step, row, 0))
    nothing = f.zeros_like(f.narrow(log_probs, 0, longest, steps - longest))
    return f.cat([f.stack(rows, 0), nothing], 0)
