"""The steps of a recurrent layer with what their derivatives need, and the way back through them, on arrays.

Per step one product, and a few passes over the gates, which lie in the first cache; the products of the gradients of
weights are over all steps at once (Werbos, 1990: backpropagation through time). Arrays are (time, batch, features);
with `reverse` the last time comes first. Cells without a memory get one of size 0.
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
    gates, scratch, candidate = (np.empty(s, inputs.dtype) for s in (inputs.shape, inputs.shape[1:], hidden.shape))
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
    product, scratch = np.empty(inputs.shape[1:], inputs.dtype), np.empty((batch, 2 * size), inputs.dtype)
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
        outputs = np.empty(inputs.shape, inputs.dtype)
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
    earlier = np.empty(all_steps.shape, all_steps.dtype)
    if reverse:
        earlier[-1], earlier[:-1] = first, all_steps[1:]
    else:
        earlier[0], earlier[1:] = first, all_steps[:-1]
    return earlier


def _own(gradient: Array | None, like: Array) -> Array:
    """A gradient in row-major memory of its own; zeros if there is none."""
    return np.zeros(like.shape, like.dtype) if gradient is None else np.array(gradient, order="C")


class Back:
    """The way back through all steps of a layer: gradients of its inputs, its first state, its weights and bias."""

    def __init__(
        self, gradients: Sequence[Array | None], hidden: Array, w_hh: Array, outputs: Array, reverse: bool
    ) -> None:  # fmt: skip
        self.gradients, self.w_hh, self.outputs, self.reverse = gradients, w_hh, outputs, reverse
        self.earlier = _before(hidden, outputs, reverse)
        self.grad_hidden = _own(gradients[1], hidden)

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
        _, batch, width = gates.shape
        size = width // 4
        earlier = _before(memory, memories, self.reverse)
        grad_gates, slopes = np.empty(gates.shape, gates.dtype), np.empty(gates.shape[1:], gates.dtype)
        part, shown = (np.empty((batch, size), gates.dtype) for _ in range(2))
        grad_memory = _own(self.gradients[2], memory)
        for t in self.times():
            gate, gradient, arriving = gates[t], grad_gates[t], self.arriving(t)
            entry, forget, candidate, output = (gate[:, i * size : (i + 1) * size] for i in range(4))
            to_entry, to_forget, to_candidate, to_output = (gradient[:, i * size : (i + 1) * size] for i in range(4))
            np.subtract(1, gate, out=slopes)
            slopes *= gate
            np.tanh(memories[t], out=shown)
            np.multiply(arriving, shown, out=part)
            np.multiply(part, slopes[:, 3 * size :], out=to_output)
            shown *= shown
            np.subtract(1, shown, out=shown)
            shown *= output
            shown *= arriving
            grad_memory += shown
            np.multiply(candidate, slopes[:, :size], out=part)
            np.multiply(part, grad_memory, out=to_entry)
            np.multiply(earlier[t], slopes[:, size : 2 * size], out=part)
            np.multiply(part, grad_memory, out=to_forget)
            np.multiply(candidate, candidate, out=part)
            np.subtract(1, part, out=part)
            part *= entry
            np.multiply(part, grad_memory, out=to_candidate)
            grad_memory *= forget
            blas.dot(gradient, self.w_hh, out=self.grad_hidden)
        return grad_gates, self.grad_hidden, grad_memory, *self.weights(grad_gates)

    def gru(self, memory: Array, gates: Array, memories: Array) -> Any:
        """Of gated recurrent units."""
        time, batch, width = gates.shape
        size = width // 4
        grad_inputs, grad_products = (np.empty((time, batch, 3 * size), gates.dtype) for _ in range(2))
        slopes, part = np.empty((batch, 2 * size), gates.dtype), np.empty((batch, size), gates.dtype)
        for t in self.times():
            gate, gradient, arriving = gates[t], grad_inputs[t], self.arriving(t)
            update, new, own = (gate[:, i * size : (i + 1) * size] for i in (1, 2, 3))
            to_new = gradient[:, 2 * size :]
            np.multiply(gate[:, : 2 * size], gate[:, : 2 * size], out=slopes)
            np.subtract(gate[:, : 2 * size], slopes, out=slopes)
            np.multiply(new, new, out=to_new)
            np.subtract(1, to_new, out=to_new)
            np.subtract(1, update, out=part)
            part *= arriving
            to_new *= part
            np.multiply(to_new, own, out=gradient[:, :size])
            gradient[:, :size] *= slopes[:, :size]
            np.subtract(self.earlier[t], new, out=part)
            part *= arriving
            np.multiply(part, slopes[:, size:], out=gradient[:, size : 2 * size])
            grad_products[t] = gradient
            grad_products[t, :, 2 * size :] *= gate[:, :size]
            self.grad_hidden = arriving * update
            self.grad_hidden += blas.dot(grad_products[t], self.w_hh)
        return grad_inputs, self.grad_hidden, np.zeros_like(memory), *self.weights(grad_products)

    def plain(self, slopes: Array) -> Any:
        """Of plain units, whose derivatives are `slopes`."""
        grad_gates = np.empty(slopes.shape, slopes.dtype)
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
