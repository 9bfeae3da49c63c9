"""Recurrent networks over whole sequences: plain, long short-term memory, gated units; in layers, both ways."""

from __future__ import annotations

import math
import warnings
from typing import Any, ClassVar, Final

from flambeau.nn import init
from flambeau.nn.layers import fresh
from flambeau.nn.layers.layer import unusual
from flambeau.nn.module import Module
from flambeau.nn.utils.rnn import PackedSequence
from flambeau.ops.families.composite import F
from flambeau.schema.device import Device
from flambeau.schema.dtype import DType
from flambeau.tensor.observer import is_tracing
from flambeau.tensor.tensor import Tensor
from flambeau.util.choice import or_else
from flambeau.util.scripting import is_scripting

NO_MEMORIES: Final = (
    "LSTM starts with a tuple of hidden states and memories, (h_0, c_0), but got one tensor: write lstm(x, (h_0, c_0))"
)
GATES: Final = {"LSTM": 4, "GRU": 3, "RNN_TANH": 1, "RNN_RELU": 1}
DROPOUT_OF_ONE = (
    "dropout option adds dropout after all but last recurrent layer, so non-zero dropout expects num_layers greater "
    "than 1, but got dropout={dropout} and num_layers={num_layers}"
)


class RNNBase(Module):
    """Parameters `weight_ih_l0`, `weight_hh_l0`, `bias_ih_l0`, `bias_hh_l0` of the first layer, and so on.

    `_reverse` ends the names of the backward direction, `weight_hr_l0` projects the hidden state of an LSTM. All are
    uniform in +-1/sqrt(hidden_size).

    Args:
        mode: "LSTM", "GRU", "RNN_TANH" or "RNN_RELU".
        input_size: features of every element of the input.
        hidden_size: features of the hidden state.
        num_layers: how many layers follow each other.
        bias: whether there is a bias.
        batch_first: whether the batch is the first dimension, (batch, time, ...), instead of the second.
        dropout: the probability with which values are dropped while training.
        bidirectional: whether a second network goes over the sequence backwards; its outputs stand behind the
            first's.
        proj_size: features of the hidden state after a projection; 0 for none.
        device: where its tensors are; "cpu".
        dtype: the dtype of its parameters; the default one if None.

    >>> import flambeau
    >>> [name for name, _ in flambeau.nn.RNNBase("GRU", 3, 4).named_parameters()]
    ['weight_ih_l0', 'weight_hh_l0', 'bias_ih_l0', 'bias_hh_l0']
    """

    __constants__: ClassVar[list[str]] = [
        "mode", "input_size", "hidden_size", "num_layers", "bias", "batch_first", "dropout", "bidirectional",
        "proj_size",
    ]  # fmt: skip

    def __init__(
        self, mode: str, input_size: int, hidden_size: int, num_layers: int = 1, bias: bool = True,
        batch_first: bool = False, dropout: float = 0.0, bidirectional: bool = False, proj_size: int = 0,
        device: Device | str | None = None, dtype: DType | None = None,
    ) -> None:  # fmt: skip
        super().__init__()
        if mode not in GATES:
            raise ValueError(f"Unrecognized RNN mode: {mode}; write one of {', '.join(GATES)}")
        if not 0 <= dropout <= 1 or isinstance(dropout, bool):
            raise ValueError(
                "dropout should be a number in range [0, 1] representing the probability of an element being zeroed, "
                f"got {dropout}"
            )
        check_positive(hidden_size=hidden_size, num_layers=num_layers)
        if not 0 <= proj_size < hidden_size:
            raise ValueError(f"proj_size has to be smaller than hidden_size, zero or positive, got {proj_size}")
        if dropout > 0 and num_layers == 1:
            warnings.warn(DROPOUT_OF_ONE.format(dropout=dropout, num_layers=num_layers), stacklevel=3)
        self.mode = mode
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.num_layers = num_layers
        self.bias = bias
        self.batch_first = batch_first
        self.dropout = float(dropout)
        self.bidirectional = bidirectional
        self.proj_size = proj_size
        self._flat_weights_names: list[str] = []
        self._flat_weights: list[Any] = []
        rows = GATES[mode] * hidden_size
        state = proj_size or hidden_size
        for layer in range(num_layers):
            for suffix in ("", "_reverse")[: 1 + bidirectional]:
                width = input_size if layer == 0 else state * (1 + bidirectional)
                shapes: list[tuple[str, tuple[int, ...]]] = [("weight_ih", (rows, width)), ("weight_hh", (rows, state))]
                shapes += [("bias_ih", (rows,)), ("bias_hh", (rows,))] if bias else []
                shapes += [("weight_hr", (proj_size, hidden_size))] if proj_size else []
                for name, sizes in shapes:
                    full = f"{name}_l{layer}{suffix}"
                    self._flat_weights_names.append(full)
                    parameter = fresh.parameter(*sizes, dtype=dtype, device=device)
                    self._flat_weights.append(parameter)
                    setattr(self, full, parameter)
        self.reset_parameters()

    def __setattr__(self, name: str, value: Any) -> None:
        names = self.__dict__.get("_flat_weights_names", ())
        if name in names:
            self._flat_weights[names.index(name)] = value
        super().__setattr__(name, value)

    def reset_parameters(self) -> None:
        """Draw new parameters."""
        bound = 1.0 / math.sqrt(self.hidden_size)
        for parameter in self.parameters():
            init.uniform_(parameter, -bound, bound)

    def flatten_parameters(self) -> None:
        """Nothing: parameters lie where they are."""

    @property
    def all_weights(self) -> list[list[Any]]:
        """The parameters by layer and direction."""
        each = len(self._flat_weights) // (self.num_layers * (1 + self.bidirectional))
        return [self._flat_weights[i : i + each] for i in range(0, len(self._flat_weights), each)]

    def extra_repr(self) -> str:
        """The sizes, and what is not as usual."""
        return f"{self.input_size}, {self.hidden_size}" + unusual(
            self, proj_size=0, num_layers=1, bias=True, batch_first=False, dropout=0.0, bidirectional=False
        )

    def _start(self, input: Tensor, batch: int, size: int) -> Tensor:
        """A state of zeros."""
        rows = self.num_layers * (2 if self.bidirectional else 1)
        return F.zeros([rows, batch, size], dtype=input.dtype, device=input.device)


