"""One step of recurrent networks: plain (Elman, 1990), long short-term memory (Hochreiter and Schmidhuber, 1997), gated
units (Cho et al., 2014).

Bodies over other operators, so that whoever watches operators sees the parts.
"""

# ruff: noqa: N803  # F is what bodies call the operators
from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import prod
from typing import Any, Final

from flambeau.ops.cell_gates import gru_gates, lstm_gates
from flambeau.ops.families.composite import composite
from flambeau.schema.dtype import float32, float64
from flambeau.schema.opdef import ErrorSample, Sample
from flambeau.schema.traits import Traits
from flambeau.tensor.array_library import np
from flambeau.tensor.observer import thread
from flambeau.tensor.tensor import Tensor, wrap

ULP: Final = {float32: 16.0, float64: 16.0}
"""Routines add the products of input and state in another order than one operator after another does."""

Step = Callable[[Any, Tensor, Sequence[Tensor], Tensor, Tensor | None], "tuple[Tensor, ...]"]
"""`F`, what the input gives to the gates, the state, the hidden weights and bias; the next state, its output first."""


def lstm_step(F: Any, inputs: Tensor, state: Sequence[Tensor], w_hh: Tensor, b_hh: Tensor | None) -> tuple[Tensor, ...]:
    """Gates in the order input, forget, cell, output."""
    hidden, memory = state
    return lstm_gates(F, inputs, F.linear(hidden, w_hh, b_hh), memory)


def gru_step(F: Any, inputs: Tensor, state: Sequence[Tensor], w_hh: Tensor, b_hh: Tensor | None) -> tuple[Tensor, ...]:
    """Gates in the order reset, update, new."""
    (hidden,) = state
    return (gru_gates(F, inputs, F.linear(hidden, w_hh, b_hh), hidden),)


def rnn_tanh_step(
    F: Any, inputs: Tensor, state: Sequence[Tensor], w_hh: Tensor, b_hh: Tensor | None
) -> tuple[Tensor, ...]:
    """tanh of the sum."""
    return (F.tanh(F.add(inputs, F.linear(state[0], w_hh, b_hh))),)


def rnn_relu_step(
    F: Any, inputs: Tensor, state: Sequence[Tensor], w_hh: Tensor, b_hh: Tensor | None
) -> tuple[Tensor, ...]:
    """relu of the sum."""
    return (F.relu(F.add(inputs, F.linear(state[0], w_hh, b_hh))),)


def check_cell(input: Tensor, state: Sequence[Tensor], w_ih: Tensor, w_hh: Tensor) -> None:
    """Raise RuntimeError for sizes that do not fit each other."""
    if not thread.handlers and _fit(input, state, w_ih, w_hh):
        return
    if input.ndim != 2 or input.shape[1] != w_ih.shape[1]:
        raise RuntimeError(
            f"input has inconsistent input_size: got {input.shape[-1] if input.ndim else 0}, expected {w_ih.shape[1]}; "
            f"the input is (batch, input_size), got {tuple(input.shape)}"
        )
    for one in state:
        if one.ndim != 2 or one.shape[1] != w_hh.shape[1]:
            raise RuntimeError(
                f"hidden0 has inconsistent hidden_size: got {one.shape[-1] if one.ndim else 0}, expected "
                f"{w_hh.shape[1]}"
            )
        if one.shape[0] != input.shape[0]:
            raise RuntimeError(f"Input batch size {input.shape[0]} doesn't match hidden0 batch size {one.shape[0]}")


def _fit(input: Tensor, state: Sequence[Tensor], w_ih: Tensor, w_hh: Tensor) -> bool:
    """Whether sizes of plain tensors fit each other, as nobody is told who traces sizes."""
    if type(input) is not Tensor or any(type(one) is not Tensor for one in state):
        return False
    sizes, (_, features), (_, units) = input._array.shape, w_ih._array.shape, w_hh._array.shape
    return len(sizes) == 2 and sizes[1] == features and all(one._array.shape == (sizes[0], units) for one in state)


def _lstm_cell(
    F: Any, input: Tensor, hx: Sequence[Tensor], w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None, b_hh: Tensor | None
) -> tuple[Tensor, ...]:
    if len(hx) != 2:
        raise RuntimeError("lstm_cell expects two hidden states")
    check_cell(input, hx, w_ih, w_hh)
    return lstm_step(F, F.linear(input, w_ih, b_ih), hx, w_hh, b_hh)


