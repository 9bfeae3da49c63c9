"""Recurrent networks over whole sequences: layers, both directions, padded batches and packed ones.

A packed batch holds the steps of several sequences, longest first, one time step after the other; `batch_sizes` says
how many sequences are still going on at each step.
"""

# ruff: noqa: N803  # F is what bodies call the operators
from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final

from flambeau.ops import recurrent_arrays, recurrent_layers
from flambeau.ops.families.composite import F as OPERATORS
from flambeau.ops.families.composite import composite
from flambeau.ops.recurrent_cells import Step, gru_step, lstm_step, numbers, rnn_relu_step, rnn_tanh_step
from flambeau.schema.opdef import ErrorSample, Sample
from flambeau.schema.traits import Traits
from flambeau.schema.types import TensorType
from flambeau.tensor.array_library import np
from flambeau.tensor.dispatch import is_intercepted, operator
from flambeau.tensor.grad_mode import is_grad_enabled
from flambeau.tensor.recorder import is_asked
from flambeau.tensor.settled import is_readable
from flambeau.tensor.tensor import Tensor, wrap

State = tuple[Tensor, ...]
recurrent_layer: Final = operator(recurrent_layers.NAME)


class Weights:
    """The parameters of one direction of one layer."""

    def __init__(self, params: Sequence[Tensor], has_biases: bool) -> None:
        self.w_ih, self.w_hh = params[:2]
        self.b_ih = params[2] if has_biases else None
        self.b_hh = params[3] if has_biases else None
        rest = params[4:] if has_biases else params[2:]
        self.w_hr = rest[0] if rest else None
        """Projects the hidden state of an LSTM, if it does."""


def split(
    params: Sequence[Tensor], has_biases: bool, projects: bool, num_layers: int, directions: int
) -> list[Weights]:
    """The flat list of parameters by layer and direction. Raises RuntimeError for a list of another length."""
    each = (4 if has_biases else 2) + (1 if projects else 0)
    if len(params) != each * num_layers * directions:
        raise RuntimeError(
            f"got an incorrect number of RNN parameters: expected {each} for each of {num_layers} layers and "
            f"{directions} directions, got {len(params)}"
        )
    return [Weights(params[i : i + each], has_biases) for i in range(0, len(params), each)]


def advance(F: Any, step: Step, inputs: Tensor, state: State, weights: Weights) -> State:
    """One step, with the projection if there is one."""
    following = step(F, inputs, state, weights.w_hh, weights.b_hh)
    if weights.w_hr is None:
        return following
    return (F.linear(following[0], weights.w_hr), *following[1:])


def run_padded(F: Any, step: Step, xs: Tensor, state: State, weights: Weights, reverse: bool) -> tuple[Tensor, State]:
    """Over (time, batch, features): the outputs of all steps, and the last state."""
    result = _as_one(F, step, xs, None, state, weights, reverse)
    if result is not None:
        return result
    inputs = F.unbind(F.linear(xs, weights.w_ih, weights.b_ih), 0)
    outputs = []
    for one in reversed(inputs) if reverse else inputs:
        state = advance(F, step, one, state, weights)
        outputs.append(state[0])
    return F.stack(outputs[::-1] if reverse else outputs, 0), state


_KINDS: Final[dict[Step, str]] = {
    lstm_step: "lstm", gru_step: "gru", rnn_tanh_step: "rnn_tanh", rnn_relu_step: "rnn_relu"
}  # fmt: skip


def _as_one(
    F: Any, step: Step, xs: Tensor, batch_sizes: Tensor | None, state: State, weights: Weights, reverse: bool
) -> tuple[Tensor, State] | None:
    """The same by one loop over all steps, as one node of the tape if gradients are wanted. None where somebody watches
    operators, for gradients of projections, and for what that loop does not compute.
    """
    if F is not OPERATORS or is_intercepted() or not is_readable(xs):
        return None
    kind, tensors = _KINDS[step], (weights.w_ih, weights.w_hh, weights.b_ih, weights.b_hh)
    arrays = [None if t is None else t._array for t in tensors]
    starts, projection = [s._array for s in state], None if weights.w_hr is None else weights.w_hr._array
    if not recurrent_arrays.fits(xs._array, starts, arrays, kind, projection):
        return None
    if is_grad_enabled() and is_asked((xs, *state, *tensors, weights.w_hr)):
        if projection is not None:
            return None
        memory = state[1] if len(state) == 2 else wrap(np.empty(0, xs._array.dtype))
        operands = [xs, state[0], memory, *(t for t in tensors if t is not None)]
        outputs, *last = recurrent_layer(operands, kind, batch_sizes, reverse)[:3]
        return outputs, tuple(last[: len(state)])
    table = recurrent_layers.table_of(xs._array, None if batch_sizes is None else batch_sizes._array, reverse)
    outputs, *last = recurrent_layers.run(kind, xs._array, starts, arrays, table, False, projection)
    return wrap(outputs), tuple(map(wrap, last[: len(state)]))