def check_positive(**sizes: int) -> None:
    """Raise ValueError for the first of some sizes, by their names, that is zero or less."""
    for name, size in sizes.items():
        if size <= 0:
            raise ValueError(f"{name} must be greater than zero, got {size}")


def check_input(name: str, input: Tensor) -> None:
    """Raise ValueError for other ranks than (time, batch, features) and (time, features)."""
    if input.dim() != 2 and input.dim() != 3:
        raise ValueError(f"{name}: Expected input to be 2D or 3D, got {input.dim()}D tensor instead")


def check_state(input: Tensor, state: Tensor) -> None:
    """Raise RuntimeError for a state that has a batch where the input has none, or the other way round."""
    if state.dim() != input.dim():
        kind = "batched 3-D" if input.dim() == 3 else "unbatched 2-D"
        raise RuntimeError(f"For {kind} input, hx should also be {input.dim()}-D but got {state.dim()}-D tensor")


def check_sizes(what: str, state: Tensor, sizes: tuple[int, int, int]) -> None:
    """Raise RuntimeError for a state of other sizes than (layers * directions, batch, features)."""
    if tuple(state.shape) != sizes:
        raise RuntimeError(f"{what} {sizes}, got {list(state.shape)}")


def in_order(state: Tensor, order: Tensor | None) -> Tensor:
    """A state's batch in another order."""
    return state if order is None else F.index_select(state, 1, order)


