"""`module._c`: a scripted module under the names that TorchScript's users reach below it by.

>>> import flambeau
>>> c = flambeau.script(flambeau.nn.Linear(2, 1))._c
>>> c._type().name(), c.hasattr("weight"), c._has_method("forward"), c.getattr("out_features")
('Linear', True, True, 1)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from textwrap import indent
from typing import Any

from flambeau.ir.torchscript.types import Type
from flambeau.jit.freeze import freeze_module
from flambeau.jit.modules import python_view
from flambeau.jit.modules.script_method import ScriptMethod
from flambeau.jit.modules.script_module import RecursiveScriptModule
from flambeau.program.object import ScriptObject
from flambeau.schema.types import InterfaceType

NO_METHOD = "Method '{name}' is not defined."
NO_ATTRIBUTE = "{owner} does not have an attribute with name '{name}'; what a module has is fixed when it is scripted"
NO_FIELD = "{owner} does not have a field with name '{name}'"


class ModuleHandle:
    """What a scripted module consists of: `ours` is the module."""

    ours: RecursiveScriptModule

    def __init__(self, ours: RecursiveScriptModule) -> None:
        object.__setattr__(self, "ours", ours)

    @property
    def _object(self) -> ScriptObject:
        return self.ours.script_object

    @property
    def qualified_name(self) -> str:
        """The name of its class, `__torch__.package.Name`."""
        return self._object.type.name

    @property
    def name(self) -> str:
        """The last part of that."""
        return self.qualified_name.rpartition(".")[2]

    def _type(self) -> Type:
        """Its class as a type."""
        return Type.of(self._object.type)

    def getattr(self, name: str) -> Any:
        """An attribute; of a submodule, its handle. Raises AttributeError."""
        if not self._object.has(name):
            constants = self._object.type.definition.constants
            if name not in constants:
                raise AttributeError(NO_FIELD.format(owner=self.qualified_name, name=name))
            return constants[name]
        return _shown(self._object.get(name))

    def __getattr__(self, name: str) -> Any:
        """A method, or what `getattr` gives."""
        if name.startswith("__"):
            raise AttributeError(name)
        return self._get_method(name) if self._has_method(name) else self.getattr(name)

    def __setattr__(self, name: str, value: Any) -> None:
        """What `setattr` does."""
        self.setattr(name, value)

    def __dir__(self) -> list[str]:
        definition = self._object.type.definition
        return sorted({*super().__dir__(), *definition.slots, *definition.constants, *definition.methods})

    @property
    def code(self) -> str:
        """`forward` as source."""
        return self.ours.code

    @property
    def code_with_constants(self) -> tuple[str, Any]:
        """`forward` as source, and the constants that it names."""
        code: tuple[str, Any] = self._get_method("forward").code_with_constants
        return code

    def children(self) -> list[ModuleHandle]:
        """The modules right in it."""
        return [child for _, child in _children(self)]

    def apply(self, function: Callable[[ModuleHandle], object]) -> None:
        """Call a function with each module in it, those further in first, and with the module itself."""
        for child in self.children():
            child.apply(function)
        function(self)

    def get_debug_state(self) -> Any:
        """The plans of `forward`."""
        return self._get_method("forward").get_debug_state()

    def hasattr(self, name: str) -> bool:
        """Whether there is an attribute or a submodule of that name."""
        return self._object.has(name) or name in self._object.type.definition.constants

    def setattr(self, name: str, value: Any) -> None:
        """Give an attribute another value. Raises RuntimeError for one that is not there, or of another type."""
        if not self.hasattr(name):
            raise RuntimeError(NO_ATTRIBUTE.format(owner=self.qualified_name, name=name))
        setattr(self.ours, name, value.ours if isinstance(value, ModuleHandle) else value)

    def _method_names(self) -> list[str]:
        """The methods compiled so far."""
        return list(self._object.type.definition.methods)

    def _has_method(self, name: str) -> bool:
        """Whether a method of that name is compiled."""
        return name in self._object.type.definition.methods

    def _get_method(self, name: str) -> ScriptMethod:
        """A method. Raises RuntimeError if there is none."""
        if not self._has_method(name):
            raise RuntimeError(NO_METHOD.format(name=name))
        return self.ours._method(name)

    def _get_forward_hooks(self) -> list[ScriptMethod]:
        """The compiled hooks behind `forward`."""
        return self._hooks("after")

    def _get_forward_pre_hooks(self) -> list[ScriptMethod]:
        """The compiled hooks before `forward`."""
        return self._hooks("before")

    def _hooks(self, when: str) -> list[ScriptMethod]:
        origin = self.ours._classes.origin(self._object.type.definition)
        compiled = None if origin is None else origin.source.hooks()
        return [] if compiled is None else [self.ours._method(f.short_name) for f in getattr(compiled, when)]

    def _get_methods(self) -> list[ScriptMethod]:
        """All methods."""
        return [self.ours._method(name) for name in self._method_names()]

    def _retrieve_traced_inputs(self) -> dict[str, list[Any]]:
        """The example inputs of a traced module, by method; nothing for others."""
        return dict(vars(self.ours).get("_traced_inputs", {}))

    def save(self, f: Any, _extra_files: Mapping[str, str | bytes] | None = None) -> None:
        """Write the module to a file."""
        self.ours.save(f, _extra_files)

    def save_to_buffer(self, _extra_files: Mapping[str, str | bytes] | None = None) -> bytes:
        """What `save` would write to a file."""
        return self.ours.save_to_buffer(_extra_files)

    def dump_to_str(self, code: bool, attrs: bool, params: bool) -> str:
        """The module as text: with the graphs of its methods, its attributes, its parameters."""
        return f"module {self.qualified_name} {{\n{indent(self._parts(code, attrs, params), '  ')}}}\n"

    def dump(self, code: bool = True, attrs: bool = True, params: bool = True) -> None:
        """Print what `dump_to_str` gives."""
        print(self.dump_to_str(code, attrs, params))

    def _parts(self, code: bool, attrs: bool, params: bool) -> str:
        definition = self._object.type.definition
        stored = [a for a in definition.attributes if self._object.has(a.name)]
        parameters = "".join(f"{a.name} = {self._object.get(a.name)}\n" for a in stored if a.is_parameter and params)
        attributes = "".join(f"{a.name} = {self._object.get(a.name)}\n" for a in stored if attrs)
        methods = "".join(
            f"method {name} {{\n{indent(str(function.graph), '  ')}}}\n"
            for name, function in definition.methods.items() if code
        )  # fmt: skip
        inner = "".join(c.dump_to_str(code, attrs, params) for _, c in _children(self))
        parts = {"parameters": parameters, "attributes": attributes, "methods": methods, "submodules": inner}
        return "".join(f"{name} {{\n{indent(text, '  ')}}}\n" for name, text in parts.items())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ModuleHandle) and self._object is other._object

    def __hash__(self) -> int:
        return id(self._object)

    def __str__(self) -> str:
        return f"ScriptObject <{self.qualified_name}>"

    __repr__ = __str__


python_view.handles_by(ModuleHandle)


def _shown(value: Any) -> Any:
    """An attribute's value as Python sees it; of a submodule the handle."""
    view = python_view.view_of(value)
    return ModuleHandle(view) if isinstance(view, RecursiveScriptModule) else view


