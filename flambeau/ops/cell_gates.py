"""The gates of recurrent cells as one operator each, and the way back through them as another: what a step of a cell is
on the tape beside its two products, and where nothing is recorded. Programs, and whoever watches operators, have the
parts.

Operands are what the input and the hidden state give to the gates, and the state before. Results that no gradient
flows to are the gates themselves, side by side, for the way back.
"""

# ruff: noqa: N803  # F is what bodies call the operators
from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

from flambeau.ops.families.arrays import Array
from flambeau.ops.families.opaque import declare
from flambeau.ops.families.samples import sample
from flambeau.schema.dtype import float32, float64
from flambeau.schema.gradient import decomposed, formulas, together
from flambeau.schema.opdef import Sample
from flambeau.schema.types import TensorType
from flambeau.tensor.array_library import np
from flambeau.tensor.dispatch import call
from flambeau.tensor.grad_mode import mode
from flambeau.tensor.observer import thread
from flambeau.tensor.recorder import are_recorded, is_asked
from flambeau.tensor.tensor import Tensor, wrap
from flambeau.util.float_errors import begin, end

GRU: Final = "flambeau::gru_gates"
LSTM: Final = "flambeau::lstm_gates"
ULP: Final = {float32: 16.0, float64: 16.0}
"""Logistic functions of a single operator are rounded otherwise."""
_FLOATS: Final = "fd"


def gru_parts(F: Any, inputs: Any, products: Any, hidden: Any) -> Any:
    """The next hidden state, from gates in the order reset, update, new."""
    reset_x, update_x, new_x = F.chunk(inputs, 3, 1)
    reset_h, update_h, new_h = F.chunk(products, 3, 1)
    reset = F.sigmoid(F.add(reset_x, reset_h))
    update = F.sigmoid(F.add(update_x, update_h))
    new = F.tanh(F.add(new_x, F.mul(reset, new_h)))
    return F.add(F.mul(F.sub(hidden, new), update), new)


def lstm_parts(F: Any, inputs: Any, products: Any, memory: Any) -> tuple[Any, Any]:
    """The next hidden state and memory, from gates in the order input, forget, cell, output."""
    entry, forget, candidate, output = F.chunk(F.add(inputs, products), 4, 1)
    memory = F.add(F.mul(F.sigmoid(forget), memory), F.mul(F.sigmoid(entry), F.tanh(candidate)))
    return F.mul(F.sigmoid(output), F.tanh(memory)), memory


def gru_gates(F: Any, inputs: Any, products: Any, hidden: Any) -> Any:
    """The same as one node of the tape where there is one, or as one kernel."""
    if _is_one_node(inputs, products, hidden):
        return call(GRU, inputs, products, hidden)[0]
    if _is_unseen(inputs, products, hidden):
        return _on_arrays(_gru, inputs, products, hidden)[0]
    return gru_parts(F, inputs, products, hidden)


def lstm_gates(F: Any, inputs: Any, products: Any, memory: Any) -> tuple[Any, Any]:
    """The same as one node of the tape where there is one, or as one kernel."""
    if _is_one_node(inputs, products, memory):
        following, state, _ = call(LSTM, inputs, products, memory)
        return following, state
    if _is_unseen(inputs, products, memory):
        following, state = _on_arrays(_lstm, inputs, products, memory)[:2]
        return following, state
    return lstm_parts(F, inputs, products, memory)


def _is_one_node(*operands: Tensor) -> bool:
    """Whether operands are plain tensors of one dtype that a call is recorded of, and nobody watches operators."""
    return are_recorded(operands) and _are_of_one_dtype(operands)


def _are_of_one_dtype(operands: Sequence[Tensor]) -> bool:
    dtype = operands[0]._array.dtype
    return dtype.char in _FLOATS and all(x._array.dtype is dtype for x in operands)


def _is_unseen(*operands: Any) -> bool:
    """Whether operands are matrices of one dtype in the host's memory that a call is not recorded of, and nobody
    watches operators."""
    if thread.handlers or thread.observer is not None or not all(type(x) is Tensor for x in operands):
        return False
    are_matrices = all(type(x._array) is np.ndarray and x._array.ndim == 2 for x in operands)
    return are_matrices and _are_of_one_dtype(operands) and not (mode.enabled and is_asked(operands))


def _on_arrays(kernel: Any, *operands: Tensor) -> list[Tensor]:
    """The results of a kernel, each in memory of its own."""
    before = begin()
    try:
        return [wrap(result) for result in kernel(*[x._array for x in operands])]
    finally:
        end(before)


