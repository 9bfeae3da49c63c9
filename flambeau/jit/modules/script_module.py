"""`RecursiveScriptModule`: a module whose methods are compiled. It shares parameters and buffers with what it is of."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from copy import deepcopy
from typing import Any, Self

from flambeau.executor.executor import Executor, executor_of
from flambeau.executor.options import Options
from flambeau.executor.report import Explanation, PassReport
from flambeau.frontend.source.python_source import NameScope
from flambeau.ir.graph import Graph
from flambeau.jit import saving
from flambeau.jit.arguments import ArgumentError
from flambeau.jit.modules import python_view
from flambeau.jit.modules.fixed import FixedModule
from flambeau.jit.modules.live_tensors import LiveTensors
from flambeau.jit.modules.module_classes import KEYED, ORDERED, ModuleClasses, Origin
from flambeau.jit.modules.module_methods import (
    exported_methods,
    method_source,
    properties_of,
    python_method,
    static_function,
)
from flambeau.jit.modules.module_source import ModuleSource
from flambeau.jit.modules.old_style import ScriptModule, compiled
from flambeau.jit.modules.prepared import prepared
from flambeau.jit.modules.promoted_method import method_of
from flambeau.jit.modules.script_method import ScriptMethod, forwarding, has_view, shown, without_module
from flambeau.jit.value_conversion import MismatchError, converter, outliving, type_name
from flambeau.nn.hooks import Registered
from flambeau.nn.module import Module
from flambeau.program.classes import ClassDefinition
from flambeau.program.object import ScriptObject
from flambeau.schema.types import InterfaceType
from flambeau.tensor import observer
from flambeau.util.depth import deep_recursion
from flambeau.util.hooks import add_hook
from flambeau.util.no_collection import no_collection

REASSIGNED = (
    "Cannot re-assign modules in a ScriptModule with {what}, tried to replace existing module '{name}': {value}. "
    "{instead}"
)
SCRIPT_FIRST = "Script it first"
SCRIPT_AGAIN = "Script the changed module, or annotate the attribute with an interface in the class body"
WRONG_MODULE = (
    "Expected a value of type '{wanted}' for field '{name}', but found '{found} (of Python class: {python})'. "
    "Annotate the attribute with an interface that both have"
)
OTHER_INTERFACE = "Object of type {found} is not compatible with interface {wanted} of field '{name}'. {reason}"
CONSTANT = "Can't set constant '{name}' which has value:{value}. It is a constant of {owner}: set it before scripting"


class RecursiveScriptModule(FixedModule):
    """A scripted or traced module: call it, look at `graph` and `code`, train it, take its `state_dict`.

    Attributes and parameters read and write the compiled module's own; submodules are scripted modules too.

    >>> import flambeau
    >>> model = flambeau.script(flambeau.nn.Linear(3, 2))
    >>> model(flambeau.ones(4, 3)).shape
    flambeau.Size([4, 2])
    """

    _is_of_module = True
    script_object: ScriptObject
    _original_name: str
    _methods: dict[str, ScriptMethod]
    _classes: ModuleClasses

    def __init__(
        self, script_object: ScriptObject, classes: ModuleClasses, options: Options, original_name: str
    ) -> None:
        super().__init__()
        set_own = object.__setattr__
        set_own(self, "script_object", script_object)
        set_own(self, "_classes", classes)
        set_own(self, "_options", options)
        set_own(self, "_methods", {})
        set_own(self, "_original_name", original_name)
        del self.__dict__["training"]  # the object has it

    def _stand_for_object(self, parameters: Iterable[str], buffers: Iterable[str]) -> None:
        """Be what the object is in Python, with its parameters and buffers of these names."""
        python_view.register(self.script_object, self)
        object.__setattr__(self, "_parameters", LiveTensors(self.script_object, parameters))
        object.__setattr__(self, "_buffers", LiveTensors(self.script_object, buffers))

    @classmethod
    @no_collection()
    def of(cls, module: Module, classes: ModuleClasses, options: Options) -> RecursiveScriptModule:
        """`module` with `forward` and all that it reaches compiled. Raises CompileError."""
        objects: dict[int, ScriptObject] = {}
        module = prepared(module)
        with deep_recursion():
            root = cls.over(module, classes.object_of(module, objects), classes, options, objects)
            done: set[ClassDefinition] = set()
            for inner in root.modules():
                if isinstance(inner, RecursiveScriptModule):
                    inner._compile_all(done)
        return root

    def _compile_all(self, done: set[ClassDefinition]) -> None:
        """Compile what a module's class says is part of it, whether anything reaches it or not."""
        definition = self.script_object.type.definition
        origin = self._classes.origin(definition)
        if origin is not None:
            if definition not in done:
                done.add(definition)
                for name in (*origin.exported, *origin.source.text_methods()):
                    self._method(name)
                for name in properties_of(origin.module):
                    definition.find_property(name)
            self._take_hooks()

    def _take_hooks(self) -> None:
        """Run the compiled hooks around calls from Python."""
        origin = self._classes.origin(self.script_object.type.definition)
        compiled = None if origin is None else origin.source.hooks()
        if compiled is None:
            return
        for table, functions in (("_forward_pre_hooks", compiled.before), ("_forward_hooks", compiled.after)):
            for function in functions:
                method = self._method(function.short_name)
                add_hook(self._hooks(table), Registered(without_module(method)))

    @classmethod
    def over(
        cls,
        module: Module,
        script_object: ScriptObject,
        classes: ModuleClasses,
        options: Options,
        objects: dict[int, ScriptObject],
    ) -> Self:
        """A scripted module for `module`, with `held` as its object and one of `objects` for each module inside."""
        return cls._wrap(module, script_object, classes, options, objects, {})

    @classmethod
    def _wrap(
        cls,
        module: Module,
        script_object: ScriptObject,
        classes: ModuleClasses,
        options: Options,
        objects: dict[int, ScriptObject],
        modules: dict[int, Module],
    ) -> Self:
        kind = _kind_for(cls, module, classes.origin(script_object.type.definition))
        scripted: Self = kind(script_object, classes, options, type(module).__name__)
        modules[id(module)] = scripted
        scripted._stand_for_object(module._parameters, module._buffers)
        scripted._transient.update(module._transient)
        origin = classes.origin(script_object.type.definition)
        ignored = getattr(module, "__jit_ignored_attributes__", ())
        for name in (*(origin.failed if origin is not None else ()), *ignored):
            if name in vars(module):
                object.__setattr__(scripted, name, vars(module)[name])
        for name, child in module._modules.items():
            if child is None or isinstance(child, ScriptModule):
                scripted._modules[name] = child
            else:
                known = modules.get(id(child))
                args = (child, objects[id(child)], classes, options, objects, modules)
                scripted._modules[name] = known if known is not None else RecursiveScriptModule._wrap(*args)
        return scripted

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the compiled `forward`. Raises AttributeError if there is none, and what `ScriptFunction` raises."""
        forward = self.__dict__["_methods"].get("forward") or self.forward
        if not isinstance(forward, ScriptMethod):
            return super().__call__(*args, **kwargs)
        if self._forward_hooks or self._forward_pre_hooks:
            args, kwargs = forward._signature.bind(args, kwargs), {}
            return super().__call__(*args, **kwargs)
        watching = observer.current()
        if watching is None:
            try:
                return forward(*args, **kwargs)
            except ArgumentError:
                return self._call_other(args, kwargs)
        with watching.module(self):
            return forward(*args, **kwargs)

    def _call_other(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Within the handler of an ArgumentError of `forward`: run what such arguments mean, or raise it again."""
        python = self.script_object.type.definition.python
        for name in getattr(getattr(python, "forward", None), "other_methods", ()):
            try:
                return self._method(name)(*args, **kwargs)
            except ArgumentError:
                continue
        raise

    def define(self, source: str) -> None:
        """Add methods written as text to the class of the module. Names are looked up where this is called.

        Raises CompileError, FrontendError, and RuntimeError for a method that is there already.
        """
        self._define_methods(source, NameScope.of_frame(sys._getframe(1)))

    def _define_methods(self, source: str, scope: Callable[[str], Any]) -> None:
        definition = self.script_object.type.definition
        if not isinstance(definition.source, ModuleSource):
            raise RuntimeError(f"methods cannot be added to {self._original_name}, which was traced or frozen")
        with self._classes.registry.lock:
            definition.source.define(source, scope)

    # -- methods ------------------------------------------------------------------------------------------------------

    def _method(self, name: str) -> ScriptMethod:
        method = self._methods.get(name)
        if method is None:
            definition = self.script_object.type.definition
            function = definition.methods.get(name)
            if function is None:
                with self._classes.registry.lock:
                    function = definition.find_method(name)
            if function is None:
                raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")
            executor = executor_of(function) if self._options == Options() else Executor(function, self._options)
            method = self._methods[name] = method_of(function, self.script_object, executor)
            origin = self._classes.origin(definition)
            python = None if origin is None else method_source(origin.module, name)
            if python is not None:
                method._python = python.__get__(self)  # for when compilation is disabled
        return method

    @property
    def forward(self) -> Callable[..., Any]:  # type: ignore[override]
        """The compiled `forward`; that of Python where it is marked to stay so."""
        return self._python_method("forward") or self._method("forward")

    def _python_method(self, name: str) -> Callable[..., Any] | None:
        origin = self._classes.origin(self.script_object.type.definition)
        python = None if origin is None else python_method(origin.module, name)
        return None if python is None else python.__get__(self)

    # -- attributes ---------------------------------------------------------------------------------------------------

    def __getattr__(self, name: str) -> Any:
        script_object = self.__dict__.get("script_object")
        if script_object is not None:
            definition = script_object.type.definition
            if name in definition.properties:
                return self._method(definition.properties[name][0].short_name)()
            if name in definition.methods:
                return self._method(name)
            if name in definition.slots and name not in self._modules:
                value = script_object.get(name)
                if not isinstance(value, ScriptObject | list | tuple | dict):
                    return value
                return shown(value) if has_view(definition.attributes[definition.slot(name)].type) else value
            if name in definition.constants:
                return definition.constants[name]
            origin = self._classes.origin(definition)
            if origin is not None:
                if name in origin.functions:
                    return origin.functions[name]
                python = self._python_method(name) or static_function(origin.module, name)
                if python is not None:
                    return python
        return super().__getattr__(name)

    def __setattr__(self, name: str, value: Any) -> None:
        script_object = self.__dict__.get("script_object")
        if script_object is None:
            object.__setattr__(self, name, value)
            return
        definition = script_object.type.definition
        if name == "_c" and name not in self._modules:
            self._reconstruct(value)
            return
        if name in definition.constants:
            value = definition.constants[name]
            raise RuntimeError(CONSTANT.format(name=name, value=value, owner=self._original_name))
        if name in self._modules:
            self._swap(name, value)
            return
        attribute = definition.attribute(name)
        setter = definition.properties.get(name, (None, None))[1]
        if setter is not None:
            self._method(setter.short_name)(value)
        elif name in definition.properties:
            raise AttributeError(f"property '{name}' of {self._original_name} has no setter")
        elif attribute is None:
            super().__setattr__(name, value)
        else:
            try:
                script_object.set(name, outliving(converter(attribute.type)(value)))
            except MismatchError as reason:
                wanted, got = attribute.type.annotation, type_name(value)
                raise RuntimeError(
                    f"Wrong type for attribute assignment of '{name}'. Expected {wanted} but got {got}: {reason}"
                ) from None

    def _swap(self, name: str, value: Any) -> None:
        """Put another scripted module in the place of one that is known by an interface."""
        definition = self.script_object.type.definition
        attribute = definition.attribute(name)
        before, value = compiled(self._modules[name]), compiled(value)
        if not isinstance(value, Module):
            what = f"a {type_name(value)}"
            raise RuntimeError(REASSIGNED.format(name=name, value=value, what=what, instead=SCRIPT_AGAIN))
        if not isinstance(value, RecursiveScriptModule):
            by_interface = attribute is not None and isinstance(attribute.type, InterfaceType)
            instead = SCRIPT_FIRST if by_interface else SCRIPT_AGAIN
            raise RuntimeError(REASSIGNED.format(name=name, value=value, what="non-scripted module", instead=instead))
        if attribute is None or not isinstance(before, RecursiveScriptModule):
            raise RuntimeError(REASSIGNED.format(name=name, value=value, what="another module", instead=SCRIPT_AGAIN))
        type_ = value.script_object.type
        wanted = attribute.type.annotation
        if isinstance(attribute.type, InterfaceType):
            reason = attribute.type.definition.why_not(type_)
            if reason is not None:
                raise RuntimeError(OTHER_INTERFACE.format(wanted=wanted, name=name, found=type_.name, reason=reason))
        elif type_ != attribute.type:
            text = WRONG_MODULE.format(wanted=wanted, name=name, found=type_.name, python=value.original_name)
            raise RuntimeError(text)
        self.script_object.set(name, value.script_object)
        self._modules[name] = value

    def __dir__(self) -> list[str]:
        definition = self.script_object.type.definition
        own = {*definition.slots, *definition.constants, *definition.methods, *definition.properties}
        module = self._classes.example(definition)
        hidden = {"append", "extend", "insert", "pop", "clear", "update"}
        shown = {*super().__dir__(), *own, *(set(dir(module)) - hidden if module is not None else ())}
        return sorted(name for name in shown if not name[0].isdigit())

    def __copy__(self) -> Self:
        """A module with an object of its own whose attributes hold the same values."""
        return self._copied(ScriptObject(self.script_object.type, self.script_object.values), {}, deep=False)

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self._copied(deepcopy(self.script_object, memo), memo, deep=True)

    def _copied(self, script_object: ScriptObject, memo: dict[int, Any], *, deep: bool) -> Self:
        duplicate = type(self)(script_object, self._classes, self._options, self._original_name)
        memo[id(self)] = duplicate
        python_view.register(script_object, duplicate)
        for name, value in vars(self).items():
            if name in ("_parameters", "_buffers"):
                object.__setattr__(duplicate, name, LiveTensors(script_object, value))
            elif name == "_modules":
                object.__setattr__(duplicate, name, deepcopy(value, memo) if deep else dict(value))
            elif name not in vars(duplicate) and name not in Module.HOOKS:
                object.__setattr__(duplicate, name, deepcopy(value, memo) if deep else value)
        duplicate._take_hooks()
        duplicate._transient.update(self._transient)
        return duplicate

    def __reduce__(self) -> Any:
        raise TypeError(f"{type(self).__name__} cannot be pickled: pickle the module that it was made from")

    @property
    def _c(self) -> Any:
        """What the module is inside: a `flambeau._C.ModuleHandle`."""
        return python_view.handle_of(self)

    def _reconstruct(self, cpp_module: Any) -> None:
        """Become the module of another handle `module._c`."""
        state = dict(vars(cpp_module.ours))
        vars(self).clear()
        vars(self).update(state)
        python_view.register(self.script_object, self)

    def save(self, f: Any, _extra_files: Mapping[str, str | bytes] | None = None) -> None:
        """Write the module to a file, as `flambeau.jit.save` does."""
        saving.save(self, f, _extra_files)

    def save_to_buffer(self, _extra_files: Mapping[str, str | bytes] | None = None) -> bytes:
        """What `save` would write to a file."""
        return saving.save_to_buffer(self, _extra_files)

    # -- looking ------------------------------------------------------------------------------------------------------

    @property
    def original_name(self) -> str:
        """The name of the Python class."""
        return self._original_name

    @property
    def graph(self) -> Graph:
        """The graph of `forward`; attributes are read from `%self`."""
        return self._method("forward").graph

    @property
    def inlined_graph(self) -> Graph:
        """The graph of `forward` with every call inlined."""
        return self._method("forward").inlined_graph

    @property
    def code(self) -> str:
        """`forward` as source again."""
        text: str = self._method("forward").code
        return text

    @property
    def code_with_constants(self) -> tuple[str, Any]:
        """`code`, and the namespace of the constants it names `CONSTANTS.c0`."""
        return self._method("forward").code_with_constants

    def graph_for(self, *args: Any, **kwargs: Any) -> Graph:
        """The optimised graph of `forward` for arguments like these."""
        return self._method("forward").graph_for(*args, **kwargs)

    def get_debug_state(self) -> Any:
        """The plans of `forward`."""
        return self._method("forward").get_debug_state()

    def passes(self, *args: Any, **kwargs: Any) -> PassReport:
        """Each pass that runs over `forward` for arguments like these."""
        return self._method("forward").passes(*args, **kwargs)

    def explain(self, *, measure: bool | None = None) -> Explanation:
        """What was compiled of `forward`, why and how long it took, what is native and what is not."""
        return self._method("forward").explain(measure=measure)

    def _get_name(self) -> str:
        return "RecursiveScriptModule"

    def extra_repr(self) -> str:
        """The original class."""
        return f"original_name={self._original_name}"

    def _repr_html_(self) -> str:
        return self.graph._repr_html_()


