"""A module as the compiler sees it: a class with parameters, buffers, submodules, constants, and methods.

Two modules share a class when everything a program could tell apart is equal: the Python class, names and types of
attributes, values of constants, classes of submodules, hooks. The values live in a `ScriptObject` that shares its
tensors with the module.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from flambeau.frontend.scopes.name_resolution import Resolver
from flambeau.jit.modules.module_annotations import warn_of_empty_annotations
from flambeau.jit.modules.module_attributes import KnownClasses, ModuleAttributes
from flambeau.jit.modules.module_methods import exported_methods, is_ignored, texts_of
from flambeau.jit.modules.module_source import ModuleSource
from flambeau.jit.modules.owners import owner_of
from flambeau.jit.modules.shells import shell_of
from flambeau.jit.script_registry import ScriptRegistry
from flambeau.nn.container import ModuleDict, ModuleList, Sequential
from flambeau.nn.module import Module
from flambeau.nn.parameter_containers import ParameterDict, ParameterList
from flambeau.program.classes import ClassDefinition, is_module_type
from flambeau.program.object import ScriptObject
from flambeau.schema.types import NONE, Type
from flambeau.util.kept_on import KeptOn, Recent
from flambeau.util.names import python_name, qualified_name
from flambeau.util.record import dataclass, field

ORDERED = (ModuleList, Sequential, ParameterList)
"""Containers reached by position."""
KEYED = (ModuleDict, ParameterDict)
"""Containers reached by name."""
CONTAINERS = (*ORDERED, *KEYED)
NOT_INITIALISED = (
    "'{name}' has not been initialized, did you forget to call 'super()'? Call super().__init__() first in its __init__"
)
CYCLE = (
    "module {name} contains itself: it is reached again as {path}. A scripted module is a tree, because its type says "
    "what it contains. Keep the reference out of the tree, for example inside a list, or pass what is needed to forward"
)
IGNORED = "Module '{owner}' attribute '{name}': attribute was ignored during compilation (__jit_ignored_attributes__)"
UNCONVERTIBLE = (
    "Module '{owner}' has no attribute '{name}' (This attribute exists on the Python module, but we failed to convert "
    "Python type: '{kind}' to a TorchScript type. {reason})"
)
OF_CLASS = (
    "Module '{owner}' has no attribute '{name}': it is an attribute of the class. List it in __constants__, or assign "
    "it in __init__"
)


MakeResolver = Callable[[Callable[[str], Any], Any, str], Resolver]


@dataclass(slots=True)
class Origin:
    """Where a module's class came from."""

    source: ModuleSource
    failed: dict[str, tuple[str, str]]
    """Attributes without a type, each with the name of its Python type and the reason."""
    functions: dict[str, Callable[..., Any]]
    """Functions and classes that are attributes of its instances."""
    keys: list[str] | None = None
    """The keys of a container that is reached by name."""
    exported: list[str] = field(default_factory=list)
    """The methods that are compiled whether anything reaches them or not."""

    @property
    def module(self) -> Module:
        """The shell of an instance, for what is looked up on Python's side."""
        return self.source.module


@dataclass(slots=True)
class _Walk:
    """What was made while one tree of modules is looked at."""

    objects: dict[int, ScriptObject]
    shells: dict[int, Module] = field(default_factory=dict)
    known: KnownClasses = field(default_factory=dict)


