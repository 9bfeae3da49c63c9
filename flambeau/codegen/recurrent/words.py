"""The words of the blocks with which the functions for recurrent layers are called: sizes, bytes and addresses.

A row is a step of one sequence. `table` has two words for each step in the order in which they are gone through: its
first row, and how many rows it has. Addresses of what is not wanted are 0.
"""

from __future__ import annotations

from typing import TypeVar

W = TypeVar("W")
FORWARD = (
    "steps", "table", "units",
    "features",  # of the input that is multiplied step by step; 0 where `start` has its products
    "input", "input_step",
    "start", "start_step",  # biases, or biases with products of the input: where sums begin, and bytes from row to row
    "hidden_bias",  # of the gate whose product with the hidden state is a sum of its own
    "panels", "hidden", "memory",  # states, (batch, shown) and (batch, units), updated
    "output", "output_step",
    "shown",  # numbers of a hidden state: units, or those of a projection
    "product", "projection", "nothing", "cells",  # the function, packed weights, as many zeros, (batch, units); or 0
    "kept",  # of all rows, for the way back: gates and the states before the step, one block after the other; or 0
)  # fmt: skip
PROJECTION = ("product", "projection", "nothing", "cells")
"""Words of `FORWARD` that are of a projection."""
BACKWARD = (
    "steps", "table", "units", "grad_output", "grad_output_step", "grad_hidden", "grad_memory", "kept",
    "grad_gates",  # written: of all rows from `first_row` on
    "first_row", "panels", "grad_bias",  # added to
)  # fmt: skip
PRODUCT = (
    "rows", "folded", "columns", "left", "left_step", "panels",
    "start", "start_step",  # where sums begin; a row whose bytes to the next are 0 stands for all
    "result", "result_step",
)  # fmt: skip
OUTER = ("rows", "left", "left_step", "left_columns", "right", "right_step", "columns", "result", "result_step")
"""The result is added to."""
PACK = ("folded", "columns", "weights", "column_step", "number_step", "panels", "panel_step", "before", "groups")
"""`panel_step`: from the panel of one vector of columns to the next, in vectors; `before`: numbers of the folded axis
that the panel has before these; `groups`: blocks of as many columns, of which each panel has one vector; 1 for panels
of neighbouring vectors."""

ARRANGE = (
    "planes", "rows", "columns",
    "source", "source_plane", "source_row", "source_column",  # 0 for zeros; bytes between neighbours
    "added", "added_plane", "added_row", "added_column",  # 0 for nothing
    "result", "result_plane", "result_row", "result_column",
)  # fmt: skip

TABLES = (
    "steps", "sizes", "size_step",  # how many rows each step has: int64, and bytes from one to the next
    "rows", "batch",  # of all steps, and of the first
    "ahead", "back",  # written: the tables of both directions
    "flag",  # set where the sizes increase, are below 0 or do not fit rows and batch: then the tables hold anything
)  # fmt: skip


def block(order: tuple[str, ...], **words: W) -> list[W]:
    """The words in order, all of which are given.

    >>> block(PACK[:2], columns=2, folded=1)
    [1, 2]
    """
    return [words[name] for name in order]
