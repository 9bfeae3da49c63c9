"""An instance of a scripted class or module: its type and the values of its attributes, by slot."""

from __future__ import annotations

from collections.abc import Iterable
from copy import deepcopy
from typing import Any, Final

from flambeau.schema.types import ClassType
from flambeau.tensor.tensor import Tensor


class _Unset:
    """The value of an attribute that nothing was assigned to yet."""

    def __repr__(self) -> str:
        return "<unset>"


UNSET: Final = _Unset()


class ScriptObject:
    """One object. Attribute `i` of its class is `values[i]`.

    >>> from flambeau.program.classes import ClassDefinition
    >>> from flambeau.schema.types import INT
    >>> point = ClassDefinition("__torch__.Point")
    >>> _ = point.add_attribute("x", INT)
    >>> p = ScriptObject(point.type)
    >>> p.set("x", 3)
    >>> p.get("x")
    3
    """

    __slots__ = ("__weakref__", "type", "values")

    def __init__(self, type_: ClassType, values: Iterable[Any] = ()) -> None:
        self.type = type_
        self.values: list[Any] = list(values)
        self._grow()

    def _grow(self) -> None:
        missing = len(self.type.definition.attributes) - len(self.values)
        if missing > 0:
            self.values.extend([UNSET] * missing)

    def get(self, name: str) -> Any:
        """The value of an attribute. Raises AttributeError if there is none or it was never set."""
        slot = self.type.definition.slot(name)
        value = self.values[slot] if slot < len(self.values) else UNSET
        if value is UNSET:
            raise AttributeError(f"attribute '{name}' of {self.type.name} was never set")
        return value

    def set(self, name: str, value: Any) -> None:
        """Give an attribute a value. Raises AttributeError if the class does not have it."""
        slot = self.type.definition.slot(name)
        self._grow()
        self.values[slot] = value

    def has(self, name: str) -> bool:
        """Whether the attribute exists and is set."""
        definition = self.type.definition
        if name not in definition.slots:
            return False
        slot = definition.slots[name]
        return slot < len(self.values) and self.values[slot] is not UNSET

    def call(self, method: str, *arguments: Any) -> Any:
        """Run a method. Raises AttributeError if the class does not have it."""
        return self.type.definition.method(method)(self, *arguments)

    def __deepcopy__(self, memo: dict[int, Any]) -> ScriptObject:
        duplicate = memo[id(self)] = ScriptObject(self.type)
        for tensor in _computed(self.values):
            memo.setdefault(id(tensor), tensor.clone())  # TorchScript's objects copy results, which deepcopy() refuses
        duplicate.values = [value if value is UNSET else deepcopy(value, memo) for value in self.values]
        return duplicate

    def __lt__(self, other: Any) -> bool:
        return bool(self.call("__lt__", other))

    def __repr__(self) -> str:
        return f"<{self.type.name} object at {id(self):#x}>"


def _computed(values: Iterable[Any]) -> list[Tensor]:
    """The tensors among values, in lists and dicts too, that were computed while gradients were recorded."""
    tensors: list[Tensor] = []
    seen: set[int] = set()
    waiting = list(values)
    while waiting:
        value = waiting.pop()
        if isinstance(value, Tensor):
            if value.grad_fn is not None:
                tensors.append(value)
        elif isinstance(value, list | tuple | dict) and id(value) not in seen:
            seen.add(id(value))
            waiting.extend(value.values() if isinstance(value, dict) else value)
    return tensors
