"""The submodules of a loaded module: made when something asks for them, since calls need none."""

from __future__ import annotations

from collections.abc import Callable, Iterator, MutableMapping
from copy import deepcopy
from typing import Any


class Submodules(MutableMapping[str, Any]):
    """Modules by name, which are made all at once when one is asked for.

    >>> modules = Submodules(lambda: {"layer": "a module"})
    >>> len(modules), modules["layer"]
    (1, 'a module')
    """

    def __init__(self, make: Callable[[], dict[str, Any]]) -> None:
        self._make = make
        self._modules: dict[str, Any] | None = None

    @property
    def _all(self) -> dict[str, Any]:
        if self._modules is None:
            self._modules = self._make()
        return self._modules

    def __getitem__(self, name: str) -> Any:
        return self._all[name]

    def __setitem__(self, name: str, module: Any) -> None:
        self._all[name] = module

    def __delitem__(self, name: str) -> None:
        del self._all[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._all)

    def __len__(self) -> int:
        return len(self._all)

    def __deepcopy__(self, memo: dict[int, Any]) -> dict[str, Any]:
        return deepcopy(self._all, memo)

    def __repr__(self) -> str:
        return repr(self._all)
