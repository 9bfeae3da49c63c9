"""`np.array` of literal lists: numbers of Python and of NumPy side by side, in the dtype that NumPy gives.

np.array([[x[0], 1], [0.5, 2]])    with float32s in `x`    →    aten::tensor([[a, b], [c, d]], dtype=7)    (float64)
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Final

import numpy as np

from flambeau.frontend.emit.container_displays import list_of
from flambeau.frontend.emit.dtype_operands import check_number
from flambeau.frontend.emit.implicit_conversions import pack_list, pack_tuple
from flambeau.frontend.emit.numpy.array_promotion import BY_THE_WAY
from flambeau.frontend.emit.numpy.element_arithmetic import filling
from flambeau.frontend.emit.schema_matching import call_operator
from flambeau.frontend.emit.values.sugared import Emitter
from flambeau.frontend.trees.tree_views import Expr, ListLiteral, Starred, TupleLiteral
from flambeau.ir.graph import Value
from flambeau.schema.dtype import DType, bool_, complex128, float64, from_numpy_dtype, int64
from flambeau.schema.element_type import kinds_of
from flambeau.schema.subtype import unify_all
from flambeau.schema.types import BOOL, COMPLEX, FLOAT, INT, ListType, Type, UnionType
from flambeau.util.errors import CompileError
from flambeau.util.record import dataclass
from flambeau.util.source import SourceRange

OF_PYTHON: Final[dict[Type, DType]] = {FLOAT: float64, INT: int64, BOOL: bool_, COMPLEX: complex128}
"""The dtypes of arrays of Python's numbers."""
Nested = Value | list["Nested"]


@dataclass(slots=True)
class ArrayLiteral:
    """Nested literal lists, as values."""

    items: Nested
    where: SourceRange
    tree: Expr

    @property
    def leaves(self) -> list[Value]:
        """All items that are no literal lists, in order."""
        return _leaves(self.items)

    def is_of_numbers(self) -> bool:
        """Whether all items are numbers, and all lists of one depth have one length."""
        return all(v.static_type in OF_PYTHON for v in self.leaves) and _shape(self.items) is not None

    @property
    def rank(self) -> int:
        """How deeply the lists are nested."""
        return len(_shape(self.items) or ())

    def dtype(self) -> DType:
        """The dtype that NumPy gives. Raises CompileError where it depends on the way which numbers they are."""
        for leaf in self.leaves:
            check_number(leaf, self.where)
        choices = [[k or OF_PYTHON[v.static_type] for k in kinds_of(v.static_type)] for v in self.leaves]
        distinct = {tuple(dict.fromkeys(each)) for each in choices}
        dtypes = {from_numpy_dtype(np.result_type(*(d.numpy for d in each))) for each in product(*distinct)}
        if len(dtypes) > 1:
            names = sorted(d.name for d in dtypes)
            raise CompileError(BY_THE_WAY.format(first=names[0], second=names[-1]), self.where)
        return dtypes.pop()

    def as_list(self, e: Emitter, dtype: DType) -> Value:
        """The nested lists, of numbers as elements of a dtype are made of."""
        return _packed_numbers(e, self.where, self.items, _kind(dtype), self.rank, dtype)

    def as_written(self, e: Emitter) -> Value:
        """The value that the tree is without NumPy around it."""
        return _as_written(e, self.tree, self.items)


def array_literal(e: Emitter, tree: Expr) -> ArrayLiteral | None:
    """Emit the items of nested literal lists; None for other trees, of which nothing is emitted."""
    if not isinstance(tree, ListLiteral | TupleLiteral) or not _is_literal(tree):
        return None
    return ArrayLiteral(_emitted(e, tree), tree.range, tree)


def _is_literal(tree: Expr) -> bool:
    if isinstance(tree, ListLiteral | TupleLiteral):
        return bool(tree.items) and all(map(_is_literal, tree.items))
    return not isinstance(tree, Starred)


def _emitted(e: Emitter, tree: Expr) -> Nested:
    if isinstance(tree, ListLiteral | TupleLiteral):
        return [_emitted(e, item) for item in tree.items]
    return e.value(tree)


def _leaves(items: Nested) -> list[Value]:
    return [items] if isinstance(items, Value) else [v for item in items for v in _leaves(item)]


def _shape(items: Nested) -> tuple[int, ...] | None:
    """The lengths of the lists, from outside in; None where they differ."""
    if isinstance(items, Value):
        return ()
    inner = {_shape(item) for item in items}
    shape = inner.pop()
    return None if inner or shape is None else (len(items), *shape)


def _kind(dtype: DType) -> Type:
    """The type of Python's numbers that elements of a dtype are given as."""
    if dtype.is_complex:
        return COMPLEX
    return FLOAT if dtype.is_floating_point else BOOL if dtype is bool_ else INT


def _packed_numbers(
    e: Emitter, where: SourceRange, items: Nested, kind: Type, depth: int, dtype: DType
) -> Value:
    if isinstance(items, Value):
        if items.static_type == kind:
            return filling(e, where, items, dtype) if e.arrays else items
        return call_operator(e, where, f"aten::{kind.annotation.capitalize()}", [items])
    element = kind
    for _ in range(depth - 1):
        element = ListType(element)
    return pack_list(e, [_packed_numbers(e, where, item, kind, depth - 1, dtype) for item in items], element)


def _as_written(e: Emitter, tree: Expr, items: Nested) -> Value:
    if isinstance(items, Value):
        return items
    assert isinstance(tree, ListLiteral | TupleLiteral)
    values: Sequence[Value] = [_as_written(e, t, item) for t, item in zip(tree.items, items, strict=True)]
    if isinstance(tree, TupleLiteral):
        return pack_tuple(e, values)
    element = unify_all([v.static_type for v in values], default_to_union=True)
    # numbers beside what may be one are no list of mixed items, of which `list_of` would warn
    return list_of(e, tree.range, values, ListType(element) if isinstance(element, UnionType) else None)
