"""Parametrizations: a parameter computed from another by modules, each time it is read.

`register_parametrization(layer, "weight", Symmetric())` moves `layer.weight` to
`layer.parametrizations.weight.original`; from then on `layer.weight` is what `Symmetric` makes of that.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from copy import deepcopy
from threading import local
from typing import Any

from flambeau.nn.container import ModuleDict, ModuleList
from flambeau.nn.module import Module
from flambeau.nn.parameter import Parameter
from flambeau.tensor import observer
from flambeau.tensor.tensor import Tensor

NOT_THERE = "Module '{module}' does not have a parameter, a buffer, or a parametrized element with name '{name}'"
OTHER_SHAPE = (
    "A parametrization may not change the shape or dtype of the parametrized tensor unless it is registered with "
    "unsafe=True: {name} has shape {before}, and the parametrization gives {after}"
)
TRACED = "Cannot trace a model while caching the parametrizations: leave the cached() block first"
COMPILED = "Caching is not implemented for script modules: script outside the cached() block"
NO_INVERSE = "The parametrization {kind} has no right_inverse: '{name}' cannot be assigned"
NO_PICKLE = "Serialization of parametrized modules is only supported through state_dict()"
SCRIPT = "__flambeau_text__"
"""The attribute of a property's getter with the text that it is in programs."""


class _Cache(local):
    depth: int = 0
    values: dict[tuple[int, str], Tensor] | None = None


_cache = _Cache()


@contextmanager
def cached() -> Iterator[None]:
    """Within the block, each parametrized tensor is computed when it is first read, and kept.

    >>> with cached():
    ...     is_caching()
    True
    """
    _cache.depth += 1
    if _cache.values is None:
        _cache.values = {}
    try:
        yield
    finally:
        _cache.depth -= 1
        if not _cache.depth:
            _cache.values = None


def is_caching() -> bool:
    """Whether this thread is inside `cached`."""
    return _cache.depth > 0


class ParametrizationList(ModuleList):
    """The modules that make a tensor of `original`, applied in order."""

    original: Tensor

    def __init__(self, original: Tensor) -> None:
        super().__init__()
        if isinstance(original, Parameter):
            self.register_parameter("original", original)
        else:
            self.register_buffer("original", original)

    def forward(self) -> Tensor:
        """The tensor."""
        x = self.original
        for layer in self:
            x = layer(x)
        return x

    def right_inverse(self, value: Tensor) -> None:
        """Let `original` be such that the tensor becomes `value`. Raises RuntimeError where a module knows no way."""
        for layer in reversed(list(self)):
            inverse = getattr(layer, "right_inverse", None)
            if inverse is None:
                raise RuntimeError(NO_INVERSE.format(kind=type(layer).__name__, name="the tensor"))
            value = inverse(value)
        if isinstance(self.original, Parameter):
            self.original.replace_data(value.detach())
        else:
            self.original = value


def register_parametrization(
    module: Module, tensor_name: str, parametrization: Module, *, unsafe: bool = False
) -> Module:
    """Let a parameter or buffer of `module` be what `parametrization` makes of it, each time it is read.

    Several may be registered for one tensor; each is given what the one before makes. A parametrization with a method
    `right_inverse` lets the tensor be assigned. With `unsafe` it may change the tensor's shape or dtype.

    Raises:
        ValueError: the module has no such tensor, or a shape or dtype changes.

    >>> import flambeau
    >>> from flambeau import nn
    >>> class Doubled(nn.Module):
    ...     def forward(self, x):
    ...         return x * 2
    >>> layer = nn.Linear(2, 2, bias=False)
    >>> layer.weight.detach().fill_(1.5).tolist()
    [[1.5, 1.5], [1.5, 1.5]]
    >>> register_parametrization(layer, "weight", Doubled()).weight.tolist()
    [[3.0, 3.0], [3.0, 3.0]]
    """
    if is_parametrized(module, tensor_name):
        before = getattr(module, tensor_name)
        _check(before, parametrization(before), tensor_name, unsafe)
        table: Any = module.parametrizations
        table[tensor_name].append(parametrization)
        return module
    held = module._parameters.get(tensor_name)
    original: Tensor | None = held if held is not None else module._buffers.get(tensor_name)
    if original is None:
        raise ValueError(NOT_THERE.format(module=type(module).__name__, name=tensor_name))
    start = parametrization.right_inverse(original) if hasattr(parametrization, "right_inverse") else original
    _check(original, parametrization(start), tensor_name, unsafe)
    if start is not original and isinstance(original, Parameter):
        original.replace_data(start.detach())
    elif start is not original:
        original = start
    if not is_parametrized(module):
        _make_parametrized(module)
    parts = ParametrizationList(original)
    parts.append(parametrization)
    delattr(module, tensor_name)
    table = module.parametrizations
    table[tensor_name] = parts
    setattr(type(module), tensor_name, _property(tensor_name))
    parts.training = module.training
    return module


