"""What was there before a run of code began, and what the run has changed of it: so that it can be given up and begun
again as if nothing had happened.

>>> import flambeau
>>> weight, memory = flambeau.ones(2), ForeignMemory()
>>> memory.add([weight])
>>> memory.has(weight[:1]), memory.has(flambeau.ones(2)), memory.has([weight])
(True, False, False)
>>> memory.may_change(weight), weight.zero_()[0].item(), memory.restore(), weight[0].item()
(True, 0.0, None, 1.0)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from flambeau.interpreter.conform import conforms
from flambeau.program.object import UNSET, ScriptObject
from flambeau.program.written import GivenUpError
from flambeau.tensor.tensor import Tensor

MOST_BYTES: Final = 1 << 24
"""Of tensors, that are copied so that they can be written to."""


class ForeignMemory:
    """Tensors and containers that a run was given, or read of an object; they outlive the run."""

    def __init__(self) -> None:
        self._storages: set[int] = set()
        self._containers: set[int] = set()
        self._waiting: list[Any] = []
        """What was noted and not looked into yet: most runs write to nothing."""
        self._undo: list[Callable[[], None]] = []
        self._kept: set[int] = set()
        self._bytes = 0
        self.add = self._waiting.append
        """Notes a value, and what is in it. What is in objects is noted when it is read."""

    def has(self, value: Any) -> bool:
        """Whether a tensor shows such memory, or a container is one of these."""
        while self._waiting:
            self._look_into(self._waiting.pop())
        if isinstance(value, Tensor):
            return value.untyped_storage().identity in self._storages
        return id(value) in self._containers

    def _look_into(self, value: Any) -> None:
        if isinstance(value, Tensor):
            self._storages.add(value.untyped_storage().identity)
        elif isinstance(value, list | tuple | dict | set) and id(value) not in self._containers:
            self._containers.add(id(value))
            self._waiting.extend(value.values() if isinstance(value, dict) else value)

    # -- changes ------------------------------------------------------------------------------------------------------

    def may_change(self, value: Any) -> bool:
        """Whether a tensor or container may be written to: it is the run's own, or what it holds now is kept."""
        if value is None or not self.has(value) or id(value) in self._kept:
            return True
        if isinstance(value, Tensor):
            return self._keep_tensor(value)
        if type(value) is list:
            items = list(value)
            self._undo.append(lambda: value.__setitem__(slice(None), items))
        elif type(value) is dict:
            pairs = dict(value)
            self._undo += [lambda: value.update(pairs), value.clear]
        else:
            return False
        self._kept.add(id(value))
        self.add(value)  # so that nothing else has its place
        return True

    def _keep_tensor(self, tensor: Tensor) -> bool:
        array, self._bytes = tensor._array, self._bytes + tensor.nbytes
        if type(array).__module__ != "numpy" or self._bytes > MOST_BYTES or tensor._node is not None:
            return False
        elements = array.copy()
        self._undo.append(lambda: array.__setitem__(..., elements))
        return True

    def set_attribute(self, owner: ScriptObject, name: str, value: Any) -> None:
        """Give an object's attribute a value. Raises GivenUpError for one that its class does not declare so."""
        attribute = owner.type.definition.attribute(name)
        if attribute is None or not conforms(value, attribute.type):
            raise GivenUpError(f"a value is of another type than attribute {name}")
        values, slot = owner.values, owner.type.definition.slots[name]
        if slot >= len(values):
            owner.set(name, UNSET)
        before = values[slot]
        self.add(before)
        self._undo.append(lambda: values.__setitem__(slot, before))
        values[slot] = value
        self.add(value)

    def restore(self) -> None:
        """Make everything what it was before the run."""
        while self._undo:
            self._undo.pop()()
