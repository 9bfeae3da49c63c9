"""Names for what layers take as sizes: one number, or one for each dimension."""

from __future__ import annotations

from typing import TypeAlias

from flambeau.util.broadcasting import BroadcastingList1, BroadcastingList2, BroadcastingList3

_size_1_t: TypeAlias = BroadcastingList1[int]
"""A length."""
_size_2_t: TypeAlias = BroadcastingList2[int]
"""A height and a width."""
_size_3_t: TypeAlias = BroadcastingList3[int]
"""A depth, a height and a width."""
_ratio_2_t: TypeAlias = BroadcastingList2[float]
"""Two ratios."""
_ratio_3_t: TypeAlias = BroadcastingList3[float]
"""Three ratios."""

__all__ = ["_ratio_2_t", "_ratio_3_t", "_size_1_t", "_size_2_t", "_size_3_t"]