class ScriptContainer(RecursiveScriptModule):
    """A scripted container of modules or parameters: it has a length, items and an order, as in Python."""

    def _values(self) -> list[Any]:
        return list(self._modules.values()) if self._modules else list(self._parameters.values())

    def __len__(self) -> int:
        return len(self._values())

    def __bool__(self) -> bool:
        return True

    def __iter__(self) -> Iterator[Any]:
        return iter(self._values())

    def __getitem__(self, index: int | slice) -> Any:
        return self._values()[index]

    def __contains__(self, value: Any) -> bool:
        return any(value is v for v in self._values())


class ScriptTable(RecursiveScriptModule):
    """A scripted container that is reached by name."""

    def _table(self) -> dict[str, Any]:
        return dict(self._modules or self._parameters)

    def __len__(self) -> int:
        return len(self._table())

    def __bool__(self) -> bool:
        return True

    def __iter__(self) -> Iterator[str]:
        return iter(self._table())

    def __getitem__(self, key: str) -> Any:
        return self._table()[key]

    def __contains__(self, key: str) -> bool:
        return key in self._table()

    def keys(self) -> list[str]:
        """The names."""
        return list(self._table())

    def values(self) -> list[Any]:
        """What they stand for."""
        return list(self._table().values())

    def items(self) -> list[tuple[str, Any]]:
        """Names and what they stand for."""
        return list(self._table().items())


def _kind_for(base: type, module: Module, origin: Origin | None) -> Any:
    """The class of the scripted module: containers are containers, exported magic methods are where Python looks."""
    kind: Any = ScriptContainer if isinstance(module, ORDERED) else ScriptTable if isinstance(module, KEYED) else base
    exported = exported_methods(module) if origin is None else origin.exported
    magic = [n for n in exported if n.startswith("__") and n.endswith("__")]
    if not magic:
        return kind
    return type(kind.__name__, (kind,), {name: forwarding(name) for name in magic})
