"""What gradients go through in the place of a step of a recurrent network: its products and gates."""

# ruff: noqa: N803  # F is what bodies call the operators
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from flambeau.ops.families.expansion_tables import differentiated
from flambeau.ops.recurrent_cells import Step, gru_step, lstm_step, rnn_relu_step, rnn_tanh_step


def _stepped(
    F: Any, step: Step, input: Any, state: Sequence[Any], weights: tuple[Any, Any], biases: tuple[Any, Any]
) -> tuple[Any, ...] | None:
    """The state after a step, for matrices; what sizes the operator demands are demanded still."""
    if any(t.ndim != 2 for t in (input, *state, *weights)):
        return None
    F.require(
        input.shape[1] == weights[0].shape[1],
        *[t.shape[1] == weights[1].shape[1] for t in state],
        *[t.shape[0] == input.shape[0] for t in state],
    )
    return step(F, F.linear(input, weights[0], biases[0]), state, weights[1], biases[1])


@differentiated("aten::lstm_cell")
def _lstm_cell(F: Any, input: Any, hx: Any, w_ih: Any, w_hh: Any, b_ih: Any = None, b_hh: Any = None) -> Any:
    """The hidden state and the memory."""
    return _stepped(F, lstm_step, input, hx, (w_ih, w_hh), (b_ih, b_hh)) if len(hx) == 2 else None


def _single(step: Step) -> Callable[..., Any]:
    def body(F: Any, input: Any, hx: Any, w_ih: Any, w_hh: Any, b_ih: Any = None, b_hh: Any = None) -> Any:
        stepped = _stepped(F, step, input, [hx], (w_ih, w_hh), (b_ih, b_hh))
        return None if stepped is None else stepped[0]

    return body


differentiated("aten::gru_cell")(_single(gru_step))
differentiated("aten::rnn_tanh_cell")(_single(rnn_tanh_step))
differentiated("aten::rnn_relu_cell")(_single(rnn_relu_step))
