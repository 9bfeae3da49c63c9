"""Where the class of a module has its methods from: the functions of the Python class, as one instance has them.

Each method is compiled when something first asks for it.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Set
from typing import Any

from flambeau.frontend.compile_function import compile_def, declared_schema
from flambeau.frontend.scopes.array_annotations import METHODS, refuse_arrays
from flambeau.frontend.scopes.name_resolution import Resolver
from flambeau.frontend.source.python_source import NameScope, parameter_defaults
from flambeau.frontend.trees.function_conversion import NO_SELF, get_tree, parse_source
from flambeau.frontend.trees.tree_views import Def, Ident, Param
from flambeau.jit.block_decorators import within_decorators
from flambeau.jit.classes.method_trees import bound_to_class
from flambeau.jit.compiling import compiling, is_compiling, kept, promise, tidy
from flambeau.jit.modules.module_hooks import HookTable, compile_hooks
from flambeau.jit.modules.module_methods import is_of_base, is_unused_property, method_source
from flambeau.jit.modules.module_overloads import declared_overloads, overload_name
from flambeau.jit.overloads import signature_tree
from flambeau.jit.script_registry import ScriptRegistry
from flambeau.nn.module import Module
from flambeau.nn.utils.computed import SCRIPT
from flambeau.nn.utils.parametrize import COMPILED, is_caching
from flambeau.program.classes import ClassDefinition, Property
from flambeau.program.function import Function
from flambeau.schema.function import FunctionSchema
from flambeau.util.errors import CompileError
from flambeau.util.record import replace

ResolverFor = Callable[[Callable[[str], Any], str], Resolver]
"""Makes the resolver for a function, given the scope of its names and what it is called."""


class ModuleSource:
    """The methods, properties and hooks of modules of one class."""

    def __init__(
        self, definition: ClassDefinition, module: Module, registry: ScriptRegistry, resolver_for: ResolverFor
    ) -> None:
        self.definition = definition
        self.module = module
        """The shell of an instance, for what is looked up on Python's side."""
        self._registry = registry
        self._resolver_for = resolver_for
        self._inherited: dict[tuple[type, str], Function] = {}
        self._hooks: HookTable | None = None
        self._texts: dict[str, tuple[Def, Callable[[str], Any]]] = {}
        """Methods that were written as text, and what their names mean."""

    def forget(self, functions: Set[int]) -> None:
        """Compile what is kept of these functions, by identity, anew."""
        self._inherited = {k: f for k, f in self._inherited.items() if id(f) not in functions}

    def method(self, name: str) -> Function | None:
        """A method; None if the class has none of that name. Raises CompileError."""
        if name in self.definition.methods:
            return self.definition.methods[name]
        if name in self._texts:
            return self._from_text(name)
        static = inspect.getattr_static(self.module, name, None)
        if isinstance(static, property):
            accessors = self.property(name)
            return None if accessors is None else accessors[0]
        if name == "forward" and isinstance(static, staticmethod):
            return self.definition.add_method(name, self._compiled(static.__func__, name, without_self=True))
        source = method_source(self.module, name)
        return None if source is None else self.add(source, name)

    def property(self, name: str) -> Property | None:
        """Getter and setter of a property; None for what is none, or is left out."""
        member = inspect.getattr_static(self.module, name, None)
        if not isinstance(member, property) or member.fget is None or is_unused_property(self.module, name):
            return None
        accessor, text = f"__{name}_getter", getattr(member.fget, SCRIPT, None)
        if text is not None and name not in self.definition.properties:
            if is_caching():
                raise RuntimeError(COMPILED)
            [tree] = parse_source(text, self_name=self.definition.name)
            own = self._from_tree(tree, accessor, NameScope.of_function(member.fget), {})
            self.definition.properties[name] = (self.definition.add_method(accessor, own), None)
        if name not in self.definition.properties:
            getter = self.definition.methods.get(accessor) or self.add(member.fget, accessor)
            setter = None if member.fset is None else self.add(member.fset, f"__{name}_setter")
            self.definition.properties[name] = (getter, setter)
        return self.definition.properties[name]

    def signature(self, name: str) -> FunctionSchema | None:
        """What a method takes and returns."""
        method = self.method(name)
        return None if method is None else method.schema

    def static(self, name: str) -> Function | None:
        """A class method with its class filled in; None for what is none."""
        member = inspect.getattr_static(self.module, name, None)
        if not isinstance(member, classmethod):
            return None
        if name not in self.definition.static_methods:
            function = self._compiled(member.__func__, name, bind_class=True)
            self.definition.static_methods[name] = function
        return self.definition.static_methods[name]

    def overloads(self, name: str) -> list[Function]:
        """A method compiled for each of the signatures declared for it; none if there are none. Raises CompileError."""
        functions = []
        for number, declaration in enumerate(declared_overloads(self.module, name)):
            own = overload_name(name, number)
            if own not in self.definition.methods:
                implementation = inspect.getattr_static(self.module, name)
                try:
                    tree, defaults = signature_tree(declaration, implementation, self.definition.name)
                except CompileError:
                    raise
                except RuntimeError as error:
                    raise CompileError(str(error)) from None
                function = self._from_tree(tree, own, NameScope.of_function(implementation), defaults)
                self.definition.add_method(own, function)
            functions.append(self.definition.methods[own])
        return functions

    def inherited(self, name: str, after: type | None) -> Function | None:
        """A method as the bases behind `after` have it."""
        order = type(self.module).__mro__
        for base in order[order.index(after) + 1 if after in order else 0 :]:
            member = vars(base).get(name)
            if inspect.isfunction(member) and not is_of_base(member, name):
                if (base, name) not in self._inherited:
                    self._inherited[base, name] = self._compiled(member, f"__{base.__name__}_{name}")
                return self._inherited[base, name]
        return None

    def hooks(self) -> HookTable | None:
        """The forward hooks, compiled; None if there are none. Raises CompileError."""
        if not (self.module._forward_pre_hooks or self.module._forward_hooks):
            return None
        if self._hooks is None:
            forward = self.method("forward")
            if forward is None:
                return None
            self._hooks = table = compile_hooks(self.module, self.definition, forward, self.add)
            names = [tuple([f.short_name for f in functions]) for functions in (table.before, table.after)]
            self.definition.hooks = (names[0], names[1])
        return self._hooks

    def define(self, text: str, scope: Callable[[str], Any]) -> list[Function]:
        """Methods from a text, which may call each other. Raises CompileError, RuntimeError for a name taken."""
        names = self.learn(text, scope)
        try:
            return [f for f in map(self.method, names) if f is not None]
        except BaseException:
            for name in names:
                self._texts.pop(name)
            raise

    def learn(self, text: str, scope: Callable[[str], Any]) -> list[str]:
        """Take methods from a text, without compiling them; their names. Raises RuntimeError for one that is taken."""
        trees = parse_source(text, self_name=self.definition.name)
        for tree in trees:
            if tree.name in self._texts or tree.name in self.definition.methods:
                raise RuntimeError(f"method '{self.definition.name}.{tree.name}' already defined")
            self._texts[tree.name] = (tree, scope)
        return [tree.name for tree in trees]

    def text_methods(self) -> list[str]:
        """The names of the methods that were written as text."""
        return list(self._texts)

    def _from_text(self, name: str) -> Function:
        tree, scope = self._texts[name]
        if not tree.decl.params:
            raise CompileError(NO_SELF, tree.ident.range)
        return self._add_method(name, self._from_tree(tree, name, scope, {}))

    def _from_tree(
        self, tree: Def, name: str, scope: Callable[[str], Any], defaults: Mapping[str, Any], doc: str = "",
        *, has_self: bool = True, written: Callable[..., Any] | None = None,
    ) -> Function:  # fmt: skip
        """A tree compiled as a method; `written` is the function that it was made of."""
        definition = self.definition
        shown = f"{definition.name.rpartition('.')[2]}.{name}"
        key, qualified = (definition, name), f"{definition.name}.{name}"
        self_type, resolver = definition.type if has_self else None, self._resolver_for(scope, shown)
        refuse_arrays(tree, resolver, METHODS)
        promised = promise(
            key, qualified,
            lambda: declared_schema(tree, resolver, defaults=defaults, self_type=self_type, by_returns=True),
        )  # fmt: skip
        if promised is not None:
            return promised

        def compiled() -> Function:
            with compiling(key, shown, None):
                body = compile_def(tree, resolver, name=qualified, defaults=defaults, self_type=self_type)
            tidy(within_decorators(body, written))
            return body

        function = kept(key, compiled)
        function.doc = doc
        self._registry.attach(function)
        return function

    def add(self, source: Callable[..., Any], name: str) -> Function:
        """A Python function compiled as a method."""
        return self._add_method(name, self._compiled(source, name))

    def _add_method(self, name: str, function: Function) -> Function:
        """A compiled method; one that calls itself is met while it is compiled, and added after that."""
        return function if is_compiling((self.definition, name)) else self.definition.add_method(name, function)

    def _compiled(
        self, source: Callable[..., Any], name: str, *, bind_class: bool = False, without_self: bool = False
    ) -> Function:
        has_self = not (bind_class or without_self)
        scope: Callable[[str], Any] = NameScope.of_function(source)
        tree = get_tree(source, self_name=self.definition.name if has_self else None)
        if self._registry.examples is not None:
            tree, scope = self._registry.examples.tree(source, tree), self._registry.examples.scope(source, scope)
        defaults, doc = parameter_defaults(source), inspect.getdoc(source) or ""
        if not bind_class:
            shown = _with_self(tree) if without_self else tree
            return self._from_tree(shown, name, scope, defaults, doc, written=source)
        tree, scope = bound_to_class(tree, scope, type(self.module))
        return self._from_tree(tree, name, scope, defaults, doc, has_self=False, written=source)


def _with_self(tree: Def) -> Def:
    """A static method as a method that makes no use of its object."""
    where = tree.decl.range
    own = Param(where, Ident(where, "self"), None, None, False)
    return Def(tree.range, tree.ident, replace(tree.decl, range=where, params=(own, *tree.decl.params)), tree.body)