def run_packed(
    F: Any, step: Step, data: Tensor, batch_sizes: Tensor, state: State, weights: Weights, reverse: bool
) -> tuple[Tensor, State]:
    """Over a packed batch; sequences leave when they end, or join when they begin from behind."""
    result = _as_one(F, step, data, batch_sizes, state, weights, reverse)
    if result is not None:
        return result
    sizes = batch_sizes.detach().tolist()
    inputs = F.split_with_sizes(F.linear(data, weights.w_ih, weights.b_ih), sizes, 0)
    if reverse:
        return _run_packed_reversed(F, step, inputs, sizes, state, weights)
    outputs, done = [], []
    for one, size in zip(inputs, sizes, strict=True):
        going = state[0].shape[0]
        if size < going:
            done.append(tuple(F.narrow(s, 0, size, going - size) for s in state))
            state = tuple(F.narrow(s, 0, 0, size) for s in state)
        state = advance(F, step, one, state, weights)
        outputs.append(state[0])
    done.append(state)
    final = tuple(F.cat([part[i] for part in reversed(done)], 0) for i in range(len(state)))
    return F.cat(outputs, 0), final


def _run_packed_reversed(
    F: Any, step: Step, inputs: Sequence[Tensor], sizes: Sequence[int], start: State, weights: Weights
) -> tuple[Tensor, State]:
    going = sizes[-1]
    state = tuple(F.narrow(s, 0, 0, going) for s in start)
    outputs = []
    for one, size in zip(reversed(inputs), reversed(sizes), strict=True):
        if size > going:
            joining = [F.narrow(s, 0, going, size - going) for s in start]
            state = tuple(F.cat([s, j], 0) for s, j in zip(state, joining, strict=True))
            going = size
        state = advance(F, step, one, state, weights)
        outputs.append(state[0])
    return F.cat(outputs[::-1], 0), state


Run = Callable[[Any, Tensor, State, Weights, bool], tuple[Tensor, State]]


def layers(
    F: Any, run: Run, xs: Tensor, hx: Sequence[Tensor], weights: Sequence[Weights], num_layers: int, dropout: float,
    train: bool, directions: int,
) -> tuple[Tensor, list[Tensor]]:  # fmt: skip
    """Layer upon layer: the outputs of the last, and the last states of all, stacked."""
    if num_layers * directions == 1:
        xs, end = run(F, xs, tuple(_only(F, h) for h in hx), weights[0], False)
        return xs, [_alone(F, one) for one in end]
    starts = [F.unbind(h, 0) for h in hx]
    ends: list[State] = []
    for layer in range(num_layers):
        outputs = []
        for direction in range(directions):
            number = layer * directions + direction
            output, end = run(F, xs, tuple(s[number] for s in starts), weights[number], direction == 1)
            outputs.append(output)
            ends.append(end)
        xs = outputs[0] if directions == 1 else F.cat(outputs, -1)
        if train and dropout > 0 and layer + 1 < num_layers:
            xs = F.dropout(xs, dropout, True)
    return xs, [F.stack([end[i] for end in ends], 0) for i in range(len(hx))]


def _is_array(F: Any, x: Tensor) -> bool:
    """Whether nobody watches what is done with a tensor."""
    is_recorded = is_grad_enabled() and is_asked((x,))
    return F is OPERATORS and not is_intercepted() and is_readable(x) and not is_recorded


def _only(F: Any, x: Tensor) -> Tensor:
    """The state of the only layer."""
    return wrap(x._array[0]) if _is_array(F, x) else F.select(x, 0, 0)


def _alone(F: Any, x: Tensor) -> Tensor:
    """The states of all layers, being those of one."""
    return wrap(x._array.reshape(1, *x.shape)) if _is_array(F, x) else F.unsqueeze(x, 0)


