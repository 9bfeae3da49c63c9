"""A call of a generator: a loop goes over it item by item; anything else takes the list of its items."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from flambeau.frontend.annotations import type_of_tree
from flambeau.frontend.captures import Closure, name_at
from flambeau.frontend.constants import constant_type, constant_value
from flambeau.frontend.emit.conversions import convert
from flambeau.frontend.emit.environment import Variable
from flambeau.frontend.emit.generators import declared_element
from flambeau.frontend.emit.inlined import expand
from flambeau.frontend.trees.views import Def
from flambeau.frontend.values.simple_value import ItemIteration, SimpleValue
from flambeau.frontend.values.sugared import Given, Iteration, Sugared
from flambeau.ir.value import Value
from flambeau.schema.subtype import is_subtype
from flambeau.schema.types import TENSOR, Type
from flambeau.util.record import dataclass
from flambeau.util.source import SourceRange

if TYPE_CHECKING:
    from flambeau.frontend.emit.emission import Emission


@dataclass(slots=True)
class GeneratorCall(Sugared):
    """`g(n)` of a generator `g`."""

    tree: Def
    resolver: Any
    """Where its names are looked up."""
    values: Mapping[str, Value | Sugared]
    """Its parameters."""
    listed: Callable[[Emission], Value]
    """Emits the call that gives all its items."""
    closure: Closure | None = None
    """The nested function that it is, if it is one."""

    @property
    def kind(self) -> str:
        """As messages call it."""
        return "generator"

    def as_value(self, e: Emission, where: SourceRange) -> Value:
        """The list of its items."""
        return self.listed(e)

    def held(self, e: Emission, where: SourceRange) -> Value:
        """What a variable holds: the list of its items."""
        return self.listed(e)

    def as_tuple(self, e: Emission, where: SourceRange, size: int | None = None) -> list[Sugared]:
        """Its items."""
        return SimpleValue(self.listed(e)).as_tuple(e, where, size)

    def iterate(self, e: Emission, where: SourceRange) -> Iteration:
        """Item by item."""
        return GeneratorIteration(self)


@dataclass(slots=True)
class GeneratorIteration(Iteration):
    """Over what a generator yields: written out in a loop of its own, else over the list of all."""

    call: GeneratorCall
    all: ItemIteration | None = None

    def _all(self, e: Emission) -> ItemIteration:
        if self.all is None:
            self.all = ItemIteration(self.call.listed(e))
        return self.all

    def trip_count(self, e: Emission, where: SourceRange) -> Value | None:
        """The length of the list."""
        return self._all(e).trip_count(e, where)

    def at(self, e: Emission, where: SourceRange, index: Value) -> Sugared:
        """An item of the list."""
        return self._all(e).at(e, where, index)

    def emit(self, e: Emission, where: SourceRange, body: Callable[[Sugared], bool], jumps: bool) -> bool | None:
        """The loop, with the generator written out; None for one that is inside of itself."""
        call = self.call
        if id(call.tree) in e.expanding:
            return None
        names: dict[str, Variable | Sugared] = {}
        for name, value in call.values.items():
            if isinstance(value, Sugared):
                names[name] = value
            else:
                names[name] = e.store_aside(name, value)
        for name in () if call.closure is None else call.closure.free:
            assert call.closure is not None
            found = e.frame.find(name_at(call.closure, name, e.home))
            if isinstance(found, Variable | Sugared):
                names[name] = found
        element = declared_element(call.tree, call.resolver)
        return expand(e, where, call.tree, call.resolver, names, element, body, jumps=jumps)


def generator_call(
    e: Emission,
    tree: Def,
    resolver: Any,
    defaults: Mapping[str, Any],
    args: Sequence[Given],
    keywords: Sequence[Given],
    listed: Callable[[Emission], Value],
    closure: Closure | None = None,
) -> GeneratorCall | None:
    """The call of a generator with values; None where only the compiled function can tell what it means."""
    decl = tree.decl
    given: dict[str, Value] = {}
    positional = [p for p in decl.params if not p.keyword_only]
    if decl.vararg is not None or decl.kwarg is not None or len(args) > len(positional):
        return None
    given.update({p.name: a.value for p, a in zip(positional, args, strict=False)})
    known = {p.name for p in decl.params}
    for keyword in keywords:
        if keyword.name in given or keyword.name not in known:
            return None
        given[keyword.name] = keyword.value
    values: dict[str, Value | Sugared] = {}
    for param in decl.params:
        value = given.get(param.name)
        if value is None:
            if param.name not in defaults:
                return None
            try:
                default = constant_value(defaults[param.name])
                value = e.constant(default, constant_type(default))
            except TypeError:
                return None
        wanted: Type = TENSOR if param.annotation is None else type_of_tree(param.annotation, resolver)
        if param.annotation is not None or closure is None:
            value = convert(e, value, wanted, implicit=True)
            if not is_subtype(value.type, wanted):
                return None
        values[param.name] = value
    return GeneratorCall(tree, resolver, values, listed, closure)
