"""Dtypes as values of programs of arrays: what they have, and what equals them.

x.dtype               →    the constant 7, of which the compiler knows that it is a dtype: float64's
x.dtype.kind          →    the constant "f"
x.dtype == "float32"  →    aten::eq of two constants

Which dtypes arrays have is known when a program is compiled, so NumPy itself is asked all of this.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np

from flambeau.frontend.emit.numpy.dtype_names import PYTHON_TYPES, dtype_named
from flambeau.frontend.emit.schema_matching import call_operator
from flambeau.frontend.emit.values.sugared import Emitter, Sugared
from flambeau.frontend.trees.tree_views import Expr, Var
from flambeau.ir.constants import constant_value, is_constant
from flambeau.ir.graph import Value
from flambeau.schema.dtype import DType, by_code, from_numpy_dtype
from flambeau.schema.dtype_code import DtypeCode, is_code_of_dtype
from flambeau.schema.types import BOOL, StringType
from flambeau.util.errors import CompileError
from flambeau.util.source import SourceRange

ATTRIBUTES: Final = (
    "name", "kind", "char", "str", "itemsize", "num", "byteorder", "alignment", "isnative", "hasobject", "ndim",
)
"""What dtypes have that is a number, a bool or a text."""
NO_ATTRIBUTE: Final = "dtypes have no {name} in programs: they have {names}"
UNKNOWN: Final = "which dtype this is, only the run tells: ask the array itself, as in x.dtype.{name}"
NO_IDENTITY: Final = "dtypes are compared by == in programs: several objects of NumPy are one dtype"
NO_ORDER: Final = "dtypes have no order in programs: np.can_cast(x.dtype, y.dtype) asks the same"


def dtype_value(e: Emitter, dtype: DType) -> Value:
    """A dtype as a value."""
    return as_dtype(e.constant(dtype.code))


def as_dtype(code: Value) -> Value:
    """A constant that is the code of a dtype, as that dtype."""
    code.set_type(DtypeCode(by_code(constant_value(code))))
    return code


def known_dtype(value: Value) -> DType | None:
    """The dtype that a value is; None for what is none, or may be several."""
    return value.static_type.dtype if isinstance(value.static_type, DtypeCode) else None


def dtype_attribute(
    e: Emitter, where: SourceRange, wrap: Callable[[Value], Sugared], value: Value, name: str
) -> Sugared | None:
    """An attribute of a dtype; None for other values. Raises CompileError for what dtypes do not have here."""
    if not is_code_of_dtype(value.static_type):
        return None
    if name not in ATTRIBUTES:
        raise CompileError(NO_ATTRIBUTE.format(name=name, names=", ".join(ATTRIBUTES)), where)
    dtype = known_dtype(value)
    if dtype is None:
        raise CompileError(UNKNOWN.format(name=name), where)
    return wrap(e.constant(getattr(dtype.numpy, name)))


def dtype_text(e: Emitter, where: SourceRange, value: Value) -> Value | None:
    """What Python prints of a dtype, its name; None for other values."""
    if not is_code_of_dtype(value.static_type):
        return None
    dtype = known_dtype(value)
    if dtype is not None:
        return e.constant(dtype.name)
    return call_operator(e, where, "python::dtype_name", [value])


def dtypes_compared(e: Emitter, where: SourceRange, op: str, left: Value, right: Value) -> Value | None:
    """`x.dtype == y.dtype`, and beside a text that names one; None where neither is a dtype. Nothing else equals one.

    Raises CompileError for their order, and for `is`: NumPy has several objects for a dtype.
    """
    if not is_code_of_dtype(left.static_type) and not is_code_of_dtype(right.static_type):
        return None
    if op not in ("==", "!="):
        raise CompileError(NO_IDENTITY if op.startswith("is") else NO_ORDER, where)
    is_negated = op == "!="
    sides = [_of_text(e, value) for value in (left, right)]
    if not all(is_code_of_dtype(value.static_type) for value in sides):
        return e.constant(is_negated, BOOL)
    return call_operator(e, where, "aten::ne" if is_negated else "aten::eq", sides)


def _of_text(e: Emitter, value: Value) -> Value:
    """The dtype that a literal text names; other values themselves."""
    if not isinstance(value.static_type, StringType) or not is_constant(value):
        return value
    try:
        return dtype_value(e, from_numpy_dtype(np.dtype(constant_value(value))))
    except TypeError:
        return value


def dtype_or_value(e: Emitter, tree: Expr) -> Value:
    """The value of a tree beside a dtype: of Python's types, `float`, the dtype that they name."""
    is_type = isinstance(tree, Var) and e.python_value(tree) in PYTHON_TYPES
    named = dtype_named(e, tree) if is_type else None
    return e.value(tree) if named is None else as_dtype(named)
