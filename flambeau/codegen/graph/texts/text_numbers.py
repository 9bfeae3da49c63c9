"""Numbers that texts show, `int(text)` and `float(text)`: of those that are written plainly, others Python reads.

Up to 18 digits are an int. As a float, they are exact up to 2^53, and so are powers of ten: one division rounds.
"""

from __future__ import annotations

from typing import Final

from flambeau.codegen.graph import memory
from flambeau.codegen.graph.emitted_function import EmittedFunction
from flambeau.codegen.graph.lowering_tables import lowers_on_texts
from flambeau.codegen.graph.memory import number
from flambeau.codegen.graph.native_values import Native, Scalar
from flambeau.codegen.graph.representation import Bool, Float, Int
from flambeau.codegen.graph.texts.texts import bits_of, call_text_function, native_where, text_of
from flambeau.codegen.llvm.emitter import Value as Register
from flambeau.codegen.llvm.emitter import float_literal
from flambeau.ir.graph import Node

_EXACT: Final = 1 << 53
_DIGITS: Final = 18
_IN_INTS: Final = "0123456789+-_ \t\n\r\f\v\x1c\x1d\x1e\x1f"
"""Characters of ASCII that may be in a text which Python reads as an int, and as a float."""
_IN_FLOATS: Final = _IN_INTS + ".efintyaEFINTYA"
_POWERS: Final = "text_powers_of_ten"


@lowers_on_texts("aten::Int")
def int_of_text(fn: EmittedFunction, node: Node) -> None:
    """`int(text)`."""
    is_plain, (value, _, is_negative, points) = _decimal(fn, node)
    e = fn.e

    def native() -> Native:
        negated = e.binary("sub", number(0), value)
        return Scalar(Int(), e.select(e.icmp("ne", is_negative, number(0)), negated, value))

    native_where(fn, node, e.binary("and", is_plain, e.icmp("eq", points, number(0))), Int(), native)


@lowers_on_texts("aten::Float")
def float_of_text(fn: EmittedFunction, node: Node) -> None:
    """`float(text)`."""
    is_plain, (value, behind, is_negative, _) = _decimal(fn, node)
    e = fn.e

    def native() -> Native:
        table = _powers(fn)
        power = e.define(f"load double, ptr {memory.offset_address(e, table, behind, number(8), 8)}", "double", 1)
        whole = e.define(f"sitofp i64 {value} to double", "double", 1)
        size = e.define(f"fdiv double {whole}, {power}", "double", 1)
        negated = e.define(f"fneg double {size}", "double", 1)
        return Scalar(Float(), e.select(e.icmp("ne", is_negative, number(0)), negated, size))

    is_exact = e.icmp("ule", value, number(_EXACT))
    native_where(fn, node, e.binary("and", is_plain, is_exact), Float(), native)


@lowers_on_texts("python::spells_int", "python::spells_float")
def spells(fn: EmittedFunction, node: Node) -> None:
    """Whether a text is a number: at once of one that is written plainly, or that has a character of ASCII which is in
    none; of others Python says it.
    """
    e, text, is_int = fn.e, text_of(fn, node.operand(0)), node.op == "python::spells_int"
    is_plain, (_, _, _, points) = _decimal(fn, node)
    if is_int:
        is_plain = e.binary("and", is_plain, e.icmp("eq", points, number(0)))
    low, high = bits_of(_IN_INTS if is_int else _IN_FLOATS)
    may_be_one = call_text_function(fn, "all_of", text.data, text.length, number(low), number(high))
    is_ascii = call_text_function(fn, "ascii", text.data, text.length)
    is_none = e.binary("and", is_ascii, e.binary("xor", may_be_one, e.like(may_be_one, 1)))
    native_where(fn, node, e.binary("or", is_plain, is_none), Bool(), lambda: Scalar(Bool(), is_plain))


def _powers(fn: EmittedFunction) -> Register:
    """The address of powers of ten in the code."""
    items = ", ".join(f"double {float_literal(10.0**k, 'double')}" for k in range(_DIGITS + 1))
    kind = f"[{_DIGITS + 1} x double]"
    fn.parts.functions[_POWERS] = f"@{_POWERS} = private unnamed_addr constant {kind} [{items}]"
    return Register(f"@{_POWERS}", "ptr", 1)


def _decimal(fn: EmittedFunction, node: Node) -> tuple[Register, list[Register]]:
    """Whether a text is written plainly; then what its digits say, how many are behind the point, sign and points."""
    text, results = text_of(fn, node.operand(0)), fn.e.slot("[4 x i64]", 8)
    is_plain = call_text_function(fn, "decimal", text.data, text.length, results)
    return is_plain, [memory.load_word(fn.e, results, k, "i64") for k in range(4)]
