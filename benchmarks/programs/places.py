"""Elements read and changed where integers say."""

from __future__ import annotations

from flambeau import Tensor


def rows_at(table: Tensor, index: Tensor) -> Tensor:
    return table.index_select(0, index)


def added_at(x: Tensor, index: Tensor, source: Tensor) -> Tensor:
    return x.scatter_add(0, index, source)


def weighted_at(x: Tensor, index: Tensor, source: Tensor) -> Tensor:
    return x.scatter_add(0, index, source.exp() * 0.5)
