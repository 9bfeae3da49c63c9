"""What programs ask NumPy about a value, which its type answers before they run: `np.isscalar`, `np.iterable`.

np.isscalar(x[0])    →    True        np.iterable(x)    →    True
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from flambeau.frontend.emit.values.simple_value import SimpleValue
from flambeau.frontend.emit.values.sugared import Emitter, FormValue, Sugared
from flambeau.frontend.trees.tree_views import Apply
from flambeau.schema.array_type import ArrayType
from flambeau.schema.types import ListType, StringType, TupleType, Type, is_number
from flambeau.util.errors import CompileError

ARGUMENTS: Final = "np.{name} takes one argument, by its place, here"


def _of_value(name: str, function: Callable[[Type], bool]) -> FormValue:
    """A function of a value, which its type answers."""

    def emit(e: Emitter, tree: Apply, hint: Type | None) -> Sugared:
        if tree.keywords or len(tree.args) != 1:
            raise CompileError(ARGUMENTS.format(name=name), tree.range)
        return SimpleValue(e.constant(function(e.value(tree.args[0]).static_type)))

    return FormValue(name, emit)


def _is_scalar(type_: Type) -> bool:
    return is_number(type_) or isinstance(type_, StringType)


def _is_iterable(type_: Type) -> bool:
    has_axes = isinstance(type_, ArrayType) and type_.rank != 0
    return has_axes or isinstance(type_, ListType | TupleType | StringType)


_QUERIES: Final[dict[Any, FormValue]] = {
    np.isscalar: _of_value("isscalar", _is_scalar), np.iterable: _of_value("iterable", _is_iterable),
}  # fmt: skip


def type_query(value: Any) -> FormValue | None:
    """What a function that asks about types is in a program; None for anything else."""
    return _QUERIES.get(value)
