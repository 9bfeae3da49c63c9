"""Scripting of modules under TorchScript's inner names; `flambeau.script` is what programs use.

>>> import flambeau
>>> first, second = (create_script_module(flambeau.nn.ReLU(), share_types=False) for _ in range(2))
>>> first._c._type() == second._c._type()
False
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flambeau.executor.options import Options
from flambeau.jit.modules.module_classes import ModuleClasses
from flambeau.jit.modules.module_methods import exported_methods
from flambeau.jit.modules.script_module import RecursiveScriptModule
from flambeau.jit.resolver import PythonResolver
from flambeau.jit.script import CLASSES
from flambeau.jit.script_registry import REGISTRY
from flambeau.nn.module import Module


def infer_methods_to_compile(module: Module) -> list[str]:
    """The methods that scripting compiles: `forward`, and those marked with `export`.

    >>> infer_methods_to_compile(Module())
    []
    """
    return exported_methods(module)


def create_script_module(
    module: Module,
    stubs_fn: Callable[[Module], Any] = infer_methods_to_compile,
    share_types: bool = True,
    is_tracing: bool = False,
) -> RecursiveScriptModule:
    """A scripted module; without `share_types`, of classes that no other module has. Raises CompileError.

    Which methods are compiled is known from the module: `stubs_fn` and `is_tracing` are there for their names.
    """
    classes = CLASSES if share_types else ModuleClasses(REGISTRY, PythonResolver)
    with REGISTRY.lock:
        return RecursiveScriptModule.of(module, classes, Options())


def wrap_cpp_module(cpp_module: Any) -> RecursiveScriptModule:
    """The scripted module of a handle `module._c`."""
    module: RecursiveScriptModule = cpp_module.ours
    return module