def _children(handle: ModuleHandle) -> list[tuple[str, ModuleHandle]]:
    inner = handle.ours._modules.items()
    return [(name, ModuleHandle(child)) for name, child in inner if isinstance(child, RecursiveScriptModule)]


def _jit_debug_module_iterators(handle: ModuleHandle) -> dict[str, list[Any]]:
    """All that can be walked over of a module, by name; `_r` with what is in its submodules.

    >>> import flambeau
    >>> iterators = _jit_debug_module_iterators(flambeau.script(flambeau.nn.Linear(2, 1))._c)
    >>> [name for name, _ in iterators["named_parameters"]]
    ['weight', 'bias']
    """
    module = handle.ours
    modules = [(n, ModuleHandle(m)) for n, m in module.named_modules() if isinstance(m, RecursiveScriptModule)]
    attributes = [(f"{path}.{name}" if path else name, value) for path, m in modules for name, value in _attributes(m)]
    named: dict[str, list[tuple[str, Any]]] = {
        "children": _children(handle),
        "modules": modules,
        "parameters": list(module.named_parameters(recurse=False)),
        "parameters_r": list(module.named_parameters()),
        "buffers": list(module.named_buffers(recurse=False)),
        "buffers_r": list(module.named_buffers()),
    }
    iterators: dict[str, list[Any]] = {"named_attributes": _attributes(handle), "named_attributes_r": attributes}
    for name, pairs in named.items():
        iterators[name] = [value for _, value in pairs]
        iterators[f"named_{name}"] = pairs
    return iterators


def _attributes(handle: ModuleHandle) -> list[tuple[str, Any]]:
    script_object = handle._object
    stored = [a.name for a in script_object.type.definition.attributes if script_object.has(a.name)]
    own = [(name, _shown(script_object.get(name))) for name in stored]
    at = next((k + 1 for k, (name, _) in enumerate(own) if name == "training"), len(own))
    return [*own[:at], ("_is_full_backward_hook", None), *own[at:]]


INTERFACES = (
    "attempted to freeze a module that uses interface attributes: '{name}' of {owner}. Which module is called there "
    "may change; let interfaces be frozen (freezeInterfaces=True), or name the attribute in preservedAttrs"
)


def _freeze_module(
    module: ModuleHandle,
    preservedAttrs: Sequence[str] = (),
    freezeInterfaces: bool = True,
    preserveParameters: bool = False,
) -> ModuleHandle:
    """`flambeau.jit.freeze_module` of a handle. Raises what that raises; without `freezeInterfaces`, RuntimeError for
    attributes that are interfaces and not preserved.

    >>> import flambeau
    >>> _freeze_module(flambeau.script(flambeau.nn.Linear(2, 1).eval())._c).hasattr("weight")
    False
    """
    if not freezeInterfaces:
        _refuse_interfaces(module._object, "", frozenset(preservedAttrs))
    return ModuleHandle(freeze_module(module.ours, preservedAttrs, preserve_parameters=preserveParameters))


def _refuse_interfaces(script_object: Any, path: str, preserved: frozenset[str]) -> None:
    definition = script_object.type.definition
    for attribute in definition.attributes:
        name = f"{path}{attribute.name}"
        if isinstance(attribute.type, InterfaceType) and name not in preserved:
            raise RuntimeError(INTERFACES.format(name=name, owner=definition.name.rpartition(".")[2]))
        child = script_object.get(attribute.name) if script_object.has(attribute.name) else None
        if isinstance(child, ScriptObject) and child.type.definition.is_module:
            _refuse_interfaces(child, f"{name}.", preserved)
