"""The words that attention is called with."""

from __future__ import annotations

from typing import Final

from flambeau.codegen.layouts import Layout, words_layout

MOST_BATCH: Final = 4
"""Axes of a batch."""
ARRAYS: Final = ("q", "k", "v", "mask")
CALL: Final[Layout] = words_layout(
    "i64 q, i64 k, i64 v, i64 mask, i64 y, i64 matrices, i64 queries, i64 keys, i64 features, i64 values, i64 q_row, "
    "i64 q_column, i64 k_row, i64 v_row, i64 v_column, i64 mask_row, i64 mask_column, i64 k_each, i64 v_each, "
    "i64 is_causal, double scale, "
    + ", ".join(f"i64 {name}_{axis}" for axis in range(MOST_BATCH) for name in ("size", *ARRAYS))
)
"""Words of a launch's block. q, k, v, mask and y are the words with the addresses of these arrays; rows and columns are
bytes between neighbours. Of each axis of a batch, the last of which is that of heads, there are its size and the bytes
between neighbours; one head of keys serves ``k_each`` heads of queries.
"""
CALL_AT: Final = 6
"""The word with the first of them, behind at most four inputs and the output."""
BLOCK_WORDS: Final = CALL_AT + CALL.words
