"""Methods that yield: calls of them are those of generators, which know their object.

for v in tree.walk(): …    →    the body of `walk`, with `self = tree`, and the loop's body at each `yield`
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from flambeau.frontend.closures.call_arguments import Argument, emit_all
from flambeau.frontend.closures.instantiation import instantiate
from flambeau.frontend.closures.template import Template
from flambeau.frontend.emit.generator_lists import yields
from flambeau.frontend.emit.schema_matching import call_method
from flambeau.frontend.emit.values.generator_calls import generator_call
from flambeau.frontend.emit.values.object_methods import find_method
from flambeau.frontend.emit.values.python_values import may_be_function
from flambeau.frontend.emit.values.simple_value import MethodValue, SimpleValue
from flambeau.frontend.emit.values.sugared import Emitter, Given, Sugared
from flambeau.frontend.trees.tree_views import Apply
from flambeau.ir.graph import Value
from flambeau.schema.types import NamedType, TensorType, Type
from flambeau.util.errors import CompileError
from flambeau.util.record import dataclass
from flambeau.util.source import SourceRange


@dataclass(slots=True)
class GeneratorMethod(Sugared):
    """A method that yields, with its object."""

    owner: Value
    name: str
    template: Template

    @property
    def kind(self) -> str:
        """The name of this kind of value in error messages."""
        return "method"

    def call_tree(self, e: Emitter, tree: Apply, hint: Type | None) -> Sugared:
        """A call with what is known of its arguments."""
        args, keywords = emit_all(e, tree)
        return self._called(e, tree.callee.range, args, keywords)

    def call(self, e: Emitter, where: SourceRange, args: Sequence[Given], keywords: Sequence[Given]) -> Sugared:
        """A call with values."""
        positional = [Argument(SimpleValue(a.value), a.where) for a in args]
        return self._called(e, where, positional, {k.name: Argument(SimpleValue(k.value), k.where) for k in keywords})

    def _called(
        self, e: Emitter, where: SourceRange, args: Sequence[Argument], keywords: Mapping[str, Argument]
    ) -> Sugared:
        def listed(e: Emitter) -> Value:
            assert isinstance(self.owner.static_type, NamedType)
            method = find_method(e, self.owner.static_type, self.name, where)
            assert method is not None
            arguments = [Given(a.value(e), a.where) for a in args]
            named = [Given(k.value(e), k.where, name) for name, k in keywords.items()]
            return call_method(e, where, method, self.name, self.owner, arguments, named)

        template = self.template
        own = Argument(SimpleValue(self.owner), where)
        call = generator_call(
            e, template.tree, template.resolver, template.defaults, [own, *args], keywords, listed, template.compile,
            is_method=True,
        )  # fmt: skip
        if call is None:  # the compiled method says what is wrong
            return SimpleValue(listed(e))
        return call


@dataclass(slots=True)
class HigherMethod(Sugared):
    """A method that may take functions or gathers arguments, with its object: compiled for calls that pass them."""

    owner: Value
    name: str
    template: Template

    @property
    def kind(self) -> str:
        """The name of this kind of value in error messages."""
        return "method"

    def call_tree(self, e: Emitter, tree: Apply, hint: Type | None) -> Sugared | None:
        """A call that passes functions; None for other calls."""
        where = tree.callee.range
        gathers = self.template.tree.decl.vararg is not None or self.template.tree.decl.kwarg is not None
        if not gathers and not any(may_be_function(e, arg) for arg in (*tree.args, *(k.value for k in tree.keywords))):
            return None
        args, keywords = emit_all(e, tree)
        if not gathers and all(a.is_value for a in (*args, *keywords.values())):
            arguments = [Given(a.value(e), a.where) for a in args]
            return self.call(e, where, arguments, [Given(k.value(e), k.where, name) for name, k in keywords.items()])
        try:
            own = Argument(SimpleValue(self.owner), where)
            return instantiate(e, where, self.template, [own, *args], keywords)
        except CompileError as error:
            raise error.with_caller(self.template.tree.name, e.scope.name, where) from None

    def call(self, e: Emitter, where: SourceRange, args: Sequence[Given], keywords: Sequence[Given]) -> Sugared:
        """A call of the compiled method; in programs on arrays of one that is compiled for what the call passes."""
        assert isinstance(self.owner.static_type, NamedType)
        if e.arrays and not all(isinstance(g.value.static_type, TensorType) for g in (*args, *keywords)):
            passed = [Argument(SimpleValue(g.value), g.where) for g in args]
            named = {k.name: Argument(SimpleValue(k.value), k.where) for k in keywords}
            try:
                return instantiate(e, where, self.template, [Argument(SimpleValue(self.owner), where), *passed], named)
            except CompileError as error:
                raise error.with_caller(self.template.tree.name, e.scope.name, where) from None
        method = find_method(e, self.owner.static_type, self.name, where)
        assert method is not None
        python = getattr(self.owner.static_type.definition, "python", None)
        others = getattr(getattr(python, self.name, None), "other_methods", ())
        return MethodValue(self.owner, self.name, method, others).call(e, where, args, keywords)


def generator_method(e: Emitter, owner: Value, name: str, where: SourceRange) -> Sugared | None:
    """A method of an object that yields or may take functions; None for other methods."""
    find = getattr(e.scope.resolver, "generator_method", None)
    if find is None or not isinstance(owner.static_type, NamedType):
        return None
    try:
        template = find(owner.static_type, name)
    except CompileError:
        return None  # which compiling the method says better
    if template is None:
        return None
    return (GeneratorMethod if yields(template.tree) else HigherMethod)(owner, name, template)
