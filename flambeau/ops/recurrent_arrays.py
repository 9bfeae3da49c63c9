"""What one direction of a recurrent layer computes, there and back, by NumPy: the meaning of the native loops, and what
runs where there are none (`util.inversions.RECURRENT_KERNELS`).

Rows are steps of sequences; a table has, for each step in the order in which they are gone through, its first row and
how many rows it has: those of the first sequences of the batch (Werbos, 1990: backpropagation through time).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from math import prod
from typing import Any, Final

from flambeau.ops.families.arrays import Array, Shaped
from flambeau.tensor.array_library import is_on_device, np, on_host
from flambeau.util import blas
from flambeau.util.inversions import RECURRENT_KERNELS
from flambeau.util.record import dataclass

FLOATS: Final = (np.dtype(np.float32), np.dtype(np.float64))
GATES: Final = {"lstm": 4, "gru": 3, "rnn_tanh": 1, "rnn_relu": 1}
"""Blocks of rows of the weights, by the kind of cell."""
PROJECTED: Final = "lstm"
"""The kind of cell whose hidden state may be projected."""
GRADIENTS: Final = {"lstm": 4, "gru": 4, "rnn_tanh": 1, "rnn_relu": 1}
"""Blocks of units that have gradients: of a gated unit, the two shares of the third gate."""
STEP_ELEMENTS: Final = 1 << 11
"""Elements that NumPy goes over in the time that its calls for one step take, whatever the sizes."""


def sigmoid(x: Array) -> Array:
    """As accurate far out as elsewhere: `exp(min(x, 0)) / (1 + exp(-|x|))`."""
    result: Array = np.exp(np.minimum(x, 0)) / (1 + np.exp(-np.abs(x)))
    return result


def _lstm(inputs: Array, product: Array, hidden: Array, memory: Array) -> tuple[Array, Array, list[Array]]:
    entry, forget, candidate, output = np.split(inputs + product, 4, axis=1)
    gates = [sigmoid(entry), sigmoid(forget), np.tanh(candidate), sigmoid(output)]
    following = gates[1] * memory + gates[0] * gates[2]
    return gates[3] * np.tanh(following), following, gates


def _lstm_back(kept: Sequence[Array], before: Array, grad: Array, grad_memory: Array) -> tuple[Any, ...]:
    entry, forget, candidate, output = kept
    shown = np.tanh(forget * before + entry * candidate)
    total = grad_memory + grad * output * (1 - shown * shown)
    gates = [
        (1 - entry) * entry * candidate * total, (1 - forget) * forget * before * total,
        (1 - candidate * candidate) * entry * total, (1 - output) * output * shown * grad,
    ]  # fmt: skip
    return gates, None, total * forget


def _gru(inputs: Array, product: Array, hidden: Array, memory: Array) -> tuple[Array, Array, list[Array]]:
    (reset_x, update_x, new_x), (reset_h, update_h, own) = np.split(inputs, 3, axis=1), np.split(product, 3, axis=1)
    reset, update = sigmoid(reset_x + reset_h), sigmoid(update_x + update_h)
    new = np.tanh(new_x + reset * own)
    return (hidden - new) * update + new, memory, [reset, update, new, own]


def _gru_back(kept: Sequence[Array], before: Array, grad: Array, grad_memory: Array) -> tuple[Any, ...]:
    reset, update, new, own = kept
    to_new = grad * (1 - update) * (1 - new * new)
    to_update = grad * (before - new) * (1 - update) * update
    to_reset = to_new * own * (1 - reset) * reset
    return [to_reset, to_update, to_new, to_new * reset], grad * update, None


def _tanh(inputs: Array, product: Array, hidden: Array, memory: Array) -> tuple[Array, Array, list[Array]]:
    value = np.tanh(inputs + product)
    return value, memory, [value]


def _tanh_back(kept: Sequence[Array], before: Array, grad: Array, grad_memory: Array) -> tuple[Any, ...]:
    return [grad * (1 - kept[0] * kept[0])], None, None


def _relu(inputs: Array, product: Array, hidden: Array, memory: Array) -> tuple[Array, Array, list[Array]]:
    value = np.maximum(inputs + product, 0)
    return value, memory, [value]


def _relu_back(kept: Sequence[Array], before: Array, grad: Array, grad_memory: Array) -> tuple[Any, ...]:
    return [np.where(kept[0] <= 0, 0, grad)], None, None


_FORWARD: Final[dict[str, Callable[..., Any]]] = {
    "lstm": _lstm, "gru": _gru, "rnn_tanh": _tanh, "rnn_relu": _relu,
}  # fmt: skip
_BACK: Final[dict[str, Callable[..., Any]]] = {
    "lstm": _lstm_back, "gru": _gru_back, "rnn_tanh": _tanh_back, "rnn_relu": _relu_back,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class NumpyKernels:
    """Layers of one kind of cell, by NumPy."""

    kind: str

    def forward(
        self, xs: Array, states: Sequence[Array], weights: Sequence[Array | None], table: Array, keeps: bool,
        projection: Array | None = None,
    ) -> tuple[Array, ...]:  # fmt: skip
        """All rows of all steps: outputs, hidden state and memory at the end; with `keeps`, also gates and the states
        before each step, block by block, for the way back. `weights`: of the input and the hidden state, and their
        biases, if any. Nothing is kept with a `projection`.
        """
        w_ih, w_hh, b_ih, b_hh = weights
        assert w_ih is not None
        assert w_hh is not None
        rows, units = len(xs), w_hh.shape[1]
        hidden, memory = (np.array(s) for s in states)
        output, kept = np.empty((rows, units), xs.dtype), np.empty((rows, kept_of(self.kind) * units), xs.dtype)
        with np.errstate(all="ignore"):
            inputs = _biased(blas.dot(xs, w_ih.T), b_ih)
            for first, count in table.tolist():
                here = slice(first, first + count)
                old, old_memory = hidden[:count], memory[:count]
                product = _biased(blas.dot(old, w_hh.T), b_hh)
                shown, following, gates = _FORWARD[self.kind](inputs[here], product, old, old_memory)
                output[here] = shown if projection is None else blas.dot(shown, projection.T)
                if keeps:
                    kept[here] = np.concatenate([*gates, old, *([old_memory] if memory.ndim == 2 else [])], axis=1)
                hidden[:count], memory[:count] = output[here], following
        return output, hidden, memory, kept if keeps else output[:0]

    def backward(
        self, grads: Sequence[Array], operands: Sequence[Array], kept: Array, table: Array
    ) -> tuple[Array, ...]:  # fmt: skip
        """Gradients of the input, both states, both weights and both biases, from those of the outputs and the states
        at the end; `table` is in the order of the steps of the way there.
        """
        xs, _, memory, w_ih, w_hh = operands[:5]
        units, blocks, with_gradients = w_hh.shape[1], GATES[self.kind], GRADIENTS[self.kind]
        grad_hidden, grad_memory = np.array(grads[1]), np.array(grads[2])
        to_gates = np.empty((len(kept), with_gradients * units), kept.dtype)
        before = _block(kept, with_gradients, units)
        with np.errstate(all="ignore"):
            for first, count in table[::-1].tolist():
                here = slice(first, first + count)
                grad = grad_hidden[:count] + grads[0][here]
                parts = [_block(kept[here], k, units) for k in range(with_gradients)]
                state = _block(kept[here], with_gradients + (memory.ndim == 2), units)
                of_gates, straight, to_memory = _BACK[self.kind](parts, state, grad, grad_memory[:count])
                to_gates[here] = np.concatenate(of_gates, axis=1)
                grad_hidden[:count] = blas.dot(_of_hidden(to_gates[here], units, blocks), w_hh)
                if straight is not None:
                    grad_hidden[:count] += straight
                if to_memory is not None:
                    grad_memory[:count] = to_memory
            to_input, to_product = to_gates[:, : blocks * units], _of_hidden(to_gates, units, blocks)
            return (
                blas.dot(to_input, w_ih), grad_hidden, grad_memory, blas.dot(to_input.T, xs),
                blas.dot(to_product.T, before), to_input.sum(0), to_product.sum(0),
            )  # fmt: skip


def kept_of(kind: str) -> int:
    """Blocks of units that a step keeps for the way back: gates, the hidden state before it, the memory before it."""
    return GRADIENTS[kind] + 1 + (kind == "lstm")


def _block(kept: Array, number: int, units: int) -> Array:
    return kept[:, number * units : (number + 1) * units]


def _biased(product: Array, bias: Array | None) -> Array:
    return product if bias is None else np.add(product, bias, out=product)


def _of_hidden(to_gates: Array, units: int, blocks: int) -> Array:
    """The gradients of the products with the hidden state: a block of its own stands last where they differ."""
    if to_gates.shape[1] == blocks * units:
        return to_gates
    return np.concatenate([to_gates[:, : (blocks - 1) * units], to_gates[:, blocks * units :]], axis=1)


def kernels(kind: str, xs: Array, units: int, table: Array) -> Any:
    """What runs layers of a kind of cell on an input: native code, or NumPy."""
    elements = prod(xs.shape[:-1]) * GATES[kind] * units + len(table) * STEP_ELEMENTS
    native = None if is_on_device() else RECURRENT_KERNELS.implementation(kind, xs.dtype, elements)
    return native or NumpyKernels(kind)


@cache
def padded_table(time: int, batch: int, reverse: bool) -> Array:
    """The table of a padded batch."""
    with on_host():
        return packed_table((batch,) * time, reverse)


def packed_table(sizes: Sequence[int], reverse: bool) -> Array:
    """The table of a packed batch.

    >>> packed_table([3, 1], reverse=False).tolist()
    [[0, 3], [3, 1]]
    """
    counts = np.asarray(sizes, np.int64)
    table = np.stack([np.cumsum(counts) - counts, counts], axis=1)
    return np.ascontiguousarray(table[::-1]) if reverse else table


def fits(
    xs: Shaped, states: Sequence[Shaped], weights: Sequence[Shaped | None], kind: str,
    projection: Shaped | None = None,
) -> bool:  # fmt: skip
    """Whether arrays are of one float dtype in which NumPy computes, and of sizes that belong together."""
    w_hh = weights[1]
    assert w_hh is not None
    if not _are_alike((xs, *states, *weights, projection)) or (kind == "lstm" and len(states) != 2):
        return False
    if w_hh.ndim != 2 or xs.ndim not in (2, 3) or states[0].ndim != 2:
        return False
    if projection is not None and not _projects(projection, w_hh.shape[1], kind):
        return False
    shown, batch = w_hh.shape[1], states[0].shape[0]
    units = shown if projection is None else projection.shape[1]
    width = GATES[kind] * units
    wanted = ((width, xs.shape[-1]), (width, shown), (width,), (width,))
    return all(a is None or a.shape == shape for a, shape in zip(weights, wanted, strict=True)) and all(
        s.shape == shape for s, shape in zip(states, ((batch, shown), (batch, units)), strict=False)
    )


def _are_alike(arrays: Sequence[Shaped | None]) -> bool:
    """Whether those of some arrays that are there are of one float dtype in which NumPy computes."""
    dtypes = {a.dtype for a in arrays if a is not None}
    return len(dtypes) == 1 and dtypes <= set(FLOATS)


def _projects(projection: Shaped, shown: int, kind: str) -> bool:
    """Whether a matrix projects hidden states to so many numbers."""
    return kind == PROJECTED and projection.ndim == 2 and projection.shape[0] == shown
