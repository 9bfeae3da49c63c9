"""What PyTorch's own modules, functions, classes and constants mean in programs: Flambeau's of the same name.

A function that was written for PyTorch, over `torch` and `torch.nn.functional`, compiles as it is.
"""

from __future__ import annotations

import types
from typing import Any, Final

from flambeau.util.installed_torch import installed, is_module_class, names_of
from flambeau.util.inversions import PACKAGE

_ABSENT: Final = object()
MODULE_OF_TORCH: Final = (
    "it is a module of PyTorch: flambeau.jit.from_torch(module) takes it over with its parameters, through "
    "torch.jit.script; flambeau.jit.load(path) reads what torch.jit.save wrote"
)


def counterpart(value: Any) -> Any:
    """What a value of PyTorch is here; any other value, and what has no counterpart, as it is.

    >>> counterpart(3)
    3
    """
    if installed() is None:
        return value
    for names in names_of(value):
        own = _reached(names)
        if own is not _ABSENT and isinstance(own, types.ModuleType) == isinstance(value, types.ModuleType):
            return own
    return value


def _reached(names: tuple[str, ...]) -> Any:
    own: Any = PACKAGE.implementation
    for name in names:
        try:
            own = getattr(own, name, _ABSENT)
        except ImportError:
            return _ABSENT
        if own is _ABSENT:
            break
    return own


def is_torch_module(value: Any) -> bool:
    """Whether a value is a module of PyTorch, a scripted one too."""
    return installed() is not None and is_module_class(type(value))
