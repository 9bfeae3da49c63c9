"""Attention as one operator, where gradients are recorded: one node, which keeps the operands and no scores."""

from __future__ import annotations

from flambeau.ops.attention import attention_shape
from flambeau.ops.causal_softmax import causal_softmax_kernel
from flambeau.ops.families.arrays import Array
from flambeau.ops.families.opaque import declare
from flambeau.ops.small_tensors import signed
from flambeau.ops.softmax import softmax_kernel
from flambeau.schema.opdef import Sample
from flambeau.tensor.array_library import np
from flambeau.util import blas
from flambeau.util.inversions import ATTENTION


def attention_kernel(
    query: Array, key: Array, value: Array, attn_mask: Array | None, is_causal: bool, scale: float | None
) -> Array:
    """Arrays of one dtype with the same leading sizes; rows that may look at nothing give zeros."""
    arrays = [query, key, value, *([] if attn_mask is None else [attn_mask])]
    result: Array | None = ATTENTION.implementation(arrays, is_causal, scale, False)
    return _by_products(query, key, value, attn_mask, is_causal, scale) if result is None else result


def _by_products(
    query: Array, key: Array, value: Array, mask: Array | None, is_causal: bool, scale: float | None
) -> Array:
    """Attention by products of matrices, where no native code is at hand."""
    factor = query.dtype.type(query.shape[-1] ** -0.5 if scale is None else scale)
    with np.errstate(all="ignore"):
        scores = blas.matmul(query * factor, key.swapaxes(-1, -2))
        if is_causal:
            return np.asarray(blas.matmul(causal_softmax_kernel(scores), value))
        if mask is None:
            return np.asarray(blas.matmul(softmax_kernel(scores, -1), value))
        if mask.dtype == np.bool_:
            scores = np.where(mask, scores, scores.dtype.type(-np.inf))
        else:
            scores = scores + mask.astype(scores.dtype)
        hidden = (scores == -np.inf).all(axis=-1, keepdims=True)
        return np.asarray(blas.matmul(np.where(hidden, 0, softmax_kernel(scores, -1)), value))


declare(
    "flambeau::scaled_dot_product_attention(Tensor query, Tensor key, Tensor value, Tensor? attn_mask, bool is_causal, "
    "float? scale) -> Tensor",
    kernel=attention_kernel,
    doc="softmax(query @ key.T * scale + attn_mask) @ value, as one operator.",
    dtype=lambda query: query.dtype,
    shape=attention_shape,
    samples=lambda: [
        Sample(args=(signed(2, 3, 4), signed(2, 5, 4), signed(2, 5, 6), None, False, None)),
        Sample(args=(signed(2, 3, 4), signed(2, 3, 4), signed(2, 3, 4), None, True, 0.5)),
    ],
    is_method=False,
    is_function=False,
)
