"""The steps of a recurrent layer with what their derivatives need, and the way back through them, on arrays.

Per step forward: one product, and a few passes over the gates. Per step back: one product, and two or three passes; all
that does not depend on the gradients of later steps is computed for all steps at once (Werbos, 1990: backpropagation
through time). Arrays are (time, batch, features); with `reverse` the last time comes first. Cells without a memory get
one of size 0.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from flambeau.ops.families.arrays import Array
from flambeau.ops.recurrent_arrays import sigmoid
from flambeau.util import blas


def lstm(inputs: Array, hidden: Array, memory: Array, w_hh: Array, b_hh: Array | None, reverse: bool) -> Any:
    """Outputs, last states, gates (input, forget, cell, output) after their functions, memories."""
    time, batch, width = inputs.shape
    size = width // 4
    outputs, memories = (np.empty((time, batch, size), inputs.dtype) for _ in range(2))
    gates, scratch, candidate = np.empty_like(inputs), np.empty_like(inputs[0]), np.empty_like(hidden)
    for t in steps(time, reverse):
        gate, cell = gates[t], memories[t]
        _products(hidden, w_hh, inputs[t], b_hh, gate)
        np.tanh(gate[:, 2 * size : 3 * size], out=candidate)
        sigmoid(gate, scratch)
        gate[:, 2 * size : 3 * size] = candidate
        np.multiply(memory, gate[:, size : 2 * size], out=cell)
        candidate *= gate[:, :size]
        cell += candidate
        np.tanh(cell, out=candidate)
        np.multiply(candidate, gate[:, 3 * size :], out=outputs[t])
        hidden, memory = outputs[t], cell
    return outputs, hidden.copy(), memory.copy(), gates, memories


def gru(inputs: Array, hidden: Array, memory: Array, w_hh: Array, b_hh: Array | None, reverse: bool) -> Any:
    """Outputs, last state, gates (reset, update, new, and what the hidden state gives to the new one)."""
    time, batch, width = inputs.shape
    size = width // 3
    outputs = np.empty((time, batch, size), inputs.dtype)
    gates = np.empty((time, batch, 4 * size), inputs.dtype)
    product, scratch = np.empty_like(inputs[0]), np.empty((batch, 2 * size), inputs.dtype)
    for t in steps(time, reverse):
        gate, output = gates[t], outputs[t]
        blas.dot(hidden, w_hh.T, out=product)
        if b_hh is not None:
            product += b_hh
        both, new, own = gate[:, : 2 * size], gate[:, 2 * size : 3 * size], gate[:, 3 * size :]
        np.add(inputs[t][:, : 2 * size], product[:, : 2 * size], out=both)
        sigmoid(both, scratch)
        own[...] = product[:, 2 * size :]
        np.multiply(gate[:, :size], own, out=new)
        new += inputs[t][:, 2 * size :]
        np.tanh(new, out=new)
        np.subtract(hidden, new, out=output)
        output *= gate[:, size : 2 * size]
        output += new
        hidden = output
    return outputs, hidden.copy(), memory.copy(), gates, memory.copy()


def _plain(function: Callable[..., Any]) -> Callable[..., Any]:
    def run(inputs: Array, hidden: Array, memory: Array, w_hh: Array, b_hh: Array | None, reverse: bool) -> Any:
        outputs = np.empty_like(inputs)
        for t in steps(len(inputs), reverse):
            output = outputs[t]
            _products(hidden, w_hh, inputs[t], b_hh, output)
            function(output, out=output)
            hidden = output
        return outputs, hidden.copy(), memory.copy(), memory.copy(), memory.copy()

    return run


def _products(hidden: Array, w_hh: Array, inputs: Array, b_hh: Array | None, out: Array) -> None:
    blas.dot(hidden, w_hh.T, out=out)
    out += inputs
    if b_hh is not None:
        out += b_hh


def steps(time: int, reverse: bool) -> range:
    """The times in the order in which they are gone through."""
    return range(time - 1, -1, -1) if reverse else range(time)


def _before(first: Array, all_steps: Array, reverse: bool) -> Array:
    """The state before each step."""
    earlier = np.empty_like(all_steps)
    if reverse:
        earlier[-1], earlier[:-1] = first, all_steps[1:]
    else:
        earlier[0], earlier[1:] = first, all_steps[:-1]
    return earlier


class Back:
    """The way back through all steps of a layer: gradients of its inputs, its first state, its weights and bias."""

    def __init__(
        self, gradients: Sequence[Array | None], hidden: Array, w_hh: Array, outputs: Array, reverse: bool
    ) -> None:  # fmt: skip
        self.gradients, self.w_hh, self.outputs, self.reverse = gradients, w_hh, outputs, reverse
        self.earlier = _before(hidden, outputs, reverse)
        self.grad_hidden = np.zeros_like(hidden) if gradients[1] is None else np.array(gradients[1])

    def times(self) -> range:
        """Latest first."""
        return steps(len(self.outputs), not self.reverse)

    def arriving(self, t: int) -> Array:
        """The gradient of a step's output: from outside, and from the step behind it."""
        if self.gradients[0] is not None:
            self.grad_hidden += self.gradients[0][t]
        return self.grad_hidden

    def weights(self, grad_gates: Array) -> tuple[Array, Array]:
        """The gradients of the hidden weights and bias."""
        time, batch, width = grad_gates.shape
        flat = grad_gates.reshape(time * batch, width)
        return blas.dot(flat.T, self.earlier.reshape(time * batch, -1)), flat.sum(0)

    def lstm(self, memory: Array, gates: Array, memories: Array) -> Any:
        """Of long short-term memory."""
        time, batch, width = gates.shape
        size = width // 4
        parts = gates.reshape(time, batch, 4, size)
        entry, forget, candidate, output = (parts[:, :, i] for i in range(4))
        shown = np.tanh(memories)
        slopes = np.empty_like(parts)
        np.multiply(candidate * entry, 1 - entry, out=slopes[:, :, 0])
        np.multiply(_before(memory, memories, self.reverse), forget * (1 - forget), out=slopes[:, :, 1])
        np.multiply(entry, 1 - candidate * candidate, out=slopes[:, :, 2])
        np.multiply(shown, output * (1 - output), out=slopes[:, :, 3])
        through = output * (1 - shown * shown)
        grad_gates = np.empty_like(gates)
        inner = grad_gates.reshape(time, batch, 4, size)
        grad_memory = np.zeros_like(memory) if self.gradients[2] is None else np.array(self.gradients[2])
        for t in self.times():
            arriving = self.arriving(t)
            grad_memory += arriving * through[t]
            np.multiply(slopes[t, :, :3], grad_memory[:, None], out=inner[t, :, :3])
            np.multiply(slopes[t, :, 3], arriving, out=inner[t, :, 3])
            grad_memory *= forget[t]
            blas.dot(grad_gates[t], self.w_hh, out=self.grad_hidden)
        return grad_gates, self.grad_hidden, grad_memory, *self.weights(grad_gates)

    def gru(self, memory: Array, gates: Array, memories: Array) -> Any:
        """Of gated recurrent units."""
        time, batch, width = gates.shape
        size = width // 4
        parts = gates.reshape(time, batch, 4, size)
        reset, update, new, own = (parts[:, :, i] for i in range(4))
        to_update = (self.earlier - new) * update * (1 - update)
        to_new = (1 - update) * (1 - new * new)
        to_reset = own * reset * (1 - reset)
        grad_inputs, grad_products = (np.empty((time, batch, 3 * size), gates.dtype) for _ in range(2))
        for t in self.times():
            arriving, gate = self.arriving(t), grad_inputs[t]
            newer = gate[:, 2 * size :]
            np.multiply(arriving, to_new[t], out=newer)
            np.multiply(newer, to_reset[t], out=gate[:, :size])
            np.multiply(arriving, to_update[t], out=gate[:, size : 2 * size])
            grad_products[t] = gate
            grad_products[t, :, 2 * size :] *= reset[t]
            self.grad_hidden = arriving * update[t]
            self.grad_hidden += blas.dot(grad_products[t], self.w_hh)
        return grad_inputs, self.grad_hidden, np.zeros_like(memory), *self.weights(grad_products)

    def plain(self, slopes: Array) -> Any:
        """Of plain units, whose derivatives are `slopes`."""
        grad_gates = np.empty_like(slopes)
        for t in self.times():
            np.multiply(self.arriving(t), slopes[t], out=grad_gates[t])
            blas.dot(grad_gates[t], self.w_hh, out=self.grad_hidden)
        return grad_gates, self.grad_hidden, *self.weights(grad_gates)

    def rnn_tanh(self, memory: Array, gates: Array, memories: Array) -> Any:
        """Of plain units with tanh."""
        first, second, *rest = self.plain(1 - self.outputs * self.outputs)
        return first, second, np.zeros_like(memory), *rest

    def rnn_relu(self, memory: Array, gates: Array, memories: Array) -> Any:
        """Of plain units with relu."""
        first, second, *rest = self.plain((self.outputs > 0).astype(self.outputs.dtype))
        return first, second, np.zeros_like(memory), *rest


FORWARD: Final[dict[str, Callable[..., Any]]] = {
    "lstm": lstm, "gru": gru, "rnn_tanh": _plain(np.tanh), "rnn_relu": _plain(lambda x, out: np.maximum(x, 0, out=out)),
}  # fmt: skip
BACK: Final[dict[str, Callable[..., Any]]] = {
    "lstm": Back.lstm, "gru": Back.gru, "rnn_tanh": Back.rnn_tanh, "rnn_relu": Back.rnn_relu,
}  # fmt: skip
