"""What a run of code may not change: what was there before it began, since the run may be given up and begun again.

>>> import flambeau
>>> weight, memory = flambeau.ones(2), ForeignMemory()
>>> memory.add([weight])
>>> memory.has(weight[:1]), memory.has(flambeau.ones(2)), memory.has([weight])
(True, False, False)
"""

from __future__ import annotations

from typing import Any

from flambeau.tensor.tensor import Tensor


class ForeignMemory:
    """Tensors and containers that a run was given, or read of an object; they outlive the run."""

    def __init__(self) -> None:
        self._storages: set[int] = set()
        self._containers: set[int] = set()

    def add(self, value: Any) -> None:
        """Note a value, and what is in it. What is in objects is noted when it is read."""
        if isinstance(value, Tensor):
            self._storages.add(value.untyped_storage().identity)
        elif isinstance(value, list | tuple | dict | set) and id(value) not in self._containers:
            self._containers.add(id(value))
            for item in value.values() if isinstance(value, dict) else value:
                self.add(item)

    def has(self, value: Any) -> bool:
        """Whether a tensor shows such memory, or a container is one of these."""
        if isinstance(value, Tensor):
            return value.untyped_storage().identity in self._storages
        return id(value) in self._containers
