"""What of an installed PyTorch a value is, asked without importing it: whoever has such a value has imported it.

>>> is_tensor_class(int), list(names_of(3))
(False, [])
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any, Final

_HOMES: Final = {"_jit_internal": "jit", "_C._nn": "nn.functional"}
"""Modules that only PyTorch itself names, and those from which people import what is defined there."""
_PREFIXES: Final = ("linalg", "fft", "special")
"""Modules whose functions are called `linalg_norm` where they are defined."""
_CONSTANTS: Final = ("dtype", "memory_format", "layout")


def installed() -> ModuleType | None:
    """PyTorch, if somebody has imported it; a module that stands in for it under its name is none."""
    module = sys.modules.get("torch")
    return module if module is not None and getattr(module, "__name__", "") == "torch" else None


def is_tensor_class(cls: type) -> bool:
    """Whether objects of a class are PyTorch's tensors."""
    return any(base.__module__ == "torch" and base.__name__ == "Tensor" for base in cls.__mro__)


def is_module_class(cls: type) -> bool:
    """Whether objects of a class are PyTorch's modules, scripted ones too."""
    return any(base.__module__ == "torch.nn.modules.module" and base.__name__ == "Module" for base in cls.__mro__)


def is_function(function: Any) -> bool:
    """Whether a function, or a method or property of tensors, is PyTorch's own."""
    if installed() is None:
        return False
    owner = getattr(function, "__self__", None) or function
    owner = getattr(owner, "__objclass__", owner)
    return _is_inside(getattr(owner, "__module__", None))


def names_of(value: Any) -> Iterator[tuple[str, ...]]:
    """The names that may lead from `torch` to its module, function, class or constant, the nearest first; else none.

    >>> list(names_of(sys))
    []
    """
    if installed() is None:
        return
    kind = type(value)
    if isinstance(value, ModuleType):
        if _is_inside(value.__name__):
            yield tuple(value.__name__.split(".")[1:])
    elif kind.__module__ == "torch" and kind.__name__ in _CONSTANTS:
        yield (str(value).removeprefix("torch."),)
    elif callable(value) and hasattr(value, "__name__") and _is_inside(home := getattr(value, "__module__", None)):
        yield from _names_below(str(home).removeprefix("torch").removeprefix("."), value.__name__)


def _names_below(home: str, name: str) -> Iterator[tuple[str, ...]]:
    """A name in the module that defines it, and in each around it, where people import it from."""
    prefix, _, rest = name.partition("_")
    if prefix in _PREFIXES and home == f"_C._{prefix}":
        yield prefix, rest
    parts = _HOMES.get(home, home).split(".") if home else []
    for count in range(len(parts), -1, -1):
        yield (*parts[:count], name)


def _is_inside(name: Any) -> bool:
    return isinstance(name, str) and name.partition(".")[0] == "torch"
