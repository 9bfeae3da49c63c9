"""Operators that load where integers say: rows of a table, places along a dimension."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flambeau.codegen.lower.folds import dims_over
from flambeau.codegen.lower.recorder import cast
from flambeau.codegen.lower.rows import Arguments
from flambeau.codegen.lower.values import Expr, LoweringError, indexed, view


def places_of(index: Any) -> Expr:
    """The indices as int64."""
    if not isinstance(index, Expr) or index.dtype not in ("int64", "int32"):
        raise LoweringError("indices are int64 or int32")
    return cast(index, "int64")


def embedding(arguments: Arguments) -> Expr:
    """Row `indices[...]` of the table."""
    table, index = arguments["weight"], places_of(arguments["indices"])
    if len(table.dims) != 2:
        raise LoweringError("a table has 2 dimensions")
    return indexed(table, {0: spread(index, 0, 1)}, (*index.dims, table.dims[1]))


def index_select(arguments: Arguments) -> Expr:
    """The named places along one dimension."""
    table, index = arguments["self"], places_of(arguments["index"])
    if not table.dims or len(index.dims) != 1:
        raise LoweringError("places along one dimension")
    [at] = dims_over(table, arguments["dim"])
    dims = (*table.dims[:at], index.dims[0], *table.dims[at + 1 :])
    return indexed(table, {at: spread(index, at, len(dims) - at - 1)}, dims)


def gather(arguments: Arguments) -> Expr:
    """Along one dimension the element that the index names at each place; the other dimensions are equal."""
    table, index = arguments["self"], places_of(arguments["index"])
    if not table.dims or len(index.dims) != len(table.dims):
        raise LoweringError("as many dimensions of indices as of what they index")
    [at] = dims_over(table, arguments["dim"])
    for k, (mine, theirs) in enumerate(zip(table.dims, index.dims, strict=True)):
        if k != at and (mine is None) != (theirs is None):
            raise LoweringError("other sizes of indices than of what they index")
        if k != at and mine is not None and theirs is not None:
            mine.unify(theirs)
    index = view(index, index.dims, (None,) * len(index.dims))
    return indexed(table, {at: index}, index.dims)


def spread(index: Expr, before: int, after: int) -> Expr:
    """The indices with dimensions of size 1 around theirs."""
    return view(index, (*(None,) * before, *index.dims, *(None,) * after))


GATHERS: dict[str, Callable[[Arguments], Expr]] = {
    "embedding": embedding,
    "index_select": index_select,
    "gather": gather,
}
"""By accumulator."""
