"""Comparing what a program did with what CPython did: results, and arguments after the call, objects by attributes."""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import Any

import flambeau
from flambeau import Tensor

BACKENDS = ("native", "interpreter", "reference")


def plain(value: Any, seen: dict[int, int] | None = None) -> Any:
    """A value as something that compares: tensors as lists, objects as class and attributes, cycles by number."""
    seen = {} if seen is None else seen
    if isinstance(value, Tensor):
        return ("Tensor", str(value.dtype), value.tolist())
    if isinstance(value, list | tuple):
        return (type(value), [plain(v, seen) for v in value])
    if isinstance(value, dict):
        return (dict, [(k, plain(v, seen)) for k, v in value.items()])
    if value is None or isinstance(value, int | float | str | bool | complex | enum.Enum):
        return (type(value), value)
    if id(value) in seen:
        return ("again", seen[id(value)])
    seen[id(value)] = len(seen)
    names = sorted({*getattr(value, "__dict__", {}), *getattr(type(value), "__slots__", ())})
    return (type(value), [(n, plain(getattr(value, n), seen)) for n in names if hasattr(value, n)])


def assert_like_python(fn: Callable[..., Any], arguments: Callable[[], tuple[Any, ...]], backend: str) -> None:
    """Run a function in CPython and scripted, four times each, so that native code has its turn."""
    expected = arguments()
    wanted = plain((fn(*expected), list(expected)))
    scripted = flambeau.script(fn, backend=backend, verify=backend == "native")
    for _ in range(4):
        given = arguments()
        assert plain((scripted(*given), list(given))) == wanted
