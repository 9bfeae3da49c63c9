"""Functions inside functions: a nested definition or a lambda, and its calls.

def outer(x):
    def inner(y): return x + y    →    `inner` stands for its tree and the variables that it captures
    return inner(2)                    a call passes the %x that the variable holds by then
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from flambeau.frontend.closures.call_arguments import Argument, emit_all
from flambeau.frontend.closures.closure_objects import closure_object, holds_closures
from flambeau.frontend.closures.computed_defaults import computed_defaults, left_out
from flambeau.frontend.closures.instantiation import instantiate, specialise
from flambeau.frontend.closures.returned_functions import call_maker, makes_function
from flambeau.frontend.closures.template import Compiler, Template
from flambeau.frontend.emit.generator_lists import yields
from flambeau.frontend.emit.values.generator_calls import generator_call
from flambeau.frontend.emit.values.simple_value import SimpleValue
from flambeau.frontend.emit.values.sugared import Emitter, Given, Sugared, Transform
from flambeau.frontend.scopes.parameter_defaults import written_defaults
from flambeau.frontend.scopes.scope_tree import Capture, Scope
from flambeau.frontend.trees.tree_views import Apply, Def
from flambeau.ir.graph import Value
from flambeau.program.function import Function
from flambeau.schema.types import Type
from flambeau.util.errors import CompileError
from flambeau.util.record import dataclass, field, replace
from flambeau.util.source import SourceRange

INSTEAD = (
    "it can be called, passed to functions and returned by functions of the program, and be in a list, tuple or dict "
    "that is written out; Python and objects get the values that it gives"
)


@dataclass(slots=True)
class ClosureValue(Sugared):
    """A nested function or a lambda. What it reads of the function around it is read when it is called."""

    is_function: ClassVar[bool] = True

    template: Template
    symbols: Scope
    """What its names are."""
    defining_scope: str
    """The function it was defined in."""
    computed: Mapping[str, str] = field(default_factory=dict)
    """The variables there that hold defaults, by parameter."""
    transforms: tuple[Transform, ...] = ()
    """What is made of the function as compiled for a call, one after another: its gradient."""

    @property
    def captured(self) -> Sequence[Capture]:
        """What it uses of the functions around it: computed defaults are variables there, too."""
        return [*self.symbols.captures.values(), *map(Capture, self.computed.values())]

    @property
    def kind(self) -> str:
        """The name of this kind of value in error messages."""
        return "function"

    def as_value(self, e: Emitter, where: SourceRange) -> Value:
        """The function with what it reads, in texts. Raises CompileError elsewhere: it can be called and passed on."""
        if holds_closures(e) and not self.transforms:
            return closure_object(e, where, self, self.template)
        raise CompileError(f"{self.kind} cannot be used as a value: {INSTEAD}", where)

    def transformed(self, e: Emitter, transform: Transform) -> ClosureValue:
        """This function with one more transform."""
        return replace(self, transforms=(*self.transforms, transform))

    def specialised(
        self, e: Emitter, where: SourceRange, args: Sequence[Given], transform: Transform
    ) -> tuple[Function, list[Given]]:
        """What a transform makes of it as compiled for these arguments, and all that it is called with, by name."""
        passed = [Argument(SimpleValue(a.value), a.where) for a in args]
        template = self.template
        defaults = left_out(e, self, template.tree, self.computed, where, passed, {}) if self.computed else {}
        called = specialise(e, where, template, passed, defaults, self, (*self.transforms, transform))
        return called.function, called.values

    def call_tree(self, e: Emitter, tree: Apply, hint: Type | None) -> Sugared:
        """A call with what is known of its arguments."""
        args, keywords = emit_all(e, tree)
        return self._called(e, tree.callee.range, args, keywords)

    def call(self, e: Emitter, where: SourceRange, args: Sequence[Given], keywords: Sequence[Given]) -> Sugared:
        """A call with values."""
        positional = [Argument(SimpleValue(a.value), a.where) for a in args]
        named = {k.name: Argument(SimpleValue(k.value), k.where) for k in keywords}
        return self._called(e, where, positional, named)

    def _called(
        self, e: Emitter, where: SourceRange, args: Sequence[Argument], keywords: Mapping[str, Argument]
    ) -> Sugared:
        def listed(e: Emitter) -> Value:
            return instantiate(e, where, self.template, args, keywords, self).as_value(e, where)

        template = self.template
        if self.computed:
            rest = left_out(e, self, template.tree, self.computed, where, args, keywords)
            keywords = {**keywords, **rest}
        if self.transforms:
            return instantiate(e, where, template, args, keywords, self, self.transforms)
        if makes_function(template.tree, e.scope.resolver, functions_given(template.tree, args, keywords)):
            return call_maker(e, where, template, args, keywords, self)
        if yields(template.tree):
            call = generator_call(
                e, template.tree, e.scope.resolver, template.defaults, args, keywords, listed, template.compile, self
            )
            if call is not None:
                return call
        return instantiate(e, where, self.template, args, keywords, self)


def functions_given(tree: Def, args: Sequence[Argument], keywords: Mapping[str, Argument]) -> dict[str, Argument]:
    """The arguments that are no values, by parameter."""
    names = [p.name for p in tree.decl.params if not p.keyword_only]
    passed = dict(zip(names, args, strict=False)) | dict(keywords)
    return {name: argument for name, argument in passed.items() if not argument.is_value}


def closure(e: Emitter, tree: Def, symbols: Scope, compile_: Compiler) -> ClosureValue:
    """The value of a nested definition."""
    computed = {} if holds_closures(e) else computed_defaults(e, tree)
    params = tuple(replace(p, default=None) if p.name in computed else p for p in tree.decl.params)
    tree = replace(tree, decl=replace(tree.decl, params=params)) if computed else tree
    template = Template(tree, e.scope.resolver, written_defaults(tree, e.scope.resolver), compile_)
    return ClosureValue(template, symbols, e.scope.unique_name, computed)
