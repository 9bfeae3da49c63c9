"""The formulas of attention: scores are computed again on the way back, from the operands that were kept."""

from __future__ import annotations

from typing import Any

from flambeau.ops.derivatives.attention_blocks import attention_blocks
from flambeau.schema.gradient import formulas, together


def _hidden(f: Any, scores: Any, mask: Any, is_causal: bool) -> Any:
    """Where a query may not look, of masks of truths; None where it is free to. A mask says what is causal of a block
    of rows that are not the first."""
    if is_causal and mask is None:
        return f.triu(f.ones_like(scores), 1) > 0
    return f.logical_not(mask) if mask is not None and not mask.dtype.is_floating_point else None


def _weights(f: Any, scores: Any, mask: Any, hidden: Any, is_causal: bool) -> Any:
    """How much each query looks at each key; rows that may look at nothing have zeros."""
    if hidden is not None:
        scores = f.masked_fill(scores, hidden, float("-inf"))
    elif mask is not None:
        scores = scores + mask
    weights = f.softmax(scores, -1)
    if mask is None or is_causal:
        return weights
    return f.masked_fill(weights, f.all(f.eq(scores, float("-inf")), -1, True), 0.0)


def _attention(
    f: Any, grad: Any, query: Any, key: Any, value: Any, attn_mask: Any, is_causal: bool, scale: float | None
) -> tuple[Any, Any, Any]:
    """Of the query, the key and the value."""
    factor = query.shape[-1] ** -0.5 if scale is None else scale
    scores = f.matmul(query * factor, f.transpose(key, -2, -1))
    hidden = _hidden(f, scores, attn_mask, is_causal)
    weights = _weights(f, scores, attn_mask, hidden, is_causal)
    by_value = f.matmul(f.transpose(weights, -2, -1), grad)
    slope = f.matmul(grad, f.transpose(value, -2, -1)) * weights
    slope = slope - weights * f.sum(slope, [-1], True)
    if hidden is not None:
        slope = f.masked_fill(slope, hidden, 0.0)
    return f.matmul(slope, key) * factor, f.matmul(f.transpose(slope, -2, -1), query) * factor, by_value


formulas(
    "flambeau::scaled_dot_product_attention",
    **together(_attention, "query", "key", "value", is_whole=True, split=attention_blocks),
)
