"""`swap_tensors`: two tensors become each other, for everybody who has them.

>>> import flambeau
>>> first, second = flambeau.ones(2), flambeau.zeros(3, dtype=flambeau.int64)
>>> kept = [first]
>>> swap_tensors(first, second)
>>> kept[0], second
(tensor([0, 0, 0]), tensor([1., 1.]))
"""

from __future__ import annotations

import weakref
from typing import Any, Final

from flambeau.tensor.settled import settle
from flambeau.tensor.tensor import Tensor, install_method

REFERRED: Final = "Cannot swap {which} because it has weakref associated with it"
OTHER_SLOTS: Final = "Cannot swap t1 and t2 if they have different slots"
_OWN: Final = [name for name in Tensor.__slots__ if not name.startswith("__")]
_ABSENT: Final = object()


def swap_tensors(t1: Tensor, t2: Tensor) -> None:
    """Exchange what two tensors are: memory, sizes, dtype, gradients, class and attributes.

    Who has one of them, a module its parameter or an optimiser what it steps, has the other's from then on. On the tape
    of what was computed before, a leaf stays the object that it is: going back there afterwards raises RuntimeError
    where sizes differ.

    Args:
        t1: a tensor.
        t2: another one.

    Raises RuntimeError where there are weak references to one of them, or their classes have different slots.

    >>> import flambeau
    >>> x, y = flambeau.ones(1), flambeau.zeros(2)
    >>> swap_tensors(x, y)
    >>> x
    tensor([0., 0.])
    """
    for which, tensor in (("t1", t1), ("t2", t2)):
        if weakref.getweakrefs(tensor):
            raise RuntimeError(REFERRED.format(which=which))
    if _further_slots(type(t1)) != _further_slots(type(t2)):
        raise RuntimeError(OTHER_SLOTS)
    classes, attributes = (type(t1), type(t2)), (t1.__dict__, t2.__dict__)
    for name in (*_OWN, *_further_slots(type(t1))):
        mine, theirs = getattr(t1, name, _ABSENT), getattr(t2, name, _ABSENT)
        _put(t1, name, theirs)
        _put(t2, name, mine)
    for tensor, cls, names in zip((t1, t2), classes[::-1], attributes[::-1], strict=True):
        object.__setattr__(tensor, "__dict__", names)
        object.__setattr__(tensor, "__class__", cls)
        settle(tensor)


def module_load(self: Tensor, other: Tensor, assign: bool = False) -> Tensor:
    """What a parameter or buffer of a module becomes when a value is loaded, where parameters are exchanged.

    Classes derived from `Tensor` may have another one.

    Args:
        other: the value.
        assign: whether it is taken as it is, not its elements.

    >>> import flambeau
    >>> module_load(flambeau.zeros(2), flambeau.ones(2))
    tensor([1., 1.])
    """
    if assign:
        return other.detach()
    copied: Tensor = self.detach().copy_(other)
    return copied.detach()


install_method("module_load", module_load)


def _further_slots(cls: type) -> list[str]:
    """The slots that classes derived from `Tensor` have."""
    classes = cls.__mro__[: cls.__mro__.index(Tensor)]
    return sorted({name for one in classes for name in one.__dict__.get("__slots__", ()) if not name.startswith("__")})


def _put(tensor: Tensor, name: str, value: Any) -> None:
    if value is not _ABSENT:
        object.__setattr__(tensor, name, value)
    elif hasattr(tensor, name):
        object.__delattr__(tensor, name)
