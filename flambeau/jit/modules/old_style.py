"""`ScriptModule` as a base class: methods marked with `script_method` are compiled when the instance is complete.

    class Gate(ScriptModule):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(flambeau.ones(3))

        @script_method
        def forward(self, x):
            return x * self.weight

Methods may also be written as text and handed to `self.define`. What is not marked stays Python; marked methods that
call it have it compiled.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from copy import copy, deepcopy
from typing import Any, ClassVar

from flambeau.frontend.source.python_source import NameScope
from flambeau.frontend.trees.function_conversion import parse_source
from flambeau.jit.disabled import is_disabled
from flambeau.jit.modules.module_annotations import DECLARED, Attribute
from flambeau.jit.modules.module_methods import TEXTS, Stub
from flambeau.nn.module import Module

TOO_EARLY = (
    "cannot assign '{name}': call super().__init__() at the start of __init__ of {owner}, before anything is assigned"
)
_REAL = "_compiled_module"


class ScriptModule(Module):
    """What all scripted modules are; as a base class, modules whose marked methods are compiled.

    >>> import flambeau
    >>> from flambeau import nn
    >>> class Scale(ScriptModule):
    ...     def __init__(self, by: float) -> None:
    ...         super().__init__()
    ...         self.by = by
    ...         self.define("def forward(self, x):\\n    return x * self.by\\n")
    >>> Scale(2.0)(flambeau.ones(2))
    tensor([2., 2.])
    """

    _script_stubs: ClassVar[dict[str, Callable[..., Any]]] = {}
    """The marked methods, those of base classes included."""
    _is_of_module: ClassVar[bool] = False
    """Whether instances are made of other modules, by `script` or `trace`."""
    _finish: ClassVar[list[Callable[[Any], Any]]] = []
    """Makes the scripted module of a complete instance; given by who knows how to script."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if cls._is_of_module:
            return
        marked = {name: value.function for name, value in vars(cls).items() if isinstance(value, Stub)}
        for name in marked:
            delattr(cls, name)
        hidden = {name for name in vars(cls) if name in cls._script_stubs}
        cls._script_stubs = {n: f for n, f in cls._script_stubs.items() if n not in hidden} | marked
        cls.__init__ = _finishing(cls, cls.__init__)  # type: ignore[method-assign]

    def define(self, source: str) -> None:
        """Add methods written as text. Names that they do not define are looked up where this is called.

        Raises CompileError or FrontendError.
        """
        scope = NameScope.of_frame(sys._getframe(1))
        real = self.__dict__.get(_REAL)
        if real is not None:
            real._define_methods(source, scope)
            return
        parse_source(source)
        texts = self.__dict__.setdefault(TEXTS, {})
        texts[source] = scope

    def __getattr__(self, name: str) -> Any:
        real = self.__dict__.get(_REAL)
        if real is not None and not (name.startswith("__") and name.endswith("__")):
            return getattr(real, name)
        return super().__getattr__(name)

    def __setattr__(self, name: str, value: Any) -> None:
        real = self.__dict__.get(_REAL)
        if real is not None:
            setattr(real, name, value)
        elif "_modules" not in self.__dict__:
            raise RuntimeError(TOO_EARLY.format(name=name, owner=type(self).__name__))
        elif isinstance(value, Attribute):
            self.__dict__.setdefault(DECLARED, {})[name] = value.type
            super().__setattr__(name, value.value)
        else:
            super().__setattr__(name, value)

    def __dir__(self) -> list[str]:
        real = self.__dict__.get(_REAL)
        return sorted({*super().__dir__(), *(dir(real) if real is not None else ())})

    def __copy__(self) -> Any:
        return self._with(copy(self.__dict__[_REAL]))

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        return self._with(deepcopy(self.__dict__[_REAL], memo))

    def _with(self, real: Any) -> Any:
        module = object.__new__(type(self))
        module.__dict__.update(self.__dict__)
        _show(module, real)
        return module


def compiled(value: Any) -> Any:
    """What a complete `ScriptModule` stands for; anything else itself."""
    return value.__dict__.get(_REAL, value) if isinstance(value, ScriptModule) else value


def _finishing(cls: type, init: Callable[..., None]) -> Callable[..., None]:
    """An `__init__` that compiles the instance at its end, unless it is that of a base of the instance's class."""

    @functools.wraps(init)
    def finishing(self: Any, *args: Any, **kwargs: Any) -> None:
        init(self, *args, **kwargs)
        if type(self) is cls and not is_disabled():
            _show(self, ScriptModule._finish[0](self))

    return finishing


def _show(instance: Any, real: Any) -> None:
    """Let an instance be what its scripted module is: its attributes are read and written there."""
    definition = real.script_object.type.definition
    own = instance.__dict__
    for name in (*definition.slots, *definition.constants):
        own.pop(name, None)
    own.update({
        _REAL: real, "script_object": real.script_object, "_parameters": real._parameters, "_buffers": real._buffers,
        "_modules": real._modules, "_transient": real._transient,
    })  # fmt: skip


def script_method(method: Callable[..., Any]) -> Any:
    """Mark a method of a `ScriptModule` subclass to be compiled.

    Args:
        method: the method.

    >>> import flambeau
    >>> class Twice(flambeau.jit.ScriptModule):
    ...     @flambeau.jit.script_method
    ...     def forward(self, x: flambeau.Tensor) -> flambeau.Tensor:
    ...         return x * 2
    """
    return method if is_disabled() else Stub(method)
