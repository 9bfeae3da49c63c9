"""Whether this thread compiles at all, and what has been compiled.

>>> import flambeau
>>> def double(x):
...     return x + x
>>> disable()
>>> flambeau.script(double) is double
True
>>> enable()
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from types import FunctionType
from typing import Any, Final

from flambeau.frontend.source.python_source import innermost_function
from flambeau.jit.disabled import disabled
from flambeau.jit.script_registry import REGISTRY, ScriptRegistry
from flambeau.program.function import Function
from flambeau.util.errors import FrontendError


class _Switch(threading.local):
    context: AbstractContextManager[None] | None = None


_switch = _Switch()


def disable() -> None:
    """From now on programs of this thread run as the Python they are, and `script` gives back what it is given.

    As `with flambeau.disabled():`, until `enable()`. Other threads go on as they were.
    """
    if _switch.context is None:
        _switch.context = disabled()
        _switch.context.__enter__()


def enable() -> None:
    """Take `disable()` back."""
    context, _switch.context = _switch.context, None
    if context is not None:
        context.__exit__(None, None, None)


class CachingLayer(Mapping[Any, Function]):
    """What Python functions were compiled to, as long as they live: `del layer[fn]` lets `fn` be compiled anew."""

    def __init__(self, registry: ScriptRegistry) -> None:
        self._registry = registry

    def __getitem__(self, fn: Any) -> Function:
        function = self._registry.find(_key(fn))
        if function is None:
            raise KeyError(fn)
        return function

    def __delitem__(self, fn: Any) -> None:
        if fn not in self:
            raise KeyError(fn)
        self._registry.forget(_key(fn))

    def __iter__(self) -> Iterator[FunctionType]:
        return iter(self._registry.python_functions())

    def __len__(self) -> int:
        return len(self._registry.python_functions())


def _key(fn: Any) -> FunctionType:
    """Raises KeyError for what is no Python function, as nothing else is in the cache."""
    try:
        return innermost_function(fn)
    except FrontendError:
        raise KeyError(fn) from None


class PythonUnit:
    """The functions of the process that were compiled from Python."""

    def __init__(self, registry: ScriptRegistry) -> None:
        self._registry = registry

    def get_functions(self) -> list[Function]:
        """The functions whose Python functions are alive."""
        functions = map(self._registry.find, self._registry.python_functions())
        return [function for function in functions if function is not None]

    def find_function(self, qualified_name: str) -> Function | None:
        """The function of a name such as `__torch__.module.f`, or None."""
        return next((f for f in self.get_functions() if f.name == qualified_name), None)

    def drop_all_functions(self) -> None:
        """Compile every function anew when it is next scripted; those that somebody holds go on."""
        for fn in self._registry.python_functions():
            self._registry.forget(fn)


_jit_caching_layer: Final = CachingLayer(REGISTRY)
_python_cu: Final = PythonUnit(REGISTRY)


def _clear_class_state() -> None:
    """Compile every class anew when it is next met."""
    REGISTRY.clear_classes()
