"""Modules that hold modules in order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import overload

from flambeau.nn.module import Module


class _Indexed(Module):
    """Submodules named "0", "1", ..., reached by position."""

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Module]:
        return iter(self._held())

    @overload
    def __getitem__(self, index: int) -> Module: ...
    @overload
    def __getitem__(self, index: slice) -> _Indexed: ...
    def __getitem__(self, index: int | slice) -> Module:
        held = self._held()
        if isinstance(index, slice):
            part = type(self)()
            for i, module in enumerate(held[index]):
                part.add_module(str(i), module)
            return part
        if not -len(held) <= index < len(held):
            raise IndexError(f"index {index} is out of range")
        return held[index]

    def __setitem__(self, index: int, module: Module) -> None:
        if not -len(self) <= index < len(self):
            raise IndexError(f"index {index} is out of range")
        self._modules[str(index % len(self))] = module

    def append(self, module: Module) -> None:
        """Add a module at the end."""
        self.add_module(str(len(self)), module)

    def extend(self, modules: Iterable[Module]) -> None:
        """Add modules at the end."""
        for module in list(modules):
            self.append(module)

    def _held(self) -> list[Module]:
        return [m for m in self._modules.values() if m is not None]


class Sequential(_Indexed):
    """Modules called one after the other.

    >>> from flambeau import nn
    >>> len(nn.Sequential(nn.Linear(2, 3), nn.ReLU()))
    2
    """

    def __init__(self, *modules: Module) -> None:
        super().__init__()
        self.extend(modules)

    def forward(self, input):  # type: ignore[no-untyped-def]  # scripted, its types are the modules'
        """The last module's answer to the one before's."""
        for module in self:
            input = module(input)
        return input


class ModuleList(_Indexed):
    """A list of modules; what is done with them is up to the owner's `forward`."""

    def __init__(self, modules: Iterable[Module] = ()) -> None:
        super().__init__()
        self.extend(modules)
