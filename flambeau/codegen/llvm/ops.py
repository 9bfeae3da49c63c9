"""One place that says how each scalar operation becomes instructions, and which do not."""

from __future__ import annotations

from collections.abc import Callable

from flambeau.codegen.kernel.dtypes import COMPLEX, ELEMENT_TYPES, HALVES, ElementType, element_type
from flambeau.codegen.kernel.opset import OPS
from flambeau.codegen.llvm import (
    pairs,
    vecmath_erf,
    vecmath_gamma,
    vecmath_hyperbolic,
    vecmath_plane,
    vecmath_pow,
    vecmath_trig,
)
from flambeau.codegen.llvm import vecmath_exp_log as explog
from flambeau.codegen.llvm.arith_float import lower_float
from flambeau.codegen.llvm.arith_int import Trap, lower_bool, lower_int
from flambeau.codegen.llvm.emitter import Emitter, Value

VECTOR_MATH: dict[str, Callable[[Emitter, Value], Value]] = {
    "exp": explog.exp,
    "exp2": explog.exp2,
    "expm1": explog.expm1,
    "log": explog.log,
    "log2": explog.log2,
    "log10": explog.log10,
    "log1p": explog.log1p,
    "sigmoid": explog.sigmoid,
    "tanh": explog.tanh,
    "sin": vecmath_trig.sin,
    "cos": vecmath_trig.cos,
    "tan": vecmath_trig.tan,
    "asin": vecmath_trig.asin,
    "acos": vecmath_trig.acos,
    "atan": vecmath_trig.atan,
    "sinh": vecmath_hyperbolic.sinh,
    "cosh": vecmath_hyperbolic.cosh,
    "asinh": vecmath_hyperbolic.asinh,
    "acosh": vecmath_hyperbolic.acosh,
    "atanh": vecmath_hyperbolic.atanh,
    "erf": vecmath_erf.erf,
    "erfc": vecmath_erf.erfc,
    "erfinv": vecmath_gamma.erfinv,
    "lgamma": vecmath_gamma.lgamma,
    "digamma": vecmath_gamma.digamma,
}
"""Functions with vector code of our own."""

PLANE_MATH = {"atan2": vecmath_plane.atan2, "hypot": vecmath_plane.hypot}
"""Functions of two operands."""


def supports(op: str, dtype: str) -> bool:
    """Whether ``op`` on operands of ``dtype`` has native code; ``select``, ``cast`` and ``const`` always have.

    >>> supports("exp", "float32"), supports("exp", "int64")
    (True, False)
    """
    if op in ("select", "cast", "const"):
        return dtype in ELEMENT_TYPES or dtype in HALVES
    if dtype not in ELEMENT_TYPES and dtype not in COMPLEX:
        return False
    return op in OPS and element_type(dtype).kind in OPS[op].kinds


def lower(e: Emitter, op: str, args: list[Value], operand: ElementType, trap: Trap) -> Value:
    """Instructions for ``op`` on operands of one element type."""
    if op == "select":
        return e.select(args[0], args[1], args[2])
    if operand.kind == "complex":
        return pairs.part(e, args[0], int(op == "imag"))
    if op == "complex":
        return pairs.joined(e, args[0], args[1])
    if operand.kind == "bool":
        return lower_bool(e, op, args)
    if operand.is_integer:
        return lower_int(e, op, args, operand.kind == "int", trap)
    plain = lower_float(e, op, args)
    if plain is not None:
        return plain
    if op == "pow":
        return vecmath_pow.pow(e, args[0], args[1])
    if op in PLANE_MATH:
        return PLANE_MATH[op](e, args[0], args[1])
    return VECTOR_MATH[op](e, args[0])