def _logistic(x: Array) -> Array:
    """In the place of its argument."""
    np.negative(x, out=x)
    np.exp(x, out=x)
    x += 1
    return np.reciprocal(x, out=x)


def _gru(inputs: Array, products: Array, hidden: Array) -> tuple[Array, Array]:
    units = hidden.shape[1]
    kept = np.empty((len(hidden), 4 * units), hidden.dtype)
    both = kept[:, : 2 * units]
    _logistic(np.add(inputs[:, : 2 * units], products[:, : 2 * units], out=both))
    new, own = kept[:, 2 * units : 3 * units], kept[:, 3 * units :]
    own[...] = products[:, 2 * units :]
    np.multiply(own, kept[:, :units], out=new)
    new += inputs[:, 2 * units :]
    np.tanh(new, out=new)
    following = hidden - new
    following *= kept[:, units : 2 * units]
    following += new
    return following, kept


def _gru_back(
    grad: Array, kept: Array, inputs: Array, products: Array, hidden: Array
) -> tuple[Array, Array, Array]:  # fmt: skip
    units = hidden.shape[1]
    reset, update, new, own = (kept[:, k * units : (k + 1) * units] for k in range(4))
    by_inputs = np.empty_like(kept[:, : 3 * units])
    to_reset, to_update, to_new = (by_inputs[:, k * units : (k + 1) * units] for k in range(3))
    by_hidden = grad * update
    np.subtract(grad, by_hidden, out=to_new)
    to_new *= 1 - new * new
    np.multiply(hidden - new, by_hidden, out=to_update)
    to_update *= 1 - update
    np.multiply(to_new, own, out=to_reset)
    to_reset *= reset
    by_products = by_inputs.copy()
    by_products[:, 2 * units :] *= reset
    to_reset *= 1 - reset
    by_products[:, :units] = to_reset
    return by_inputs, by_products, by_hidden


def _lstm(inputs: Array, products: Array, memory: Array) -> tuple[Array, Array, Array]:
    units = memory.shape[1]
    kept = np.empty((len(memory), 5 * units), memory.dtype)
    gates = np.add(inputs, products, out=kept[:, : 4 * units])
    entry, forget, candidate, output = (gates[:, k * units : (k + 1) * units] for k in range(4))
    _logistic(gates[:, : 2 * units])
    np.tanh(candidate, out=candidate)
    _logistic(output)
    state = forget * memory
    state += entry * candidate
    shown = np.tanh(state, out=kept[:, 4 * units :])
    return output * shown, state, kept


def _lstm_back(
    grad: Array, grad_memory: Array, kept: Array, inputs: Array, products: Array, memory: Array
) -> tuple[Array, Array]:  # fmt: skip
    units = memory.shape[1]
    entry, forget, candidate, output, shown = (kept[:, k * units : (k + 1) * units] for k in range(5))
    by_gates = np.empty_like(inputs)
    to_entry, to_forget, to_candidate, to_output = (by_gates[:, k * units : (k + 1) * units] for k in range(4))
    to_state = grad * output
    to_state *= 1 - shown * shown
    to_state += grad_memory
    np.multiply(to_state, candidate, out=to_entry)
    np.multiply(to_state, memory, out=to_forget)
    np.multiply(to_state, entry, out=to_candidate)
    np.multiply(grad, shown, out=to_output)
    gates = kept[:, : 2 * units]
    by_gates[:, : 2 * units] *= gates * (1 - gates)
    to_candidate *= 1 - candidate * candidate
    to_output *= output * (1 - output)
    return by_gates, to_state * forget


def _operands(gates: int) -> list[Tensor]:
    return [sample(2, 3 * gates), sample(2, 3 * gates), sample(2, 3)]


def _samples(gates: int) -> list[Sample]:
    return [Sample(args=tuple(_operands(gates)))]


def _samples_back(name: str, gates: int) -> Iterable[Sample]:
    operands = _operands(gates)
    *results, kept = call(name, *operands)
    yield Sample(args=(*[sample(*result.shape) for result in results], kept, *operands))


def _kept(state: TensorType) -> tuple[Any, ...]:
    return (None, None) if state.sizes is None else (state.sizes[0], None)


