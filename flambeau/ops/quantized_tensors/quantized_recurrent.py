"""Recurrent layers with packed weights: gates are sums of two linear layers, whose inputs are quantised each time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final

from flambeau.ops.quantized_tensors.quantized_dynamic import check_packed, product
from flambeau.ops.quantized_tensors.quantized_kernels import declare
from flambeau.ops.quantized_tensors.quantized_packing import CELL, LINEAR, CellParameters, PackedLinear
from flambeau.ops.quantized_tensors.quantized_values import per_tensor
from flambeau.ops.small_tensors import evenly
from flambeau.schema.dtype import float32
from flambeau.schema.opdef import ErrorSample, Sample
from flambeau.tensor import dispatch
from flambeau.tensor.array_library import is_on_device, np
from flambeau.tensor.quantized import Array
from flambeau.tensor.tensor import Tensor, wrap
from flambeau.util.inversions import RECURRENT_KERNELS

State = tuple[Array, ...]
Cell = Callable[[Array, Array, State], State]
"""The gates of the input, those of the state, and the state; the next state, whose first part is the output."""
ONE: Final = np.float32(1)
WRONG_COUNT: Final = "expected packed weights for {wanted} layers and directions, got {got}"


def _sigmoid(x: Array) -> Array:
    return (ONE / (ONE + np.exp(-x))).astype(np.float32)


def lstm_cell(of_input: Array, of_state: Array, state: State) -> State:
    """One step of a long short-term memory."""
    gates, units = of_input + of_state, state[1].shape[-1]
    if gates.ndim == 2 and gates.size and gates.dtype == state[1].dtype and not is_on_device():
        native = RECURRENT_KERNELS.implementation("lstm", gates.dtype, gates.size)
        if native is not None:
            output, memory = native.step(gates, state[1])
            return output, memory
    new = np.tanh(gates[..., 2 * units : 3 * units])
    shares = _sigmoid(gates)
    memory = shares[..., units : 2 * units] * state[1] + shares[..., :units] * new
    return shares[..., 3 * units :] * np.tanh(memory), memory


def gru_cell(of_input: Array, of_state: Array, state: State) -> State:
    """One step of a gated recurrent unit."""
    units = state[0].shape[-1]
    shares = _sigmoid(of_input[..., : 2 * units] + of_state[..., : 2 * units])
    new = np.tanh(of_input[..., 2 * units :] + shares[..., :units] * of_state[..., 2 * units :])
    return ((state[0] - new) * shares[..., units:] + new,)


def tanh_cell(of_input: Array, of_state: Array, state: State) -> State:
    """One step of a recurrent layer with tanh."""
    return (np.tanh(of_input + of_state),)


def relu_cell(of_input: Array, of_state: Array, state: State) -> State:
    """One step of a recurrent layer with relu."""
    return (np.maximum(of_input + of_state, np.float32(0)),)


def _direction(
    steps: Array, sizes: Sequence[int], state: State, parameters: CellParameters, cell: Cell, *, is_reversed: bool
) -> tuple[Array, State]:
    """One layer in one direction over steps of a batch, of which `sizes` says how many sequences go on at each time."""
    gates = product(steps, parameters.input_layer, reduce_range=parameters.reduce_range)
    starts = np.concatenate([[0], np.cumsum(sizes)])
    outputs = np.empty((*steps.shape[:-1], state[0].shape[-1]), np.float32)
    current = tuple(part.astype(np.float32) for part in state)  # of its own: steps write to it
    for time in reversed(range(len(sizes))) if is_reversed else range(len(sizes)):
        count, rows = sizes[time], slice(starts[time], starts[time + 1])
        active = tuple(part[:count] for part in current)
        of_state = product(active[0], parameters.hidden_layer, reduce_range=parameters.reduce_range)
        after = cell(gates[rows], of_state, active)
        outputs[rows] = after[0]
        for part, new in zip(current, after, strict=True):
            part[:count] = new
    return outputs, current


@np.errstate(all="ignore")
def _layers(
    steps: Array,
    sizes: Sequence[int],
    states: Sequence[Array],
    parameters: Sequence[CellParameters],
    cell: Cell,
    *,
    bidirectional: bool,
    dropout: float,
) -> tuple[Array, list[Array]]:
    """All layers over the rows of all steps; the last outputs, and the parts of the last states."""
    directions = 2 if bidirectional else 1
    layers = len(states[0]) // directions
    if len(parameters) != layers * directions:
        raise RuntimeError(WRONG_COUNT.format(wanted=layers * directions, got=len(parameters)))
    last: list[State] = []
    for layer in range(layers):
        ran = []
        for index in range(layer * directions, (layer + 1) * directions):
            start = tuple(part[index] for part in states)
            is_reversed = index % directions == 1
            ran.append(_direction(steps, sizes, start, parameters[index], cell, is_reversed=is_reversed))
        steps = np.concatenate([outputs for outputs, _ in ran], -1)
        last += [state for _, state in ran]
        if dropout and layer + 1 < layers:
            steps = dispatch.call("aten::dropout", wrap(steps), dropout, True)._array
    return steps, [np.stack(parts) for parts in zip(*last, strict=True)]


def _recurrent(cell: Cell, parts: int) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """The kernels of a layer over a batch of one length, and over a packed one."""

    def over_batch(
        input: Tensor, hx: Any, params: Any, has_biases: bool, num_layers: int, dropout: float, train: bool,
        bidirectional: bool, batch_first: bool, *_: Any,
    ) -> tuple[Tensor, ...]:  # fmt: skip
        x = np.swapaxes(input._array, 0, 1) if batch_first else input._array
        rows = np.ascontiguousarray(x).reshape(-1, x.shape[-1])
        states = [part._array for part in (hx if parts > 1 else [hx])]
        outputs, last = _layers(
            rows, [x.shape[1]] * x.shape[0], states, params, cell,
            bidirectional=bidirectional, dropout=dropout if train else 0.0,
        )  # fmt: skip
        shaped = outputs.reshape(*x.shape[:2], outputs.shape[-1])
        return wrap(np.swapaxes(shaped, 0, 1) if batch_first else shaped), *map(wrap, last)

    def over_packed(
        data: Tensor, batch_sizes: Tensor, hx: Any, params: Any, has_biases: bool, num_layers: int, dropout: float,
        train: bool, bidirectional: bool, *_: Any,
    ) -> tuple[Tensor, ...]:  # fmt: skip
        states = [part._array for part in (hx if parts > 1 else [hx])]
        sizes = [int(n) for n in batch_sizes._array]
        outputs, last = _layers(
            data._array, sizes, states, params, cell,
            bidirectional=bidirectional, dropout=dropout if train else 0.0,
        )  # fmt: skip
        return wrap(outputs), *map(wrap, last)

    return over_batch, over_packed


def _one_step(name: str, cell: Cell) -> Callable[..., Any]:
    @np.errstate(all="ignore")
    def kernel(input: Tensor, hx: Any, w_ih: Any, w_hh: Any, b_ih: Any, b_hh: Any) -> Any:
        for packed in (w_ih, w_hh):
            check_packed(name, packed)
        state = tuple(part._array for part in hx) if isinstance(hx, list) else (hx._array,)
        of_input = product(input._array, w_ih, reduce_range=True)
        after = cell(of_input, product(state[0], w_hh, reduce_range=True), state)
        return tuple(map(wrap, after)) if isinstance(hx, list) else wrap(after[0])

    return kernel


def _packed(gates: int) -> PackedLinear:
    return PackedLinear(per_tensor(evenly(gates * 2, 2), 0.01, 0, 12), evenly(gates * 2))


def _cells(gates: int) -> list[CellParameters]:
    return [CellParameters(_packed(gates), _packed(gates), False)]


def _start(parts: int) -> Any:
    return [evenly(1, 3, 2)] * 2 if parts > 1 else evenly(1, 3, 2)


def _calls(gates: int, parts: int) -> list[Sample]:
    return [Sample(args=(evenly(4, 3, 2), _start(parts), _cells(gates), True, 1, 0.0, False, False, False))]


def _refused(parts: int) -> list[ErrorSample]:
    args: Any = (evenly(4, 3, 2), _start(parts), [], True, 1, 0.0, False, False, False)
    return [ErrorSample(args=args, error=RuntimeError, message="expected packed weights for 1 layers")]


def _calls_step(gates: int, parts: int) -> list[Sample]:
    state = [evenly(3, 2)] * 2 if parts > 1 else evenly(3, 2)
    biases = evenly(2 * gates), evenly(2 * gates)
    return [Sample(args=(evenly(3, 2), state, _packed(gates), _packed(gates), *biases))]


def _floats(count: int, *_: Any) -> Any:
    return (float32,) * count


_SETTINGS: Final = "bool has_biases, int num_layers, float dropout, bool train, bool bidirectional"
_OPTIONS: Final = ", *, ScalarType? dtype=None, bool use_dynamic=False"


def _declare_layer(name: str, cell: Cell, gates: int, parts: int) -> None:
    state, options = ("Tensor[] hx", _OPTIONS) if parts > 1 else ("Tensor hx", "")
    results = f"({', '.join(['Tensor'] * (parts + 1))})"
    over_batch, over_packed = _recurrent(cell, parts)
    declare(
        f"aten::quantized_{name}.input(Tensor input, {state}, {CELL}[] params, {_SETTINGS}, bool batch_first{options}) "
        f"-> {results}",
        over_batch,
        "A recurrent layer with packed weights.",
        is_function=True,
        dtype=partial(_floats, parts + 1),
        samples=partial(_calls, gates, parts),
        errors=partial(_refused, parts),
    )
    declare(
        f"aten::quantized_{name}.data(Tensor data, Tensor batch_sizes, {state}, {CELL}[] params, {_SETTINGS}{options}) "
        f"-> {results}",
        over_packed,
        is_function=True,
        dtype=partial(_floats, parts + 1),
    )


def _declare_step(name: str, cell: Cell, gates: int, parts: int) -> None:
    state, results = ("Tensor[] hx", "(Tensor, Tensor)") if parts > 1 else ("Tensor hx", "Tensor")
    bias = "bias" if parts > 1 else "b"
    declare(
        f"quantized::quantized_{name}_cell_dynamic(Tensor input, {state}, {LINEAR} w_ih, {LINEAR} w_hh, "
        f"Tensor {bias}_ih, Tensor {bias}_hh) -> {results}",
        _one_step(f"quantized_{name}_cell_dynamic", cell),
        "One step of a recurrent layer with packed weights.",
        samples=partial(_calls_step, gates, parts),
    )


_declare_layer("lstm", lstm_cell, 4, 2)
_declare_layer("gru", gru_cell, 3, 1)
_declare_step("lstm", lstm_cell, 4, 2)
_declare_step("gru", gru_cell, 3, 1)
_declare_step("rnn_tanh", tanh_cell, 1, 1)
_declare_step("rnn_relu", relu_cell, 1, 1)