def check(xs: Tensor, hx: Sequence[Tensor], weights: Sequence[Weights], batch: int) -> None:
    """Raise RuntimeError for sizes that do not fit each other."""
    first = weights[0]
    if xs.shape[-1] != first.w_ih.shape[1]:
        raise RuntimeError(
            f"input.size(-1) must be equal to input_size. Expected {first.w_ih.shape[1]}, got {xs.shape[-1]}"
        )
    hidden = first.w_hh.shape[1]
    for i, one in enumerate(hx):
        size = first.w_hr.shape[1] if first.w_hr is not None and i == 1 else hidden
        wanted = (len(weights), batch, size)
        if tuple(one.shape) != wanted:
            which = "hidden" if len(hx) == 1 else f"hidden[{i}]"
            raise RuntimeError(f"Expected {which} size {wanted}, got {list(one.shape)}")


def padded_body(
    F: Any, step: Step, input: Tensor, hx: Sequence[Tensor], params: Sequence[Tensor], has_biases: bool,
    num_layers: int, dropout: float, train: bool, bidirectional: bool, batch_first: bool,
) -> tuple[Tensor, ...]:  # fmt: skip
    """(time, batch, features), or (batch, time, features) with `batch_first`."""
    if input.ndim != 3:
        raise RuntimeError(f"input must have 3 dimensions, got {input.ndim}")
    directions = 2 if bidirectional else 1
    projects = len(hx) == 2 and hx[0].shape[-1] != hx[1].shape[-1]
    weights = split(params, has_biases, projects, num_layers, directions)
    xs = F.transpose(input, 0, 1) if batch_first else input
    check(xs, hx, weights, xs.shape[1])
    if not xs.shape[0]:
        raise RuntimeError("Expected sequence length to be larger than 0 in RNN")

    def run(F: Any, xs: Tensor, state: State, one: Weights, reverse: bool) -> tuple[Tensor, State]:
        return run_padded(F, step, xs, state, one, reverse)

    output, ends = layers(F, run, xs, hx, weights, num_layers, dropout, train, directions)
    return (F.transpose(output, 0, 1) if batch_first else output, *ends)


def packed_body(
    F: Any, step: Step, data: Tensor, batch_sizes: Tensor, hx: Sequence[Tensor], params: Sequence[Tensor],
    has_biases: bool, num_layers: int, dropout: float, train: bool, bidirectional: bool,
) -> tuple[Tensor, ...]:  # fmt: skip
    """A packed batch: (steps of all sequences, features)."""
    directions = 2 if bidirectional else 1
    projects = len(hx) == 2 and hx[0].shape[-1] != hx[1].shape[-1]
    weights = split(params, has_biases, projects, num_layers, directions)
    sizes = batch_sizes.detach().tolist()
    if data.ndim != 2 or sum(sizes) != data.shape[0]:
        raise RuntimeError(
            f"a packed batch is (steps, features) with as many steps as batch_sizes add up to ({sum(sizes)}), got "
            f"{tuple(data.shape)}"
        )
    check(data, hx, weights, sizes[0])

    def run(F: Any, xs: Tensor, state: State, one: Weights, reverse: bool) -> tuple[Tensor, State]:
        return run_packed(F, step, xs, batch_sizes, state, one, reverse)

    output, ends = layers(F, run, data, hx, weights, num_layers, dropout, train, directions)
    return (output, *ends)


def _listed(hx: Any) -> list[Tensor]:
    return [hx] if isinstance(hx, Tensor) else list(hx)


def bodies(step: Step) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """What runs padded and packed batches through one kind of cell."""

    def padded(F: Any, input: Tensor, hx: Any, *rest: Any) -> Any:
        return padded_body(F, step, input, _listed(hx), *rest)

    def packed(F: Any, data: Tensor, batch_sizes: Tensor, hx: Any, *rest: Any) -> Any:
        return packed_body(F, step, data, batch_sizes, _listed(hx), *rest)

    return padded, packed


