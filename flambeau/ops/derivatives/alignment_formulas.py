"""The formula of connectionist temporal classification (Graves et al., 2006): the loss, in terms of operators.

All texts of a batch go forward together, one step of time at a time.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flambeau.schema.gradient import decomposed

_NEVER = -1e30
"""The logarithm of a probability of 0: finite, so that gradients are; added to others it counts for nothing."""


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


def _losses(f: Any, rows: Any, texts: Any, lengths: Sequence[Sequence[int]], blank: int) -> Any:
    """Minus the logarithms of the probabilities of the texts: `rows` is (steps, batch, classes)."""
    input_lengths, target_lengths = lengths
    steps, batch, number = rows.shape[0], rows.shape[1], texts.shape[1]
    emitted = f.gather(rows, 2, f.expand(f.unsqueeze(texts, 0), [steps, batch, number]))
    emitted = f.unbind(f.clamp_min(emitted, _NEVER), 0)
    may_skip = (texts != blank) & (texts != f.narrow(f.constant_pad_nd(texts, [2, 0], blank), 1, 0, number))
    skipping = f.to(f.where(may_skip, 0.0, _NEVER), rows.dtype)

    def begin(states: int) -> Any:
        return f.to(f.expand(f.where(f.arange(number) < states, 0.0, _NEVER), [batch, number]), rows.dtype)

    alphas = [begin(1)]
    for step in range(max(input_lengths, default=0)):
        if step:
            around = f.constant_pad_nd(alphas[-1], [2, 0], _NEVER)
            skipped = f.narrow(around, 1, 0, number) + skipping
            paths = f.logsumexp(f.stack([alphas[-1], f.narrow(around, 1, 1, number), skipped], 0), [0])
        else:
            paths = begin(2)
        alphas.append(paths + emitted[step])
    ends = f.index(f.stack(alphas, 0), [f.tensor_of(list(input_lengths)), f.arange(batch)])
    last = f.tensor_of(list(target_lengths)) * 2
    states = f.gather(ends, 1, f.stack([last, f.clamp_min(last - 1, 0)], 1))
    other = f.where(last > 0, f.select(states, 1, 1), _NEVER)
    losses = -f.logsumexp(f.stack([f.select(states, 1, 0), other], 0), [0])
    return f.where(losses > -_NEVER / 2, float("inf"), losses)


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
