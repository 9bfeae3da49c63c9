"""Values in texts by formats that are written out: `f"{x:.2f}"`, `f"{n:>5}"`, `f"{n:05d}"`, `f"{name:<10}"`.

f"{x:8.3f}"    →    the whole number nearest to x * 1000, which is exact: its digits, with a point before the last three

Floats that are large beside their decimals, infinities and nan are Python's.
"""

from __future__ import annotations

import re
from typing import Final

from flambeau.codegen.graph import native_values
from flambeau.codegen.graph.emitted_function import EmittedFunction
from flambeau.codegen.graph.literals import literal_of
from flambeau.codegen.graph.lowering_tables import lowers
from flambeau.codegen.graph.memory import number
from flambeau.codegen.graph.native_values import CannotCompileError, Native, Scalar, TextValue
from flambeau.codegen.graph.numbers.complex_numbers import Arithmetic
from flambeau.codegen.graph.numbers.float_parts import MOST_DIGITS, WHOLE, nearest_whole
from flambeau.codegen.graph.representation import Float, Int, Text
from flambeau.codegen.graph.texts.texts import as_text, native_where, new_text, refuse_lanes
from flambeau.codegen.llvm.emitter import Value as Register
from flambeau.ir.graph import Node
from flambeau.util.record import dataclass

_NUMBER: Final = re.compile(r"([<>])?(\+)?(0)?([1-9]\d{0,3})?(?:\.(\d{1,2})(f)|(d))?")
_TEXT: Final = re.compile(r"([<>])?([1-9]\d{0,3})?s?")
RIGHT, LEFT, ZEROS = 0, 1, 2
"""Where a number is in its width: at an end, or with zeros behind the sign."""


@dataclass(frozen=True, slots=True)
class _Format:
    """How a number is written."""

    side: int
    has_plus: bool
    width: int
    decimals: int | None
    """How many digits are behind the point; None for ints."""


@lowers("python::format")
def format_(fn: EmittedFunction, node: Node) -> None:
    """`format(value, spec)` for what is here; refused for other values and formats."""
    value, spec = fn.values.get(node.operand(0)), literal_of(fn.values.get(node.operand(1)))
    if not isinstance(spec, str):
        raise CannotCompileError("a format that only running tells")
    refuse_lanes(fn)
    if native_values.is_text(value.rep):
        _give_text(fn, node, value, spec)
        return
    if not isinstance(value, Scalar) or not isinstance(value.rep, Int | Float):
        raise CannotCompileError(f"{native_values.describe(value.rep)} in a text, which Python writes")
    wanted = _parsed(spec)
    if wanted.decimals is not None:
        _give_float(fn, node, value, wanted)
    elif isinstance(value.rep, Int):
        _give_int(fn, node, value.register, wanted)
    else:
        raise CannotCompileError(f"a float by {spec!r}, which Python writes")


def _parsed(spec: str) -> _Format:
    match = _NUMBER.fullmatch(spec)
    arrow, plus, zero, width, decimals, _, _ = match.groups() if match is not None else (None,) * 7
    if match is None or (arrow and zero) or int(decimals or 0) > MOST_DIGITS:
        raise CannotCompileError(f"the format {spec!r}, which Python writes")
    side = ZEROS if zero else LEFT if arrow == "<" else RIGHT
    return _Format(side, bool(plus), int(width or 0), None if decimals is None else int(decimals))


def _give_text(fn: EmittedFunction, node: Node, value: Native, spec: str) -> None:
    match = _TEXT.fullmatch(spec)
    if match is None:
        raise CannotCompileError(f"the format {spec!r}, which Python writes")
    text = as_text(fn, value)
    width, side = number(int(match[2] or 0)), number(1 if match[1] == ">" else 0)
    fn.values.set_new(node.result(), new_text(fn, "padded", None, text.data, text.length, width, side))


def _give_int(fn: EmittedFunction, node: Node, x: Register, wanted: _Format) -> None:
    e = fn.e
    is_below = e.icmp("slt", x, number(0))
    size = e.select(is_below, e.binary("sub", number(0), x), x)  # as a number without a sign
    fn.values.set_new(node.result(), _written(fn, size, is_below, wanted))


def _written(fn: EmittedFunction, size: Register, is_below: Register, wanted: _Format) -> TextValue:
    sign = fn.e.select(is_below, number(ord("-")), number(ord("+") if wanted.has_plus else 0))
    words = (number(wanted.decimals or 0), sign, number(wanted.width), number(wanted.side))
    return new_text(fn, "written", None, size, *words)


def _give_float(fn: EmittedFunction, node: Node, value: Scalar, wanted: _Format) -> None:
    """The minus of what is rounded to zero stays."""
    a = Arithmetic(fn, node)
    e, s, x = fn.e, a.s, a.real(value)
    power = a.constant(10.0 ** (wanted.decimals or 0))
    scaled = s.mul(x, power)

    def text() -> TextValue:
        whole = s.abs(nearest_whole(a, x, power, scaled))
        is_below = e.icmp("slt", e.as_bits(x.register), number(0))
        return _written(fn, e.convert("fptosi", whole.register, "i64"), is_below, wanted)

    native_where(fn, node, s.lt(s.abs(scaled), a.constant(WHOLE)).register, Text(), text)
