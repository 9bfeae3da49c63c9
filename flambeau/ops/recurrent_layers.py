"""One direction of one recurrent layer as one operator, and the way back through it as another: what a layer is on the
tape, and in derivatives of graphs. Without gradients layers run as in `recurrent`.

The operands are the input, (time, batch, features), or (rows, features) of a packed batch; the first hidden state and
memory, (batch, units), of size 0 where cells have no memory; the weights of the input and of the hidden state, and
their biases, if there are any. `packing` is the `batch_sizes` of a packed batch.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import prod
from typing import Any, Final

from flambeau.ops import recurrent_arrays
from flambeau.ops.families.arrays import Array
from flambeau.ops.families.opaque import declare
from flambeau.ops.recurrent_arrays import GATES
from flambeau.ops.recurrent_cells import ULP, numbers
from flambeau.schema.gradient import decomposed, formulas
from flambeau.schema.opdef import Sample
from flambeau.schema.traits import Role, Traits
from flambeau.tensor.array_library import is_host_array, np, on_host
from flambeau.tensor.dispatch import operator
from flambeau.tensor.settled import readable
from flambeau.tensor.tensor import Tensor, wrap

NAME: Final = "flambeau::recurrent_layer"
BATCH_SIZES: Final = (
    "batch_sizes are how many sequences go on at each step, longest sequences first: numbers that do not increase and "
    "add up to the {rows} rows of the batch, got {sizes}"
)


def table_of(xs: Array, packing: Any, reverse: bool) -> Array:
    """The steps of an input, padded or packed."""
    if packing is None:
        return recurrent_arrays.padded_table(int(xs.shape[0]), int(xs.shape[1]), reverse)
    if isinstance(packing, Tensor):
        packing = readable(packing)._array
    with on_host():
        return _packed_table(len(xs), packing if is_host_array(packing) else packing.tolist(), reverse)


def _packed_table(rows: int, packing: Any, reverse: bool) -> Array:
    sizes = np.asarray(packing, np.int64)
    if sizes.ndim != 1 or not sizes.size or sizes.sum() != rows or sizes[-1] < 0 or (sizes[1:] > sizes[:-1]).any():
        raise RuntimeError(BATCH_SIZES.format(rows=rows, sizes=sizes.tolist()))
    return recurrent_arrays.packed_table(sizes.tolist(), reverse)


def _rows(a: Array) -> Array:
    return a.reshape(-1, a.shape[-1]) if a.size else a.reshape(prod(a.shape[:-1]), a.shape[-1])


@np.errstate(all="ignore")
def run(
    kind: str, xs: Array, states: Sequence[Array], weights: Sequence[Array | None], table: Array, keeps: bool,
    projection: Array | None = None,
) -> list[Array]:  # fmt: skip
    """What the operator gives, on arrays that fit each other; nothing is kept with a projection of the hidden state."""
    complete = [*states, xs[:0]][:2] if len(states) < 2 else states
    units = (states[0] if projection is None else projection).shape[1]
    kernels = recurrent_arrays.kernels(kind, xs, units, table)
    output, *rest = kernels.forward(_rows(xs), complete, weights, table, keeps, projection)
    return [output.reshape(*xs.shape[:-1], output.shape[1]), *rest]


def _check(operands: Sequence[Array], kind: str) -> None:
    """Raise RuntimeError for operands that do not fit each other: native loops rely on it."""
    if kind not in GATES or len(operands) not in (5, 7):
        raise RuntimeError(f"expected one of {', '.join(GATES)} and 5 operands, or 7 with biases, got {kind}")
    xs, hidden, memory, *weights = operands
    states = [hidden, memory] if kind == "lstm" else [hidden]
    if not recurrent_arrays.fits(xs, states, (*weights, None, None)[:4], kind):
        sizes = [list(a.shape) for a in operands]
        raise RuntimeError(f"expected operands of one float dtype whose sizes fit each other, got sizes {sizes}")


def _check_batch(table: Array, batch: int) -> None:
    if len(table) and int(table[:, 1].max()) > batch:
        raise RuntimeError(f"expected states of {int(table[:, 1].max())} sequences, got {batch}")


def _layer(operands: Sequence[Any], kind: str, packing: Any, reverse: bool) -> Any:
    _check(operands, kind)
    xs, hidden, memory, *weights = operands
    table = table_of(xs, packing, reverse)
    _check_batch(table, len(hidden))
    return tuple(run(kind, xs, [hidden, memory], (*weights, None, None)[:4], table, True))


def _layer_backward(
    grads: Sequence[Any], operands: Sequence[Any], kept: Any, kind: str, packing: Any, reverse: bool
) -> Any:
    _check(operands, kind)
    xs, *others = operands
    table = table_of(xs, packing, reverse)
    _check_batch(table, len(operands[1]))
    rows, blocks = prod(xs.shape[:-1]), recurrent_arrays.kept_of(kind) * operands[1].shape[1]
    wanted = ((*xs.shape[:-1], operands[1].shape[1]), operands[1].shape, operands[2].shape, (rows, blocks))
    if any(a.shape != shape or a.dtype != xs.dtype for a, shape in zip((*grads, kept), wanted, strict=True)):
        raise RuntimeError(f"expected gradients and what was kept as recurrent_layer gives them, of sizes {wanted}")
    flat = [_rows(grads[0]), *grads[1:]]
    kernels = recurrent_arrays.kernels(kind, xs, operands[1].shape[1], table)
    back = kernels.backward(flat, [_rows(xs), *others], kept, table)
    return (back[0].reshape(xs.shape), *back[1:])


def _sizes(operands: Any, kind: Any, packing: Any) -> Any:
    if not isinstance(operands, list) or not isinstance(kind, str):
        return None
    xs, hidden, memory = (operand.sizes for operand in operands[:3])
    if xs is None or hidden is None or memory is None:
        return None, hidden, memory, (None, None)
    return (*xs[:-1], hidden[1]), hidden, memory, (xs[0] if len(xs) == 2 else None, None)


def _dtypes(operands: Any) -> Any:
    return (operands[0].dtype,) * 4 if isinstance(operands, list) else None


def _dtypes_of_operands(operands: Any) -> Any:
    return (operands[0].dtype,) * 7 if isinstance(operands, list) else None


def _sizes_of_operands(operands: Any) -> Any:
    if not isinstance(operands, list):
        return None
    sizes = [operand.sizes for operand in operands[:5]]
    bias = None if sizes[4] is None else sizes[4][:1]
    return (*sizes, bias, bias)


def _samples() -> Iterable[Sample]:
    for kind, gates in GATES.items():
        yield Sample(args=(_operands(gates, (4, 2, 2)), kind, None, gates == 3))
    yield Sample(args=(_operands(4, (3, 2)), "lstm", wrap(np.array([2, 1])), True))


def _operands(gates: int, xs: tuple[int, ...]) -> list[Tensor]:
    memory = numbers(2, 3) if gates == GATES["lstm"] else numbers(0)
    weights = [numbers(3 * gates, 2), numbers(3 * gates, 3), numbers(3 * gates), numbers(3 * gates)]
    return [numbers(*xs), numbers(2, 3), memory, *weights]


def _backward_samples() -> Iterable[Sample]:
    for sample in _samples():
        results = operator(NAME)(*sample.args)
        grads = [numbers(*result.shape) for result in results[:3]]
        yield Sample(args=(grads, sample.args[0], results[3], *sample.args[1:]))


declare(
    f"{NAME}(Tensor[] operands, str kind, Tensor? packing=None, bool reverse=False) -> "
    "(Tensor, Tensor, Tensor, Tensor)",
    kernel=_layer, traits=Traits(role=Role.RECURRENCE, has_routine=True), differentiable=(True, True, True, False),
    ulp=ULP, samples=_samples, shape=_sizes, dtype=_dtypes, is_method=False, is_function=False,
    doc="Outputs, last hidden state and memory of a recurrent layer; gates and earlier states, for the way back.",
)  # fmt: skip
declare(
    f"{NAME}_backward(Tensor[] grads, Tensor[] operands, Tensor kept, str kind, Tensor? packing, bool reverse) "
    "-> (Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor)",
    kernel=_layer_backward, traits=Traits(has_routine=True), ulp=ULP, samples=_backward_samples,
    shape=_sizes_of_operands, dtype=_dtypes_of_operands, is_method=False, is_function=False,
    doc="The gradients of the operands of a recurrent layer, from those of its outputs and last states.",
)  # fmt: skip


def _way_back(
    f: Any, grads: Sequence[Any], operands: Any, results: Any, kind: str, packing: Any, reverse: bool
) -> Any:  # fmt: skip
    flowing = dict(enumerate(grads))
    complete = [f.zeros_like(results[i]) if flowing.get(i) is None else flowing[i] for i in range(3)]
    back = f.own("recurrent_layer_backward", complete, operands, results[3], kind, packing, reverse)
    return list(back)[: len(operands)]


formulas(NAME, operands=_way_back)


@decomposed(f"{NAME}_backward")
def _way_back_recorded(
    f: Any, grads: Any, operands: Any, kept: Any, kind: str, packing: Any, reverse: bool
) -> Any:  # fmt: skip
    """The same step by step, over other operators, from the operands alone: for derivatives of derivatives."""
    xs, hidden, memory, w_ih, w_hh, *biases = operands
    b_ih, b_hh = biases or (None, None)
    flat, table = f.reshape(xs, [-1, xs.shape[-1]]), table_of(xs, packing, reverse).tolist()
    inputs, seen = f.linear(flat, w_ih, b_ih), []
    for first, count in table:
        own, own_memory = _first_rows(f, hidden, count), _first_rows(f, memory, count) if memory.ndim == 2 else memory
        state = _STATES[kind](f, f.narrow(inputs, 0, first, count), f.linear(own, w_hh, b_hh), own, own_memory)
        seen.append(state)
        hidden = _with_first_rows(f, hidden, state["hidden"])
        memory = _with_first_rows(f, memory, state["memory"]) if memory.ndim == 2 else memory
    arriving, grad_hidden, grad_memory = f.reshape(grads[0], [flat.shape[0], w_hh.shape[1]]), grads[1], grads[2]
    to_inputs: dict[int, Any] = {}
    w_gradient: Any = 0
    b_gradient: Any = 0
    for (first, count), state in zip(reversed(table), reversed(seen), strict=True):
        grad = _first_rows(f, grad_hidden, count) + f.narrow(arriving, 0, first, count)
        own_memory = _first_rows(f, grad_memory, count) if memory.ndim == 2 else grad_memory
        to_inputs[first], to_product, straight, to_memory = _BACK[kind](f, state, grad, own_memory)
        w_gradient = f.mm(f.t(to_product), state["before"]) + w_gradient
        b_gradient = f.sum(to_product, [0]) + b_gradient
        through = f.mm(to_product, w_hh)
        grad_hidden = _with_first_rows(f, grad_hidden, through if straight is None else through + straight)
        grad_memory = _with_first_rows(f, grad_memory, to_memory) if memory.ndim == 2 else grad_memory
    to_input = f.cat([to_inputs[first] for first in sorted(to_inputs)], 0)
    grad_xs = f.reshape(f.mm(to_input, w_ih), list(xs.shape))
    weights = f.mm(f.t(to_input), flat), w_gradient, f.sum(to_input, [0]), b_gradient
    return (grad_xs, grad_hidden, grad_memory, *weights)


def _first_rows(f: Any, state: Any, count: int) -> Any:
    """The rows of the state whose sequences are going on."""
    return state if state.shape[0] == count else f.narrow(state, 0, 0, count)


def _with_first_rows(f: Any, state: Any, rows: Any) -> Any:
    """A state with other first rows."""
    left = state.shape[0] - rows.shape[0]
    return rows if not left else f.cat([rows, f.narrow(state, 0, rows.shape[0], left)], 0)


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
    to_gates = f.where(state["hidden"] <= 0, 0, grad_hidden)
    return to_gates, to_gates, None, grad_memory


_STATES: Final = {
    "lstm": _lstm_state, "gru": _gru_state, "rnn_tanh": _plain_state("tanh"), "rnn_relu": _plain_state("relu"),
}  # fmt: skip
_BACK: Final = {"lstm": _lstm_back, "gru": _gru_back, "rnn_tanh": _tanh_back, "rnn_relu": _relu_back}
