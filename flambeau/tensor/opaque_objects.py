"""Objects of classes without code: what operators pack their weights into. Programs hold them and hand them on.

Each class has a name (`__torch__.torch.classes.quantized.LinearPackedParamsBase`) and a state of plain values and
tensors, which archives keep.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, Final

METHODS: Final[dict[tuple[str, str], str]] = {}
"""The operator that each method of such a class is, by the names of both; operators enter what they are."""
_CLASSES: Final[dict[str, type[OpaqueObject]]] = {}


class OpaqueObject(ABC):
    """The base of such classes. Its name in programs says which one an object is of."""

    type_name: ClassVar[str] = ""
    """The qualified name of the class in programs."""

    @abstractmethod
    def state(self) -> Any:
        """What archives keep of it."""

    def __getstate__(self) -> tuple[Any, str]:
        return self.state(), self.type_name

    def __setstate__(self, state: tuple[Any, str]) -> None:
        other = made(self.type_name, state[0])
        for kind in type(self).__mro__[:-1]:
            for name in set(kind.__dict__["__slots__"]) - {"__weakref__"}:
                setattr(self, name, getattr(other, name))

    __slots__ = ("__weakref__",)

    def __init_subclass__(cls) -> None:
        if cls.type_name:
            _CLASSES[cls.type_name] = cls


MAKERS: Final[dict[str, Callable[[Any], OpaqueObject]]] = {}
"""What makes an object of its state, by the name of the class; operators enter their classes."""


def without_state(name: str) -> OpaqueObject:
    """An object of a class before it has its state."""
    return object.__new__(_CLASSES[name])


def set_state(instance: OpaqueObject, state: Any) -> None:
    """Give an object its state. Raises ValueError for one that its class cannot have."""
    instance.__setstate__((state, instance.type_name))


def made(name: str, state: Any) -> OpaqueObject:
    """The object of a class with a state. Raises TypeError for a class that there is not, ValueError for a state that
    its objects cannot have.

    >>> made("__torch__.torch.classes.None", ())
    Traceback (most recent call last):
    TypeError: there is no class __torch__.torch.classes.None
    """
    maker = MAKERS.get(name)
    if maker is None:
        raise TypeError(f"there is no class {name}")
    try:
        return maker(state)
    except (TypeError, AttributeError, IndexError, KeyError, RuntimeError) as error:
        raise ValueError(f"it is no state of {name}: {error}") from None
