"""Scaled dot-product attention: softmax(query @ key.T * scale + mask) @ value."""

# ruff: noqa: N803  # F is what bodies call the operators
from __future__ import annotations

from math import sqrt
from typing import Any

from flambeau.ops.families import ranks
from flambeau.ops.families.composite import F as OPERATORS
from flambeau.ops.families.composite import composite
from flambeau.ops.small_tensors import signed
from flambeau.schema.dtype import bool_, float32, float64
from flambeau.schema.opdef import ErrorSample, Sample, Sizes
from flambeau.schema.traits import Traits
from flambeau.schema.types import TensorType
from flambeau.tensor.array_library import np
from flambeau.tensor.dispatch import call, is_intercepted
from flambeau.tensor.grad_mode import is_grad_enabled
from flambeau.tensor.recorder import is_asked
from flambeau.tensor.settled import is_readable
from flambeau.tensor.tensor import Tensor, wrap
from flambeau.util.inversions import ATTENTION


def check(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, is_causal: bool) -> None:
    """Raise RuntimeError for ranks, dtypes and masks that do not fit."""
    if mask is not None and is_causal:
        raise RuntimeError("_scaled_dot_product_attention: Explicit attn_mask should not be set when is_causal=True")
    if not (query.dtype is key.dtype is value.dtype):
        raise RuntimeError(
            f"Expected query, key, and value to have the same dtype, but got query.dtype: {query.dtype.short} "
            f"key.dtype: "
            f"{key.dtype.short} and value.dtype: {value.dtype.short} instead."
        )
    if min(query.ndim, key.ndim, value.ndim) < 2:
        raise RuntimeError(
            f"Expected query, key, and value to all be  at least 2 dimensional, but got query.dim: {query.ndim} "
            f"key.dim: "
            f"{key.ndim} and value.dim: {value.ndim} instead."
        )
    if mask is not None and mask.dtype is not bool_ and mask.dtype is not query.dtype and mask.dtype is not float32:
        raise RuntimeError(
            "Expected attn_mask dtype to be bool or float or to match query dtype, but got attn_mask.dtype: "
            f"{mask.dtype.short} and  query.dtype: {query.dtype.short} instead."
        )


def fourth_root(size: Any) -> Any:
    """Of one over a size, which a graph may know only when it runs."""
    return sqrt(1 / sqrt(max(size, 1))) if isinstance(size, int) else size**-0.25


def attention(
    F: Any, query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None, dropout_p: float, is_causal: bool,
    scale: float | None, enable_gqa: bool,
) -> Any:  # fmt: skip
    """Rows that may look at nothing give zeros."""
    check(query, key, value, attn_mask, is_causal)
    if F is OPERATORS and not dropout_p:
        result = _in_one(query, key, value, attn_mask, is_causal, scale, enable_gqa)
        if result is not None:
            return result
    q, k, v = (tuple(t.shape) for t in (query, key, value))
    if enable_gqa:
        key = F.repeat_interleave(key, q[-3] // k[-3], -3)
        value = F.repeat_interleave(value, q[-3] // v[-3], -3)
    factor = fourth_root(q[-1]) if scale is None else sqrt(abs(scale))
    sign = -1.0 if scale is not None and scale < 0 else 1.0
    scores = F.matmul(F.mul(query, factor * sign), F.transpose(F.mul(key, factor), -2, -1))
    weights = _weights(F, scores, attn_mask, is_causal)
    if dropout_p > 0:
        weights = F.dropout(weights, dropout_p, True)
    return F.matmul(weights, value)


def _in_one(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, is_causal: bool, scale: float | None,
    enable_gqa: bool,
) -> Tensor | None:  # fmt: skip
    """The result by one call of native code, or of an operator that is one node; None for other calls."""
    tensors = [query, key, value, *([] if mask is None else [mask])]
    if _are_arrays(tensors):
        result = ATTENTION.implementation([t._array for t in tensors], is_causal, scale, enable_gqa)
        if result is not None:
            return wrap(result)
    if not enable_gqa and _are_recorded(query, key, value, mask):
        arguments = (query, key, value, mask, is_causal, scale)
        return call("flambeau::scaled_dot_product_attention", *arguments)  # type: ignore[no-any-return]
    return None


def _weights(F: Any, scores: Tensor, mask: Tensor | None, is_causal: bool) -> Any:
    if not is_causal:
        return masked_softmax(F, scores, mask)
    if F is OPERATORS and not is_intercepted() and is_readable(scores):
        return call("flambeau::causal_softmax", scores)
    return masked_softmax(F, scores, F.tril(F.ones([scores.shape[-2], scores.shape[-1]], dtype=bool_)))


def _are_arrays(tensors: list[Tensor]) -> bool:
    """Whether nobody watches what is done with tensors."""
    is_recorded = is_grad_enabled() and is_asked(tensors)
    return not is_intercepted() and not is_recorded and all(map(is_readable, tensors))


def _are_recorded(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None) -> bool:
    """Whether gradients of these by nothing but the operands are all that somebody asks for, and they are one node."""
    operands = (query, key, value)
    if not is_grad_enabled() or not is_asked(operands) or is_intercepted() or query.dtype not in (float32, float64):
        return False
    if mask is not None and (is_asked([mask]) or not is_readable(mask)):
        return False
    return all(map(is_readable, operands)) and query.shape[:-2] == key.shape[:-2] == value.shape[:-2]


def masked_softmax(F: Any, scores: Tensor, mask: Tensor | None) -> Any:
    """Softmax over the last dimension of what a bool mask allows, or with a float mask added."""
    if mask is None:
        return F.softmax(scores, -1)
    if mask.dtype is bool_:
        allowed = F.masked_fill(scores, F.logical_not(mask), float("-inf"))
    else:
        allowed = F.add(scores, F.to(mask, scores.dtype))
    weights = F.softmax(allowed, -1)
    hidden = F.all(F.eq(allowed, float("-inf")), -1, True)
    return F.masked_fill(weights, hidden, 0.0)


def attention_shape(query: TensorType, value: TensorType) -> Sizes | None:
    """The query's sizes, with the value's last."""
    if query.sizes is None or value.sizes is None:
        return None
    return (*query.sizes[:-1], value.sizes[-1])


def reference(query: Any, key: Any, value: Any) -> Any:
    """By the definition."""
    scores = query.astype(np.float64) @ key.swapaxes(-1, -2) / sqrt(query.shape[-1])
    powers = np.exp(scores - scores.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True) @ value


composite(
    "aten::scaled_dot_product_attention(Tensor query, Tensor key, Tensor value, Tensor? attn_mask=None, "
    "float dropout_p=0., bool is_causal=False, *, float? scale=None, bool enable_gqa=False) -> Tensor",
    body=attention,
    traits=Traits(has_routine=True, draws_by="dropout_p"),
    doc="softmax(query @ key.T * scale + mask) @ value; `scale` is 1 / sqrt(query.size(-1)) by default.",
    dtype=lambda query: query.dtype,
    shape=lambda query: ranks.self_rank(query),
    samples=lambda: [
        Sample(args=(signed(2, 3, 4), signed(2, 5, 4), signed(2, 5, 6))),
    ],
    errors=lambda: [
        ErrorSample(args=(signed(3), signed(2, 3), signed(2, 3)), error=RuntimeError, message="at least 2 dimensional"),
    ],
    reference=reference,
    is_function=False,
    namespaces=("nn.functional",),
)
