"""The class of a tensor goes with its memory: tensors without data, or on a device, have one of their own.

Calls look at classes before they look at anything else, so that whoever reads memory never meets such a tensor.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from flambeau.tensor.storage import Storage
from flambeau.tensor.subclasses import special
from flambeau.tensor.tensor import Tensor, wrap

CLASSES: Final[dict[type[Storage], Callable[[Storage, type], type]]] = {}
"""By the class of the storage: the class that a tensor has there which is otherwise of a given class."""
COPIES: Final[dict[type[Storage], Callable[[Tensor], Tensor]]] = {}
"""By the class of the storage: what gives a copy on the host of a tensor that is there."""


def plain_class(cls: Any) -> Any:
    """The class that tensors of a class have in memory of the host.

    >>> plain_class(Tensor) is Tensor
    True
    """
    return getattr(cls, "_plain_class", cls)


def settle(tensor: Tensor) -> Tensor:
    """Give a tensor the class that goes with its memory."""
    cls = type(tensor)
    rule = CLASSES.get(type(tensor._storage))
    wanted: Any = plain_class(cls) if rule is None else rule(tensor._storage, plain_class(cls))
    if wanted is not cls:
        tensor.__class__ = wanted
        special.exists = special.exists or rule is not None
    return tensor


def settled(result: Any) -> Any:
    """A result whose tensors, in lists and tuples too, have the classes that go with their memory."""
    if isinstance(result, Tensor):
        return settle(result)
    return type(result)(map(settled, result)) if type(result) in (list, tuple) else result


def is_readable(tensor: Tensor) -> bool:
    """Whether the host may read a tensor's memory: not on a device, and not where there is no data.

    >>> import numpy as np
    >>> from flambeau.tensor.tensor import wrap
    >>> is_readable(wrap(np.ones(2)))
    True
    """
    return type(tensor._storage) not in CLASSES


def readable(tensor: Tensor) -> Tensor:
    """A tensor, or a copy of it on the host where that may not read it; one without data is itself, and reads as zeros.
    Nobody is told, nothing is recorded.
    """
    copy = COPIES.get(type(tensor._storage))
    return tensor if copy is None else copy(tensor)


def apart(tensor: Tensor) -> Tensor:
    """A copy on the host with memory of its own, in the same order. Nobody is told, nothing is recorded."""
    return wrap(tensor._array.copy(order="K")) if is_readable(tensor) else readable(tensor)
