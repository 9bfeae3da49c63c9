"""The words that attention is called with."""

from __future__ import annotations

from typing import Final

from flambeau.codegen.layouts import Layout, words_layout

CALL: Final[Layout] = words_layout(
    "ptr table, i64 q, i64 k, i64 v, i64 mask, i64 y, i64 queries, i64 chunks, i64 keys, i64 features, i64 values, "
    "i64 q_row, i64 q_column, i64 k_row, i64 v_row, i64 v_column, i64 mask_row, i64 mask_column, i64 y_row, "
    "i64 is_causal, double scale"
)
"""``table`` has an `ENTRY` for each matrix of queries; q, k, v, mask and y are words of a launch's block; rows and
columns are bytes between neighbours.
"""
ENTRY: Final[Layout] = words_layout("i64 q, i64 k, i64 v, i64 mask, i64 y")
"""Bytes from the address of each array on to its matrix."""
CALL_AT, BLOCK_WORDS = 6, 7
"""The word of a launch's block with the address of a `CALL`, behind at most four inputs and the output."""