declare(
    f"{GRU}(Tensor inputs, Tensor products, Tensor hidden) -> (Tensor, Tensor)",
    kernel=_gru, differentiable=(True, False), ulp=ULP, samples=lambda: _samples(3), is_method=False, is_function=False,
    dtype=lambda hidden: (hidden.dtype,) * 2, shape=lambda hidden: (hidden.sizes, _kept(hidden)),
    doc="The next hidden state of a gated unit, and its gates, for the way back.",
)  # fmt: skip
declare(
    f"{GRU}_backward(Tensor grad, Tensor kept, Tensor inputs, Tensor products, Tensor hidden) "
    "-> (Tensor, Tensor, Tensor)",
    kernel=_gru_back, ulp=ULP, samples=lambda: _samples_back(GRU, 3), is_method=False, is_function=False,
    dtype=lambda hidden: (hidden.dtype,) * 3,
    shape=lambda inputs, products, hidden: (inputs.sizes, products.sizes, hidden.sizes),
    doc="The gradients of the operands of the gates of a gated unit.",
)  # fmt: skip
declare(
    f"{LSTM}(Tensor inputs, Tensor products, Tensor memory) -> (Tensor, Tensor, Tensor)",
    kernel=_lstm, differentiable=(True, True, False), ulp=ULP, samples=lambda: _samples(4), is_method=False,
    is_function=False, dtype=lambda memory: (memory.dtype,) * 3,
    shape=lambda memory: (memory.sizes, memory.sizes, _kept(memory)),
    doc="The next hidden state and memory of a long short-term memory, and its gates, for the way back.",
)  # fmt: skip
declare(
    f"{LSTM}_backward(Tensor grad, Tensor grad_memory, Tensor kept, Tensor inputs, Tensor products, Tensor memory) "
    "-> (Tensor, Tensor)",
    kernel=_lstm_back, ulp=ULP, samples=lambda: _samples_back(LSTM, 4), is_method=False, is_function=False,
    dtype=lambda memory: (memory.dtype,) * 2, shape=lambda inputs, memory: (inputs.sizes, memory.sizes),
    doc="The gradients of the operands of the gates of a long short-term memory: of both sums the same.",
)  # fmt: skip


def _gru_way_back(f: Any, grads: Sequence[Any], result1: Any, inputs: Any, products: Any, hidden: Any) -> Any:
    return f.own("gru_gates_backward", grads[0], result1, inputs, products, hidden)


def _lstm_way_back(
    f: Any, grads: Sequence[Any], result2: Any, inputs: Any, products: Any, memory: Any
) -> Any:  # fmt: skip
    [grad, grad_memory] = [f.zeros_like(memory) if grad is None else grad for grad in [*grads, None][:2]]
    by_gates, by_memory = f.own("lstm_gates_backward", grad, grad_memory, result2, inputs, products, memory)
    return by_gates, by_gates, by_memory


formulas(GRU, **together(_gru_way_back, "inputs", "products", "hidden"))
formulas(LSTM, **together(_lstm_way_back, "inputs", "products", "memory"))


@decomposed(f"{GRU}_backward")
def _gru_way_back_recorded(f: Any, grad: Any, kept: Any, inputs: Any, products: Any, hidden: Any) -> Any:
    """From the operands alone: for derivatives of derivatives."""
    reset_x, update_x, new_x = f.chunk(inputs, 3, 1)
    reset_h, update_h, own = f.chunk(products, 3, 1)
    reset, update = f.sigmoid(reset_x + reset_h), f.sigmoid(update_x + update_h)
    new = f.tanh(new_x + reset * own)
    to_new = grad * (1 - update) * (1 - new * new)
    to_update = grad * (hidden - new) * update * (1 - update)
    to_reset = to_new * own * reset * (1 - reset)
    ahead = [to_reset, to_update]
    return f.cat([*ahead, to_new], 1), f.cat([*ahead, to_new * reset], 1), grad * update


@decomposed(f"{LSTM}_backward")
def _lstm_way_back_recorded(
    f: Any, grad: Any, grad_memory: Any, kept: Any, inputs: Any, products: Any, memory: Any
) -> Any:  # fmt: skip
    """The same."""
    entry, forget, candidate, output = f.chunk(inputs + products, 4, 1)
    entry, forget, candidate, output = f.sigmoid(entry), f.sigmoid(forget), f.tanh(candidate), f.sigmoid(output)
    shown = f.tanh(forget * memory + entry * candidate)
    to_state = grad_memory + grad * output * (1 - shown * shown)
    to_gates = [
        to_state * candidate * entry * (1 - entry), to_state * memory * forget * (1 - forget),
        to_state * entry * (1 - candidate * candidate), grad * shown * output * (1 - output),
    ]  # fmt: skip
    return f.cat(to_gates, 1), to_state * forget
