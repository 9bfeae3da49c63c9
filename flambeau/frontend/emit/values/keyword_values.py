"""`**options` inside the function that gathers them: names that are known while compiling, each with a value."""

from __future__ import annotations

from collections.abc import Sequence

from flambeau.frontend.emit.frames import Variable
from flambeau.frontend.emit.implicit_conversions import pack_tuple
from flambeau.frontend.emit.values.simple_value import SimpleValue, UnrolledIteration
from flambeau.frontend.emit.values.sugared import Emitter, FormValue, Given, Iteration, Sugared
from flambeau.frontend.trees.tree_views import Apply, StringLiteral
from flambeau.ir.graph import Value
from flambeau.schema.types import STRING, Type
from flambeau.util.errors import CompileError
from flambeau.util.record import dataclass
from flambeau.util.source import SourceRange

LITERAL = "the names in **{kind} are known while compiling: use a text literal"


@dataclass(slots=True)
class KeywordsValue(Sugared):
    """The gathered keywords; `slots` says under which variable each value is."""

    slots: dict[str, str]

    @property
    def kind(self) -> str:
        """The name of this kind of value in error messages."""
        return "keywords"

    def _value(self, e: Emitter, name: str) -> SimpleValue:
        variable = e.scope.find(self.slots[name])
        assert isinstance(variable, Variable)
        return SimpleValue(e.load(self.slots[name], variable))

    def as_keywords(self, e: Emitter, where: SourceRange) -> dict[str, Sugared]:
        """All of them, to be passed on."""
        return {name: self._value(e, name) for name in self.slots}

    def item(self, e: Emitter, where: SourceRange, index: Value) -> Sugared:
        """`options["name"]`."""
        name = _text(index)
        if name is None:
            raise CompileError(LITERAL.format(kind=self.kind), where)
        if name not in self.slots:
            raise CompileError(f"KeyError: no keyword argument '{name}' was given", where)
        return self._value(e, name)

    def contains(self, e: Emitter, where: SourceRange, item: Value) -> Value:
        """`"name" in options`, known while compiling."""
        name = _text(item)
        if name is None:
            raise CompileError(LITERAL.format(kind=self.kind), where)
        return e.constant(name in self.slots)

    def length(self, e: Emitter, where: SourceRange) -> Value:
        """How many were given."""
        return e.constant(len(self.slots))

    def iterate(self, e: Emitter, where: SourceRange) -> Iteration:
        """Over the names."""
        return UnrolledIteration([SimpleValue(e.constant(name, STRING)) for name in self.slots])

    def attribute(self, e: Emitter, where: SourceRange, name: str) -> Sugared:
        """`get`, `items`, `keys`, `values`."""
        match name:
            case "get":
                return FormValue("get", self._get)
            case "items" | "keys" | "values":
                return _View(self, name)
        raise CompileError(f"keywords have no method '{name}': use [], get, items, keys or values", where)

    def _get(self, e: Emitter, tree: Apply, hint: Type | None) -> Sugared:
        if not 1 <= len(tree.args) <= 2 or not isinstance(tree.args[0], StringLiteral):
            raise CompileError(LITERAL.format(kind=self.kind), tree.range)
        name = tree.args[0].value
        if name in self.slots:
            return self._value(e, name)
        return e.sugared(tree.args[1], hint) if len(tree.args) == 2 else SimpleValue(e.constant(None))


@dataclass(slots=True)
class _View(Sugared):
    """`options.items()` and the like, to loop over."""

    keywords: KeywordsValue
    name: str

    @property
    def kind(self) -> str:
        """The name of this kind of value in error messages."""
        return self.name

    def call(self, e: Emitter, where: SourceRange, args: Sequence[Given], keywords: Sequence[Given]) -> Sugared:
        """Itself."""
        return self

    def iterate(self, e: Emitter, where: SourceRange) -> Iteration:
        """Names, values, or pairs of both, unrolled one by one."""
        items: list[Sugared] = []
        for name in self.keywords.slots:
            value = self.keywords._value(e, name)
            text = e.constant(name, STRING)
            if self.name == "items":
                items.append(SimpleValue(pack_tuple(e, [text, value.value])))
            else:
                items.append(SimpleValue(text) if self.name == "keys" else value)
        return UnrolledIteration(items)


def _text(value: Value) -> str | None:
    node = value.defining_node
    if node is None or node.op != "prim::Constant" or value.static_type != STRING:
        return None
    text: str = node.attribute("value")
    return text
