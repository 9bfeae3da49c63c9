"""Functions that one text defines: they see each other before what is around the text.

def f(x):                               g is compiled when f calls it; a function that is being compiled
    return g(x) + 1        →            can be called if it declares what it returns
def g(x): ...
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flambeau.frontend.closures.template import Template, TemplateResolver
from flambeau.frontend.compile_function import compile_def, declared_schema
from flambeau.frontend.scopes.array_annotations import TEXTS, refuse_arrays
from flambeau.frontend.scopes.name_resolution import ObjectResolver, Resolver, recursion_error
from flambeau.frontend.scopes.parameter_defaults import written_defaults
from flambeau.frontend.trees import tree_views as t
from flambeau.frontend.trees.function_conversion import parse_source
from flambeau.ir.graph import Graph, Value
from flambeau.program.function import Function
from flambeau.schema.types import NamedType, Type
from flambeau.util.errors import CompileError
from flambeau.util.source import SourceRange


def compile_source(
    text: str, resolver: Resolver, *, filename: str = "<string>", finish: Callable[[Function], None] | None = None
) -> list[Function]:
    """The functions of a source text, in order. They may call each other in any order. Those that call
    themselves, also by way of others, have to declare what they return.

    Each is given to `finish` when it is compiled, before others take gradients of it or run it while they are.

    Raises CompileError or FrontendError.
    """
    trees = parse_source(text, filename)
    unit = (_WithObjects if isinstance(resolver, ObjectResolver) else _SourceUnit)(trees, resolver, finish)
    return [unit.compiled(tree) for tree in trees]


class _SourceUnit:
    """Functions of one text that see each other, before what the resolver around them knows."""

    holds_closures = True

    def __init__(self, trees: list[t.Def], outer: Resolver, finish: Callable[[Function], None] | None) -> None:
        self.outer = outer
        self.finish = finish
        self.reaches_python = outer.reaches_python
        self.trees: dict[str, t.Def] = {}
        for tree in trees:
            if tree.name in self.trees:
                raise CompileError(
                    f"function '{tree.name}' is defined twice: overloads have to have different names", tree.ident.range
                )
            self.trees[tree.name] = tree
        self.done: dict[str, Function] = {}
        self.active: list[str] = []
        self.promised: dict[str, Function] = {}
        """Those of the active ones that are called already: what calls them has to hold the very object."""

    def compiled(self, tree: t.Def, where: SourceRange | None = None) -> Function:
        if tree.name in self.active:
            return self.promise(tree, where)
        if tree.name not in self.done:
            refuse_arrays(tree, self, TEXTS)
            self.active.append(tree.name)
            try:
                function = compile_def(tree, self)
                if self.finish is not None:
                    self.finish(function)
                self.done[tree.name] = self.keep_promise(function)
            finally:
                self.active.pop()
                self.promised.pop(tree.name, None)
        return self.done[tree.name]

    def promise(self, tree: t.Def, where: SourceRange | None) -> Function:
        """A function that is being compiled: so far what its declaration says. Raises CompileError if that is not all
        that a caller has to know.
        """
        if tree.name not in self.promised:
            schema = declared_schema(tree, self, defaults=written_defaults(tree, self))
            if schema is None:
                raise recursion_error(tree.name, where or tree.range)
            self.promised[tree.name] = Function(tree.name, Graph(tree.name), schema)
        return self.promised[tree.name]

    def keep_promise(self, function: Function) -> Function:
        """What was promised becomes the function that was compiled."""
        promised = self.promised.get(function.name)
        if promised is None:
            return function
        promised.graph, promised.schema, promised.result = function.graph, function.schema, function.result
        return promised

    def resolve(self, name: str) -> Any:
        """One of the text's own functions, or what the name means outside."""
        return self.trees[name] if name in self.trees else self.outer.resolve(name)

    def member(self, owner: Any, name: str) -> Any:
        """An attribute of what a name means outside."""
        return self.outer.member(owner, name)

    def compile_function(self, fn: Any, where: SourceRange) -> Function | None:
        """One of the text's own functions, or another."""
        if not isinstance(fn, t.Def):
            return self.outer.compile_function(fn, where)
        caller = self.active[-1] if self.active else ""
        try:
            return self.compiled(fn, where)
        except CompileError as error:
            raise error.with_caller(fn.name, caller, where) from None

    def template(self, fn: Any) -> Template | None:
        """One of the text's own functions, or another, to be compiled for a call."""
        if isinstance(fn, t.Def):
            return Template(fn, self, written_defaults(fn, self), compile_def)
        return self.outer.template(fn) if isinstance(self.outer, TemplateResolver) else None

    def operator_name(self, value: Any) -> str | None:
        """The operator that a Python function stands for, as the enclosing resolver says."""
        return self.outer.operator_name(value)

    def class_type(self, cls: type, where: SourceRange | None) -> Type | None:
        """The type of a Python class, as the enclosing resolver says."""
        return self.outer.class_type(cls, where)

    def sugared(self, value: Any, where: SourceRange) -> Any:
        """What a Python value is to programs, as the enclosing resolver says."""
        return self.outer.sugared(value, where)


class _WithObjects(_SourceUnit):
    """The same where the resolver around them knows objects: methods are compiled when they are first reached."""

    outer: Resolver

    @property
    def _objects(self) -> ObjectResolver:
        assert isinstance(self.outer, ObjectResolver)
        return self.outer

    def compile_method(self, owner: NamedType, name: str, where: SourceRange) -> Function | None:
        """A method of a class outside, as the enclosing resolver says."""
        return self._objects.compile_method(owner, name, where)

    def object_attribute(self, owner: Value | type, name: str, where: SourceRange) -> Any:
        """What is no stored value of an object, as the enclosing resolver says."""
        return self._objects.object_attribute(owner, name, where)

    def object_items(self, owner: Value, where: SourceRange) -> list[tuple[str, Type]] | None:
        """What a container holds, as the enclosing resolver says."""
        return self._objects.object_items(owner, where)

    def object_keys(self, owner: Value, where: SourceRange) -> list[str] | None:
        """The keys of a container, as the enclosing resolver says."""
        return self._objects.object_keys(owner, where)

    def call_object(self, owner: Value, where: SourceRange) -> Any:
        """What a call of an object is, as the enclosing resolver says."""
        return self._objects.call_object(owner, where)
