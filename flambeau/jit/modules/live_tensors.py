"""Parameters and buffers of a scripted module: read from and written to the object that its methods see."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, MutableMapping
from typing import Any

from flambeau.program.object import ScriptObject


class LiveTensors(MutableMapping[str, Any]):
    """Parameters or buffers of a scripted module: by name, read from and written to its object: one truth."""

    def __init__(self, script_object: ScriptObject, names: Iterable[str]) -> None:
        self._script_object = script_object
        self._names = dict.fromkeys(names)

    def __getitem__(self, name: str) -> Any:
        if name not in self._names:
            raise KeyError(name)
        return self._script_object.get(name) if name in self._script_object.type.definition.slots else None

    def __setitem__(self, name: str, value: Any) -> None:
        self._script_object.set(name, value)

    def __delitem__(self, name: str) -> None:
        raise RuntimeError(f"'{name}' cannot be removed: compiled methods may use it")

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)
