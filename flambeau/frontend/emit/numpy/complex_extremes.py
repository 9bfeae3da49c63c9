"""Extremes, sorts and their places of arrays of complex numbers, which operators have not: the language's own.

x.max()     →    library.complex_order.amax(%x)
x.sort()    →    aten::copy_(%x, library.complex_order.sort(%x))
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from flambeau.frontend.emit.numpy.complex_order import is_complex
from flambeau.frontend.emit.values.sugared import Emitter, FormValue, Given
from flambeau.frontend.library import complex_order
from flambeau.ir.graph import Value
from flambeau.schema.types import TupleType
from flambeau.util.errors import CompileError
from flambeau.util.source import SourceRange

KEYWORD: Final = "{name} of complex numbers has no keyword '{keyword}' here: take it of x.real, or of np.abs(x)"
AXES: Final = "{name} of complex numbers takes one axis here: reshape, or move the axes, so that they are one"
_SAME: Final = ("amax", "amin", "argmax", "argmin", "sort", "argsort", "maximum", "minimum")
FUNCTIONS: Final = {name: getattr(complex_order, name) for name in _SAME} | {
    "max": complex_order.amax, "min": complex_order.amin,
}  # fmt: skip
_TWO: Final = frozenset({"maximum", "minimum"})
_PASSED: Final = frozenset({"axis", "keepdims"})


def complex_extreme(
    e: Emitter, where: SourceRange, name: str, args: Sequence[Given], keywords: Sequence[Given]
) -> Value | None:
    """What a function that compares elements gives where some are complex; None for other functions and operands.

    Raises CompileError for keywords that it has not.
    """
    if name not in FUNCTIONS or not args or not any(is_complex(a.value) for a in args[: 1 + (name in _TWO)]):
        return None
    refused = next((k for k in keywords if k.name not in _PASSED and k.name != "kind"), None)
    if refused is not None:
        raise CompileError(KEYWORD.format(name=name, keyword=refused.name), where)
    axis = next((k.value for k in keywords if k.name == "axis"), args[1].value if len(args) > 1 else None)
    if name not in _TWO and axis is not None and isinstance(axis.static_type, TupleType):
        raise CompileError(AXES.format(name=name), where)
    function: Any = e.wrap(FUNCTIONS[name], where)
    passed = [k for k in keywords if k.name in _PASSED]
    return FormValue(function.kind, function.call_tree).call(e, where, args, passed).as_value(e, where)
