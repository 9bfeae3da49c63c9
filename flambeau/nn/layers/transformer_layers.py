"""One layer of a transformer: attention and a network of two linear layers, each added to its input and normalised."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from flambeau.nn import functional
from flambeau.nn.layers.attention import MultiheadAttention
from flambeau.nn.layers.dropout import Dropout
from flambeau.nn.layers.linear import Linear
from flambeau.nn.layers.normalisation import LayerNorm
from flambeau.nn.module import Module
from flambeau.schema.device import Device
from flambeau.schema.dtype import DType
from flambeau.tensor.tensor import Tensor

Activation = str | Callable[[Tensor], Tensor]


def activation_of(activation: Activation) -> Any:
    """The function of a name. Raises RuntimeError for another name than relu and gelu."""
    if not isinstance(activation, str):
        return activation
    if activation == "relu":
        return functional.relu
    if activation == "gelu":
        return functional.gelu
    raise RuntimeError(f"activation should be relu/gelu, not {activation}")


class _TransformerLayer(Module):
    __constants__ = ["norm_first"]
    HAS_MEMORY: ClassVar[bool]
    """Whether it looks at another sequence, too."""

    def __init__(
        self, d_model: int, nhead: int, dim_feedforward: int = 2048, dropout: float = 0.1,
        activation: Activation = functional.relu, layer_norm_eps: float = 1e-5, batch_first: bool = False,
        norm_first: bool = False, bias: bool = True, device: Device | str | None = None, dtype: DType | None = None,
    ) -> None:  # fmt: skip
        super().__init__()
        where: dict[str, Any] = {"device": device, "dtype": dtype}
        self.self_attn = MultiheadAttention(d_model, nhead, dropout, bias, batch_first=batch_first, **where)
        if self.HAS_MEMORY:
            self.multihead_attn = MultiheadAttention(d_model, nhead, dropout, bias, batch_first=batch_first, **where)
        self.linear1 = Linear(d_model, dim_feedforward, bias, **where)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, bias, **where)
        self.norm_first = norm_first
        self.norm1 = LayerNorm(d_model, layer_norm_eps, bias=bias, **where)
        self.norm2 = LayerNorm(d_model, layer_norm_eps, bias=bias, **where)
        if self.HAS_MEMORY:
            self.norm3 = LayerNorm(d_model, layer_norm_eps, bias=bias, **where)
        self.dropout1 = Dropout(dropout)
        self.dropout2 = Dropout(dropout)
        if self.HAS_MEMORY:
            self.dropout3 = Dropout(dropout)
        self.activation = activation_of(activation)

    def _sa_block(self, x: Tensor, mask: Tensor | None, padding: Tensor | None, is_causal: bool) -> Tensor:
        output = self.self_attn(
            x, x, x, key_padding_mask=padding, need_weights=False, attn_mask=mask, is_causal=is_causal
        )
        return self.dropout1(output[0])


class TransformerEncoderLayer(_TransformerLayer):
    """Attention to the sequence itself, and a network: Vaswani et al. (2017); `norm_first` as in later models.

    Args:
        d_model: features of every element of the sequences.
        nhead: the number of heads, which divides `d_model`.
        dim_feedforward: features between the two linear layers.
        dropout: the probability with which values are dropped while training.
        activation: "relu", "gelu", or a function: what stands between the two linear layers.
        layer_norm_eps: `eps` of the normalisations.
        batch_first: whether the batch is the first dimension, (batch, time, ...), instead of the second.
        norm_first: whether normalisations stand before attention and network, not behind.
        bias: whether there is a bias.
        device: where its tensors are; "cpu".
        dtype: the dtype of its parameters; the default one if None.

    Shape:
        (S, batch, d_model), batch first with `batch_first`; it stays.

    >>> import flambeau
    >>> flambeau.nn.TransformerEncoderLayer(8, 2, 16)(flambeau.ones(5, 2, 8)).shape
    flambeau.Size([5, 2, 8])
    """

    HAS_MEMORY = False

    def forward(
        self, src: Tensor, src_mask: Tensor | None = None, src_key_padding_mask: Tensor | None = None,
        is_causal: bool = False,
    ) -> Tensor:  # fmt: skip
        """(S, batch, d_model), with `batch_first` the batch first, or without; the shape stays."""
        x = src
        if self.norm_first:
            x = x + self._sa_block(self.norm1(x), src_mask, src_key_padding_mask, is_causal)
            return x + self._ff_block(self.norm2(x))
        x = self.norm1(x + self._sa_block(x, src_mask, src_key_padding_mask, is_causal))
        return self.norm2(x + self._ff_block(x))

    def _ff_block(self, x: Tensor) -> Tensor:
        return self.dropout2(self.linear2(self.dropout(self.activation(self.linear1(x)))))


class TransformerDecoderLayer(_TransformerLayer):
    """Attention to the sequence itself, then to another one, and a network: Vaswani et al. (2017).

    Args:
        d_model: features of every element of the sequences.
        nhead: the number of heads, which divides `d_model`.
        dim_feedforward: features between the two linear layers.
        dropout: the probability with which values are dropped while training.
        activation: "relu", "gelu", or a function: what stands between the two linear layers.
        layer_norm_eps: `eps` of the normalisations.
        batch_first: whether the batch is the first dimension, (batch, time, ...), instead of the second.
        norm_first: whether normalisations stand before attention and network, not behind.
        bias: whether there is a bias.
        device: where its tensors are; "cpu".
        dtype: the dtype of its parameters; the default one if None.

    Shape:
        (T, batch, d_model) and the encoder's result (S, batch, d_model), batch first with `batch_first`; to the
        shape of the first.

    >>> import flambeau
    >>> flambeau.nn.TransformerDecoderLayer(8, 2, 16)(flambeau.ones(3, 2, 8), flambeau.ones(5, 2, 8)).shape
    flambeau.Size([3, 2, 8])
    """

    HAS_MEMORY = True

    def forward(
        self, tgt: Tensor, memory: Tensor, tgt_mask: Tensor | None = None, memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None, memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool = False, memory_is_causal: bool = False,
    ) -> Tensor:  # fmt: skip
        """(T, batch, d_model) and what an encoder gave, (S, batch, d_model); the shape of the first stays."""
        x = tgt
        if self.norm_first:
            x = x + self._sa_block(self.norm1(x), tgt_mask, tgt_key_padding_mask, tgt_is_causal)
            x = x + self._mha_block(self.norm2(x), memory, memory_mask, memory_key_padding_mask, memory_is_causal)
            return x + self._ff_block(self.norm3(x))
        x = self.norm1(x + self._sa_block(x, tgt_mask, tgt_key_padding_mask, tgt_is_causal))
        x = self.norm2(x + self._mha_block(x, memory, memory_mask, memory_key_padding_mask, memory_is_causal))
        return self.norm3(x + self._ff_block(x))

    def _mha_block(
        self, x: Tensor, memory: Tensor, mask: Tensor | None, padding: Tensor | None, is_causal: bool
    ) -> Tensor:
        output = self.multihead_attn(
            x, memory, memory, key_padding_mask=padding, need_weights=False, attn_mask=mask, is_causal=is_causal
        )
        return self.dropout2(output[0])

    def _ff_block(self, x: Tensor) -> Tensor:
        return self.dropout3(self.linear2(self.dropout(self.activation(self.linear1(x)))))
