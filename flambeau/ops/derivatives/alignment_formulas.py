"""The formula of connectionist temporal classification (Graves et al., 2006): the loss, in terms of operators.

All texts of a batch go forward together, one step of time at a time.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flambeau.schema.gradient import decomposed


def _log_sum(f: Any, terms: Sequence[Any]) -> Any:
    """The logarithm of the sum of exponentials, where all may be minus infinity."""
    stacked = f.stack(list(terms), 0)
    top = f.amax(f.detach(stacked), [0])
    base = f.where(f.isneginf(top), 0, top)
    total = f.sum(f.exp(stacked - base), [0])
    is_none = f.eq(total, 0)
    return f.where(is_none, -float("inf"), f.log(f.where(is_none, 1, total)) + base)


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


def _shifted(f: Any, alpha: Any, by: int) -> Any:
    """Each state's value `by` states later; minus infinity before the first."""
    size = alpha.shape[1]
    return f.narrow(f.constant_pad_nd(alpha, [by, 0], -float("inf")), 1, 0, size)


def _last_states(f: Any, alpha: Any, lengths: Sequence[int]) -> Any:
    """Of each text the state behind the last label, and that label itself; of an empty one the first state."""
    last = f.tensor_of(list(lengths)) * 2
    states = f.gather(alpha, 1, f.stack([last, f.clamp_min(last - 1, 0)], 1))
    return _log_sum(f, [f.select(states, 1, 0), f.where(last > 0, f.select(states, 1, 1), -float("inf"))])


def _losses(f: Any, rows: Any, texts: Any, lengths: Sequence[Sequence[int]], blank: int) -> Any:
    """Minus the logarithms of the probabilities of the texts: `rows` is (steps, batch, classes)."""
    input_lengths, target_lengths = lengths
    steps, batch, _ = rows.shape
    emitted = f.unbind(f.gather(rows, 2, f.expand(f.unsqueeze(texts, 0), [steps, *texts.shape])), 0)
    number = texts.shape[1]
    may_skip = (texts != blank) & (texts != f.narrow(f.constant_pad_nd(texts, [2, 0], blank), 1, 0, number))
    start = f.expand(f.unsqueeze(f.where(f.arange(number) < 2, 0.0, -float("inf")), 0), [batch, number])
    alpha = None
    ends: list[Any] = [None] * batch
    for step in range(max(input_lengths, default=0)):
        if alpha is None:
            paths = f.to(start, rows.dtype)
        else:
            skipped = f.where(may_skip, _shifted(f, alpha, 2), -float("inf"))
            paths = _log_sum(f, [alpha, _shifted(f, alpha, 1), skipped])
        alpha = paths + emitted[step]
        for number_in_batch, length in enumerate(input_lengths):
            if length == step + 1:
                ends[number_in_batch] = f.select(alpha, 0, number_in_batch)
    nothing = f.where(f.arange(number) < 1, 0.0, -float("inf"))
    whole = f.stack([f.to(nothing, rows.dtype) if end is None else end for end in ends], 0)
    return -_last_states(f, whole, target_lengths)


@decomposed("aten::_ctc_loss")
def _ctc_loss(
    f: Any, log_probs: Any, targets: Any, input_lengths: Any, target_lengths: Any, blank: int, zero_infinity: bool
) -> Any:
    lengths = [v if isinstance(v, list | tuple) else v.tolist() for v in (input_lengths, target_lengths)]
    table = f._ctc_loss(f.detach(log_probs), targets, *lengths, blank, zero_infinity)[1]
    texts = _texts(f, targets, lengths[1], blank)
    losses = _losses(f, _tangent(f, log_probs), texts, lengths, blank)
    return f.where(f.isposinf(losses), 0, losses) if zero_infinity else losses, table


def _tangent(f: Any, log_probs: Any) -> Any:
    """The same values, which stay logarithms of probabilities that add up to 1 wherever a gradient moves them."""
    normalised = f.log_softmax(log_probs, 2)
    return normalised + f.detach(log_probs - normalised)
