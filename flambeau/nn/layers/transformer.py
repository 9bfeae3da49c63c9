"""Transformers: Vaswani et al. (2017)."""

from __future__ import annotations

import copy
from typing import Any

from flambeau.nn import functional, init
from flambeau.nn.container import ModuleList
from flambeau.nn.layers.normalisation import LayerNorm
from flambeau.nn.layers.transformer_layers import Activation, TransformerDecoderLayer, TransformerEncoderLayer
from flambeau.nn.module import Module
from flambeau.ops.families.composite import F
from flambeau.schema.device import Device
from flambeau.schema.dtype import DType
from flambeau.tensor.observer import is_tracing
from flambeau.tensor.tensor import Tensor


class TransformerEncoder(Module):
    """Copies of a layer, one after the other, and perhaps a normalisation at the end.

    The last two parameters are there for PyTorch's callers: nothing here depends on them.

    Args:
        encoder_layer: the layer that is copied.
        num_layers: how many layers follow each other.
        norm: a normalisation behind the last layer.
        enable_nested_tensor: accepted, without effect.
        mask_check: accepted, without effect.

    Shape:
        (S, batch, d_model), batch first with `batch_first`; it stays.

    >>> import flambeau
    >>> layer = flambeau.nn.TransformerEncoderLayer(8, 2, 16)
    >>> flambeau.nn.TransformerEncoder(layer, 2)(flambeau.ones(5, 2, 8)).shape
    flambeau.Size([5, 2, 8])
    """

    __constants__ = ["num_layers"]

    def __init__(
        self, encoder_layer: Module, num_layers: int, norm: Module | None = None, enable_nested_tensor: bool = True,
        mask_check: bool = True,
    ) -> None:  # fmt: skip
        super().__init__()
        self.layers = ModuleList([copy.deepcopy(encoder_layer) for _ in range(num_layers)])
        self.num_layers = num_layers
        self.norm = norm

    def forward(
        self, src: Tensor, mask: Tensor | None = None, src_key_padding_mask: Tensor | None = None,
        is_causal: bool | None = None,
    ) -> Tensor:  # fmt: skip
        """(S, batch, d_model), with `batch_first` the batch first; the shape stays."""
        output = src
        for layer in self.layers:
            output = layer(
                output, src_mask=mask, src_key_padding_mask=src_key_padding_mask, is_causal=is_causal is True
            )
        if self.norm is not None:
            output = self.norm(output)
        return output


class TransformerDecoder(Module):
    """Copies of a layer, one after the other, and perhaps a normalisation at the end.

    Args:
        decoder_layer: the layer that is copied.
        num_layers: how many layers follow each other.
        norm: a normalisation behind the last layer.

    Shape:
        (T, batch, d_model) and the encoder's result (S, batch, d_model), batch first with `batch_first`; to the
        shape of the first.

    >>> import flambeau
    >>> layer = flambeau.nn.TransformerDecoderLayer(8, 2, 16)
    >>> flambeau.nn.TransformerDecoder(layer, 2)(flambeau.ones(3, 2, 8), flambeau.ones(5, 2, 8)).shape
    flambeau.Size([3, 2, 8])
    """

    __constants__ = ["num_layers"]

    def __init__(self, decoder_layer: Module, num_layers: int, norm: Module | None = None) -> None:
        super().__init__()
        self.layers = ModuleList([copy.deepcopy(decoder_layer) for _ in range(num_layers)])
        self.num_layers = num_layers
        self.norm = norm

    def forward(
        self, tgt: Tensor, memory: Tensor, tgt_mask: Tensor | None = None, memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None, memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool | None = None, memory_is_causal: bool = False,
    ) -> Tensor:  # fmt: skip
        """(T, batch, d_model) and what an encoder gave; the shape of the first stays."""
        output = tgt
        for layer in self.layers:
            output = layer(
                output, memory, tgt_mask=tgt_mask, memory_mask=memory_mask, tgt_key_padding_mask=tgt_key_padding_mask,
                memory_key_padding_mask=memory_key_padding_mask, tgt_is_causal=tgt_is_causal is True,
                memory_is_causal=memory_is_causal,
            )  # fmt: skip
        if self.norm is not None:
            output = self.norm(output)
        return output


