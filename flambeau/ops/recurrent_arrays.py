"""Recurrent networks over padded batches, on arrays: one product for the inputs of all steps, and per step a product
and as few passes over the gates as NumPy needs, into memory that all steps share.

The meaning is that of the bodies in `recurrent`, which whoever watches operators sees instead.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from flambeau.ops.families.arrays import Array
from flambeau.util import blas

Pointwise = Callable[[Array, "Array | None", Sequence[Array], Array, Sequence[Array]], None]
"""What the input gives to the gates; the hidden bias; the state, written; the hidden product; scratch."""
Parameters = tuple[Array, Array, "Array | None", "Array | None", "Array | None"]
"""Weights of the input, of the hidden state, their biases, and what projects the hidden state."""
FLOATS: Final = (np.dtype(np.float32), np.dtype(np.float64))


def sigmoid(x: Array, scratch: Array) -> Array:
    """In place, and as accurate far out as elsewhere: `exp(min(x, 0)) / (1 + exp(-|x|))`."""
    below = np.copysign(x, -1, out=scratch)
    np.exp(below, out=below)
    below += 1
    np.minimum(x, 0, out=x)
    np.exp(x, out=x)
    x /= below
    return x


def lstm(inputs: Array, bias: Array | None, state: Sequence[Array], product: Array, scratch: Sequence[Array]) -> None:
    """Gates in the order input, forget, cell, output."""
    hidden, memory = state
    gates, candidate = scratch
    size = memory.shape[1]
    if bias is not None:
        product += bias
    product += inputs
    np.tanh(product[:, 2 * size : 3 * size], out=candidate)
    sigmoid(product, gates)
    candidate *= product[:, :size]
    memory *= product[:, size : 2 * size]
    memory += candidate
    np.tanh(memory, out=candidate)
    np.multiply(candidate, product[:, 3 * size :], out=hidden)


def gru(inputs: Array, bias: Array | None, state: Sequence[Array], product: Array, scratch: Sequence[Array]) -> None:
    """Gates in the order reset, update, new."""
    (hidden,) = state
    gates, below, new = scratch
    size = hidden.shape[1]
    if bias is not None:
        product += bias
    np.add(inputs[:, : 2 * size], product[:, : 2 * size], out=gates)
    sigmoid(gates, below)
    np.multiply(gates[:, :size], product[:, 2 * size :], out=new)
    new += inputs[:, 2 * size :]
    np.tanh(new, out=new)
    hidden -= new
    hidden *= gates[:, size:]
    hidden += new


def rnn_tanh(
    inputs: Array, bias: Array | None, state: Sequence[Array], product: Array, scratch: Sequence[Array]
) -> None:  # fmt: skip
    """tanh of the sum."""
    if bias is not None:
        product += bias
    product += inputs
    np.tanh(product, out=state[0])


def rnn_relu(
    inputs: Array, bias: Array | None, state: Sequence[Array], product: Array, scratch: Sequence[Array]
) -> None:  # fmt: skip
    """relu of the sum."""
    if bias is not None:
        product += bias
    product += inputs
    np.maximum(product, 0, out=state[0])


def _scratch(step: Pointwise, product: Array, size: int) -> list[Array]:
    batch, dtype = product.shape[0], product.dtype
    if step is lstm:
        return [np.empty_like(product), np.empty((batch, size), dtype)]
    if step is gru:
        return [*(np.empty((batch, 2 * size), dtype) for _ in range(2)), np.empty((batch, size), dtype)]
    return []


def run(
    step: Pointwise, xs: Array, state: Sequence[Array], weights: Parameters, reverse: bool
) -> tuple[Array, list[Array]]:
    """Over (time, batch, features): the outputs of all steps, and the last state."""
    w_ih, w_hh, b_ih, b_hh, w_hr = weights
    time, batch, features = xs.shape
    inputs = blas.dot(xs.reshape(time * batch, features), w_ih.T)
    if b_ih is not None:
        inputs += b_ih
    inputs = inputs.reshape(time, batch, w_ih.shape[0])
    outputs = np.empty((time, batch, state[0].shape[1]), xs.dtype)
    product = np.empty((batch, w_hh.shape[0]), xs.dtype)
    last = [np.array(s) for s in state]
    scratch = _scratch(step, product, last[-1].shape[1])
    inner = last[0] if w_hr is None else np.empty_like(last[-1])
    inside = [inner, *last[1:]]
    turned = w_hh.T
    with np.errstate(all="ignore"):
        for t in range(time - 1, -1, -1) if reverse else range(time):
            blas.dot(last[0], turned, out=product)
            step(inputs[t], b_hh, inside, product, scratch)
            if w_hr is not None:
                blas.dot(inner, w_hr.T, out=last[0])
            outputs[t] = last[0]
    return outputs, last


def serves(*arrays: Any) -> bool:
    """Whether arrays are of one float dtype in which NumPy computes."""
    dtype = arrays[0].dtype
    return dtype in FLOATS and all(a is None or a.dtype == dtype for a in arrays)


STEPS: Final[dict[str, Pointwise]] = {"lstm": lstm, "gru": gru, "rnn_tanh": rnn_tanh, "rnn_relu": rnn_relu}
"""What a step does, by the kind of cell."""
