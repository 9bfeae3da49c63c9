"""What a program can see of one module: types and values of attributes, constants, hooks, and what has no type."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable, Hashable, Iterator, Mapping
from typing import Any, Final

from flambeau.frontend.scopes.array_annotations import refuse_array_attribute
from flambeau.frontend.scopes.name_resolution import Resolver
from flambeau.frontend.scopes.python_constants import constant_type, constant_value
from flambeau.frontend.scopes.type_annotations import try_type_of, type_of
from flambeau.jit.infer import NoTypeError, TypeInference
from flambeau.jit.modules.module_annotations import DECLARED, Attribute, class_annotations
from flambeau.jit.modules.module_methods import TEXTS, stubs_of, texts_of
from flambeau.jit.value_conversion import MismatchError, converter
from flambeau.nn.hooks import Hook
from flambeau.nn.module import Module
from flambeau.nn.uninitialized import UNINITIALIZED, is_lazy
from flambeau.program.object import ScriptObject
from flambeau.schema.types import BOOL, TENSOR, InterfaceType, OptionalType, Type
from flambeau.tensor.tensor import Tensor
from flambeau.util.errors import CompileError
from flambeau.util.names import python_name
from flambeau.util.user_code import warn_user

_OWN = frozenset(("_parameters", "_buffers", "_modules", "_transient", "training", TEXTS, DECLARED, *Module.HOOKS))
_OF_CONTAINERS = frozenset(("_size", "_keys"))
NOT_CONSTANT = (
    "'{kind}' object in attribute '{owner}.{name}' is not a valid constant.\nValid constants are: numbers, "
    "strings, bools, None, dtypes, devices, and tuples and lists of those"
)
NO_CONSTANT = "'{name}' was found in ScriptModule constants,  but it is a non-constant {kind}. Consider removing it."
UNSET_CONSTANT = (
    "'{name}' was found in ScriptModule constants, but was not actually set in __init__. Consider removing it."
)


KnownClasses = dict[type, tuple[dict[str, Any], tuple[tuple[str, Any], ...]]]
"""Annotations and methods of the classes met while one tree of modules is looked at."""

BACKWARD_HOOKS: Final = (
    "{name} has backward hooks, which would never be called: a call of a scripted module is a node of the tape, so "
    "that gradients inside of it go to no hook. Remove them before scripting (handle.remove()), or register hooks on "
    "what the module takes and gives: x.register_hook(f)"
)



class ModuleAttributes:
    """What a program can see of one module."""

    def __init__(
        self, module: Module, children: Mapping[str, ScriptObject], resolver: Resolver, known: KnownClasses
    ) -> None:
        """`known` has what was found out about classes; it is added to."""
        self._resolver = resolver
        self._inference = TypeInference(self._object_type)
        self.python = type(module)
        self.types: dict[str, Type] = {}
        self.values: dict[str, Any] = {}
        self.constants: dict[str, Any] = {}
        self.functions: dict[str, Callable[..., Any]] = {}
        """Functions and classes that are attributes of the instance."""
        self.failed: dict[str, tuple[str, str]] = {}
        """Attributes without a type, each with the name of its Python type and the reason."""
        self.ignored = frozenset(getattr(module, "__jit_ignored_attributes__", ()))
        if module._backward_hooks or module._backward_pre_hooks:
            raise RuntimeError(BACKWARD_HOOKS.format(name=type(module).__name__))
        self.pre_hooks = tuple(h.function for h in module._forward_pre_hooks.values())
        self.hooks = tuple(h.function for h in module._forward_hooks.values())
        cls = type(module)
        if cls not in known:
            known[cls] = (class_annotations(cls), _methods_of(cls))
        self._annotations, methods = known[cls]
        self.methods = (*methods, *stubs_of(module).items(), *((t, None) for t in texts_of(module)))
        self.tensors = tuple(module._parameters), tuple(module._buffers)
        """Which attributes are parameters, and which buffers."""
        for name, tensor in (*module._parameters.items(), *module._buffers.items()):
            self._tensor(name, tensor)
        self._add_children(module, children)
        self.types["training"], self.values["training"] = BOOL, module.training
        self._add_plain(module)

    def _add_children(self, module: Module, children: Mapping[str, ScriptObject]) -> None:
        for name, child in children.items():
            self.types[name], self.values[name] = child.type, child
            self._annotate_child(name, child)
        self.constants.update({name: None for name, child in module._modules.items() if child is None})

    def _add_plain(self, module: Module) -> None:
        """What is no tensor and no module: constants, those of the class too, functions and stored values."""
        constant_names = self._constant_names()
        for name in sorted(constant_names):
            _warn_of_constant(module, name)
        for name, value in vars(module).items():
            if name not in _OWN and not name.startswith("__") and name not in self.ignored:
                self._plain(module, name, value, name in constant_names)
        for name in constant_names - vars(module).keys() - self.types.keys() - self.constants.keys():
            if hasattr(type(module), name):
                self._constant(name, getattr(type(module), name))

    def _constant_names(self) -> set[str]:
        listed = set(getattr(self.python, "__constants__", ()))
        finals = {n for n, a in self._annotations.items() if typing.Final in (a, typing.get_origin(a))}
        return (listed | finals) - self.ignored

    def _annotate_child(self, name: str, child: ScriptObject) -> None:
        """A submodule annotated with an interface is known by that: another module may take its place."""
        declared = self._annotations.get(name)
        type_ = self._resolver.class_type(declared, None) if isinstance(declared, type) else None
        if isinstance(type_, InterfaceType):
            reason = type_.definition.why_not(child.type)
            if reason is not None:
                raise CompileError(f"Attribute '{name}' of {self.python.__name__}: {reason}")
            self.types[name] = type_

    def _tensor(self, name: str, tensor: Tensor | None) -> None:
        if name in self.ignored:
            return
        if is_lazy(tensor):
            raise RuntimeError(UNINITIALIZED.format(owner=self.python.__qualname__, name=name))
        if tensor is not None:
            self.types[name], self.values[name] = TENSOR, tensor
        else:
            self.constants[name] = None
        declared = self._annotations.get(name)
        if declared is None or tensor is None or typing.Final in (declared, typing.get_origin(declared)):
            return
        if isinstance(self._declared(declared), OptionalType):
            self.types[name] = OptionalType(TENSOR)

    def _plain(self, module: Module, name: str, value: Any, is_constant: bool) -> None:
        if is_constant:
            self._constant(name, value)
        elif name in _OF_CONTAINERS and not name.startswith("__") and type(module).__module__.startswith("flambeau.nn"):
            self.failed[name] = (python_name(type(value)), "it belongs to the container")
        elif isinstance(value, Attribute):
            self._convert(name, value.value, value.type)
        elif name in (declared := vars(module).get(DECLARED, {})):
            self._convert(name, value, declared[name])
        elif value is None and name not in self._annotations:
            self.constants[name] = None
        elif inspect.ismethod(value) and value.__self__ is module:
            self.methods += ((name, value.__func__),)  # in the place of the class's method
        elif inspect.isroutine(value) or isinstance(value, type) or hasattr(value, "script_function"):
            self.functions[name] = value
        else:
            self._convert(name, value, self._annotations.get(name))

    def _convert(self, name: str, value: Any, declared: Any) -> None:
        try:
            type_ = self._inference.type_of(value) if declared is None else self._declared(declared)
            self.values[name] = converter(type_)(constant_value(value))
            self.types[name] = type_
        except (NoTypeError, MismatchError, ValueError, OverflowError, CompileError) as error:
            reason = error.message if isinstance(error, CompileError) else str(error)
            self.failed[name] = (python_name(type(value)), reason)

    def _declared(self, annotation: Any) -> Type:
        refuse_array_attribute(annotation, self._resolver)
        return type_of(annotation, self._resolver)

    def _object_type(self, value: Any) -> Type | None:
        if isinstance(value, tuple):
            return try_type_of(type(value), self._resolver, None)
        return self._resolver.class_type(type(value), None)

    def _constant(self, name: str, value: Any) -> None:
        wrong = next(_no_constants(value), None)
        if wrong is not None:
            kind = _constant_kind(wrong)
            raise TypeError(NOT_CONSTANT.format(kind=kind, owner=self.python.__name__, name=name))
        self.constants[name] = value

    def key(self) -> Hashable:
        """Equal for modules that share a class."""
        constants = tuple((n, _hashable(v)) for n, v in sorted(self.constants.items()))
        functions = tuple((n, _hashable(v)) for n, v in sorted(self.functions.items()))
        return (
            self.python, self.tensors, tuple(self.types.items()), constants, functions,
            tuple(sorted(self.failed.items())), self.methods, self.ignored, tuple(map(_same_hook, self.pre_hooks)),
            tuple(map(_same_hook, self.hooks)),
        )  # fmt: skip


def _methods_of(cls: type) -> tuple[tuple[str, Any], ...]:
    """The functions in a user's class and its bases: a class that is changed is another one."""
    methods: dict[str, Any] = {}
    for base in cls.__mro__:
        if not base.__module__.startswith("flambeau.nn"):
            methods.update({n: v for n, v in vars(base).items() if inspect.isfunction(v) and n not in methods})
    return tuple(methods.items())


