"""Functions of NumPy's for arrays, called with numbers alone; and loops over the indexes of arrays.

np.clip(x[i], 0.0, 1.0)           →    library.numbers.clip, compiled for these numbers
np.where(x[i] > 0, x[i], 0.0)     →    a choice between the two, in the dtype that they have together
for i, j in np.ndindex(2, n)      →    library.index_loops.ndindex_2, inlined where the loop is
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from flambeau.frontend.emit.builtins.library_functions import LibraryFunction
from flambeau.frontend.emit.numpy import array_promotion as arrays
from flambeau.frontend.emit.numpy import element_arithmetic as elements
from flambeau.frontend.emit.numpy.unsigned_elements import is_unsigned
from flambeau.frontend.emit.schema_matching import call_operator
from flambeau.frontend.emit.values.simple_value import SimpleValue
from flambeau.frontend.emit.values.sugared import Emitter, FormValue, Given, Sugared
from flambeau.frontend.library import index_loops, numbers
from flambeau.frontend.trees.tree_views import Apply
from flambeau.ir.graph import Value
from flambeau.schema.array_type import ArrayType
from flambeau.schema.types import BOOL, IntType, NumberType, Type, is_number
from flambeau.util.errors import CompileError
from flambeau.util.record import replace
from flambeau.util.source import SourceRange

MOST_AXES: Final = 3
AXES: Final = "np.{name} goes over one to three axes here: write the loops"
SIZES: Final = "np.ndindex takes ints, or a tuple of ints, here: np.ndindex(2, 3)"
ARRAY: Final = "np.ndenumerate takes one array, whose number of axes is known"
_IN_LANGUAGE: Final[dict[str, Any]] = {
    "clip": numbers.clip, "round": numbers.rounded, "around": numbers.rounded, "isclose": numbers.isclose,
}  # fmt: skip
_OF_SEVERAL: Final = frozenset({"dot", "inner", "outer", "matmul", "cross", "kron", "tensordot", "where"})
"""Functions of several arrays that are no ufuncs."""
_FOLDS: Final = frozenset({
    "sum", "prod", "mean", "std", "var", "max", "min", "amax", "amin", "ptp", "any", "all", "argmax", "argmin",
    "cumsum", "cumprod", "nan_to_num", "size", "ndim", "shape", "ravel", "squeeze", "count_nonzero", "broadcast_to",
    "repeat", "tile",
})  # fmt: skip
"""Functions of arrays to which a number is an array without dimensions."""
_WHOLE: Final = frozenset({"round", "around"})
"""Functions that leave ints as they are."""


def of_numbers_alone(
    e: Emitter, where: SourceRange, name: str, args: Sequence[Given], keywords: Sequence[Given]
) -> Sugared | None:
    """A call with numbers alone of a function for arrays; None for others."""
    values = [g.value for g in (*args, *keywords)]
    if not values or not all(is_number(v.static_type) and not isinstance(v.static_type, NumberType) for v in values):
        return None
    if name == "where" and len(args) == 3 and not keywords:
        return SimpleValue(_chosen(e, where, *values))
    if name in _WHOLE and isinstance(values[0].static_type, IntType) and len(values) == 1:
        return SimpleValue(values[0])
    python = _IN_LANGUAGE.get(name)
    return None if python is None else _in_language(e, where, python, args, keywords)


def with_array(e: Emitter, where: SourceRange, name: str, args: Sequence[Given]) -> Sequence[Given]:
    """The arguments of a function of arrays, in a program on these: of lists of numbers, arrays; of a number that is
    folded, the array without dimensions.
    """
    if not e.arrays or not args:
        return args
    operands = len(args) if name in _OF_SEVERAL or isinstance(getattr(np, name, None), np.ufunc) else 1
    listed = [replace(a, value=arrays.array_of_list(e, where, a.value)) for a in args[:operands]]
    args = [*listed, *args[operands:]]
    if name not in _FOLDS:
        return args
    number = args[0].value
    if not is_number(number.static_type) or isinstance(number.static_type, NumberType) or is_unsigned(number):
        return args
    array = arrays.array_of_number(e, number, arrays.dtype_of(where, np.asarray, number))
    return [replace(args[0], value=array), *args[1:]]


def rounded(e: Emitter, where: SourceRange, args: Sequence[Given], keywords: Sequence[Given]) -> Sugared:
    """A number of an array with so many decimals, as NumPy's scalars round."""
    return _in_language(e, where, numbers.rounded, args, [replace(k, name="decimals") for k in keywords])


def _in_language(
    e: Emitter, where: SourceRange, python: Any, args: Sequence[Given], keywords: Sequence[Given]
) -> Sugared:
    return FormValue(python.__name__, LibraryFunction(python).call_tree).call(e, where, args, keywords)


def _chosen(e: Emitter, where: SourceRange, condition: Value, first: Value, second: Value) -> Value:
    """One of two numbers, in the dtype of their sum."""
    dtype = arrays.dtype_of(where, np.add, first, second)
    ways = [elements.number_as(e, where, v, dtype) for v in (first, second)]
    if condition.static_type != BOOL:
        condition = call_operator(e, where, "aten::Bool", [condition])
    node = e.insert("prim::If", (condition,), ways[0].static_type)
    for way in ways:
        node.add_block().add_return(way)
    return node.result()


def index_loop(value: Any) -> FormValue | None:
    """What `np.ndindex` and `np.ndenumerate` are in a program; None for anything else."""
    forms: dict[Any, tuple[str, Callable[..., Sugared]]] = {
        np.ndindex: ("ndindex", _ndindex), np.ndenumerate: ("ndenumerate", _ndenumerate),
    }  # fmt: skip
    known = forms.get(value) if isinstance(value, type) else None
    return None if known is None else FormValue(*known)


def _ndindex(e: Emitter, tree: Apply, hint: Type | None) -> Sugared:
    where, first = tree.range, [e.sugared(a) for a in tree.args]
    if len(first) == 1 and not (isinstance(first[0], SimpleValue) and is_number(first[0].value.static_type)):
        first = first[0].as_tuple(e, where)
    sizes = [s.as_value(e, where) for s in first]
    if tree.keywords or not sizes or not all(isinstance(s.static_type, IntType) for s in sizes):
        raise CompileError(SIZES, where)
    return _generator(e, where, "ndindex", len(sizes), [Given(s, where) for s in sizes])


def _ndenumerate(e: Emitter, tree: Apply, hint: Type | None) -> Sugared:
    values = [e.value(a) for a in tree.args]
    type_ = values[0].static_type if len(values) == 1 and not tree.keywords else None
    if not isinstance(type_, ArrayType) or type_.rank is None:
        raise CompileError(ARRAY, tree.range)
    return _generator(e, tree.range, "ndenumerate", type_.rank, [Given(values[0], tree.range)])


def _generator(e: Emitter, where: SourceRange, name: str, rank: int, args: Sequence[Given]) -> Sugared:
    if not 1 <= rank <= MOST_AXES:
        raise CompileError(AXES.format(name=name), where)
    return e.wrap(getattr(index_loops, f"{name}_{rank}"), where).call(e, where, args, ())
