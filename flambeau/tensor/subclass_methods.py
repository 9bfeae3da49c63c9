"""Methods of `Tensor` that make tensors of subclasses: with the memory of another one, or without any."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from flambeau.schema.argument_rules import to_dtype
from flambeau.schema.device import CPU, Device
from flambeau.tensor import dataless, defaults
from flambeau.tensor.dispatch import call
from flambeau.tensor.overrides import subclasses_ignored
from flambeau.tensor.tensor import Tensor, install_method

T = TypeVar("T", bound=Tensor)
NO_DISPATCH = "{name} must define __torch_dispatch__ to be created with _make_wrapper_subclass"
NO_SUBCLASS = "as_subclass(): argument 'cls' must be a class that inherits from Tensor, not {cls!r}"


class NoDispatchError(TypeError, RuntimeError):
    """Raised for a class whose tensors no operator could run on."""


def _like(cls: type[T], source: Tensor) -> T:
    """An object of a subclass with the memory of a tensor and its place on the tape."""
    result: T = object.__new__(cls)
    for name in _STATE:
        setattr(result, name, getattr(source, name))
    result._leaf = None
    return result


_STATE = (
    "_array", "_storage", "_requires_grad", "_grad", "_node", "_base", "_made_in", "is_wrapped_number",
    "output_nr",
)  # fmt: skip


def as_subclass(self: Tensor, cls: type[T]) -> T:
    """The same memory as a tensor of a subclass; gradients flow through. Its `__init__` is not called.

    Args:
        cls: a subclass of `Tensor`.

    >>> import flambeau
    >>> class Named(flambeau.Tensor):
    ...     pass
    >>> type(flambeau.ones(2).as_subclass(Named) + 1).__name__
    'Named'
    """
    if not (isinstance(cls, type) and issubclass(cls, Tensor)):
        raise TypeError(NO_SUBCLASS.format(cls=cls))
    with subclasses_ignored():
        shown = call("aten::alias", self)
    result = _like(cls, shown)
    if not shown.requires_grad:
        result._base = self._base  # type: ignore[assignment]  # the base is of its own class
    return result


def _of_new_result(result: Tensor, cls: type[T]) -> T:
    """What an operator has just returned, as a tensor of a subclass."""
    return _like(cls, result) if type(result) is Tensor else as_subclass(result, cls)


def make_subclass(cls: type[T], data: Tensor, require_grad: bool = False) -> T:
    """A tensor of a subclass with the memory of `data`, a leaf.

    Args:
        data: the tensor whose memory it is.
        require_grad: whether it asks for gradients.
    """
    if not isinstance(data, Tensor):
        raise TypeError(f"_make_subclass(): argument 'data' (position 2) must be Tensor, not {type(data).__name__}")
    with subclasses_ignored():
        result = _like(cls, data.detach())
    result._base = None
    result._made_in = None
    if require_grad:
        result.requires_grad_()
    return result


def make_wrapper_subclass(
    cls: type[T],
    size: Sequence[int],
    *,
    strides: Sequence[int] | None = None,
    storage_offset: int | None = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    **_options: Any,
) -> T:
    """A tensor of a subclass that has sizes, a dtype and a device, but no memory: one that stands for others.

    Args:
        size: its sizes.
        strides: its strides; row-major if None.
        storage_offset: where in its storage it begins.
        dtype: its dtype; the default one if None.
        layout: accepted.
        device: the device it names, which need not exist; the CPU if None.
        requires_grad: whether it asks for gradients.

    Raises TypeError unless the subclass has `__flambeau_dispatch__`: operators could not run.
    """
    if not hasattr(cls, "__flambeau_dispatch__"):
        raise NoDispatchError(NO_DISPATCH.format(name=cls.__name__))
    target = defaults.float_dtype() if dtype is None else to_dtype(dtype)
    on_device = CPU if device is None else Device(device) if isinstance(device, str) else device
    array, storage = dataless.window(tuple(size), strides, target, on_device, storage_offset or 0)
    result: T = object.__new__(cls)
    Tensor.__init__(result, array, storage)
    if requires_grad:
        result.requires_grad_()
    return result


install_method("as_subclass", as_subclass)
install_method("_of_new_result", _of_new_result)


def _of_class(make: Callable[..., Any]) -> Any:
    """The class method of tensors that makes one of a class: its own, or the first argument, as in
    `Tensor._make_subclass(cls, data)`."""

    @functools.wraps(make)
    def method(owner: Any, *args: Any, **kwargs: Any) -> Any:
        cls, rest = (args[0], args[1:]) if args and isinstance(args[0], type) else (owner, args)
        return make(cls, *rest, **kwargs)

    return classmethod(method)


for _name, _method in (("_make_subclass", make_subclass), ("_make_wrapper_subclass", make_wrapper_subclass)):
    install_method(_name, _of_class(_method))
