"""Native values that are literals of the code, as Python values."""

from __future__ import annotations

import struct
from typing import Any

from flambeau.codegen.graph import memory, result_types
from flambeau.codegen.graph.native_values import FixedValue, Native, Scalar, TupleValue
from flambeau.codegen.graph.representation import Array, Element
from flambeau.schema.opdef import UNKNOWN


def literal_of(native: Native) -> Any:
    """The Python value of a literal, else UNKNOWN."""
    if isinstance(native, FixedValue):
        return native.rep.value
    if isinstance(native, Scalar):
        text = native.register.text
        if text in ("true", "false"):
            return text == "true"
        number = memory.literal(native.register) if native.register.type == "i64" else None
        if number is not None:
            return number
        if text.startswith("0x"):
            return struct.unpack("<d", struct.pack("<Q", int(text, 16)))[0]
    if isinstance(native, TupleValue):
        return [literal_of(i) for i in native.items]
    return UNKNOWN


def as_rules_take(native: Native) -> Any:
    """What an operator's rules take for an operand: a tensor's type, a value if it is a literal, a number's type."""
    if isinstance(native, TupleValue):
        return [as_rules_take(i) for i in native.items]
    if isinstance(native.rep, Array | Element):
        return result_types.rule_argument(native.rep)
    return result_types.rule_argument(native.rep, literal_of(native))
