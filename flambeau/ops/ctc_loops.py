"""The sums over ways to write a text, by loops over steps and prefixes: the table of prefixes, and the gradient.

A text of `n` labels is written as 2 n + 1 marks: its labels with blanks between and around them. All arrays are flat; a
batch of tables has `states` marks a row, as many as the longest text needs.
"""

from __future__ import annotations

import math

from flambeau.tensor.array_library import np


def _sum_of(first: float, second: float, third: float) -> float:
    """The logarithm of the sum of what three numbers are the logarithms of."""
    top = first
    if second > top:
        top = second
    if third > top:
        top = third
    if top == -math.inf and not math.isnan(second) and not math.isnan(third):
        return top
    return top + math.log(math.exp(first - top) + math.exp(second - top) + math.exp(third - top))


def prefix_loop(
    log_probs: np.ndarray,
    marks: np.ndarray,
    used: np.ndarray,
    counts: np.ndarray,
    table: np.ndarray,
    batch: int,
    classes: int,
    blank: int,
) -> None:
    """table[b, t, s] = the logarithm of the probability to have written the marks up to s after step t."""
    states = len(marks) // batch
    steps = len(table) // (batch * states)
    for b in range(batch):
        text = b * states
        for t in range(used[b]):
            at, row = (b * steps + t) * states, (t * batch + b) * classes
            for s in range(counts[b]):
                mark = marks[text + s]
                here = float(log_probs[row + mark])
                if t == 0:
                    if s < 2:
                        table[at + s] = here
                else:
                    stays = float(table[at - states + s])
                    follows = float(table[at - states + s - 1]) if s > 0 else -math.inf
                    skips = -math.inf
                    if s > 1 and mark != blank and mark != marks[text + s - 2]:
                        skips = float(table[at - states + s - 2])
                    table[at + s] = _sum_of(stays, follows, skips) + here


def share_loop(
    log_probs: np.ndarray,
    marks: np.ndarray,
    used: np.ndarray,
    counts: np.ndarray,
    table: np.ndarray,
    losses: np.ndarray,
    grad: np.ndarray,
    behind: np.ndarray,
    result: np.ndarray,
    blank: int,
) -> None:
    """result[t, b, c] = grad[b] times the probability of class c at step t, less its share in all ways to write text b.

    `behind` has room for twice the marks of a text: the logarithms of the probabilities to write, from a mark on, what
    is left, of a step and of the one after it. `result` is zeros.
    """
    batch = len(losses)
    states = len(marks) // batch
    steps, classes = len(table) // (batch * states), len(log_probs) * states // len(table)
    for b in range(batch):
        text, number, scale, loss = b * states, counts[b], float(grad[b]), float(losses[b])
        for k in range(used[b]):
            t = used[b] - 1 - k
            at, row = (b * steps + t) * states, (t * batch + b) * classes
            new, old = (k % 2) * states, (1 - k % 2) * states
            for c in range(classes):
                result[row + c] = scale * math.exp(log_probs[row + c])
            for s in range(number):
                mark = marks[text + s]
                here = float(log_probs[row + mark])
                if k == 0:
                    behind[new + s] = 0.0 if s > number - 3 else -math.inf
                else:
                    stays = float(behind[old + s])
                    follows = float(behind[old + s + 1]) if s + 1 < number else -math.inf
                    skips = -math.inf
                    if s + 2 < number and mark != blank and mark != marks[text + s + 2]:
                        skips = float(behind[old + s + 2])
                    behind[new + s] = _sum_of(stays, follows, skips)
                result[row + mark] -= scale * math.exp(float(table[at + s]) + behind[new + s] + loss)
                behind[new + s] = behind[new + s] + here