class LSTM(RNNBase):
    """Long short-term memory: Hochreiter and Schmidhuber (1997).

    Args:
        input_size: features of every element of the input.
        hidden_size: features of the hidden state.
        num_layers: how many layers follow each other.
        bias: whether there is a bias.
        batch_first: whether the batch is the first dimension, (batch, time, ...), instead of the second.
        dropout: the probability with which values are dropped while training.
        bidirectional: whether a second network goes over the sequence backwards; its outputs stand behind the
            first's.
        proj_size: features of the hidden state after a projection; 0 for none.
        device: where its tensors are; "cpu".
        dtype: the dtype of its parameters; the default one if None.

    Shape:
        (time, batch, input_size), (batch, time, input_size) with `batch_first`, (time, input_size), or packed, to
        the same with
        hidden_size (twice, if bidirectional) and the last states (layers * directions, batch, hidden_size).

    >>> import flambeau
    >>> output, (h, c) = flambeau.nn.LSTM(3, 4, num_layers=2)(flambeau.ones(5, 2, 3))
    >>> output.shape, h.shape
    (flambeau.Size([5, 2, 4]), flambeau.Size([2, 2, 4]))
    """

    def __init__(
        self, input_size: int, hidden_size: int, num_layers: int = 1, bias: bool = True, batch_first: bool = False,
        dropout: float = 0.0, bidirectional: bool = False, proj_size: int = 0, device: Device | str | None = None,
        dtype: DType | None = None,
    ) -> None:  # fmt: skip
        super().__init__(
            "LSTM", input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional, proj_size, device,
            dtype,
        )  # fmt: skip

    @or_else("_forward_packed")
    def forward(
        self, input: Tensor, hx: tuple[Tensor, Tensor] | None = None
    ) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        """(time, batch, input_size), without the batch, or packed; and the states that it starts with.

        The outputs of all steps, and the last hidden states and memories of all layers and directions.
        """
        if isinstance(input, PackedSequence):
            return self._forward_packed(input, hx)  # in a program, the call itself is of that method
        check_input("LSTM", input)
        is_batched = input.dim() == 3
        batch_dim = 0 if self.batch_first else 1
        x = input if is_batched else input.unsqueeze(batch_dim)
        if hx is None:
            hidden, batch = self.proj_size if self.proj_size > 0 else self.hidden_size, x.size(batch_dim)
            h, c = self._start(x, batch, hidden), self._start(x, batch, self.hidden_size)
        else:
            if not is_scripting() and isinstance(hx, Tensor):
                raise TypeError(NO_MEMORIES)
            h, c = hx
            check_state(input, h)
            check_state(input, c)
            if not is_batched:
                h, c = h.unsqueeze(1), c.unsqueeze(1)
            if not is_scripting() and not is_tracing():
                rows, batch = self.num_layers * (2 if self.bidirectional else 1), x.size(batch_dim)
                hidden = self.proj_size if self.proj_size > 0 else self.hidden_size
                check_sizes("Expected hidden[0] size", h, (rows, batch, hidden))
                check_sizes("Expected hidden[1] size", c, (rows, batch, self.hidden_size))
        output, h, c = F.lstm(
            x, [h, c], self._flat_weights, self.bias, self.num_layers, self.dropout, self.training,
            self.bidirectional, self.batch_first,
        )  # fmt: skip
        if not is_batched:
            return output.squeeze(batch_dim), (h.squeeze(1), c.squeeze(1))
        return output, (h, c)

    def _forward_packed(
        self, input: PackedSequence, hx: tuple[Tensor, Tensor] | None = None
    ) -> tuple[PackedSequence, tuple[Tensor, Tensor]]:
        data, sizes, order, back = input
        if hx is None:
            hidden = self.proj_size if self.proj_size > 0 else self.hidden_size
            batch = int(sizes[0])
            h, c = self._start(data, batch, hidden), self._start(data, batch, self.hidden_size)
        else:
            h, c = in_order(hx[0], order), in_order(hx[1], order)
        output, h, c = F.lstm(
            data, sizes, [h, c], self._flat_weights, self.bias, self.num_layers, self.dropout, self.training,
            self.bidirectional,
        )  # fmt: skip
        return PackedSequence(output, sizes, order, back), (in_order(h, back), in_order(c, back))


