"""One direction of one recurrent layer as one operator, and the way back through it as another: what a layer is on the
tape. Without gradients layers run as in `recurrent`.

The operands are what the input gives to the gates, (time, batch, gates); the first hidden state and memory, (batch,
size), of size 0 where cells have no memory; the hidden weights and bias.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

import numpy as np

from flambeau.ops import recurrent_steps
from flambeau.ops.families.opaque import declare
from flambeau.ops.recurrent_cells import ULP, numbers
from flambeau.ops.recurrent_steps import Back
from flambeau.schema.gradient import decomposed, formulas
from flambeau.schema.opdef import Sample
from flambeau.tensor.dispatch import operator
from flambeau.tensor.tensor import Tensor

NAME: Final = "flambeau::recurrent_layer"
GATES: Final = {"lstm": 4, "gru": 3, "rnn_tanh": 1, "rnn_relu": 1}


def _layer(operands: Sequence[Any], kind: str, reverse: bool) -> Any:
    inputs, hidden, memory, w_hh, *bias = operands
    with np.errstate(all="ignore"):
        return recurrent_steps.FORWARD[kind](inputs, hidden, memory, w_hh, bias[0] if bias else None, reverse)


def _layer_backward(
    grads: Sequence[Any], operands: Sequence[Any], results: Sequence[Any], kind: str, reverse: bool
) -> Any:
    _, hidden, memory, w_hh, *_ = operands
    outputs, _, _, gates, memories = results
    with np.errstate(all="ignore"):
        back = Back(grads, hidden, w_hh, outputs, reverse)
        return tuple(map(np.ascontiguousarray, recurrent_steps.BACK[kind](back, memory, gates, memories)))


def _dtypes(operands: Any) -> Any:
    return (operands[0].dtype,) * 5 if isinstance(operands, list) else None


def _sizes(operands: Any, kind: Any) -> Any:
    if not isinstance(operands, list) or not isinstance(kind, str):
        return None
    inputs, hidden, memory = (operand.sizes for operand in operands[:3])
    all_steps = None if inputs is None or hidden is None else (*inputs[:2], hidden[1])
    gates = memory if GATES[kind] == 1 else None if inputs is None else (*inputs[:2], None)
    if kind == "lstm":
        gates = None if all_steps is None else (all_steps[0], 4, *all_steps[1:])
    return all_steps, hidden, memory, gates, all_steps if kind == "lstm" else memory


def _sizes_of_operands(operands: Any) -> Any:
    if not isinstance(operands, list):
        return None
    inputs, hidden, memory, w_hh = (operand.sizes for operand in operands[:4])
    return inputs, hidden, memory, w_hh, w_hh and w_hh[:1]


def _samples() -> Iterable[Sample]:
    for kind, gates in GATES.items():
        yield Sample(args=(_operands(gates), kind, gates == 3))


def _operands(gates: int) -> list[Tensor]:
    memory = numbers(2, 3) if gates == GATES["lstm"] else numbers(0)
    return [numbers(4, 2, 3 * gates), numbers(2, 3), memory, numbers(3 * gates, 3), numbers(3 * gates)]


def _backward_samples() -> Iterable[Sample]:
    for sample in _samples():
        results = operator("flambeau::recurrent_layer")(*sample.args)
        grads = [numbers(*result.shape) for result in results[:3]]
        yield Sample(args=(grads, sample.args[0], list(results), *sample.args[1:]))


declare(
    "flambeau::recurrent_layer(Tensor[] operands, str kind, bool reverse=False) -> "
    "(Tensor, Tensor, Tensor, Tensor, Tensor)",
    kernel=_layer, differentiable=(True, True, True, False, False), ulp=ULP, samples=_samples, shape=_sizes,
    dtype=_dtypes, is_method=False,
    is_function=False,
    doc="Outputs, last hidden state and memory of a recurrent layer, and the gates and memories of all steps.",
)  # fmt: skip
declare(
    "flambeau::recurrent_layer_backward(Tensor[] grads, Tensor[] operands, Tensor[] results, str kind, bool reverse) "
    "-> (Tensor, Tensor, Tensor, Tensor, Tensor)",
    kernel=_layer_backward, ulp=ULP, samples=_backward_samples, shape=_sizes_of_operands,
    dtype=_dtypes, is_method=False, is_function=False,
    doc="The gradients of the operands of a recurrent layer, from those of its outputs and last states.",
)  # fmt: skip


def _way_back(f: Any, grads: Sequence[Any], operands: Any, results: Any, kind: str, reverse: bool) -> Any:
    flowing = dict(enumerate(grads))
    complete = [f.zeros_like(results[i]) if flowing.get(i) is None else flowing[i] for i in range(3)]
    gradients = operator("flambeau::recurrent_layer_backward")(complete, operands, list(results), kind, reverse)
    return list(gradients)[: len(operands)]


formulas("flambeau::recurrent_layer", operands=_way_back)


@decomposed("flambeau::recurrent_layer_backward")
def _way_back_recorded(f: Any, grads: Any, operands: Any, results: Any, kind: str, reverse: bool) -> Any:
    """The same step by step, over other operators, from the operands alone: for derivatives of derivatives."""
    inputs, hidden, memory, w_hh, *bias = operands
    arriving = list(f.unbind(grads[0], 0))
    rows = list(f.unbind(inputs, 0))
    going = recurrent_steps.steps(len(rows), reverse)
    seen = []
    for t in going:
        product = f.linear(hidden, w_hh, bias[0] if bias else None)
        state = _STATES[kind](f, rows[t], product, hidden, memory)
        seen.append(state)
        hidden, memory = state["hidden"], state["memory"]
    grad_hidden, grad_memory = grads[1], grads[2]
    to_inputs: list[Any] = [None] * len(rows)
    w_gradient: Any = 0
    b_gradient: Any = 0
    for t, state in zip(reversed(going), reversed(seen), strict=True):
        grad_hidden = grad_hidden + arriving[t]
        to_inputs[t], to_product, straight, grad_memory = _BACK[kind](f, state, grad_hidden, grad_memory)
        w_gradient = f.mm(f.t(to_product), state["before"]) + w_gradient
        b_gradient = f.sum(to_product, [0]) + b_gradient
        grad_hidden = f.mm(to_product, w_hh)
        grad_hidden = grad_hidden if straight is None else grad_hidden + straight
    return f.stack(to_inputs, 0), grad_hidden, grad_memory, w_gradient, b_gradient


def _lstm_state(f: Any, row: Any, product: Any, hidden: Any, memory: Any) -> dict[str, Any]:
    entry, forget, candidate, output = f.chunk(row + product, 4, 1)
    entry, forget, candidate, output = f.sigmoid(entry), f.sigmoid(forget), f.tanh(candidate), f.sigmoid(output)
    following = forget * memory + entry * candidate
    return {
        "gates": (entry, forget, candidate, output), "before": hidden, "memory_before": memory, "memory": following,
        "hidden": output * f.tanh(following),
    }  # fmt: skip


def _lstm_back(f: Any, state: dict[str, Any], grad_hidden: Any, grad_memory: Any) -> tuple[Any, ...]:
    entry, forget, candidate, output = state["gates"]
    shown = f.tanh(state["memory"])
    grad_memory = grad_memory + grad_hidden * output * (1 - shown * shown)
    to_gates = f.cat(
        [
            grad_memory * candidate * entry * (1 - entry), grad_memory * state["memory_before"] * forget * (1 - forget),
            grad_memory * entry * (1 - candidate * candidate), grad_hidden * shown * output * (1 - output),
        ],
        1,
    )  # fmt: skip
    return to_gates, to_gates, None, grad_memory * forget


def _gru_state(f: Any, row: Any, product: Any, hidden: Any, memory: Any) -> dict[str, Any]:
    reset_x, update_x, new_x = f.chunk(row, 3, 1)
    reset_h, update_h, own = f.chunk(product, 3, 1)
    reset, update = f.sigmoid(reset_x + reset_h), f.sigmoid(update_x + update_h)
    new = f.tanh(new_x + reset * own)
    following = (hidden - new) * update + new
    return {"gates": (reset, update, new, own), "before": hidden, "memory": memory, "hidden": following}


def _gru_back(f: Any, state: dict[str, Any], grad_hidden: Any, grad_memory: Any) -> tuple[Any, ...]:
    reset, update, new, own = state["gates"]
    to_new = grad_hidden * (1 - update) * (1 - new * new)
    to_update = grad_hidden * (state["before"] - new) * update * (1 - update)
    to_reset = to_new * own * reset * (1 - reset)
    to_product = f.cat([to_reset, to_update, to_new * reset], 1)
    return f.cat([to_reset, to_update, to_new], 1), to_product, grad_hidden * update, grad_memory


def _plain_state(function: str) -> Any:
    def run(f: Any, row: Any, product: Any, hidden: Any, memory: Any) -> dict[str, Any]:
        return {"before": hidden, "memory": memory, "hidden": getattr(f, function)(row + product)}

    return run


def _tanh_back(f: Any, state: dict[str, Any], grad_hidden: Any, grad_memory: Any) -> tuple[Any, ...]:
    to_gates = grad_hidden * (1 - state["hidden"] * state["hidden"])
    return to_gates, to_gates, None, grad_memory


def _relu_back(f: Any, state: dict[str, Any], grad_hidden: Any, grad_memory: Any) -> tuple[Any, ...]:
    to_gates = f.where(state["hidden"] > 0, grad_hidden, 0)
    return to_gates, to_gates, None, grad_memory


_STATES: Final = {
    "lstm": _lstm_state, "gru": _gru_state, "rnn_tanh": _plain_state("tanh"), "rnn_relu": _plain_state("relu"),
}  # fmt: skip
_BACK: Final = {"lstm": _lstm_back, "gru": _gru_back, "rnn_tanh": _tanh_back, "rnn_relu": _relu_back}
