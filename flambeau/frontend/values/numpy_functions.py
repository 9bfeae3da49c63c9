"""Functions of NumPy in programs: the operator each one is, with its keywords under their names here.

np.sum(x, axis=0)    →    aten::sum(%x, dim=0)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from flambeau.frontend.emit.emission import Emission
from flambeau.frontend.emit.schema_matching import call_operator
from flambeau.frontend.values.simple_value import SimpleValue
from flambeau.frontend.values.sugared import Given, Sugared
from flambeau.schema.types import TensorType
from flambeau.util.errors import CompileError
from flambeau.util.record import dataclass, replace
from flambeau.util.source import SourceRange

_SAME: Final = (
    "add", "arctan2", "ceil", "cos", "cosh", "exp", "exp2", "expm1", "floor", "fmod", "hypot", "isfinite", "isinf",
    "isnan", "log", "log10", "log1p", "log2", "logical_and", "logical_not", "logical_or", "logical_xor", "maximum",
    "minimum", "multiply", "positive", "reciprocal", "remainder", "sign", "sin", "sinh", "sqrt", "square", "subtract",
    "tan", "tanh", "trunc",
    "all", "any", "argmax", "argmin", "cumsum", "diag", "dot", "isclose", "matmul", "mean", "outer", "prod", "ravel",
    "reshape", "roll", "squeeze", "stack", "sum", "tril", "triu", "where", "zeros_like", "ones_like",
)  # fmt: skip
_RENAMED: Final = {
    "absolute": "abs", "arccos": "acos", "arccosh": "acosh", "arcsin": "asin", "arcsinh": "asinh", "arctan": "atan",
    "arctan2": "atan2", "arctanh": "atanh", "bitwise_and": "bitwise_and", "bitwise_or": "bitwise_or",
    "bitwise_xor": "bitwise_xor", "clip": "clamp", "concatenate": "cat", "conjugate": "conj", "deg2rad": "deg2rad",
    "divide": "div", "equal": "eq", "expand_dims": "unsqueeze", "fabs": "abs", "floor_divide": "floor_divide",
    "greater": "gt", "greater_equal": "ge", "less": "lt", "less_equal": "le", "multiply": "mul", "negative": "neg",
    "not_equal": "ne", "positive": "positive", "power": "pow", "rad2deg": "rad2deg", "rint": "round",
    "subtract": "sub",
}  # fmt: skip
KEYWORDS: Final = {"axis": "dim", "keepdims": "keepdim", "a": "self", "a_min": "min", "a_max": "max"}

FUNCTIONS: Final[dict[Any, str]] = {
    getattr(np, name): f"aten::{_RENAMED.get(name, name)}" for name in (*_SAME, *_RENAMED) if hasattr(np, name)
}
"""Each function of NumPy by the operator it is."""


@dataclass(slots=True)
class NumpyFunction(Sugared):
    """A function of NumPy."""

    name: str
    operator: str

    @property
    def kind(self) -> str:
        """As messages call it."""
        return f"function np.{self.name}"

    def call(self, e: Emission, where: SourceRange, args: Sequence[Given], keywords: Sequence[Given]) -> Sugared:
        """The operator's result."""
        for keyword in keywords:
            if keyword.name in ("out", "dtype", "where", "initial", "order", "casting"):
                text = f"np.{self.name}: the keyword '{keyword.name}' has no form in programs. Use the operator's own"
                raise CompileError(text, keyword.where)
        renamed = [replace(k, name=KEYWORDS.get(k.name, k.name)) for k in keywords]
        given = list(args)
        if self.operator in ("aten::maximum", "aten::minimum", "aten::add", "aten::mul") and len(given) == 2:
            is_tensor = [isinstance(a.value.type, TensorType) for a in given]
            if not any(is_tensor):
                kind = {"aten::maximum": "prim::max", "aten::minimum": "prim::min"}.get(self.operator, self.operator)
                return SimpleValue(call_operator(e, where, kind, given, renamed))
            if is_tensor == [False, True]:
                given.reverse()
            if is_tensor != [True, True] and self.operator in ("aten::maximum", "aten::minimum"):
                bound = replace(given[1], name="min" if self.operator == "aten::maximum" else "max")
                return SimpleValue(call_operator(e, where, "aten::clamp", given[:1], [bound]))
        return SimpleValue(call_operator(e, where, self.operator, given, renamed))


def numpy_function(value: Any) -> NumpyFunction | None:
    """What a function of NumPy is in a program; None for what has no operator."""
    try:
        operator = FUNCTIONS.get(value)
    except TypeError:
        return None
    return None if operator is None else NumpyFunction(value.__name__, operator)