class ModuleClasses:
    """The classes and objects made for modules so far."""

    def __init__(self, registry: ScriptRegistry, make_resolver: MakeResolver) -> None:
        """`make_resolver` is given the scope of a function's names, these classes, and what the function is called."""
        self.registry = registry
        self._make_resolver = make_resolver
        self._classes: KeptOn[Any, Recent[ClassDefinition]] = KeptOn()
        self._origins: KeptOn[ClassDefinition, Origin] = KeptOn()

    def beside(self, registry: ScriptRegistry) -> ModuleClasses:
        """Classes whose methods are compiled into another registry; these know where those came from."""
        other = ModuleClasses(registry, self._make_resolver)
        other._origins = self._origins
        return other

    def object_of(
        self, module: Module, objects: dict[int, ScriptObject] | None = None
    ) -> ScriptObject:
        """A module's object; the same module inside another gives one object.

        Raises RuntimeError for a module whose `__init__` did not run, or that contains itself.
        """
        return self._object_of(module, _Walk({} if objects is None else objects), ())

    def _object_of(self, module: Module, walk: _Walk, around: tuple[tuple[str, Module], ...]) -> ScriptObject:
        objects = walk.objects
        if id(module) in objects:
            return objects[id(module)]
        scripted = vars(module).get("script_object")
        if isinstance(scripted, ScriptObject):
            objects[id(module)] = scripted
            return scripted
        if "_modules" not in vars(module):
            raise RuntimeError(NOT_INITIALISED.format(name=python_name(type(module))))
        children: dict[str, ScriptObject] = {}
        for name, child in module._modules.items():
            if child is None:
                continue
            inside = (*around, (name, module))
            if any(child is outer for _, outer in inside):
                path = ".".join(n for n, _ in inside)
                raise RuntimeError(CYCLE.format(name=type(child).__name__, path=path))
            children[name] = self._object_of(child, walk, inside)
        attributes = ModuleAttributes(module, children, self.resolver_for(_nothing, type(module).__name__), walk.known)
        owner = owner_of(type(module), attributes.functions.values(), attributes.types.values())
        known, key = self._classes_beside(owner), attributes.key()
        definition = known.get(key)
        if definition is None:
            known[key] = definition = self._define(module, attributes, walk.shells)
        objects[id(module)] = scripted_object = ScriptObject(definition.type)
        for name, value in attributes.values.items():
            scripted_object.set(name, value)
        return scripted_object

    def _classes_beside(self, owner: Any) -> Recent[ClassDefinition]:
        recent = self._classes.get(owner)
        if recent is None:
            self._classes[owner] = recent = Recent()
        return recent

    def _define(self, module: Module, attributes: ModuleAttributes, shells: dict[int, Module]) -> ClassDefinition:
        name = qualified_name(type(module))
        definition = self.registry.unit.create_class(name, is_module=True, should_mangle=True, python=type(module))
        for attribute, type_ in attributes.types.items():
            definition.add_attribute(
                attribute,
                type_,
                is_parameter=attribute in module._parameters,
                is_buffer=attribute in module._buffers,
            )
        for constant, value in attributes.constants.items():
            definition.add_constant(constant, value)
        shell = shell_of(module, shells)
        definition.source = source = ModuleSource(definition, shell, self.registry, self.resolver_for)
        for text, scope in texts_of(module).items():
            source.learn(text, scope)
        self._origins[definition] = Origin(
            source, attributes.failed, attributes.functions, _keys_of(module), exported_methods(module)
        )
        warn_of_empty_annotations(type(module))
        return definition

    def resolver_for(self, scope: Callable[[str], Any], caller: str) -> Resolver:
        """What a function of modules sees of the Python world."""
        return self._make_resolver(scope, self, caller)

    def origin(self, definition: Any) -> Origin | None:
        """Where a module's class came from; None for other classes."""
        return self._origins.get(definition) if isinstance(definition, ClassDefinition) else None

    def example(self, definition: Any) -> Module | None:
        """The shell of a module of the class, for what is looked up on Python's side."""
        origin = self.origin(definition)
        return None if origin is None else origin.module

    @contextmanager
    def lending(self, definition: ClassDefinition, module: Module) -> Iterator[ModuleSource]:
        """Within the block, `module` is where a class that was not made for it has its methods from."""
        source = ModuleSource(definition, shell_of(module, {}), self.registry, self.resolver_for)
        definition.source = source
        self._origins[definition] = Origin(source, {}, {}, _keys_of(module))
        try:
            yield source
        finally:
            definition.source = None
            self._origins.pop(definition)

    def why_missing(self, definition: ClassDefinition, name: str) -> str | None:
        """Why an attribute that the Python module has is not in the class; None if it does not have it."""
        origin = self.origin(definition)
        if origin is None:
            return None
        module, owner = origin.module, type(origin.module).__name__
        if is_ignored(module, name):
            return IGNORED.format(owner=owner, name=name)
        reason = origin.failed.get(name)
        if reason is not None:
            return UNCONVERTIBLE.format(owner=owner, name=name, kind=reason[0], reason=reason[1])
        if name in dir(type(module)) and not callable(getattr(type(module), name, None)):
            return OF_CLASS.format(owner=owner, name=name)
        return f"Module '{owner}' has no attribute '{name}'"


def _nothing(name: str) -> Any:
    """The scope of a class's attributes: their annotations are values, not names."""
    raise KeyError(name)


def _keys_of(module: Module) -> list[str] | None:
    if isinstance(module, ParameterDict):
        return [k for k in module if k in module._parameters]
    return list(module._modules) if isinstance(module, ModuleDict) else None


def item_attributes(origin: Origin, definition: ClassDefinition) -> list[tuple[str, Type]] | None:
    """What a container holds, by attribute, in order; None for a module that is no container."""
    if origin.keys is not None:
        return [(key, _item_type(definition, key)) for key in origin.keys]
    if isinstance(origin.module, ParameterList):
        return [(a.name, a.type) for a in definition.attributes if a.is_parameter]
    if isinstance(origin.module, ORDERED) and None in origin.module._modules.values():
        return [(name, _item_type(definition, name)) for name in origin.module._modules]
    return child_types(definition) if isinstance(origin.module, ORDERED) else None


def _item_type(definition: ClassDefinition, name: str) -> Type:
    """The type of what a container holds; a place that is left empty holds None."""
    return definition.attributes[definition.slot(name)].type if name in definition.slots else NONE


def child_types(definition: ClassDefinition) -> list[tuple[str, Type]]:
    """The submodules of a class, in order."""
    return [(a.name, a.type) for a in definition.attributes if is_module_type(a.type)]
