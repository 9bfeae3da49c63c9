"""The scalar operations of kernels: arity, element types taken, element type given.

The names are the method names of the Scalar protocol (``flambeau.schema.scalar``), so that an operator's scalar
meaning, run against a builder, yields kernel statements of the same names. One is not: ``product``, a ``mul`` inside a
matrix product, which may go into the sum that follows unrounded. Of complex numbers there are but three: ``real`` and
``imag`` give a part, ``complex`` makes one of two.
"""

from __future__ import annotations

from collections.abc import Callable

from flambeau.codegen.kernel.dtypes import PARTS, WHOLE, KernelError, element_type
from flambeau.util.record import dataclass

FLOAT = frozenset({"float"})
INTEGER = frozenset({"int", "uint"})
NUMBER = FLOAT | INTEGER
BOOL = frozenset({"bool"})
BITS = INTEGER | BOOL
ANY = NUMBER | BOOL
COMPLEX = frozenset({"complex"})


@dataclass(frozen=True, slots=True)
class OpSpec:
    """What one operation takes and gives."""

    name: str
    arity: int
    kinds: frozenset[str]
    """Kinds of element type the operands may have."""
    result: str
    """``same`` (the operands' type), ``bool``, ``part`` of a complex number, or the ``whole`` of two parts."""


def _table() -> dict[str, OpSpec]:
    rows: list[tuple[str, int, frozenset[str], str]] = [
        ("add sub mul", 2, ANY, "same"),
        ("product", 2, NUMBER, "same"),
        ("div", 2, FLOAT, "same"),
        ("floordiv truncdiv remainder fmod", 2, NUMBER, "same"),
        ("neg", 1, NUMBER, "same"),
        ("abs sign", 1, ANY, "same"),
        ("pow", 2, NUMBER, "same"),
        ("minimum maximum", 2, ANY, "same"),
        ("exp exp2 expm1 log log2 log10 log1p sqrt rsqrt reciprocal sigmoid", 1, FLOAT, "same"),
        ("erf erfc erfinv lgamma digamma", 1, FLOAT, "same"),
        ("sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh", 1, FLOAT, "same"),
        ("atan2 copysign hypot nextafter", 2, FLOAT, "same"),
        ("gcd", 2, INTEGER, "same"),
        ("floor ceil trunc round frac", 1, FLOAT, "same"),
        ("eq ne lt le gt ge", 2, ANY, "bool"),
        ("logical_and logical_or logical_xor", 2, BOOL, "bool"),
        ("logical_not", 1, BOOL, "bool"),
        ("bitand bitor bitxor", 2, BITS, "same"),
        ("bitnot", 1, BITS, "same"),
        ("shl shr", 2, INTEGER, "same"),
        ("isnan isinf isfinite signbit", 1, FLOAT, "bool"),
        ("real imag", 1, COMPLEX, "part"),
        ("complex", 2, FLOAT, "whole"),
    ]
    return {name: OpSpec(name, arity, kinds, result) for names, arity, kinds, result in rows for name in names.split()}


OPS: dict[str, OpSpec] = _table()
"""Every operation but ``select`` and ``cast``, whose operands differ in type."""

REDUCERS: dict[str, frozenset[str]] = {
    "sum": NUMBER,
    "prod": NUMBER,
    "max": ANY,
    "min": ANY,
    "maxnum": FLOAT,
    "any": BOOL,
    "all": BOOL,
    "argmax": ANY,
    "argmin": ANY,
}
"""Ways to fold values into a carried state. ``max`` and ``min`` keep a nan, ``maxnum`` ignores one."""

NO_IDENTITY = frozenset({"max", "min", "argmax", "argmin"})
"""Reducers that have no answer for no values at all."""

TRAPPING = frozenset({"floordiv", "truncdiv", "remainder", "fmod"})
"""Operations that report a zero divisor when their operands are integers."""


def result_dtype(op: str, operands: tuple[str, ...]) -> str:
    """Element type that ``op`` gives for operands of these types; raises ``KernelError`` where it does not apply."""
    if op == "select":
        if len(operands) != 3 or operands[0] != "bool" or operands[1] != operands[2]:
            raise KernelError(f"select takes (bool, T, T), got ({', '.join(operands)})")
        return operands[1]
    spec = OPS.get(op)
    if spec is None:
        raise KernelError(f"no kernel operation is called '{op}'")
    if len(operands) != spec.arity:
        raise KernelError(f"{op} takes {spec.arity} operands, got {len(operands)}")
    if len(set(operands)) != 1:
        raise KernelError(f"{op} takes operands of one dtype, got ({', '.join(operands)}); cast them first")
    if element_type(operands[0]).kind not in spec.kinds:
        raise KernelError(f"{op} is not defined for {operands[0]}")
    return _RESULTS[spec.result](operands[0])


_RESULTS: dict[str, Callable[[str], str]] = {
    "same": str, "bool": lambda operand: "bool", "part": PARTS.__getitem__, "whole": WHOLE.__getitem__,
}  # fmt: skip
"""By `OpSpec.result`, the element type that operands of a type give."""


def reduced_dtype(reducer: str, dtype: str) -> str:
    """Element type of a carried state read after its loop."""
    return "int64" if reducer in ("argmax", "argmin") else dtype
