"""`set(x)`: what can be asked of the distinct items of something. There is no type of sets.

len(set(x))    →    the length of python::distinct(%x)
"""

from __future__ import annotations

from flambeau.frontend.emit.emission import Emission
from flambeau.frontend.emit.schema_matching import call_operator
from flambeau.frontend.trees.views import Apply
from flambeau.frontend.values.container_methods import listed
from flambeau.frontend.values.simple_value import ItemIteration
from flambeau.frontend.values.sugared import Iteration, Sugared
from flambeau.ir.value import Value
from flambeau.schema.types import ListType, TensorType, Type, is_key
from flambeau.util.errors import CompileError
from flambeau.util.record import dataclass
from flambeau.util.source import SourceRange

NO_SET = "a set is understood behind `in` alone, or made by set(x) to be counted, sorted or looped over; use a list"


@dataclass(slots=True)
class SetValue(Sugared):
    """`set(x)`: its distinct items, for `in`, `len`, loops and what takes anything that loops do."""

    items: Value

    @property
    def kind(self) -> str:
        """As messages call it."""
        return f"set: {NO_SET}"

    def contains(self, e: Emission, where: SourceRange, item: Value) -> Value:
        """`item in set(x)`."""
        return call_operator(e, where, "python::contains", [self.items, item])

    def length(self, e: Emission, where: SourceRange) -> Value:
        """How many distinct items."""
        return call_operator(e, where, "aten::len", [self.items])

    def iterate(self, e: Emission, where: SourceRange) -> Iteration:
        """Over its items, in the order in which they were first seen."""
        return ItemIteration(self.items)


def emit_set(e: Emission, tree: Apply, hint: Type | None) -> Sugared:
    """`set(x)`, `frozenset(x)`."""
    if len(tree.args) != 1 or tree.keywords:
        raise CompileError(f"set expected 1 argument, got {len(tree.args)}. {NO_SET}", tree.callee.range)
    items = listed(e, tree.range, e.sugared(tree.args[0]))
    element = items.type.element if isinstance(items.type, ListType) else None
    if element is None or not is_key(element) or isinstance(element, TensorType):
        raise CompileError(f"the items of a set must be hashable, not {items.type.annotation}", tree.range)
    return SetValue(call_operator(e, tree.callee.range, "python::distinct", [items]))
