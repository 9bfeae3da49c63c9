"""`LoadedModule`: a scripted module whose class was read from an archive."""

from __future__ import annotations

from typing import Any

from flambeau.executor.options import Options
from flambeau.jit.loading.submodules import Submodules
from flambeau.jit.modules import python_view
from flambeau.jit.modules.module_classes import ModuleClasses
from flambeau.jit.modules.script_method import forwarding, without_module
from flambeau.jit.modules.script_module import RecursiveScriptModule, ScriptContainer, ScriptTable
from flambeau.nn.hooks import Registered
from flambeau.program.classes import ClassDefinition
from flambeau.program.object import ScriptObject
from flambeau.program.unit import demangle
from flambeau.util.hooks import add_hook
from flambeau.util.locks import NoForkLock

_ORDERED = ("Sequential", "ModuleList", "ParameterList")
_KEYED = ("ModuleDict", "ParameterDict")
_LOCK = NoForkLock()
"""While it is held nobody else makes the module of an object."""


class LoadedModule(RecursiveScriptModule):
    """A module from an archive. Its methods are those of the archive; there is no Python class behind it."""

    @classmethod
    def around(
        cls, script_object: ScriptObject, classes: ModuleClasses, options: Options
    ) -> RecursiveScriptModule:
        """The module for an object; the same one for the same object, while one is there."""
        with _LOCK:
            known = python_view.known(script_object)
            if isinstance(known, LoadedModule):
                return known
            definition: ClassDefinition = script_object.type.definition
            find_properties(definition)
            kind: type[LoadedModule] = kind_for(definition)
            module = kind(script_object, classes, options, definition.name.rpartition(".")[2])
            parameters = [a.name for a in definition.attributes if a.is_parameter]
            buffers = [a.name for a in definition.attributes if a.is_buffer]
            module._stand_for_object(parameters, buffers)
            object.__setattr__(module, "_modules", Submodules(module._inner_modules))
            module._take_hooks()
            return module

    def _inner_modules(self) -> dict[str, Any]:
        """The modules among the attributes, for each object one."""
        own = self.script_object
        names = {a.name: own.get(a.name) for a in own.type.definition.attributes if own.has(a.name)}
        inner = {n: v for n, v in names.items() if isinstance(v, ScriptObject) and v.type.definition.is_module}
        return {n: LoadedModule.around(v, self._classes, self._options) for n, v in inner.items()}

    def _take_hooks(self) -> None:
        definition: ClassDefinition = self.script_object.type.definition
        for table, names in zip(("_forward_pre_hooks", "_forward_hooks"), definition.hooks, strict=True):
            for name in names:
                add_hook(self._hooks(table), Registered(without_module(self._method(name))))

    def define(self, source: str) -> None:
        """Loaded modules have the methods that they were saved with. Raises RuntimeError."""
        raise RuntimeError(f"methods cannot be added to {self._original_name}, which was loaded from an archive")


LoadedModule.__name__ = RecursiveScriptModule.__name__  # as messages and users know all scripted modules


class _LoadedContainer(LoadedModule, ScriptContainer):
    """A container that is reached by position."""


class _LoadedTable(LoadedModule, ScriptTable):
    """A container that is reached by name."""


def kind_for(definition: ClassDefinition) -> Any:
    """Containers are containers; special methods are where Python looks for them."""
    name = demangle(definition.name)
    short = name.rpartition(".")[2]
    is_own = ".nn.modules.container." in name or ".nn.container." in name or ".nn.parameter_containers." in name
    kind: Any = LoadedModule
    if is_own and short in (*_ORDERED, *_KEYED):
        return _LoadedContainer if short in _ORDERED else _LoadedTable
    magic = [n for n in definition.methods if n.startswith("__") and n.endswith("__") and n not in _STATE]
    return type(kind.__name__, (kind,), {n: forwarding(n) for n in magic}) if magic else kind


def find_properties(definition: ClassDefinition) -> None:
    """Getters and setters, which archives have as methods, are properties again."""
    for method in list(definition.methods):
        name = method.removeprefix("__").removesuffix("_getter")
        if method == f"__{name}_getter" and name not in definition.slots and name not in definition.properties:
            setter = definition.methods.get(f"__{name}_setter")
            definition.properties[name] = (definition.methods[method], setter)


_STATE = frozenset(("__getstate__", "__setstate__", "__init__"))
"""Methods that the archive uses and Python does not: copies are made of what the module holds."""
