"""A call of a function of NumPy that has a rule of its own, with what its arguments are known to be.

np.roll(x, 1, axis=0)    →    FunctionCall(name "roll", values [%x, 1], named {"axis": 0})
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from flambeau.frontend.emit.implicit_conversions import pack_list, pack_tuple, unpack_tuple
from flambeau.frontend.emit.numpy.array_lists import item_of, joined_list
from flambeau.frontend.emit.numpy.array_promotion import promoted
from flambeau.frontend.emit.numpy.method_calls import constant_int
from flambeau.frontend.emit.numpy.spectra import with_spectrum
from flambeau.frontend.emit.schema_matching import call_operator
from flambeau.frontend.emit.values.sugared import Emitter
from flambeau.ir.graph import Value
from flambeau.schema.types import INT, TENSOR, NoneType, TupleType
from flambeau.util.errors import CompileError
from flambeau.util.source import SourceRange

NO_KEYWORD: Final = "np.{name}: the keyword '{keyword}' has no form for arrays in programs"


class FunctionCall:
    """A call of a function that has a rule of its own."""

    def __init__(self, e: Emitter, where: SourceRange, name: str, values: Sequence[Value], named: dict[str, Value]):
        self.e, self.where, self.name, self.values, self.named = e, where, name, list(values), named

    def axis(self, position: int, default: int) -> int:
        """The axis, which has to be a literal number."""
        value = self.named.pop("axis", self.values[position] if len(self.values) > position else None)
        number = default if value is None else constant_int(value)
        if number is None:
            raise CompileError(NO_KEYWORD.format(name=self.name, keyword="axis"), self.where)
        return number

    def along(self, position: int) -> int | None:
        """The axis, if there is one that is not None."""
        value = self.named.get("axis", self.values[position] if len(self.values) > position else None)
        return None if value is None or isinstance(value.static_type, NoneType) else self.axis(position, 0)

    def argument(self, name: str, position: int) -> Value | None:
        """An argument by its name or place; None where it is left out, or None."""
        value = self.named.get(name, self.values[position] if len(self.values) > position else None)
        return None if value is None or isinstance(value.static_type, NoneType) else value

    def is_none(self, position: int) -> bool:
        """Whether the axis is said to be None, or, of a function of all elements, is not said."""
        value = self.named.get("axis", self.values[position] if len(self.values) > position else None)
        is_left_out = value is None and self.name == "roll"
        return is_left_out or (value is not None and isinstance(value.static_type, NoneType))

    def axes(self, position: int) -> list[int] | None:
        """The axes, of a number or a literal tuple; None where none is said."""
        value = self.argument("axis", position)
        numbers = [] if value is None else [constant_int(axis) for axis in self.counts(value)]
        if None in numbers:
            raise CompileError(NO_KEYWORD.format(name=self.name, keyword="axis"), self.where)
        return [number for number in numbers if number is not None] or None

    def keeps(self) -> Value:
        """Whether axes that are folded stay, as axes of one element."""
        return self.named.get("keepdims", self.e.constant(False))

    def tuple_of(self, values: Sequence[Value]) -> Value:
        """A tuple of results."""
        return pack_tuple(self.e, values)

    def op(self, name: str, *operands: Any) -> Value:
        """An operator on values and constants."""
        operands_ = [o if isinstance(o, Value) else self.e.constant(o) for o in operands]
        return call_operator(self.e, self.where, f"aten::{name}", operands_)

    def parts(self) -> list[Value]:
        """The arrays of a tuple or list, in one dtype."""
        value = self.values[0]
        if isinstance(value.static_type, TupleType):
            return promoted(self.e, self.where, unpack_tuple(self.e, value))
        if value.defining_node is not None and value.defining_node.op == "prim::ListConstruct":
            return promoted(self.e, self.where, list(value.defining_node.operands))
        raise CompileError(f"np.{self.name} takes a tuple of arrays that is written out here", self.where)

    def is_literal(self) -> bool:
        """Whether the arrays are in a tuple, or in a literal list."""
        value = self.values[0]
        node = value.defining_node
        is_list = node is not None and node.op == "prim::ListConstruct" and bool(node.operands)  # else a comprehension
        return isinstance(value.static_type, TupleType) or is_list

    def joined(self, name: str, axis: int) -> Value:
        """`cat` or `stack` of arrays."""
        if item_of(self.values[0]) is not None and not self.is_literal():
            return joined_list(self.e, self.where, name, self.values[0], axis)
        parts = self.parts()
        return with_spectrum(self.op(name, pack_list(self.e, parts, TENSOR), axis), *parts)

    def items(self, value: Value) -> list[Value]:
        """The items of a literal tuple or list."""
        if isinstance(value.static_type, TupleType):
            return unpack_tuple(self.e, value)
        if value.defining_node is not None and value.defining_node.op == "prim::ListConstruct":
            return list(value.defining_node.operands)
        raise CompileError(f"np.{self.name} takes lists that are written out here", self.where)

    def counts(self, value: Value) -> list[Value]:
        """A number, or the numbers of a literal tuple."""
        is_tuple = isinstance(value.static_type, TupleType)
        return unpack_tuple(self.e, value) if is_tuple else [value]

    def items_or_number(self, value: Value) -> list[Value]:
        """A number, or the items of a literal tuple or list."""
        return [value] if value.static_type == INT else self.items(value)
