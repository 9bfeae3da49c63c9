"""Attention with several heads: Vaswani et al. (2017)."""

from __future__ import annotations

from math import sqrt

from flambeau.ops.families.composite import F
from flambeau.schema.dtype import bool_
from flambeau.tensor.observer import is_tracing
from flambeau.tensor.tensor import Tensor
from flambeau.util.scripting import is_scripting


def as_added(mask: Tensor | None, like: Tensor) -> Tensor | None:
    """A mask as numbers to add: a bool mask hides where it is True."""
    if mask is None:
        return None
    if mask.dtype != bool_:
        return mask
    return F.masked_fill(F.zeros(mask.size(), dtype=like.dtype, device=like.device), mask, float("-inf"))


def both_masks(mask: Tensor | None, padding: Tensor | None, batch: int, heads: int) -> Tensor | None:
    """A mask (L, S) or (batch heads, L, S), and one of padding (batch, S), as one that broadcasts to
    (batch, heads, L, S).
    """
    joined: Tensor | None = None
    if mask is not None:
        joined = F.unsqueeze(mask, 0) if mask.dim() == 2 else F.view(mask, [batch, heads, mask.size(1), mask.size(2)])
    if padding is None:
        return joined
    hidden = F.view(padding, [batch, 1, 1, -1])
    return hidden if joined is None else F.add(joined, hidden)


def one_more_key(mask: Tensor | None) -> Tensor | None:
    """A mask with a column more, which hides nothing."""
    return None if mask is None else F.constant_pad_nd(mask, [0, 1])


def attend(
    q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, dropout_p: float, need_weights: bool, size: int
) -> tuple[Tensor, Tensor | None]:
    """(batch, heads, L or S, size): what each query gets, and if they are needed how much it looks at each key."""
    if not need_weights:
        return F.scaled_dot_product_attention(q, k, v, mask, dropout_p), None
    scores = F.matmul(F.mul(q, sqrt(1.0 / size)), F.transpose(k, -2, -1))
    weights = F.softmax(scores if mask is None else F.add(scores, mask), -1)
    if dropout_p > 0.0:
        weights = F.dropout(weights, dropout_p, True)
    return F.matmul(weights, v), weights


