"""One step of recurrent networks as layers."""

from __future__ import annotations

import math
from typing import ClassVar

from flambeau.nn import init
from flambeau.nn.layers import fresh
from flambeau.nn.layers.layer import unusual
from flambeau.nn.module import Module
from flambeau.nn.parameter import Parameter
from flambeau.ops.families.composite import F
from flambeau.schema.device import Device
from flambeau.schema.dtype import DType
from flambeau.tensor.tensor import Tensor


class RNNCellBase(Module):
    """`weight_ih` (gates hidden_size, input_size), `weight_hh` (gates hidden_size, hidden_size) and biases.

    All are uniform in +-1/sqrt(hidden_size).

    Args:
        input_size: features of every element of the input.
        hidden_size: features of the hidden state.
        bias: whether there is a bias.
        num_chunks: how many gates there are.
        device: where its tensors are; "cpu".
        dtype: the dtype of its parameters; the default one if None.

    >>> import flambeau
    >>> flambeau.nn.RNNCellBase(3, 4, True, 4).weight_ih.shape
    flambeau.Size([16, 3])
    """

    __constants__: ClassVar[list[str]] = ["input_size", "hidden_size", "bias"]

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool, num_chunks: int, device: Device | str | None = None,
        dtype: DType | None = None,
    ) -> None:  # fmt: skip
        super().__init__()
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.bias = bias
        rows = num_chunks * hidden_size
        self.weight_ih = fresh.parameter(rows, input_size, dtype=dtype, device=device)
        self.weight_hh = fresh.parameter(rows, hidden_size, dtype=dtype, device=device)
        self.bias_ih: Parameter | None
        self.bias_hh: Parameter | None
        for name in ("bias_ih", "bias_hh"):
            self.register_parameter(name, fresh.parameter(rows, dtype=dtype, device=device) if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw new parameters."""
        bound = 1.0 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0.0
        for parameter in self.parameters():
            init.uniform_(parameter, -bound, bound)

    def extra_repr(self) -> str:
        """The sizes, and what is not as usual."""
        return f"{self.input_size}, {self.hidden_size}" + unusual(self, bias=True)


def check_ranks(name: str, input: Tensor, state: Tensor | None) -> None:
    """Raise ValueError for other ranks than (batch, features) or (features)."""
    if input.dim() != 1 and input.dim() != 2:
        raise ValueError(f"{name}: Expected input to be 1D or 2D, got {input.dim()}D instead")
    if state is not None and state.dim() != 1 and state.dim() != 2:
        raise ValueError(f"{name}: Expected hidden to be 1D or 2D, got {state.dim()}D instead")


class RNNCell(RNNCellBase):
    """tanh(W x + b + U h + c), or relu of it: Elman (1990).

    Args:
        input_size: features of every element of the input.
        hidden_size: features of the hidden state.
        bias: whether there is a bias.
        nonlinearity: "tanh" or "relu".
        device: where its tensors are; "cpu".
        dtype: the dtype of its parameters; the default one if None.

    Shape:
        (batch, input_size) and perhaps (batch, hidden_size), to (batch, hidden_size); without a batch too.

    >>> import flambeau
    >>> flambeau.nn.RNNCell(3, 4)(flambeau.ones(2, 3)).shape
    flambeau.Size([2, 4])
    """

    __constants__ = ["input_size", "hidden_size", "bias", "nonlinearity"]

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, nonlinearity: str = "tanh",
        device: Device | str | None = None, dtype: DType | None = None,
    ) -> None:  # fmt: skip
        super().__init__(input_size, hidden_size, bias, 1, device, dtype)
        self.nonlinearity = nonlinearity

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        """(batch, input_size) and (batch, hidden_size), zero if not given, to the next hidden state.

        Raises ValueError for other ranks, RuntimeError for an unknown nonlinearity.
        """
        check_ranks("RNNCell", input, hx)
        is_batched = input.dim() == 2
        x = input if is_batched else input.unsqueeze(0)
        if hx is None:
            h = F.zeros([x.size(0), self.hidden_size], dtype=x.dtype, device=x.device)
        else:
            h = hx if is_batched else hx.unsqueeze(0)
        if self.nonlinearity == "tanh":
            result = F.rnn_tanh_cell(x, h, self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh)
        elif self.nonlinearity == "relu":
            result = F.rnn_relu_cell(x, h, self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh)
        else:
            raise RuntimeError(f"Unknown nonlinearity: {self.nonlinearity}; write 'tanh' or 'relu'")
        return result if is_batched else result.squeeze(0)

    def extra_repr(self) -> str:
        """The sizes, and what is not as usual."""
        return super().extra_repr() + unusual(self, nonlinearity="tanh")


class _Gated(RNNCellBase):
    GATES: ClassVar[int]

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, device: Device | str | None = None,
        dtype: DType | None = None,
    ) -> None:  # fmt: skip
        super().__init__(input_size, hidden_size, bias, type(self).GATES, device, dtype)


class GRUCell(_Gated):
    """A gated unit; the gates are reset, update, new: Cho et al. (2014).

    Args:
        input_size: features of every element of the input.
        hidden_size: features of the hidden state.
        bias: whether there is a bias.
        device: where its tensors are; "cpu".
        dtype: the dtype of its parameters; the default one if None.

    Shape:
        (batch, input_size) and perhaps (batch, hidden_size), to (batch, hidden_size); without a batch too.

    >>> import flambeau
    >>> flambeau.nn.GRUCell(3, 4)(flambeau.ones(2, 3)).shape
    flambeau.Size([2, 4])
    """

    GATES = 3

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        """(batch, input_size) and (batch, hidden_size), zero if not given, to the next hidden state.

        Raises ValueError for other ranks.
        """
        check_ranks("GRUCell", input, hx)
        is_batched = input.dim() == 2
        x = input if is_batched else input.unsqueeze(0)
        if hx is None:
            h = F.zeros([x.size(0), self.hidden_size], dtype=x.dtype, device=x.device)
        else:
            h = hx if is_batched else hx.unsqueeze(0)
        result = F.gru_cell(x, h, self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh)
        return result if is_batched else result.squeeze(0)


class LSTMCell(_Gated):
    """A long short-term memory; the gates are input, forget, cell, output: Hochreiter and Schmidhuber (1997).

    Args:
        input_size: features of every element of the input.
        hidden_size: features of the hidden state.
        bias: whether there is a bias.
        device: where its tensors are; "cpu".
        dtype: the dtype of its parameters; the default one if None.

    Shape:
        (batch, input_size) and perhaps two states (batch, hidden_size), to two states; without a batch too.

    >>> import flambeau
    >>> hidden, cell = flambeau.nn.LSTMCell(3, 4)(flambeau.ones(2, 3))
    >>> hidden.shape, cell.shape
    (flambeau.Size([2, 4]), flambeau.Size([2, 4]))
    """

    GATES = 4

    def forward(self, input: Tensor, hx: tuple[Tensor, Tensor] | None = None) -> tuple[Tensor, Tensor]:
        """(batch, input_size), and hidden state and memory (batch, hidden_size), zero if not given, to the next ones.

        Raises ValueError for other ranks.
        """
        check_ranks("LSTMCell", input, None if hx is None else hx[0])
        is_batched = input.dim() == 2
        x = input if is_batched else input.unsqueeze(0)
        if hx is None:
            h = F.zeros([x.size(0), self.hidden_size], dtype=x.dtype, device=x.device)
            c = h
        else:
            h, c = hx
            if not is_batched:
                h, c = h.unsqueeze(0), c.unsqueeze(0)
        h, c = F.lstm_cell(x, [h, c], self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh)
        return (h, c) if is_batched else (h.squeeze(0), c.squeeze(0))