def samples(gates: int) -> list[Sample]:
    """Two layers, both directions; with and without biases."""
    n, states = gates * 3, 2 if gates == 4 else 1
    collected = []
    for bias in (True, False):
        params = []
        for width in (2, 2, 6, 6):
            params += [numbers(n, width), numbers(n, 3), *((numbers(n), numbers(n)) if bias else ())]
        state = [numbers(4, 2, 3) for _ in range(states)]
        hx: Any = state if states == 2 else state[0]
        collected.append(Sample(args=(numbers(5, 2, 2), hx, params, bias, 2, 0.0, False, True, False)))
    return collected


def errors(gates: int) -> list[ErrorSample]:
    """Features that the weights are not for."""
    n = gates * 3
    state = [numbers(1, 2, 3) for _ in range(2 if gates == 4 else 1)]
    hx: Any = state if gates == 4 else state[0]
    params = [numbers(n, 2), numbers(n, 3)]
    return [
        ErrorSample(
            args=(numbers(5, 2, 4), hx, params, False, 1, 0.0, False, False, False),
            error=RuntimeError,
            message="input.size(-1) must be equal to input_size. Expected 2, got 4",
        ),
        ErrorSample(
            args=(numbers(5, 2, 2), hx, params[:1], False, 1, 0.0, False, False, False),
            error=RuntimeError,
            message="got an incorrect number of RNN parameters",
        ),
    ]


def packed_samples(gates: int) -> list[Sample]:
    """Two layers, both directions, over three sequences of 3, 2 and 1 steps; with and without biases."""
    return [
        Sample(args=(numbers(6, 2), wrap(np.array([3, 2, 1], np.int64)), _states(gates, 4, 3), *sample.args[2:-1]))
        for sample in samples(gates)
    ]


def packed_errors(gates: int) -> list[ErrorSample]:
    """Steps that are not as many as the batch has rows."""
    n = gates * 3
    params = [numbers(n, 2), numbers(n, 3)]
    rest = (_states(gates, 1, 2), params, False, 1, 0.0, False, False)
    return [
        ErrorSample(
            args=(numbers(5, 2), wrap(np.array([2, 2], np.int64)), *rest),
            error=RuntimeError,
            message="as many steps as batch_sizes add up to (4)",
        )
    ]


def _states(gates: int, directed: int, batch: int) -> Any:
    """What states at the start are given as: of an LSTM a list of two."""
    return [numbers(directed, batch, 3) for _ in range(2)] if gates == 4 else numbers(directed, batch, 3)


def _dtypes(count: int) -> Callable[..., Any]:
    def rule(input: TensorType) -> Any:
        return (input.dtype,) * count

    return rule


def _dtypes_of_packed(count: int) -> Callable[..., Any]:
    def rule(data: TensorType) -> Any:
        return (data.dtype,) * count

    return rule


for _name, _step, _gates in (
    ("lstm", lstm_step, 4), ("gru", gru_step, 3), ("rnn_tanh", rnn_tanh_step, 1), ("rnn_relu", rnn_relu_step, 1),
):  # fmt: skip
    _hx, _returns = ("Tensor[]", "(Tensor, Tensor, Tensor)") if _gates == 4 else ("Tensor", "(Tensor, Tensor)")
    _padded, _packed = bodies(_step)
    _options = "bool has_biases, int num_layers, float dropout, bool train, bool bidirectional"
    composite(
        f"aten::{_name}.input(Tensor input, {_hx} hx, Tensor[] params, {_options}, bool batch_first) -> {_returns}",
        body=_padded,
        traits=Traits(has_routine=True, swaps_axes_of_results=True, draws_by="dropout"),
        doc="A recurrent network over a padded batch: the outputs of all steps, and the last states of all layers.",
        dtype=_dtypes(3 if _gates == 4 else 2),
        shape=lambda input, n=(3 if _gates == 4 else 2): (((None,) * 3),) * n,
        samples=partial(samples, _gates),
        errors=partial(errors, _gates),
    )
    composite(
        f"aten::{_name}.data(Tensor data, Tensor batch_sizes, {_hx} hx, Tensor[] params, {_options}) -> {_returns}",
        body=_packed,
        traits=Traits(has_routine=True, draws_by="dropout"),
        doc="A recurrent network over a packed batch.",
        dtype=_dtypes_of_packed(3 if _gates == 4 else 2),
        shape=lambda data, n=(3 if _gates == 4 else 2): (
            (None if data.sizes is None else data.sizes[0], None), *(((None,) * 3,) * (n - 1))
        ),
        samples=partial(packed_samples, _gates),
        errors=partial(packed_errors, _gates),
    )
