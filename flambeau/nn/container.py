"""Modules that hold modules: in order (`Sequential`, `ModuleList`) or by name (`ModuleDict`)."""

from __future__ import annotations

import operator
from collections.abc import ItemsView, Iterable, Iterator, KeysView, Mapping, ValuesView
from itertools import groupby
from typing import Any, Self, overload

from flambeau.nn.module import Module

ONLY_SEQUENTIAL = "a Sequential is added to another one, not to an object of {kind}: put modules into one first"
NO_ITERABLE = "{name} should be called with an iterable{what}, but got {got}"
NO_MODULE = "{owner}: {what} is not a Module subclass"


def _checked(module: Any, owner: Module) -> Any:
    """A module, or None for a place that stays empty. Raises TypeError for anything else."""
    if module is not None and not isinstance(module, Module):
        raise TypeError(NO_MODULE.format(owner=type(owner).__name__, what=type(module).__name__))
    return module


def _times(count: Any) -> int:
    if not isinstance(count, int):
        raise TypeError(f"a Sequential is multiplied by an int, not by {type(count).__name__}")
    if count <= 0:
        raise ValueError(f"a Sequential is multiplied by a positive int, not by {count}")
    return count


def with_repeats(name: str, modules: Iterable[Any]) -> str:
    """How modules in a list are shown: those in a row that look alike once, with how many there are.

    >>> from flambeau import nn
    >>> print(with_repeats("Layers", [nn.ReLU(), nn.ReLU(), nn.Tanh()]))
    Layers(
      (0-1): 2 x ReLU()
      (2): Tanh()
    )
    """
    lines, first = [], 0
    for text, group in groupby(map(repr, modules)):
        count = len(list(group))
        where = f"({first}-{first + count - 1}): {count} x " if count > 1 else f"({first}): "
        lines.append(f"{where}{text}".replace("\n", "\n  "))
        first += count
    inner = "".join(f"\n  {line}" for line in lines)
    return f"{name}({inner}\n)" if lines else f"{name}()"


class _Indexed(Module):
    """Submodules named "0", "1", ..., reached by position."""

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Module]:
        return iter(self._module_list())

    @overload
    def __getitem__(self, index: int) -> Module: ...
    @overload
    def __getitem__(self, index: slice) -> _Indexed: ...
    def __getitem__(self, index: int | slice) -> Module:
        items = self._module_list()
        if isinstance(index, slice):
            return self._part(index)
        return items[self._place(index)]

    def __setitem__(self, index: int, module: Module) -> None:
        self._modules[list(self._modules)[self._place(index)]] = _checked(module, self)

    def __delitem__(self, index: int | slice) -> None:
        items = self._module_list()
        if isinstance(index, slice):
            del items[index]
        else:
            del items[self._place(index)]
        self._renumber(items)

    def append(self, module: Module) -> Self:
        """Add a module at the end."""
        self.add_module(str(len(self)), _checked(module, self))
        return self

    def extend(self, modules: Iterable[Module]) -> Self:
        """Add modules at the end. Raises TypeError for what is not iterable."""
        if not isinstance(modules, Iterable):
            name = f"{type(self).__name__}.extend"
            raise TypeError(NO_ITERABLE.format(name=name, what="", got=type(modules).__name__))
        for module in list(modules):
            self.append(module)
        return self

    def insert(self, index: int, module: Module) -> Self:
        """Put a module before the one at `index`. Raises IndexError for a place that is not there."""
        items = self._module_list()
        if not -len(items) <= operator.index(index) <= len(items):
            raise IndexError(f"index {index} is out of range")
        items.insert(index, _checked(module, self))
        self._renumber(items)
        return self

    def pop(self, index: int = -1) -> Module:
        """Take a module out."""
        module = self[index]
        del self[index]
        return module

    def __iadd__(self, modules: Iterable[Module]) -> Self:
        return self.extend(modules)

    def __add__(self, other: Iterable[Module]) -> _Indexed:
        return self._like_this().extend([*self, *other])

    def _part(self, index: slice) -> _Indexed:
        part = self._like_this()
        for i, module in enumerate(self._module_list()[index]):
            part.add_module(str(i), module)
        return part

    def _like_this(self) -> _Indexed:
        """An empty container of the kind, for a part of this one; a subclass's own __init__ need not know of it."""
        kind = Sequential if isinstance(self, Sequential) else ModuleList
        return type(self)() if type(self) in (Sequential, ModuleList) else kind()

    def _place(self, index: int) -> int:
        position, length = operator.index(index), len(self)
        if not -length <= position < length:
            raise IndexError(f"index {position} is out of range")
        return position % length

    def _renumber(self, modules: Iterable[Module]) -> None:
        self._modules = {str(i): module for i, module in enumerate(modules)}

    def _module_list(self) -> list[Any]:
        return list(self._modules.values())


