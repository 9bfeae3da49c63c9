"""Python's builtin functions and those of `math`, by the operator each one is."""

from __future__ import annotations

import builtins
import cmath
import math
import warnings
from typing import Any, Final

from flambeau.frontend import builtin_forms as forms
from flambeau.frontend import sugared_iterables as iterables
from flambeau.frontend.casts import CastValue, DeviceClass
from flambeau.frontend.simple_value import OperatorValue
from flambeau.frontend.sugared import FormValue, Sugared
from flambeau.schema.device import Device
from flambeau.schema.types import BOOL, COMPLEX, FLOAT, INT, STRING

OPERATORS: Final[dict[Any, str]] = {
    abs: "prim::abs", all: "aten::all", any: "aten::any", bin: "aten::bin", chr: "aten::chr", divmod: "aten::divmod",
    hash: "aten::hash", hex: "aten::hex", id: "prim::id", max: "prim::max", min: "prim::min", oct: "aten::oct",
    ord: "aten::ord", pow: "aten::pow", round: "aten::round",
    warnings.warn: "aten::warn", sorted: "aten::sorted",
}  # fmt: skip

MATH: Final = [
    "acos",
    "acosh",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "ceil",
    "copysign",
    "cos",
    "cosh",
    "degrees",
    "erf",
    "erfc",
    "exp",
    "expm1",
    "fabs",
    "factorial",
    "floor",
    "fmod",
    "frexp",
    "gamma",
    "gcd",
    "isfinite",
    "isinf",
    "isnan",
    "ldexp",
    "lgamma",
    "log",
    "log10",
    "log1p",
    "modf",
    "pow",
    "radians",
    "sin",
    "sinh",
    "sqrt",
    "tan",
    "tanh",
]
RENAMED: Final = {"remainder": "aten::mathremainder"}
CMATH: Final = [
    "acos",
    "acosh",
    "asin",
    "asinh",
    "atan",
    "atanh",
    "cos",
    "cosh",
    "exp",
    "isfinite",
    "isinf",
    "isnan",
    "log",
    "log10",
    "phase",
    "rect",
    "sin",
    "sinh",
    "sqrt",
    "tan",
    "tanh",
]

FORMS: Final[dict[Any, Sugared]] = {
    builtins.int: CastValue(INT, "aten::Int", "__int__"),
    builtins.float: CastValue(FLOAT, "aten::Float", "__float__"),
    builtins.bool: CastValue(BOOL, "aten::Bool", "__bool__"),
    builtins.str: CastValue(STRING, "aten::str", "__str__"),
    builtins.complex: CastValue(COMPLEX, "aten::Complex", "__complex__"),
    Device: DeviceClass(),
    print: forms.PrintFunction(),
    len: FormValue("__len__", forms.emit_len),
    isinstance: FormValue("isinstance", forms.emit_isinstance),
    hasattr: FormValue("hasattr", forms.emit_hasattr),
    getattr: FormValue("getattr", forms.emit_getattr),
    list: FormValue("list", forms.emit_list),
    tuple: FormValue("tuple", forms.emit_tuple),
    dict: FormValue("dict", forms.emit_dict),
    slice: FormValue("slice", forms.emit_slice),
    sum: FormValue("sum", forms.emit_sum),
    range: FormValue("range", iterables.emit_range),
    enumerate: FormValue("enumerate", iterables.emit_enumerate),
    zip: FormValue("zip", iterables.emit_zip),
    reversed: FormValue("reversed", iterables.emit_reversed),
}

BUILTINS: Final[dict[Any, Sugared]] = {
    **{function: OperatorValue(name) for function, name in OPERATORS.items()},
    **{getattr(cmath, name): OperatorValue(f"aten::{name}") for name in CMATH},
    **{getattr(math, name): OperatorValue(f"aten::{name}") for name in MATH},
    **{getattr(math, name): OperatorValue(kind) for name, kind in RENAMED.items()},
    **FORMS,
}
"""What each Python builtin is in a program."""
