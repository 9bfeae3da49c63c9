"""The steps of a recurrent layer with what their derivatives need, and the way back through them, on arrays.

Per step one product, and a few passes over the gates, which lie in the first cache; the products of the gradients of
weights are over all steps at once (Werbos, 1990: backpropagation through time). Arrays are (time, batch, features);
with `reverse` the last time comes first. Cells without a memory get one of size 0.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np
from numpy.lib.stride_tricks import as_strided

from flambeau.ops.families.arrays import Array
from flambeau.ops.recurrent_arrays import sigmoid
from flambeau.util import blas
from flambeau.util.inversions import STEP_KERNEL


def lstm(inputs: Array, hidden: Array, memory: Array, w_hh: Array, b_hh: Array | None, reverse: bool) -> Any:
    """Outputs, last states, gates (input, forget, cell, output; each a block of its own) after their functions,
    memories."""
    time, batch, width = inputs.shape
    size = width // 4
    outputs = np.empty((time, batch, size), inputs.dtype)
    around = np.empty((time + 1, batch, size), inputs.dtype)
    around[-1 if reverse else 0] = memory
    before, memories = (around[1:], around[:-1]) if reverse else (around[:-1], around[1:])
    gates = np.empty((time, 4, batch, size), inputs.dtype)
    product = np.empty(inputs.shape[1:], inputs.dtype)
    always = np.broadcast_to(product, inputs.shape)
    parts = [slice(k * size, (k + 1) * size) for k in range(4)]
    pairs = [whole[:, :, part] for part in parts for whole in (always, inputs)]
    step = _Step("lstm", _lstm_step, [*pairs, before], [*[gates[:, k] for k in range(4)], memories, outputs])
    with blas.threads_for(float(batch * width * size)):
        for t in steps(time, reverse):
            blas.plain_dot(hidden, w_hh.T, out=product)
            if b_hh is not None:
                product += b_hh
            step(t)
            hidden = outputs[t]
    return outputs, hidden.copy(), memories[0 if reverse else -1].copy(), gates, memories


class _Step:
    """What is done in a step element by element: by a kernel where there is one, else by NumPy."""

    def __init__(
        self, name: str, otherwise: Callable[..., None], reads: Sequence[Array], writes: Sequence[Array]
    ) -> None:  # fmt: skip
        """Of each array the first axis is time; `otherwise` does a step by NumPy."""
        self._otherwise, self._reads, self._writes = otherwise, reads, writes
        self._native = STEP_KERNEL.implementation(name, writes[0].dtype) if writes[0].size else None
        if self._native is not None:
            self._native.prepare([a[0] for a in reads], [a[0] for a in writes])
        self._places = [(a.ctypes.data, a.strides[0]) for a in (*reads, *writes)]

    def __call__(self, t: int) -> None:
        if self._native is None:
            self._otherwise([a[t] for a in self._reads], [a[t] for a in self._writes])
        else:
            self._native([place + t * distance for place, distance in self._places])


def _lstm_step(read: Sequence[Array], written: Sequence[Array]) -> None:
    """What a kernel does, by NumPy."""
    *pairs, memory = read
    *gates, cell, output = written
    scratch = np.empty_like(cell)
    for k, gate in enumerate(gates):
        np.add(pairs[2 * k], pairs[2 * k + 1], out=gate)
        if k == 2:
            np.tanh(gate, out=gate)
        else:
            sigmoid(gate, scratch)
    np.multiply(gates[1], memory, out=cell)
    np.multiply(gates[0], gates[2], out=scratch)
    cell += scratch
    np.multiply(np.tanh(cell, out=scratch), gates[3], out=output)


def _lstm_step_back(read: Sequence[Array], written: Sequence[Array]) -> None:
    """What a kernel does on the way back, by NumPy."""
    entry, forget, candidate, output, before, cell, arriving, grad_memory = read
    to_entry, to_forget, to_candidate, to_output, to_memory = written
    shown = np.tanh(cell)
    total = arriving * output * (1 - shown * shown) + grad_memory
    np.multiply((1 - entry) * entry * candidate, total, out=to_entry)
    np.multiply((1 - forget) * forget * before, total, out=to_forget)
    np.multiply((1 - candidate * candidate) * entry, total, out=to_candidate)
    np.multiply((1 - output) * output * shown, arriving, out=to_output)
    np.multiply(total, forget, out=to_memory)


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
        ones = np.ones(time * batch, flat.dtype)
        return blas.dot(flat.T, self.earlier.reshape(time * batch, self.earlier.shape[2])), blas.dot(ones, flat)

    def lstm(self, memory: Array, gates: Array, memories: Array) -> Any:
        """Of long short-term memory."""
        time, _, batch, size = gates.shape
        grad_gates = np.empty((time, batch, 4, size), gates.dtype)
        blocks = np.empty((4, batch, size), gates.dtype)
        grad_memory, following = _own(self.gradients[2], memory), np.empty((batch, size), gates.dtype)
        parts = [gates[:, k] for k in range(4)]
        always = [np.broadcast_to(a, (time, batch, size)) for a in (self.grad_hidden, grad_memory)]
        reads = [*parts, _before(memory, memories, self.reverse), memories, *always]
        results = [as_strided(a, (time, batch, size), (0, *a.strides)) for a in (*blocks, following)]
        step = _Step("lstm_back", _lstm_step_back, reads, results)
        with blas.threads_for(float(4 * batch * size * size)):
            for t in self.times():
                self.arriving(t)
                step(t)
                grad_memory[...] = following
                grad_gates[t] = blocks.swapaxes(0, 1)
                blas.plain_dot(grad_gates[t].reshape(batch, 4 * size), self.w_hh, out=self.grad_hidden)
        flat = grad_gates.reshape(time, batch, 4 * size)
        return flat, self.grad_hidden, grad_memory, *self.weights(flat)

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
