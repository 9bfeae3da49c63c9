"""What plans have in the place of some operators where no gradients are asked for: others, which have native forms.

Bodies get the operators and the arguments in the order of the schema; what stands for a tensor knows its dtype and
rank. A body that asks for more than is known leaves the operator as it is.
"""

# ruff: noqa: N803  # F is what bodies call the operators
from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final

from flambeau.ops.attention_layers import allowed
from flambeau.schema.dtype import bool_, int64
from flambeau.schema.rule_tables import RuleTable

expansions: Final = RuleTable[Callable[..., Any]]("what plans have in the place of an operator")


def _triangle(is_upper: bool, F: Any, x: Any, diagonal: Any = 0) -> Any:
    """Zeros where the distance to the diagonal says so."""
    if x.ndim < 2:
        return None
    rows, columns = (F.arange(size, dtype=int64) for size in x.shape[-2:])
    distance = F.sub(columns, F.unsqueeze(rows, 1))
    kept = F.ge(distance, diagonal) if is_upper else F.le(distance, diagonal)
    return F.where(kept, x, False if x.dtype is bool_ else 0)


expansions("aten::triu")(partial(_triangle, True))
expansions("aten::tril")(partial(_triangle, False))


def _self_attention(
    F: Any, x: Any, size: Any, heads: Any, qkv_weight: Any, qkv_bias: Any, weight: Any, bias: Any, mask: Any, kind: Any
) -> Any:  # fmt: skip
    """(batch, length, features); queries, keys and values by one product."""
    joined = F.linear(x, qkv_weight, qkv_bias)
    parts = [F.slice(joined, 2, size * k, size * (k + 1), 1) for k in range(3)]
    q, k, v = [F.transpose(F.unflatten(part, 2, [heads, -1]), 1, 2) for part in parts]
    shown = None if mask is None else allowed(F, mask, kind)
    found = F.scaled_dot_product_attention(q, k, v, shown, 0.0, False)
    return F.linear(F.flatten(F.transpose(found, 1, 2), 2), weight, bias)


@expansions("aten::_transformer_encoder_layer_fwd")
def _encoder_layer(
    F: Any, src: Any, size: Any, heads: Any, qkv_weight: Any, qkv_bias: Any, weight: Any, bias: Any, use_gelu: Any,
    norm_first: Any, eps: Any, norm_weight_1: Any, norm_bias_1: Any, norm_weight_2: Any, norm_bias_2: Any, inner: Any,
    inner_bias: Any, outer: Any, outer_bias: Any, mask: Any, kind: Any,
) -> Any:  # fmt: skip
    """Attention and two linears, each added to what it is of, and layer norms before or behind."""
    if src.ndim != 3:
        return None

    def norm(x: Any, weight: Any, bias: Any) -> Any:
        return F.layer_norm(x, [size], weight, bias, eps)

    def attention(x: Any) -> Any:
        return _self_attention(F, x, size, heads, qkv_weight, qkv_bias, weight, bias, mask, kind)

    def forward(x: Any) -> Any:
        hidden = F.linear(x, inner, inner_bias)
        return F.linear(F.gelu(hidden) if use_gelu else F.relu(hidden), outer, outer_bias)

    if norm_first:
        x = F.add(src, attention(norm(src, norm_weight_1, norm_bias_1)))
        return F.add(x, forward(norm(x, norm_weight_2, norm_bias_2)))
    x = norm(F.add(src, attention(src)), norm_weight_1, norm_bias_1)
    return norm(F.add(x, forward(x)), norm_weight_2, norm_bias_2)