def _single(step: Step) -> Callable[..., Tensor]:
    def body(
        F: Any, input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None, b_hh: Tensor | None
    ) -> Tensor:
        check_cell(input, [hx], w_ih, w_hh)
        return step(F, F.linear(input, w_ih, b_ih), [hx], w_hh, b_hh)[0]

    return body


def numbers(*sizes: int) -> Tensor:
    """Arbitrary numbers between -1 and 1."""
    return wrap(((np.arange(prod(sizes), dtype=np.float32) * 37 % 23) / 12 - 0.9).reshape(sizes))


def _logistic(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


def lstm_reference(input: Any, hx: Any, w_ih: Any, w_hh: Any, b_ih: Any = 0, b_hh: Any = 0) -> Any:
    """By the equations, in float64."""
    wide = input.astype(np.float64) @ w_ih.T + b_ih + hx[0] @ w_hh.T + b_hh
    i, f, g, o = np.split(wide, 4, axis=1)
    memory = _logistic(f) * hx[1] + _logistic(i) * np.tanh(g)
    return _logistic(o) * np.tanh(memory), memory


def gru_reference(input: Any, hx: Any, w_ih: Any, w_hh: Any, b_ih: Any = 0, b_hh: Any = 0) -> Any:
    """By the equations, in float64."""
    x = np.split(input.astype(np.float64) @ w_ih.T + b_ih, 3, axis=1)
    h = np.split(hx @ w_hh.T + b_hh, 3, axis=1)
    reset, update = _logistic(x[0] + h[0]), _logistic(x[1] + h[1])
    return (1 - update) * np.tanh(x[2] + reset * h[2]) + update * hx


def cell_samples(n: int) -> list[Sample]:
    """With and without biases, for `n` gate values."""
    weights = (numbers(n, 3), numbers(n, 4))
    return [
        Sample(args=(numbers(2, 3), numbers(2, 4), *weights, numbers(n), numbers(n))),
        Sample(args=(numbers(2, 3), numbers(2, 4), *weights)),
    ]


def cell_errors(n: int) -> list[ErrorSample]:
    """Batches that differ."""
    arguments = (numbers(2, 3), numbers(3, 4), numbers(n, 3), numbers(n, 4))
    text = "Input batch size 2 doesn't match hidden0 batch size 3"
    return [ErrorSample(args=arguments, error=RuntimeError, message=text)]


composite(
    "aten::lstm_cell(Tensor input, Tensor[] hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, Tensor? b_hh=None) "
    "-> (Tensor, Tensor)",
    body=_lstm_cell,
    traits=Traits(has_routine=True),
    doc="One step of a long short-term memory: the hidden state and the memory cell.",
    dtype=lambda input: (input.dtype, input.dtype),
    shape=lambda: ((None, None), (None, None)),
    samples=lambda: [
        Sample(
            args=(
                numbers(2, 3), [numbers(2, 4), numbers(2, 4)], numbers(16, 3), numbers(16, 4), numbers(16), numbers(16)
            )
        )
    ],
    errors=lambda: [
        ErrorSample(
            args=(numbers(2, 5), [numbers(2, 4), numbers(2, 4)], numbers(16, 3), numbers(16, 4)),
            error=RuntimeError,
            message="input has inconsistent input_size: got 5, expected 3",
        )
    ],
    reference=lstm_reference,
    ulp=ULP,
)  # fmt: skip

for _name, _step, _gates in (
    ("gru_cell", gru_step, 3), ("rnn_tanh_cell", rnn_tanh_step, 1), ("rnn_relu_cell", rnn_relu_step, 1),
):  # fmt: skip
    composite(
        f"aten::{_name}(Tensor input, Tensor hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, Tensor? b_hh=None) "
        "-> Tensor",
        body=_single(_step),
        traits=Traits(has_routine=True),
        doc="One step of a recurrent network: the next hidden state.",
        dtype=lambda input: input.dtype,
        shape=lambda hx: hx.sizes,
        samples=partial(cell_samples, _gates * 4),
        errors=partial(cell_errors, _gates * 4),
        reference=gru_reference if _gates == 3 else None,
        ulp=ULP,
    )
