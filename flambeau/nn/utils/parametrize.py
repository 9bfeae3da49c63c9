"""Parametrizations: a parameter computed from another by modules, each time it is read.

`register_parametrization(layer, "weight", Symmetric())` moves `layer.weight` to
`layer.parametrizations.weight.original`; from then on `layer.weight` is what `Symmetric` makes of that.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from threading import local
from typing import Any, ClassVar

from flambeau.nn.container import ModuleDict, ModuleList
from flambeau.nn.module import Module
from flambeau.nn.parameter import Parameter
from flambeau.nn.utils.computed import SCRIPT, drop, put, refuse_flat
from flambeau.tensor import observer
from flambeau.tensor.tensor import Tensor

__all__ = [
    "ParametrizationList", "cached", "is_parametrized", "register_parametrization", "remove_parametrizations",
    "transfer_parametrizations_and_params", "type_before_parametrizations",
]  # fmt: skip

NOT_THERE = "Module '{module}' does not have a parameter, a buffer, or a parametrized element with name '{name}'"
CHANGED = (
    "Registering a parametrization may not change the {what} of the tensor, unless it is registered with unsafe=True.\n"
    "unparametrized {what}: {before}\nparametrized {what}: {after}"
)
NOT_PARAMETRIZED = "Module {module} does not have a parametrization on {name}"
TRACED = "Cannot trace a model while caching the parametrizations: leave the cached() block first"
COMPILED = "Caching is not implemented for script modules: script outside the cached() block"
NO_INVERSE = "The parametrization {kind} has no right_inverse: '{name}' cannot be assigned"
NO_ORIGINAL = (
    "Cannot leave unparametrized (`leave_parametrized=False`) a tensor that is made of several: there is no original"
)


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
    """The modules that make a tensor of `original`, applied in order.

    >>> import flambeau
    >>> layer = flambeau.nn.utils.parametrizations.weight_norm(flambeau.nn.Linear(2, 2))
    >>> isinstance(layer.parametrizations.weight, ParametrizationList)
    True
    """

    NAMES: ClassVar[tuple[str, ...]] = ("original",)

    def __init__(self, *originals: Tensor) -> None:
        super().__init__()
        for name, original in zip(self.NAMES, originals, strict=True):
            if isinstance(original, Parameter):
                self.register_parameter(name, original)
            else:
                self.register_buffer(name, original)

    def forward(self) -> Tensor:
        """The tensor."""
        x = self.original
        for layer in self:
            x = layer(x)
        return x

    def _get_name(self) -> str:
        return "ParametrizationList"

    def originals(self) -> list[Tensor]:
        """What the tensor is made of."""
        return [getattr(self, name) for name in self.NAMES]

    def right_inverse(self, value: Tensor) -> None:
        """Set the originals so that the tensor is `value`. Raises RuntimeError for a module without `right_inverse`."""
        originals: Any = value
        for layer in reversed(list(self)):
            inverse = getattr(layer, "right_inverse", None)
            if inverse is None:
                raise RuntimeError(NO_INVERSE.format(kind=type(layer).__name__, name="the tensor"))
            originals = inverse(originals)
        for name, original in zip(self.NAMES, originals if isinstance(originals, tuple) else (originals,), strict=True):
            parameter = getattr(self, name)
            if isinstance(parameter, Parameter):
                parameter.data = original.detach()
            else:
                setattr(self, name, original)


class PairParametrizationList(ParametrizationList):
    """The modules that make a tensor of two, `original0` and `original1`: the first takes both."""

    NAMES = ("original0", "original1")

    def forward(self) -> Tensor:
        """The tensor."""
        x = self[0](self.original0, self.original1)
        for layer in self[1:]:
            x = layer(x)
        assert isinstance(x, Tensor)
        return x


def register_parametrization(
    module: Module, tensor_name: str, parametrization: Module, *, unsafe: bool = False
) -> Module:
    """Compute a parameter or buffer of `module` with `parametrization` each time it is read.

    Several may be registered for one tensor; each is given what the one before makes. A parametrization with a method
    `right_inverse` lets the tensor be assigned; the first may have one that gives two tensors, of which it makes one.
    With `unsafe` a parametrization may change the tensor's shape or dtype.

    Raises:
        ValueError: the module has no such tensor, or a shape or dtype changes.
        RuntimeError: the module reads its weights together, as recurrent networks do.

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
        _check(before, parametrization(before), unsafe)
        table: Any = module.parametrizations
        table[tensor_name].append(parametrization)
        return module
    refuse_flat(module, tensor_name)
    tensor = module._parameters.get(tensor_name)
    original: Tensor | None = tensor if tensor is not None else module._buffers.get(tensor_name)
    if original is None:
        raise ValueError(NOT_THERE.format(module=module, name=tensor_name))
    parts = _parts_of(original, parametrization, unsafe)
    delattr(module, tensor_name)
    _put(module, tensor_name, parts)
    parts.training = module.training
    return module


