"""A call of a method of an array, with its arguments by name, and what arguments are known to be.

x.sum(axis=0)    →    Call(name "sum", array %x, arguments {"axis": 0})
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from flambeau.frontend.emit.implicit_conversions import pack_list, unpack_tuple
from flambeau.frontend.emit.numpy import array_promotion as arrays
from flambeau.frontend.emit.numpy.array_promotion import dtype_and_rank
from flambeau.frontend.emit.schema_matching import call_operator
from flambeau.frontend.emit.values.sugared import Emitter, Given
from flambeau.ir.graph import Value
from flambeau.schema.dtype import float64
from flambeau.schema.types import INT, NoneType, TupleType
from flambeau.util.errors import CompileError
from flambeau.util.record import dataclass
from flambeau.util.source import SourceRange

Named = dict[str, Value]
Method = Callable[["Call"], Value]
AXIS: Final = "axis must be a number that is written out here, so that the dimensions of the result are known"


def constant_int(value: Value) -> int | None:
    """The int that a value is known to be; None for any other."""
    node = value.defining_node
    is_constant = node is not None and node.op == "prim::Constant" and value.static_type == INT
    number = node.attribute("value") if node is not None and is_constant else None
    return number if type(number) is int else None


def constant_text(value: Value) -> str | None:
    """The text that a value is known to be; None for any other."""
    node = value.defining_node
    text = node.attribute("value") if node is not None and node.op == "prim::Constant" else None
    return text if isinstance(text, str) else None


@dataclass(slots=True)
class Call:
    """A call of a method, with its arguments by name."""

    e: Emitter
    where: SourceRange
    name: str
    array: Value
    arguments: Named

    def op(self, name: str, *operands: Any, **keywords: Any) -> Value:
        """An operator on values and constants."""
        values = [self.value(o) for o in operands]
        named = [Given(self.value(v), self.where, k) for k, v in keywords.items()]
        return call_operator(self.e, self.where, f"aten::{name}", values, named)

    def value(self, operand: Any) -> Value:
        """A constant, or a list of numbers, as a value; a value as it is."""
        if isinstance(operand, Value):
            return operand
        if isinstance(operand, list):
            return pack_list(self.e, [self.value(g) for g in operand], INT)
        return self.e.constant(operand)

    def number(self, name: str, default: int | None = None) -> int | None:
        """An argument that has to be a literal number."""
        value = self.arguments.get(name)
        if value is None or isinstance(value.static_type, NoneType):
            return default
        constant = constant_int(value)
        if constant is None:
            raise CompileError(AXIS, self.where)
        return constant

    def given(self, name: str) -> Value | None:
        """An argument that is there and not None."""
        value = self.arguments.get(name)
        return None if value is None or isinstance(value.static_type, NoneType) else value

    def axes(self, name: str = "axis") -> list[int] | None:
        """The axes that are named; None for all."""
        value = self.arguments.get(name)
        if value is None or isinstance(value.static_type, NoneType):
            return None
        if isinstance(value.static_type, TupleType):
            numbers = [constant_int(v) for v in unpack_tuple(self.e, value)]
            if None in numbers:
                raise CompileError(AXIS, self.where)
            return [f for f in numbers if f is not None]
        number = self.number(name)
        return None if number is None else [number]

    def floats(self) -> Value:
        """The array, in float64 where it holds integers or bools."""
        dtype, _ = dtype_and_rank(self.array, self.where)
        is_real = dtype.is_floating_point or dtype.is_complex
        return self.array if is_real else arrays.converted(self.e, self.array, float64)