class Transformer(Module):
    """An encoder and a decoder.

    Args:
        d_model: features of every element of the sequences.
        nhead: the number of heads, which divides `d_model`.
        num_encoder_layers: layers of the encoder.
        num_decoder_layers: layers of the decoder.
        dim_feedforward: features between the two linear layers.
        dropout: the probability with which values are dropped while training.
        activation: "relu", "gelu", or a function: what stands between the two linear layers.
        custom_encoder: a module in the encoder's place.
        custom_decoder: a module in the decoder's place.
        layer_norm_eps: `eps` of the normalisations.
        batch_first: whether the batch is the first dimension, (batch, time, ...), instead of the second.
        norm_first: whether normalisations stand before attention and network, not behind.
        bias: whether there is a bias.
        device: where its tensors are; "cpu".
        dtype: the dtype of its parameters; the default one if None.

    Shape:
        (S, batch, d_model) and (T, batch, d_model), batch first with `batch_first`; to the shape of the second.

    >>> import flambeau
    >>> model = flambeau.nn.Transformer(8, 2, 1, 1, 16)
    >>> model(flambeau.ones(5, 2, 8), flambeau.ones(3, 2, 8)).shape
    flambeau.Size([3, 2, 8])
    """

    def __init__(
        self, d_model: int = 512, nhead: int = 8, num_encoder_layers: int = 6, num_decoder_layers: int = 6,
        dim_feedforward: int = 2048, dropout: float = 0.1, activation: Activation = functional.relu,
        custom_encoder: Any = None, custom_decoder: Any = None, layer_norm_eps: float = 1e-5,
        batch_first: bool = False, norm_first: bool = False, bias: bool = True, device: Device | str | None = None,
        dtype: DType | None = None,
    ) -> None:  # fmt: skip
        super().__init__()
        where: dict[str, Any] = {"device": device, "dtype": dtype}
        options = (d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first, norm_first, bias)
        if custom_encoder is not None:
            self.encoder = custom_encoder
        else:
            norm = LayerNorm(d_model, layer_norm_eps, bias=bias, **where)
            self.encoder = TransformerEncoder(TransformerEncoderLayer(*options, **where), num_encoder_layers, norm)
        if custom_decoder is not None:
            self.decoder = custom_decoder
        else:
            norm = LayerNorm(d_model, layer_norm_eps, bias=bias, **where)
            self.decoder = TransformerDecoder(TransformerDecoderLayer(*options, **where), num_decoder_layers, norm)
        self._reset_parameters()
        self.d_model = d_model
        self.nhead = nhead
        self.batch_first = batch_first

    def _reset_parameters(self) -> None:
        for parameter in self.parameters():
            if parameter.dim() > 1:
                init.xavier_uniform_(parameter)

    def forward(
        self, src: Tensor, tgt: Tensor, src_mask: Tensor | None = None, tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None, src_key_padding_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None, memory_key_padding_mask: Tensor | None = None,
        src_is_causal: bool | None = None, tgt_is_causal: bool | None = None, memory_is_causal: bool = False,
    ) -> Tensor:  # fmt: skip
        """(S, batch, d_model) and (T, batch, d_model) to the shape of the latter.

        Raises RuntimeError for batches or features that do not fit.
        """
        if not is_tracing() and (src.size(-1) != self.d_model or tgt.size(-1) != self.d_model):
            raise RuntimeError(
                f"the feature number of src and tgt must be equal to d_model ({self.d_model}), got {src.size(-1)} and "
                f"{tgt.size(-1)}"
            )
        batch = 0 if self.batch_first else 1
        if not is_tracing() and src.dim() == 3 and tgt.dim() == 3 and src.size(batch) != tgt.size(batch):
            raise RuntimeError(
                f"the batch number of src and tgt must be equal, got {src.size(batch)} and {tgt.size(batch)}"
            )
        memory = self.encoder(src, mask=src_mask, src_key_padding_mask=src_key_padding_mask, is_causal=src_is_causal)
        return self.decoder(
            tgt, memory, tgt_mask=tgt_mask, memory_mask=memory_mask, tgt_key_padding_mask=tgt_key_padding_mask,
            memory_key_padding_mask=memory_key_padding_mask, tgt_is_causal=tgt_is_causal,
            memory_is_causal=memory_is_causal,
        )  # fmt: skip

    @staticmethod
    def generate_square_subsequent_mask(
        sz: int, device: Device | None = None, dtype: DType | None = None
    ) -> Tensor:
        """(sz, sz): what hides later places, -inf above the diagonal."""
        return F.triu(F.full([sz, sz], float("-inf"), dtype=dtype, device=device), 1)