class Sequential(_Indexed):
    """Modules called one after the other: given one by one, or named in a dict.

    Args:
        modules: the modules in order.

    >>> from flambeau import nn
    >>> len(nn.Sequential(nn.Linear(2, 3), nn.ReLU()))
    2
    """

    def __init__(self, *modules: Module | Mapping[str, Module]) -> None:
        super().__init__()
        if len(modules) == 1 and isinstance(modules[0], Mapping):
            for name, module in modules[0].items():
                self.add_module(name, module)
        else:
            for i, child in enumerate(modules):
                self.add_module(str(i), _checked(child, self))

    def forward(self, input):  # type: ignore[no-untyped-def]  # scripted, its types are the modules'
        """The last module's answer to the one before's."""
        for module in self:
            input = module(input)
        return input

    def __mul__(self, count: int) -> Sequential:
        return Sequential(*list(self) * _times(count))

    __rmul__ = __mul__

    def __add__(self, other: Iterable[Module]) -> _Indexed:
        if not isinstance(other, Sequential):
            raise ValueError(ONLY_SEQUENTIAL.format(kind=type(other).__name__))
        return super().__add__(other)

    def _part(self, index: slice) -> _Indexed:
        """Modules keep their names: a state dict of the whole has those of a part."""
        part = self._like_this()
        for name, module in list(self._modules.items())[index]:
            part.add_module(name, module)
        return part

    def __imul__(self, count: int) -> Self:
        return self.extend(list(self) * (_times(count) - 1))


class ModuleList(_Indexed):
    """A list of modules; what is done with them is up to the owner's `forward`.

    Args:
        modules: the modules in order.

    >>> import flambeau
    >>> [type(m).__name__ for m in flambeau.nn.ModuleList([flambeau.nn.ReLU(), flambeau.nn.Tanh()])]
    ['ReLU', 'Tanh']
    """

    def __init__(self, modules: Iterable[Module] | None = None) -> None:
        super().__init__()
        if modules is not None:
            self.extend(modules)

    def __repr__(self) -> str:
        return with_repeats(self._get_name(), self._module_list())


class ModuleDict(Module):
    """Modules by name, in the order in which they were put in.

    Args:
        modules: modules by name.

    >>> from flambeau import nn
    >>> list(nn.ModuleDict({"up": nn.Linear(1, 2), "act": nn.ReLU()}))
    ['up', 'act']
    """

    def __init__(self, modules: Mapping[str, Module] | None = None) -> None:
        super().__init__()
        if modules is not None:
            self.update(modules)

    def __getitem__(self, key: str) -> Module:
        module: Any = self._modules[key]
        return module

    def __setitem__(self, key: str, module: Module) -> None:
        self.add_module(key, _checked(module, self))

    def __delitem__(self, key: str) -> None:
        del self._modules[key]

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __contains__(self, key: str) -> bool:
        return key in self._modules

    def clear(self) -> None:
        """Take all modules out."""
        self._modules.clear()

    def pop(self, key: str) -> Module:
        """Take a module out."""
        module = self[key]
        del self[key]
        return module

    def keys(self) -> KeysView[str]:
        """The names."""
        return self._modules.keys()

    def items(self) -> ItemsView[str, Any]:
        """Names and modules."""
        return self._modules.items()

    def values(self) -> ValuesView[Any]:
        """The modules."""
        return self._modules.values()

    def update(self, modules: Mapping[str, Module] | Iterable[tuple[str, Module]]) -> None:
        """Put modules in, in the place of those of the same name. Raises TypeError for what gives no pairs."""
        if not isinstance(modules, Iterable):
            pairs = " of key/value pairs"
            raise TypeError(NO_ITERABLE.format(name="ModuleDict.update", what=pairs, got=type(modules).__name__))
        items = modules.items() if isinstance(modules, Mapping | ModuleDict) else modules
        for key, module in items:
            self[key] = module
