"""Paths that PyTorch's programs import names from, which lie elsewhere here: `nn.modules.linear` for what `nn` has.

A package says which paths it has, and which of its names are below each:

>>> import types, sys
>>> package = sys.modules["doc_shapes"] = types.ModuleType("doc_shapes")
>>> package.__path__, package.Circle = [], "a circle"
>>> package.__getattr__ = provide("doc_shapes", {"round": "Circle"})
>>> package.round.Circle
'a circle'
>>> import doc_shapes.round
>>> dir(doc_shapes.round)
['Circle']

A path costs nothing until somebody imports it or asks the package for it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, Final

from flambeau.util.absent_names import reason
from flambeau.util.record import dataclass


@dataclass(frozen=True, slots=True)
class _Path:
    home: str
    """The package that has the names."""
    names: tuple[str, ...]


_WHOLE: Final[dict[str, str]] = {}
"""Modules by further names that they are imported by."""
_PATHS: Final[dict[str, _Path]] = {}
"""By the whole name of the module that is imported."""


class _PathModule(ModuleType):
    """A module whose names are another's; they are looked up there when they are asked for."""

    __all__: Sequence[str]

    def __getattr__(self, name: str) -> Any:
        path = _PATHS[self.__name__]
        if (below := path_of(self.__name__, name)) is not None:
            return below
        if name not in path.names:
            raise AttributeError(f"module '{self.__name__}' has no attribute '{name}'")
        return getattr(import_module(path.home), name)

    def __dir__(self) -> list[str]:
        return sorted(self.__all__)


class _Paths(MetaPathFinder, Loader):
    """Finds and makes the modules of paths."""

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> ModuleSpec | None:
        if fullname not in _PATHS and fullname not in _WHOLE:
            return None
        is_package = any(other.startswith(f"{fullname}.") for other in _PATHS)
        return ModuleSpec(fullname, self, is_package=is_package)

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        if spec.name in _WHOLE:
            module = _with_packages(_WHOLE[spec.name])
            spec.loader_state = module.__spec__
            return module
        return _PathModule(spec.name, f"Names of `{_PATHS[spec.name].home}`, where others import them from.")

    def exec_module(self, module: ModuleType) -> None:
        spec = module.__spec__
        if spec is not None and spec.name in _WHOLE:
            module.__spec__ = spec.loader_state  # it stays the module that it is
            return
        module.__all__ = list(_PATHS[module.__name__].names)  # type: ignore[attr-defined]


def _with_packages(name: str) -> ModuleType:
    """A module whose packages are imported before it, each as a whole: a thread that imports a part of one first keeps
    the part from others, which import the package."""
    package, _, _ = name.rpartition(".")
    if package:
        _with_packages(package)
    return import_module(name)


sys.meta_path.append(_Paths())


def path_of(package: str, name: str) -> ModuleType | None:
    """The module of a path of a package, imported; None where it has no such path."""
    return import_module(f"{package}.{name}") if f"{package}.{name}" in _PATHS else None


def also(name: str, module: str) -> None:
    """Let programs import a module by another name, too: it is the same one."""
    _WHOLE[name] = module


def provide(package: str, paths: Mapping[str, str], home: str = "") -> Callable[[str], Any]:
    """Let programs import `package.path` for each path, with the names beside it, which `home` or the package has.

    The package takes what is returned as its `__getattr__`.
    """
    for path, names in paths.items():
        _PATHS[f"{package}.{path}"] = _Path(home or package, tuple(names.split()))

    def find(name: str) -> Any:
        if (path := path_of(package, name)) is not None:
            return path
        raise AttributeError(reason(package, name))

    return find