class _Plain(RNNBase):
    """Networks whose state is one tensor."""

    @or_else("_forward_packed")
    def forward(self, input: Tensor, hx: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """(time, batch, input_size), without the batch, or packed; and the state that it starts with.

        The outputs of all steps, and the last hidden states of all layers and directions.
        """
        if isinstance(input, PackedSequence):
            return self._forward_packed(input, hx)  # in a program, the call itself is of that method
        check_input("GRU" if self.mode == "GRU" else "RNN", input)
        is_batched = input.dim() == 3
        batch_dim = 0 if self.batch_first else 1
        x = input if is_batched else input.unsqueeze(batch_dim)
        if hx is None:
            h = self._start(x, x.size(batch_dim), self.hidden_size)
        else:
            check_state(input, hx)
            h = hx if is_batched else hx.unsqueeze(1)
            if not is_scripting() and not is_tracing():
                rows = self.num_layers * (2 if self.bidirectional else 1)
                check_sizes("Expected hidden size", h, (rows, x.size(batch_dim), self.hidden_size))
        output, h = self._layers(x, h)
        if not is_batched:
            return output.squeeze(batch_dim), h.squeeze(1)
        return output, h

    def _forward_packed(self, input: PackedSequence, hx: Tensor | None = None) -> tuple[PackedSequence, Tensor]:
        data, sizes, order, back = input
        start = self._start(data, int(sizes[0]), self.hidden_size) if hx is None else in_order(hx, order)
        if self.mode == "GRU":
            output, h = F.gru(
                data, sizes, start, self._flat_weights, self.bias, self.num_layers, self.dropout, self.training,
                self.bidirectional,
            )  # fmt: skip
        elif self.mode == "RNN_TANH":
            output, h = F.rnn_tanh(
                data, sizes, start, self._flat_weights, self.bias, self.num_layers, self.dropout, self.training,
                self.bidirectional,
            )  # fmt: skip
        else:
            output, h = F.rnn_relu(
                data, sizes, start, self._flat_weights, self.bias, self.num_layers, self.dropout, self.training,
                self.bidirectional,
            )  # fmt: skip
        return PackedSequence(output, sizes, order, back), in_order(h, back)

    def _layers(self, x: Tensor, h: Tensor) -> tuple[Tensor, Tensor]:
        """Each network says by which operator."""
        return x, h


class GRU(_Plain):
    """Gated units: Cho et al. (2014).

    Args:
        input_size: features of every element of the input.
        hidden_size: features of the hidden state.
        num_layers: how many layers follow each other.
        bias: whether there is a bias.
        batch_first: whether the batch is the first dimension, (batch, time, ...), instead of the second.
        dropout: the probability with which values are dropped while training.
        bidirectional: whether a second network goes over the sequence backwards; its outputs stand behind the
            first's.
        device: where its tensors are; "cpu".
        dtype: the dtype of its parameters; the default one if None.

    Shape:
        (time, batch, input_size), (batch, time, input_size) with `batch_first`, (time, input_size), or packed, to
        the same with
        hidden_size (twice, if bidirectional) and the last states (layers * directions, batch, hidden_size).

    >>> import flambeau
    >>> output, state = flambeau.nn.GRU(3, 4)(flambeau.ones(5, 2, 3))
    >>> output.shape, state.shape
    (flambeau.Size([5, 2, 4]), flambeau.Size([1, 2, 4]))
    """

    def __init__(
        self, input_size: int, hidden_size: int, num_layers: int = 1, bias: bool = True, batch_first: bool = False,
        dropout: float = 0.0, bidirectional: bool = False, device: Device | str | None = None,
        dtype: DType | None = None,
    ) -> None:  # fmt: skip
        super().__init__(
            "GRU", input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional, 0, device, dtype
        )

    def _layers(self, x: Tensor, h: Tensor) -> tuple[Tensor, Tensor]:
        return F.gru(
            x, h, self._flat_weights, self.bias, self.num_layers, self.dropout, self.training, self.bidirectional,
            self.batch_first,
        )  # fmt: skip


class RNN(_Plain):
    """tanh(W x + b + U h + c), or relu of it: Elman (1990). Raises ValueError for another nonlinearity.

    Args:
        input_size: features of every element of the input.
        hidden_size: features of the hidden state.
        num_layers: how many layers follow each other.
        nonlinearity: "tanh" or "relu".
        bias: whether there is a bias.
        batch_first: whether the batch is the first dimension, (batch, time, ...), instead of the second.
        dropout: the probability with which values are dropped while training.
        bidirectional: whether a second network goes over the sequence backwards; its outputs stand behind the
            first's.
        device: where its tensors are; "cpu".
        dtype: the dtype of its parameters; the default one if None.

    Shape:
        (time, batch, input_size), (batch, time, input_size) with `batch_first`, (time, input_size), or packed, to
        the same with
        hidden_size (twice, if bidirectional) and the last states (layers * directions, batch, hidden_size).

    >>> import flambeau
    >>> output, state = flambeau.nn.RNN(3, 4)(flambeau.ones(5, 2, 3))
    >>> output.shape, state.shape
    (flambeau.Size([5, 2, 4]), flambeau.Size([1, 2, 4]))
    """

    def __init__(
        self, input_size: int, hidden_size: int, num_layers: int = 1, nonlinearity: str = "tanh", bias: bool = True,
        batch_first: bool = False, dropout: float = 0.0, bidirectional: bool = False,
        device: Device | str | None = None, dtype: DType | None = None,
    ) -> None:  # fmt: skip
        if nonlinearity not in ("tanh", "relu"):
            raise ValueError(f"Unknown nonlinearity '{nonlinearity}'. Select from 'tanh' or 'relu'.")
        super().__init__(
            f"RNN_{nonlinearity.upper()}", input_size, hidden_size, num_layers, bias, batch_first, dropout,
            bidirectional, 0, device, dtype,
        )  # fmt: skip
        self.nonlinearity = nonlinearity

    def _layers(self, x: Tensor, h: Tensor) -> tuple[Tensor, Tensor]:
        if self.mode == "RNN_TANH":
            return F.rnn_tanh(
                x, h, self._flat_weights, self.bias, self.num_layers, self.dropout, self.training, self.bidirectional,
                self.batch_first,
            )  # fmt: skip
        return F.rnn_relu(
            x, h, self._flat_weights, self.bias, self.num_layers, self.dropout, self.training, self.bidirectional,
            self.batch_first,
        )  # fmt: skip
