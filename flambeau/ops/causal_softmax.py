"""Softmax along the last axis of which each row sees its own place and those before: one operator, where a mask would
be made, negated and filled in, and looked for rows without anything."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from flambeau.ops.families.arrays import Array, reduce_with, widened
from flambeau.ops.families.opaque import declare
from flambeau.ops.softmax import ULP
from flambeau.schema.opdef import Sample
from flambeau.tensor.array_library import is_on_device, np
from flambeau.tensor.tensor import wrap

MOST_KEPT = 1 << 16
"""Elements of masks that are kept for calls of the same sizes."""


def _seen(rows: int, columns: int) -> Array:
    return np.tri(rows, columns, dtype=np.bool_)


_kept_mask = lru_cache(maxsize=16)(_seen)


def causal_softmax_kernel(self: Array) -> Array:
    """Zeros where nothing is seen but elements that are -inf."""
    rows, columns = self.shape[-2:]
    if not self.size:
        return np.empty(self.shape, self.dtype)
    is_kept = rows * columns <= MOST_KEPT and not is_on_device()
    mask = (_kept_mask if is_kept else _seen)(rows, columns)
    powers = np.where(mask, widened(self), widened(self).dtype.type(-np.inf))
    top = reduce_with(np.maximum, powers, axis=-1, keepdims=True)
    with np.errstate(all="ignore"):
        powers -= np.where(top == -np.inf, 0, top)
        np.exp(powers, out=powers)
        total = reduce_with(np.add, powers, axis=-1, keepdims=True)
        powers /= np.where(total == 0, 1, total)
    return powers.astype(self.dtype, copy=False)


def _reference(self: Any) -> Any:
    mask = np.tri(*self.shape[-2:]) > 0
    powers = np.where(mask, np.exp(self.astype(np.float64) - self.max()), 0)
    return powers / powers.sum(-1, keepdims=True)


declare(
    "flambeau::causal_softmax(Tensor self) -> Tensor",
    kernel=causal_softmax_kernel,
    doc="Softmax along the last axis, of which each row sees the places up to its own; zeros behind.",
    dtype=lambda self: self.dtype,
    shape=lambda self: self.sizes,
    samples=lambda: [Sample(args=(wrap(np.arange(24, dtype=np.float32).reshape(2, 3, 4) * 7 % 5),))],
    reference=_reference,
    ulp=ULP,
    is_method=False,
    is_function=False,
)
