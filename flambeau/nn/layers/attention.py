"""Attention with several heads as a layer: Vaswani et al. (2017)."""

from __future__ import annotations

from flambeau.nn import init
from flambeau.nn.functions.attention import multi_head_attention_forward, swapped
from flambeau.nn.layers import fresh
from flambeau.nn.layers.linear import NonDynamicallyQuantizableLinear
from flambeau.nn.module import Module
from flambeau.nn.parameter import Parameter
from flambeau.schema.device import Device
from flambeau.schema.dtype import DType
from flambeau.tensor.tensor import Tensor


class MultiheadAttention(Module):
    """Queries, keys and values are projected (`in_proj_weight`, or one weight each where their sizes differ), compared
    within each head, and what comes of it is projected by `out_proj`.

    Raises ValueError for sizes that are not positive or that the heads do not divide.

    Args:
        embed_dim: features of queries and of the result; a multiple of the number of heads.
        num_heads: the number of heads, which divides `embed_dim`.
        dropout: the probability with which values are dropped while training.
        bias: whether there is a bias.
        add_bias_kv: whether learned vectors are appended to keys and values.
        add_zero_attn: whether a zero is appended to keys and values.
        kdim: features of keys; `embed_dim` if None.
        vdim: features of values; `embed_dim` if None.
        batch_first: whether the batch is the first dimension, (batch, time, ...), instead of the second.
        device: where its tensors are; "cpu".
        dtype: the dtype of its parameters; the default one if None.

    Shape:
        (L, batch, embed_dim), (S, batch, kdim) and (S, batch, vdim), batch first with `batch_first`, to (L, batch,
        embed_dim)
        and the weights (batch, L, S).

    >>> import flambeau
    >>> x = flambeau.ones(5, 2, 8)
    >>> output, weights = flambeau.nn.MultiheadAttention(8, 4)(x, x, x)
    >>> output.shape, weights.shape
    (flambeau.Size([5, 2, 8]), flambeau.Size([2, 5, 5]))
    """

    __constants__ = [
        "batch_first", "embed_dim", "num_heads", "dropout", "add_zero_attn", "_qkv_same_embed_dim", "head_dim",
        "kdim", "vdim",
    ]  # fmt: skip

    def __init__(
        self, embed_dim: int, num_heads: int, dropout: float = 0.0, bias: bool = True, add_bias_kv: bool = False,
        add_zero_attn: bool = False, kdim: int | None = None, vdim: int | None = None, batch_first: bool = False,
        device: Device | str | None = None, dtype: DType | None = None,
    ) -> None:  # fmt: skip
        if embed_dim <= 0 or num_heads <= 0:
            raise ValueError(
                f"embed_dim and num_heads must be greater than 0, got embed_dim={embed_dim} and num_heads={num_heads} "
                "instead"
            )
        if embed_dim % num_heads:
            raise ValueError(f"embed_dim must be divisible by num_heads, got {embed_dim} and {num_heads}")
        super().__init__()
        self.embed_dim = embed_dim
        self.kdim = embed_dim if kdim is None else kdim
        self.vdim = embed_dim if vdim is None else vdim
        self._qkv_same_embed_dim = self.kdim == embed_dim and self.vdim == embed_dim
        self.num_heads = num_heads
        self.dropout = float(dropout)
        self.batch_first = batch_first
        self.head_dim = embed_dim // num_heads
        self.in_proj_weight: Parameter | None
        self.q_proj_weight: Parameter | None
        self.k_proj_weight: Parameter | None
        self.v_proj_weight: Parameter | None
        self.in_proj_bias: Parameter | None
        self.bias_k: Parameter | None
        self.bias_v: Parameter | None
        is_same = self._qkv_same_embed_dim
        for name, sizes, is_used in (
            ("q_proj_weight", (embed_dim, embed_dim), not is_same),
            ("k_proj_weight", (embed_dim, self.kdim), not is_same),
            ("v_proj_weight", (embed_dim, self.vdim), not is_same),
            ("in_proj_weight", (3 * embed_dim, embed_dim), is_same),
            ("in_proj_bias", (3 * embed_dim,), bias),
            ("bias_k", (1, 1, embed_dim), add_bias_kv),
            ("bias_v", (1, 1, embed_dim), add_bias_kv),
        ):
            parameter = fresh.parameter(*sizes, dtype=dtype, device=device) if is_used else None
            self.register_parameter(name, parameter)
        self.out_proj = NonDynamicallyQuantizableLinear(
            embed_dim, embed_dim, bias=bias, device=device, dtype=dtype
        )
        self.add_zero_attn = add_zero_attn
        self._reset_parameters()

    def _reset_parameters(self) -> None:
        for name in ("in_proj_weight", "q_proj_weight", "k_proj_weight", "v_proj_weight"):
            weight = getattr(self, name)
            if weight is not None:
                init.xavier_uniform_(weight)
        for bias in (self.in_proj_bias, self.out_proj.bias):
            if bias is not None:
                init.constant_(bias, 0.0)
        for key in (self.bias_k, self.bias_v):
            if key is not None:
                init.xavier_normal_(key)

    def forward(
        self, query: Tensor, key: Tensor, value: Tensor, key_padding_mask: Tensor | None = None,
        need_weights: bool = True, attn_mask: Tensor | None = None, average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> tuple[Tensor, Tensor | None]:  # fmt: skip
        """(L, batch, embed_dim), (S, batch, kdim) and (S, batch, vdim), with `batch_first` the batch first, or without.

        The result, and with `need_weights` how much each query looks at each key. True in a bool mask hides.
        Raises RuntimeError for ranks and masks that do not fit.
        """
        swaps = self.batch_first and query.dim() == 3
        if swaps:
            query, key, value = swapped(query, key, value)
        output, weights = multi_head_attention_forward(
            query, key, value, self.embed_dim, self.num_heads, self.in_proj_weight, self.in_proj_bias, self.bias_k,
            self.bias_v, self.add_zero_attn, self.dropout, self.out_proj.weight, self.out_proj.bias,
            training=self.training, key_padding_mask=key_padding_mask, need_weights=need_weights, attn_mask=attn_mask,
            use_separate_proj_weight=not self._qkv_same_embed_dim, q_proj_weight=self.q_proj_weight,
            k_proj_weight=self.k_proj_weight, v_proj_weight=self.v_proj_weight,
            average_attn_weights=average_attn_weights, is_causal=is_causal,
        )  # fmt: skip
        return output.transpose(0, 1) if swaps else output, weights