def _check(before: Tensor, after: Any, name: str, unsafe: bool) -> None:
    if not isinstance(after, Tensor):
        raise ValueError(f"A parametrization must return a tensor. Got {type(after).__name__}.")
    if not unsafe and (tuple(before.shape) != tuple(after.shape) or before.dtype != after.dtype):
        shapes = {"before": (tuple(before.shape), before.dtype), "after": (tuple(after.shape), after.dtype)}
        raise ValueError(OTHER_SHAPE.format(name=name, **shapes))


def _make_parametrized(module: Module) -> None:
    """Give a module a class of its own, which properties can be put into."""
    cls = type(module)
    members = {
        "__module__": cls.__module__, "__reduce__": _refuse_pickle, "__copy__": _copied,
        "__deepcopy__": lambda self, memo: _copied(self, memo),
    }  # fmt: skip
    made = type(f"Parametrized{cls.__name__}", (cls,), members)
    made.__qualname__ = made.__name__
    module.__class__ = made
    module.parametrizations = ModuleDict()


def _copied(self: Module, memo: dict[int, Any] | None = None) -> Module:
    found = object.__new__(type(self))
    if memo is not None:
        memo[id(self)] = found
    vars(found).update(vars(self) if memo is None else deepcopy(vars(self), memo))
    return found


def _refuse_pickle(self: Module) -> Any:
    raise RuntimeError(NO_PICKLE)


def _property(name: str) -> property:
    def get(self: Any) -> Tensor:
        parts = self.parametrizations[name]
        if _cache.values is None:
            return parts()
        if observer.current() is not None:
            raise RuntimeError(TRACED)
        key = (id(self), name)
        if key not in _cache.values:
            _cache.values[key] = parts()
        return _cache.values[key]

    def put(self: Any, value: Tensor) -> None:
        self.parametrizations[name].right_inverse(value)

    setattr(get, SCRIPT, f"def {name}(self):\n    return self.parametrizations.{name}()\n")
    return property(get, put)


def is_parametrized(module: Module, tensor_name: str | None = None) -> bool:
    """Whether a module has parametrizations, or one for that tensor."""
    table = module._modules.get("parametrizations") if "_modules" in vars(module) else None
    if not isinstance(table, ModuleDict):
        return False
    return len(table) > 0 if tensor_name is None else tensor_name in table


def remove_parametrizations(module: Module, tensor_name: str, leave_parametrized: bool = True) -> Module:
    """Make the tensor a plain one again: with the value it has now, or with that of its original.

    Raises ValueError if it is not parametrized.
    """
    if not is_parametrized(module, tensor_name):
        raise ValueError(f"Module {type(module).__name__} does not have a parametrization on {tensor_name}")
    table: Any = module.parametrizations
    parts = table[tensor_name]
    original = parts.original
    if leave_parametrized:
        value = parts().detach()
        if isinstance(original, Parameter):
            original.replace_data(value)
        else:
            original = value
    delattr(type(module), tensor_name)
    del table[tensor_name]
    if isinstance(original, Parameter):
        module.register_parameter(tensor_name, original)
    else:
        module.register_buffer(tensor_name, original)
    if not len(table):
        del module.parametrizations
        module.__class__ = type(module).__mro__[1]
    return module
