"""Whole attention layers as one operator: what PyTorch's layers call in evaluation, so that archives name them.

Nested tensors, which these layers use for batches of texts of different lengths, do not exist here: asked whether a
batch could be one, the answer is no, and programs go on with padded tensors.
"""

# ruff: noqa: N803  # F is what bodies call the operators
from __future__ import annotations

from math import sqrt
from typing import Any, Final, NoReturn

from flambeau.ops.attention import masked_softmax
from flambeau.ops.families.composite import composite
from flambeau.ops.language.declare import declare
from flambeau.schema.dtype import bool_
from flambeau.schema.opdef import ErrorSample, Sample, Sizes
from flambeau.schema.types import TensorType
from flambeau.tensor.array_library import np
from flambeau.tensor.tensor import Tensor, wrap

NO_NESTED: Final = "there are no nested tensors: keep batches of different lengths padded, with a mask"
_OWN_MASK, _PADDING = 0, 1
"""What a mask is of: positions, the same for all of a batch, or elements of each text of it."""


def layer(
    F: Any, query: Tensor, key: Tensor, value: Tensor, embed_dim: int, num_head: int, qkv_weight: Tensor,
    qkv_bias: Tensor, proj_weight: Tensor, proj_bias: Tensor, mask: Tensor | None, need_weights: bool,
    average_attn_weights: bool, mask_type: int | None,
) -> Any:  # fmt: skip
    """(batch, length, embed_dim) each. Weights that are not wanted are a tensor without elements."""
    if query.ndim != 3 or query.shape[2] != embed_dim:
        raise RuntimeError(f"expected 3-D `query` of {embed_dim} features, got sizes {list(query.shape)}")
    if embed_dim % num_head:
        raise RuntimeError(f"expected {embed_dim} features to be divisible by {num_head} heads")
    parts = zip((query, key, value), F.chunk(qkv_weight, 3), F.chunk(qkv_bias, 3), strict=True)
    q, k, v = [_heads(F, F.linear(x, w, b), num_head) for x, w, b in parts]
    scores = F.matmul(F.mul(q, 1 / sqrt(embed_dim // num_head)), F.transpose(k, -2, -1))
    weights = masked_softmax(F, scores, None if mask is None else allowed(F, mask, mask_type))
    joined = F.flatten(F.transpose(F.matmul(weights, v), 1, 2), 2)
    result = F.linear(joined, proj_weight, proj_bias)
    if not need_weights:
        return result, F.new_empty(result, [0])
    return result, F.mean(weights, [1]) if average_attn_weights else weights


def _layer_shape(
    query: TensorType, key: TensorType, num_head: Any, need_weights: Any, average_attn_weights: Any
) -> tuple[Sizes | None, Sizes | None]:
    if need_weights is False:
        return query.sizes, (0,)
    is_known = need_weights is True and isinstance(average_attn_weights, bool) and isinstance(num_head, int)
    if not is_known or query.sizes is None or key.sizes is None or len(query.sizes) != 3 or len(key.sizes) != 3:
        return query.sizes, None
    heads = () if average_attn_weights else (num_head,)
    return query.sizes, (query.sizes[0], *heads, query.sizes[1], key.sizes[1])


def _heads(F: Any, x: Tensor, count: int) -> Any:
    return F.transpose(F.unflatten(x, 2, [count, -1]), 1, 2)


def allowed(F: Any, mask: Tensor, kind: int | None) -> Any:
    """The mask as attention takes it: True for what may be looked at; (batch, heads, queries, keys) or less."""
    if kind == _PADDING:
        mask = F.unsqueeze(F.unsqueeze(mask, 1), 1)
    elif kind == _OWN_MASK and mask.ndim == 3:
        mask = F.unsqueeze(mask, 1)
    return F.logical_not(mask) if mask.dtype is bool_ else mask


def encoder_layer(
    F: Any, src: Tensor, embed_dim: int, num_heads: int, qkv_weight: Tensor, qkv_bias: Tensor, proj_weight: Tensor,
    proj_bias: Tensor, use_gelu: bool, norm_first: bool, eps: float, norm_weight_1: Tensor, norm_bias_1: Tensor,
    norm_weight_2: Tensor, norm_bias_2: Tensor, ffn_weight_1: Tensor, ffn_bias_1: Tensor, ffn_weight_2: Tensor,
    ffn_bias_2: Tensor, mask: Tensor | None, mask_type: int | None,
) -> Any:  # fmt: skip
    """Attention and two linears, each added to what it is of, and layer norms before or behind."""

    def norm(x: Any, weight: Tensor, bias: Tensor) -> Any:
        return F.layer_norm(x, [embed_dim], weight, bias, eps)

    def attention(x: Any) -> Any:
        operands = (qkv_weight, qkv_bias, proj_weight, proj_bias, mask, False, True, mask_type)
        return layer(F, x, x, x, embed_dim, num_heads, *operands)[0]

    def forward(x: Any) -> Any:
        inner = F.linear(x, ffn_weight_1, ffn_bias_1)
        return F.linear(F.gelu(inner) if use_gelu else F.relu(inner), ffn_weight_2, ffn_bias_2)

    if norm_first:
        x = F.add(src, attention(norm(src, norm_weight_1, norm_bias_1)))
        return F.add(x, forward(norm(x, norm_weight_2, norm_bias_2)))
    x = norm(F.add(src, attention(src)), norm_weight_1, norm_bias_1)
    return norm(F.add(x, forward(x)), norm_weight_2, norm_bias_2)


def _no_nested(*_: Any) -> NoReturn:
    raise RuntimeError(NO_NESTED)


def _numbers(*sizes: int) -> Tensor:
    return wrap(((np.arange(np.prod(sizes), dtype=np.float32) * 37 % 23) / 16 - 0.7).reshape(sizes))


_ATTENTION = (_numbers(12, 4), _numbers(12), _numbers(4, 4), _numbers(4))
_X = _numbers(2, 3, 4)
_PADDED = wrap(np.array([[False, False, True], [False, False, False]]))


def _encoder_sample(norm_first: bool) -> Sample:
    norms = (_numbers(4), _numbers(4)) * 2
    linears = (_numbers(6, 4), _numbers(6), _numbers(4, 6), _numbers(4))
    return Sample(args=(_X, 4, 2, *_ATTENTION, norm_first, norm_first, 1e-5, *norms, *linears))


composite(
    "aten::_native_multi_head_attention(Tensor query, Tensor key, Tensor value, int embed_dim, int num_head, "
    "Tensor qkv_weight, Tensor qkv_bias, Tensor proj_weight, Tensor proj_bias, Tensor? mask=None, "
    "bool need_weights=True, bool average_attn_weights=True, int? mask_type=None) -> (Tensor, Tensor)",
    body=layer,
    doc="A layer of attention with several heads: the result and the weights.",
    dtype=lambda query: (query.dtype, query.dtype),
    shape=_layer_shape,
    samples=lambda: [
        Sample(args=(_X, _X, _X, 4, 2, *_ATTENTION)),
        Sample(args=(_X, _X, _X, 4, 2, *_ATTENTION, _PADDED, True, False, 1)),
    ],
    errors=lambda: [
        ErrorSample(args=(_X[0], _X, _X, 4, 2, *_ATTENTION), error=RuntimeError, message="expected 3-D `query`"),
    ],
    is_function=False,
)
composite(
    "aten::_transformer_encoder_layer_fwd(Tensor src, int embed_dim, int num_heads, Tensor qkv_weight, "
    "Tensor qkv_bias, Tensor proj_weight, Tensor proj_bias, bool use_gelu, bool norm_first, float eps, "
    "Tensor norm_weight_1, Tensor norm_bias_1, Tensor norm_weight_2, Tensor norm_bias_2, Tensor ffn_weight_1, "
    "Tensor ffn_bias_1, Tensor ffn_weight_2, Tensor ffn_bias_2, Tensor? mask=None, int? mask_type=None) -> Tensor",
    body=encoder_layer,
    doc="A layer of a transformer's encoder.",
    dtype=lambda src: src.dtype,
    shape=lambda src: src.sizes,
    samples=lambda: [_encoder_sample(norm_first) for norm_first in (False, True)],
    is_function=False,
)
declare(
    "aten::_nested_tensor_from_mask_left_aligned(Tensor t, Tensor mask) -> bool",
    lambda t, mask: False,
    doc="Whether a padded batch could be a nested tensor: never here.",
)
for _schema in (
    "aten::_nested_tensor_from_mask(Tensor t, Tensor mask, bool mask_check=True) -> Tensor",
    "aten::to_padded_tensor(Tensor self, float padding, SymInt[]? output_size=None) -> Tensor",
):
    declare(_schema, _no_nested, doc="There are no nested tensors: raises RuntimeError.")
