"""Numbers of uint64, as which programs keep an int with the same 64 bits: from 2**63 on it is below 0.

x[0] // 3    with uint64s in `x`    →    %s = aten::select(...)    %b = aten::Int(aten::to(%s, int64))
                                         %q = python::uint64_floordiv(%b, %three)

The type of such a value says so (`schema.element_type`). Sums, products and bits are those of ints; what is not has
operators of its own. Wherever else an int is wanted, an index or a count, the number has to be below 2**63, which is
looked at when the program runs.
"""

from __future__ import annotations

from typing import Final

from flambeau.frontend.emit.schema_matching import call_operator
from flambeau.frontend.emit.values.sugared import Emitter
from flambeau.ir.graph import Value
from flambeau.schema import registry
from flambeau.schema.dtype import uint64
from flambeau.schema.element_type import element_of, kinds_of
from flambeau.schema.types import BOOL, FLOAT, INT
from flambeau.util.source import SourceRange

_OWN: Final = {
    "//": "floordiv", "%": "remainder", "<<": "lshift", ">>": "rshift", "**": "power",
}  # fmt: skip
_NOT: Final = {"<=": (">", True), ">=": ("<", True), "!=": ("==", True)}


def is_unsigned(value: Value) -> bool:
    """Whether a number is one of uint64."""
    return kinds_of(value.static_type) == (uint64,)


def bits_of(e: Emitter, value: Value) -> Value:
    """The int that is kept of a number."""
    return e.emit("prim::unchecked_cast", (value,), INT) if is_unsigned(value) else value


def of_bits(e: Emitter, bits: Value) -> Value:
    """The number of which an int is kept."""
    number = e.emit("prim::unchecked_cast", (bits,), INT)
    number.set_type(element_of(INT, uint64))
    return number


def as_float(e: Emitter, where: SourceRange, value: Value) -> Value:
    """The float64 nearest to a number of uint64."""
    return call_operator(e, where, "python::uint64_float", [bits_of(e, value)])


def from_number(e: Emitter, where: SourceRange, value: Value) -> Value:
    """`np.uint64(x)` of a number: floats are cut, scalars of NumPy wrap, ints of Python have to fit."""
    if is_unsigned(value):
        return value
    if value.static_type == FLOAT:
        return of_bits(e, call_operator(e, where, "python::as_uint64", [value]))
    return of_bits(e, _operand(e, where, value))


def arithmetic(e: Emitter, where: SourceRange, op: str, left: Value, right: Value) -> Value:
    """`left op right` of two whole numbers that NumPy computes in uint64, but `/`."""
    operands = [_operand(e, where, v) for v in (left, right)]
    own = _OWN.get(op)
    name = f"python::uint64_{own}" if own is not None else registry.spelled(op)
    return of_bits(e, call_operator(e, where, name, operands))


def of_one(e: Emitter, where: SourceRange, name: str, value: Value) -> Value:
    """An operator of one number: its negative, its absolute value, its bits turned."""
    bits = bits_of(e, value)
    if name == "prim::abs":
        return value
    if name == "aten::bitwise_not":
        return of_bits(e, call_operator(e, where, "aten::__xor__", [bits, e.constant(-1)]))
    return of_bits(e, call_operator(e, where, name, [bits]))


def comparison(e: Emitter, where: SourceRange, op: str, left: Value, right: Value) -> Value:
    """`left op right` of two whole numbers of which one is of uint64: by what they are, whatever their dtypes."""
    if op in _NOT:
        return call_operator(e, where, "aten::__not__", [comparison(e, where, _NOT[op][0], left, right)])
    if op == ">":
        return comparison(e, where, "<", right, left)
    bits = [_whole(e, where, v) for v in (left, right)]
    if is_unsigned(left) and is_unsigned(right):
        return call_operator(e, where, "aten::eq" if op == "==" else "python::uint64_less", bits)
    signed, unsigned = (bits[1], bits[0]) if is_unsigned(left) else (bits[0], bits[1])
    zero = e.constant(0)
    if op == "==":
        is_low = call_operator(e, where, "aten::ge", [unsigned, zero])
        return call_operator(e, where, "aten::__and__", [is_low, call_operator(e, where, "aten::eq", bits)])
    less = call_operator(e, where, "python::uint64_less", bits)
    is_below = call_operator(e, where, "aten::lt", [signed, zero])
    if is_unsigned(left):
        not_below = call_operator(e, where, "aten::__not__", [is_below])
        return call_operator(e, where, "aten::__and__", [not_below, less])
    return call_operator(e, where, "aten::__or__", [is_below, less])


def _operand(e: Emitter, where: SourceRange, value: Value) -> Value:
    """The bits of a whole number as one of uint64; ints of Python must not be below 0."""
    if is_unsigned(value):
        return bits_of(e, value)
    value = _whole(e, where, value)
    is_python = None in kinds_of(value.static_type)
    return call_operator(e, where, "python::within_uint64", [value]) if is_python else value


def _whole(e: Emitter, where: SourceRange, value: Value) -> Value:
    if is_unsigned(value):
        return bits_of(e, value)
    return call_operator(e, where, "aten::Int", [value]) if value.static_type == BOOL else value
