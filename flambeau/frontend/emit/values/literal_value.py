"""What is known while compiling, wherever it is used: a bool, a number, a text, None, or a tuple of such."""

from __future__ import annotations

from flambeau.frontend.emit.implicit_conversions import pack_tuple
from flambeau.frontend.emit.values.sugared import Emitter, Sugared
from flambeau.ir.graph import Value
from flambeau.schema.types import BOOL, INT, NONE, STRING
from flambeau.util.record import dataclass
from flambeau.util.source import SourceRange

Literal = bool | int | str | tuple["Literal", ...] | None
_KNOWN = (BOOL, INT, STRING, NONE)


@dataclass(slots=True)
class LiteralValue(Sugared):
    """A literal that a call passes: a constant in each function that uses it."""

    literal: Literal

    @property
    def kind(self) -> str:
        """The name of this kind of value in error messages."""
        return "literal"

    def as_value(self, e: Emitter, where: SourceRange) -> Value:
        """The constant."""
        return _constant(e, self.literal)

    def stored_value(self, e: Emitter, where: SourceRange) -> Value:
        """The constant."""
        return _constant(e, self.literal)


def _constant(e: Emitter, literal: Literal) -> Value:
    return pack_tuple(e, [_constant(e, v) for v in literal]) if isinstance(literal, tuple) else e.constant(literal)


def literal_of(value: Value) -> LiteralValue | None:
    """What a value is known to be, as a literal; None for others."""
    node = value.defining_node
    if node is None:
        return None
    if node.op == "prim::TupleConstruct":
        items = [literal_of(v) for v in node.operands]
        return LiteralValue(tuple(i.literal for i in items if i is not None)) if None not in items else None
    if node.op != "prim::Constant" or value.static_type not in _KNOWN:
        return None
    literal = node.attribute("value") if value.static_type != NONE else None
    return LiteralValue(bool(literal) if value.static_type == BOOL else literal)
