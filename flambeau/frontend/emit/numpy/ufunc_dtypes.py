"""Ufuncs of arrays by what their dtypes mean: which NumPy refuses, and which leave whole numbers as they are.

np.invert(x)        of float64s    →    refused, as NumPy refuses it
np.floor(x)         of bools       →    aten::clone(%x)
np.reciprocal(x)    of int64s      →    library.array_functions.whole_reciprocal, compiled for these
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Final

import numpy as np

from flambeau.frontend.closures.call_arguments import Argument
from flambeau.frontend.emit.builtins.library_functions import call_library
from flambeau.frontend.emit.numpy.array_promotion import asked, converted, dtype_of, is_array, samples
from flambeau.frontend.emit.schema_matching import call_operator
from flambeau.frontend.emit.values.simple_value import SimpleValue
from flambeau.frontend.emit.values.sugared import Emitter
from flambeau.frontend.library import array_functions
from flambeau.ir.graph import Value
from flambeau.schema.array_type import ArrayType
from flambeau.schema.types import is_number
from flambeau.util.source import SourceRange

_ROUNDINGS: Final = (np.floor, np.ceil, np.trunc)
"""What gives whole numbers back."""


def check_dtypes(where: SourceRange, name: str, values: Sequence[Value]) -> None:
    """Raise DtypeError where NumPy has no such ufunc of the dtypes of the operands."""
    function = getattr(np, name, None)
    if not isinstance(function, np.ufunc) or len(values) != function.nin or not all(map(_is_known, values)):
        return
    for each in product(*(samples(v, where) for v in values)):
        asked(where, lambda *operands: _first(function(*operands)), *each)


def _is_known(value: Value) -> bool:
    type_ = value.static_type
    return type_.dtype is not None if isinstance(type_, ArrayType) else is_number(type_)


def _first(results: object) -> object:
    return results[0] if isinstance(results, tuple) else results


def of_whole_numbers(e: Emitter, where: SourceRange, function: np.ufunc, values: Sequence[Value]) -> Value | None:
    """What a ufunc of one array of whole numbers is, where the operator of floats is not it; None for others."""
    if len(values) != 1 or not is_array(values[0]):
        return None
    result = dtype_of(where, function, values[0])
    if result.is_floating_point or result.is_complex:
        return None
    if function in _ROUNDINGS:
        return call_operator(e, where, "aten::clone", [values[0]])
    if function is np.reciprocal:
        argument = Argument(SimpleValue(converted(e, values[0], result)), where)
        return call_library(e, where, vars(array_functions)["whole_reciprocal"], [argument], {}).as_value(e, where)
    return None
