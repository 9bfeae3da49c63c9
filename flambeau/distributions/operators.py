"""Operators on tensors, each of which gives one."""

from __future__ import annotations

from collections.abc import Callable

from flambeau.ops.families.composite import F as _ALL
from flambeau.tensor.tensor import Tensor


class _Operators:
    """The operators of the package by name."""

    def __getattr__(self, name: str) -> Callable[..., Tensor]:
        operator: Callable[..., Tensor] = getattr(_ALL, name)
        setattr(self, name, operator)  # found without this from now on
        return operator


F = _Operators()


def broadcast(*tensors: Tensor) -> list[Tensor]:
    """Tensors as tensors of one shape.

    >>> import flambeau
    >>> broadcast(flambeau.zeros(2), flambeau.tensor(1.0))[1]
    tensor([1., 1.])
    """
    return list(_ALL.broadcast_tensors(list(tensors)))
