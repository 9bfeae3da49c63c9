"""Several sugared values side by side: the items of a `zip`, which become a tuple only if somebody holds them."""

from __future__ import annotations

from flambeau.frontend.emit.implicit_conversions import pack_tuple
from flambeau.frontend.emit.values.simple_value import UnrolledIteration
from flambeau.frontend.emit.values.sugared import Emitter, Iteration, Sugared
from flambeau.ir.graph import Value
from flambeau.util.errors import CompileError
from flambeau.util.record import dataclass
from flambeau.util.source import SourceRange


@dataclass(slots=True)
class TupleValue(Sugared):
    """A tuple of sugared values."""

    items: list[Sugared]

    @property
    def kind(self) -> str:
        """The name of this kind of value in error messages."""
        return "tuple"

    def as_value(self, e: Emitter, where: SourceRange) -> Value:
        """A tuple of the values of its items."""
        return pack_tuple(e, [item.as_value(e, where) for item in self.items])

    def stored_value(self, e: Emitter, where: SourceRange) -> Value | None:
        """The tuple; None if functions are among its items."""
        stored = [item.stored_value(e, where) for item in self.items]
        values = [value for value in stored if value is not None]
        return pack_tuple(e, values) if len(values) == len(stored) else None

    def item(self, e: Emitter, where: SourceRange, index: Value) -> Sugared:
        """The item at an index that is known."""
        node = index.defining_node
        constant = node.attribute("value") if node is not None and node.op == "prim::Constant" else None
        if not isinstance(constant, int):
            raise CompileError("a tuple with functions takes an index that is known while compiling", where)
        if not -len(self.items) <= constant < len(self.items):
            raise CompileError(f"tuple index {constant} is out of range: there are {len(self.items)} items", where)
        return self.items[constant]

    def as_tuple(self, e: Emitter, where: SourceRange, size: int | None = None) -> list[Sugared]:
        """Its items."""
        return self.items

    def iterate(self, e: Emitter, where: SourceRange) -> Iteration:
        """Over its items, unrolled."""
        return UnrolledIteration(self.items)

    def length(self, e: Emitter, where: SourceRange) -> Value:
        """How many."""
        return e.constant(len(self.items))