def split_heads(x: Tensor, heads: int) -> Tensor:
    """(L, batch, features) to (batch, heads, L, features / heads)."""
    length, batch, width = x.size(0), x.size(1), x.size(2)
    return F.permute(F.reshape(x, [length, batch, heads, width // heads]), [1, 2, 0, 3])


def swapped(query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The first two dimensions of each the other way round; what is one tensor stays one, as long as it is Python."""
    if not is_scripting() and query is key and key is value:
        x = F.transpose(query, 0, 1)
        return x, x, x
    return F.transpose(query, 0, 1), F.transpose(key, 0, 1), F.transpose(value, 0, 1)


def projected(
    query: Tensor, key: Tensor, value: Tensor, weight: Tensor, bias: Tensor | None
) -> tuple[Tensor, Tensor, Tensor]:
    """All three times their third of a weight (3 features, features), plus that of the bias. Of one sequence that is a
    single product, as long as it runs as Python: the plan of a program sees three.
    """
    if not is_scripting() and not is_tracing() and query is key and key is value:
        q, k, v = F.chunk(F.linear(query, weight, bias), 3, -1)
        return q, k, v
    w_q, w_k, w_v = F.chunk(weight, 3, 0)
    bias_q, bias_key, bias_value = _thirds(bias)
    return F.linear(query, w_q, bias_q), F.linear(key, w_k, bias_key), F.linear(value, w_v, bias_value)


def multi_head_attention_forward(
    query: Tensor, key: Tensor, value: Tensor, embed_dim_to_check: int, num_heads: int, in_proj_weight: Tensor | None,
    in_proj_bias: Tensor | None, bias_k: Tensor | None, bias_v: Tensor | None, add_zero_attn: bool, dropout_p: float,
    out_proj_weight: Tensor, out_proj_bias: Tensor | None, training: bool = True,
    key_padding_mask: Tensor | None = None, need_weights: bool = True, attn_mask: Tensor | None = None,
    use_separate_proj_weight: bool = False, q_proj_weight: Tensor | None = None, k_proj_weight: Tensor | None = None,
    v_proj_weight: Tensor | None = None, average_attn_weights: bool = True, is_causal: bool = False,
) -> tuple[Tensor, Tensor | None]:  # fmt: skip
    """Query (L, batch, embed_dim), key and value (S, batch, ...), or all without the batch.

    The result (L, batch, embed_dim) and, with `need_weights`, how much each query looks at each key: (batch, L, S),
    or (batch, heads, L, S) unless averaged. True in a bool mask hides. Raises RuntimeError for sizes, ranks and masks
    that do not fit, and for `is_causal` without the mask that it is a hint for.

    Args:
        query, key, value: (L, batch, embed_dim), (S, batch, ...) and (S, batch, ...).
        in_proj_weight, in_proj_bias: weights and biases of the three projections, of which there are `num_heads` parts;
            with `use_separate_proj_weight` the weights are `q_proj_weight`, `k_proj_weight` and `v_proj_weight`.
        bias_k, bias_v, add_zero_attn: what is appended to keys and values.
        out_proj_weight, out_proj_bias: the last projection; `dropout_p` of the weights are dropped while training.
        attn_mask, key_padding_mask, is_causal: what is hidden where True, or added to.

    Shape:
        (L, batch, embed_dim), and with `need_weights` (batch, L, S), or each head's unless `average_attn_weights`.

    >>> import flambeau, flambeau.nn.functional as F
    >>> x, layer = flambeau.ones(5, 2, 8), flambeau.nn.MultiheadAttention(8, 4)
    >>> projections = layer.in_proj_weight, layer.in_proj_bias, None, None, False, 0.0
    >>> F.multi_head_attention_forward(x, x, x, 8, 4, *projections, layer.out_proj.weight, layer.out_proj.bias)[0].shape
    flambeau.Size([5, 2, 8])
    """
    is_batched = query.dim() == 3
    check(query, key, value, key_padding_mask, attn_mask, embed_dim_to_check, num_heads, is_causal)
    if not is_batched:
        query, key, value = F.unsqueeze(query, 1), F.unsqueeze(key, 1), F.unsqueeze(value, 1)
        key_padding_mask = None if key_padding_mask is None else F.unsqueeze(key_padding_mask, 0)
    batch = query.size(1)
    if use_separate_proj_weight:
        bias_q, bias_key, bias_value = _thirds(in_proj_bias)
        q = F.linear(query, _given(q_proj_weight, "q_proj_weight"), bias_q)
        k = F.linear(key, _given(k_proj_weight, "k_proj_weight"), bias_key)
        v = F.linear(value, _given(v_proj_weight, "v_proj_weight"), bias_value)
    else:
        q, k, v = projected(query, key, value, _given(in_proj_weight, "in_proj_weight"), in_proj_bias)
    mask, padding = as_added(attn_mask, q), as_added(key_padding_mask, q)
    if bias_k is not None and bias_v is not None:
        k = F.cat([k, F.repeat(bias_k, [1, batch, 1])], 0)
        v = F.cat([v, F.repeat(bias_v, [1, batch, 1])], 0)
        mask, padding = one_more_key(mask), one_more_key(padding)
    if add_zero_attn:
        nothing = F.zeros([1, batch, k.size(2)], dtype=k.dtype, device=k.device)
        k, v = F.cat([k, nothing], 0), F.cat([v, nothing], 0)
        mask, padding = one_more_key(mask), one_more_key(padding)
    attended, weights = attend(
        split_heads(q, num_heads), split_heads(k, num_heads), split_heads(v, num_heads),
        both_masks(mask, padding, batch, num_heads), dropout_p if training else 0.0, need_weights,
        embed_dim_to_check // num_heads,
    )  # fmt: skip
    joined = F.reshape(F.permute(attended, [2, 0, 1, 3]), [q.size(0), batch, embed_dim_to_check])
    output = F.linear(joined, out_proj_weight, out_proj_bias)
    if weights is not None and average_attn_weights:
        weights = F.mean(weights, [1])
    if not is_batched:
        return F.squeeze(output, 1), None if weights is None else F.squeeze(weights, 0)
    return output, weights


def _given(weight: Tensor | None, name: str) -> Tensor:
    assert weight is not None, f"{name} is None; give it, or set use_separate_proj_weight the other way"
    return weight


def _thirds(bias: Tensor | None) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
    if bias is None:
        return None, None, None
    q, k, v = F.chunk(bias, 3, 0)
    return q, k, v


def _check_padding(mask: Tensor, key: Tensor) -> None:
    """Raise RuntimeError for a mask without an element for each key of each element of the batch."""
    rank = key.dim()
    if mask.dim() != rank - 1:
        raise RuntimeError(
            f"For {rank}-D `query`, expected `key_padding_mask` to be None or {rank - 1}-D but found {mask.dim()}-D "
            f"tensor instead"
        )
    if not is_tracing() and (mask.size(-1) != key.size(0) or (mask.dim() == 2 and mask.size(0) != key.size(1))):
        raise RuntimeError(
            f"Expected key_padding_mask to have a row for each element of the batch and an element for each key, "
            f"(batch, S), but got {mask.shape} for a key of {key.shape}"
        )


def _check_mask(mask: Tensor, query: Tensor, key: Tensor, num_heads: int) -> None:
    """Raise RuntimeError for a mask without an element for each query and each key, or for other heads."""
    if mask.dim() != 2 and mask.dim() != 3:
        raise RuntimeError(f"attn_mask's dimension {mask.dim()} is not supported; it is (L, S) or (batch heads, L, S)")
    if is_tracing():
        return
    length, source = query.size(0), key.size(0)
    if mask.dim() == 2 and (mask.size(0) != length or mask.size(1) != source):
        raise RuntimeError(f"The shape of the 2D attn_mask is {mask.shape}, but should be ({length}, {source}).")
    rows = num_heads * (query.size(1) if query.dim() == 3 else 1)
    if mask.dim() == 3 and (mask.size(0) != rows or mask.size(1) != length or mask.size(2) != source):
        raise RuntimeError(
            f"The shape of the 3D attn_mask is {mask.shape}, but should be ({rows}, {length}, {source}): one for each "
            f"head of each element of the batch."
        )


def check(
    query: Tensor, key: Tensor, value: Tensor, key_padding_mask: Tensor | None, attn_mask: Tensor | None,
    embed_dim: int, num_heads: int, is_causal: bool,
) -> None:  # fmt: skip
    """Raise RuntimeError for ranks and masks that do not fit."""
    rank = query.dim()
    if rank != 2 and rank != 3:
        raise RuntimeError(f"query should be unbatched 2D or batched 3D tensor but received {rank}-D query tensor")
    if key.dim() != rank or value.dim() != rank:
        raise RuntimeError(
            f"For {rank}-D `query`, expected `key` and `value` to be {rank}-D but found {key.dim()}-D and "
            f"{value.dim()}-D tensors respectively"
        )
    if key_padding_mask is not None:
        _check_padding(key_padding_mask, key)
    if attn_mask is not None:
        _check_mask(attn_mask, query, key, num_heads)
    if is_causal and attn_mask is None:
        raise RuntimeError("Need attn_mask if specifying the is_causal hint.")
    if not is_tracing() and query.size(-1) != embed_dim:
        raise RuntimeError(f"was expecting embedding dimension of {embed_dim}, but got {query.size(-1)}")
    if embed_dim % num_heads != 0:
        raise RuntimeError(f"embed_dim {embed_dim} not divisible by num_heads {num_heads}")
