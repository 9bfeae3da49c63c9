"""Means of bags of rows as plans have them: sums, for which there is a native loop, by how many each bag has."""

# ruff: noqa: N803  # F is what bodies call the operators
from __future__ import annotations

from typing import Any

from flambeau.ops.embedding_bags import MEAN, SUM
from flambeau.ops.families.expansion_tables import differentiated, expansions
from flambeau.schema.dtype import float32, float64

_END = (1 << 63) - 1


@differentiated("aten::embedding_bag")
@expansions("aten::embedding_bag")
def _mean(
    F: Any, weight: Any, indices: Any, offsets: Any, by_frequency: Any = False, mode: Any = SUM, sparse: Any = False,
    per_sample_weights: Any = None, has_last: Any = False, *padding: Any,
) -> Any:  # fmt: skip
    """Of bags all of whose rows count: the bags, which bag each index is in, and how many each has, twice."""
    is_plain = type(mode) is int and mode == MEAN and has_last is False and padding in ((), (None,))
    if not is_plain or per_sample_weights is not None or weight.dtype not in (float32, float64):
        return None
    if (weight.ndim, indices.ndim, offsets.ndim) != (2, 1, 1):
        return None
    bags = F.embedding_bag(weight, indices, offsets, by_frequency, SUM, sparse, None, False, *padding)[0]
    count = indices.shape[0]
    last = F.full([1], count, dtype=offsets.dtype)
    sizes = F.clamp_min(F.sub(F.cat([F.slice(offsets, 0, 1, _END, 1), last]), offsets), 0)
    divisors = F.to(F.clamp_min(sizes, 1), weight.dtype)
    owners = F.sub(F.searchsorted(offsets, F.arange(count, dtype=offsets.dtype), right=True), 1)
    owned = F.slice(F.to(owners, indices.dtype), 0, 0, F.minimum(offsets.shape[0], 1) * count, 1)
    sizes = F.to(sizes, indices.dtype)
    return F.div(bags, F.unsqueeze(divisors, 1)), owned, sizes, F.clone(sizes)
