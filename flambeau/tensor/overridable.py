"""Which functions, methods and properties modes and subclasses of tensors may answer, and what these are called.

>>> import flambeau
>>> flambeau.relu in get_overridable_functions()[flambeau], resolve_name(flambeau.Tensor.add)
(True, 'flambeau.Tensor.add')
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, Final

from flambeau.schema import registry
from flambeau.schema.types import TensorType
from flambeau.tensor.tensor import Tensor
from flambeau.util.inversions import PACKAGE

_NAMESPACES: Final = ("linalg", "fft", "special", "nn.functional", "nn.init", "")
"""Below the package: where functions are found; what is in several is called by the first."""


def _namespaces() -> Iterator[tuple[str, Any]]:
    """The namespaces by name, and the class of tensors."""
    for path in _NAMESPACES:
        value: Any = PACKAGE.implementation
        for name in filter(None, path.split(".")):
            value = getattr(value, name)
        yield f"flambeau.{path}".rstrip("."), value
    yield "flambeau.Tensor", Tensor


def _members(value: Any) -> Iterator[tuple[str, Any]]:
    """The public functions of a namespace; of a class, its methods and the getters of its properties."""
    for name in dir(value):
        if name.startswith("_") and not (value is Tensor and name.endswith("__")):
            continue
        member = inspect.getattr_static(value, name, None) if value is Tensor else getattr(value, name, None)
        if isinstance(member, property):
            yield f"{name}.__get__", member.__get__
        elif inspect.isroutine(member) and not inspect.isclass(member):
            yield name, getattr(value, name)


def _is_answered(member: Any) -> bool:
    """Whether calls ask classes of arguments: of operators those with tensors among their arguments."""
    name = getattr(member, "operator_name", None)
    if name is None:
        return bool(getattr(member, "is_overridable", False))
    arguments = (a for d in registry.overloads(name) for a in d.schema.arguments if not a.is_out)
    return any(isinstance(inner, TensorType) for a in arguments for inner in (a.type, *a.type.contained))


@cache
def _named() -> dict[Any, str]:
    """The names of all functions, methods and getters; of those in several namespaces the first."""
    names: dict[Any, str] = {}
    for home, value in _namespaces():
        for name, member in _members(value):
            names.setdefault(member, f"{home}.{name}")
    return names


@cache
def get_overridable_functions() -> dict[Any, list[Callable[..., Any]]]:
    """By namespace (modules, and the class of tensors) what modes and subclasses of tensors may answer calls of."""
    chosen: dict[Any, list[Callable[..., Any]]] = {}
    for _, value in _namespaces():
        members = [member for _, member in _members(value)]
        chosen[value] = members if value is Tensor else [one for one in members if _is_answered(one)]
    return chosen


@cache
def get_ignored_functions() -> set[Callable[..., Any]]:
    """The functions that nobody is asked about: they are about no tensor."""
    return {m for _, v in _namespaces() if v is not Tensor for _, m in _members(v) if not _is_answered(m)}


@cache
def get_testing_overrides() -> dict[Callable[..., Any], Callable[..., Any]]:
    """For each function that can be answered one with its signature, which gives -1.

    >>> import flambeau
    >>> get_testing_overrides()[flambeau.relu](3)
    -1
    """
    return {one: _dummy(one) for members in get_overridable_functions().values() for one in members}


def _dummy(function: Callable[..., Any]) -> Callable[..., Any]:
    def answered(*args: Any, **kwargs: Any) -> int:
        return -1

    try:
        answered.__signature__ = inspect.signature(function)  # type: ignore[attr-defined]
    except (ValueError, TypeError):
        return answered
    return answered


@cache
def _of_tensors() -> set[Any]:
    return {member for _, member in _members(Tensor)}


def is_tensor_method_or_property(func: Callable[..., Any]) -> bool:
    """Whether a function is a method of tensors, or what reads one of their properties.

    >>> import flambeau
    >>> is_tensor_method_or_property(flambeau.Tensor.add), is_tensor_method_or_property(flambeau.add)
    (True, False)
    """
    return func in _of_tensors() or getattr(func, "__name__", "") == "__get__"


def resolve_name(f: Callable[..., Any]) -> str | None:
    """What a function, a method or the getter of a property is called; None of what is none of the package's.

    >>> import flambeau
    >>> resolve_name(flambeau.nn.functional.relu), resolve_name(flambeau.Tensor.shape.__get__), resolve_name(len)
    ('flambeau.nn.functional.relu', 'flambeau.Tensor.shape.__get__', None)
    """
    if hasattr(f, "overloadpacket") or hasattr(f, "overloads"):
        return str(f)
    return _named().get(f)


@cache
def get_default_nowrap_functions() -> set[Callable[..., Any]]:
    """What gives something else than a tensor of the subclass that it is asked of: the gradient."""
    grad: Any = Tensor.grad
    return {grad.__get__}
