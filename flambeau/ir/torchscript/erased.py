"""Nodes and values that were removed from their graph refuse what TorchScript's users ask of them."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, NoReturn, TypeVar

T = TypeVar("T", bound=type)
INVALIDATED = "this {kind} has been invalidated: it was removed from its graph"


def refusing(kind: str, *methods: type) -> Callable[[T], T]:
    """A class decorator: `str` of an instance, and every method of the classes `methods`, raise RuntimeError."""

    def refuse(self: Any, *_: Any, **__: Any) -> NoReturn:
        raise RuntimeError(INVALIDATED.format(kind=kind))

    def decorate(erased: T) -> T:
        names = [name for of in methods for name, value in vars(of).items() if inspect.isfunction(value)]
        for name in (*names, "__str__"):
            setattr(erased, name, refuse)
        return erased

    return decorate