def _parts_of(original: Tensor, parametrization: Module, unsafe: bool) -> ParametrizationList:
    start: Any = original
    with suppress(NotImplementedError):  # one that has none for its options
        start = parametrization.right_inverse(original) if hasattr(parametrization, "right_inverse") else original
    several = start if isinstance(start, Sequence) and not isinstance(start, Tensor) else None
    if several is not None and len(several) != 2:
        raise ValueError(f"right_inverse gives one tensor or two, got {len(several)}")
    _check(original, parametrization(*(several or (start,))), unsafe)
    if several is not None:
        if isinstance(original, Parameter):
            several = [Parameter(one.detach().clone(), original.requires_grad) for one in several]
        parts: ParametrizationList = PairParametrizationList(*several)
    else:
        if start is not original and isinstance(original, Parameter):
            original.data = start.detach()
        elif start is not original:
            original = start
        parts = ParametrizationList(original)
    parts.append(parametrization)
    return parts


def _check(before: Tensor, after: Any, unsafe: bool) -> None:
    if not isinstance(after, Tensor):
        raise ValueError(f"A parametrization must return a tensor. Got {type(after).__name__}.")
    for what in ("dtype", "shape") if not unsafe else ():
        if getattr(before, what) != getattr(after, what):
            raise ValueError(CHANGED.format(what=what, before=getattr(before, what), after=getattr(after, what)))


def _put(module: Module, name: str, parts: Module) -> None:
    """Register a tensor that is computed from its originals."""
    if not is_parametrized(module):
        module.parametrizations = ModuleDict()
    table: Any = module.parametrizations
    table[name] = parts
    put(module, f"Parametrized{type(module).__name__}", name, _property(name))


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
    """Whether a module has parametrizations, or one for that tensor.

    >>> import flambeau
    >>> is_parametrized(flambeau.nn.utils.parametrizations.weight_norm(flambeau.nn.Linear(2, 2)), "weight")
    True
    """
    table = module._modules.get("parametrizations") if "_modules" in vars(module) else None
    if not isinstance(table, ModuleDict):
        return False
    return len(table) > 0 if tensor_name is None else tensor_name in table


def remove_parametrizations(module: Module, tensor_name: str, leave_parametrized: bool = True) -> Module:
    """Make the tensor a plain one again: with the value it has now, or with that of its original.

    Raises ValueError if it is not parametrized.

    >>> import flambeau
    >>> layer = flambeau.nn.utils.parametrizations.weight_norm(flambeau.nn.Linear(2, 2))
    >>> is_parametrized(remove_parametrizations(layer, "weight"))
    False
    """
    if not is_parametrized(module, tensor_name):
        raise ValueError(NOT_PARAMETRIZED.format(module=module, name=tensor_name))
    table: Any = module.parametrizations
    parts = table[tensor_name]
    original = parts.originals()[0]
    if len(parts.NAMES) > 1:
        if not leave_parametrized:
            raise ValueError(NO_ORIGINAL)
        original = Parameter(parts().detach(), original.requires_grad) if isinstance(original, Parameter) else parts()
    elif leave_parametrized:
        value = parts().detach()
        if isinstance(original, Parameter):
            original.data = value
        else:
            original = value
    drop(module, tensor_name)
    del table[tensor_name]
    if isinstance(original, Parameter):
        module.register_parameter(tensor_name, original)
    else:
        module.register_buffer(tensor_name, original)
    if not len(table):
        del module.parametrizations
    return module


def type_before_parametrizations(module: Module) -> type:
    """The class of a module, as it was before its first parametrization.

    >>> import flambeau
    >>> layer = flambeau.nn.utils.parametrizations.weight_norm(flambeau.nn.Linear(2, 2))
    >>> type(layer).__name__, type_before_parametrizations(layer).__name__
    ('ParametrizedLinear', 'Linear')
    """
    return type(module).__mro__[1] if is_parametrized(module) else type(module)


def transfer_parametrizations_and_params(
    from_module: Module, to_module: Module, tensor_name: str | None = None
) -> Module:
    """Copy parametrizations and originals of `from_module` to `to_module`: all, or those of one tensor.

    Raises ValueError if there are none.

    >>> import flambeau
    >>> layer = flambeau.nn.utils.parametrizations.orthogonal(flambeau.nn.Linear(2, 2))
    >>> is_parametrized(transfer_parametrizations_and_params(layer, flambeau.nn.Linear(2, 2)))
    True
    """
    if not is_parametrized(from_module, tensor_name):
        raise ValueError(NOT_PARAMETRIZED.format(module=from_module, name=tensor_name))
    table: Any = from_module.parametrizations
    for name in list(table) if tensor_name is None else [tensor_name]:
        if name in vars(to_module).get("_parameters", {}) or name in vars(to_module).get("_buffers", {}):
            delattr(to_module, name)
        _put(to_module, name, table[name])
    return to_module