def _constant_kind(value: Any) -> str:
    """The name of a value's class, with the package of those that have one name in it."""
    if isinstance(value, Tensor):
        return "flambeau.Tensor"
    return type(value).__name__ if type(value).__module__ != "numpy" else f"numpy.{type(value).__name__}"


def _warn_of_constant(module: Module, name: str) -> None:
    """Tell of a name in `__constants__` that is a parameter, a buffer, a submodule, or nothing."""
    tables = (("submodule", module._modules), ("buffer", module._buffers), ("parameter", module._parameters))
    kind = next((kind for kind, table in tables if table.get(name) is not None), None)
    if kind is not None:
        warn_user(NO_CONSTANT.format(name=name, kind=kind), UserWarning)
    elif not hasattr(module, name):
        warn_user(UNSET_CONSTANT.format(name=name), UserWarning)


def _no_constants(value: Any, outer: tuple[Any, ...] = ()) -> Iterator[Any]:
    """What in a value keeps it from being a constant; `outer` are the lists and tuples around it."""
    if isinstance(value, list | tuple) and not any(value is one for one in outer):
        for item in value:
            yield from _no_constants(item, (*outer, value))
        return
    try:
        constant_type(value)
    except TypeError:
        yield value


def _same_hook(hook: Hook) -> Hashable:
    return getattr(hook, "__func__", hook)


def _hashable(value: Any) -> Hashable:
    try:
        hash(value)
    except TypeError:
        return repr(value)
    return (type(value), value)
