"""Tensors that a module owns: those that training changes, and those that are state besides."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

from flambeau.tensor.protocol import data_of, replace_memory
from flambeau.tensor.settled import settle
from flambeau.tensor.shared_memory import MADE_OF
from flambeau.tensor.subclasses import PLAIN, disabled_function, goes_below, is_special
from flambeau.tensor.tensor import Tensor, wrap
from flambeau.tensor.text_form import tensor_text


def _given(data: Tensor | None, owner: str) -> Tensor:
    if data is None:
        return wrap(np.empty(0, np.float32))
    if not isinstance(data, Tensor):
        raise TypeError(f"{owner} expects a Tensor, not {type(data).__name__}: write {owner}(flambeau.tensor(...))")
    return data


class _ParameterClass(type):
    """Objects of users' subclasses of `Tensor` that were made parameters are instances of `Parameter` too."""

    def __instancecheck__(cls, instance: Any) -> bool:
        if type.__instancecheck__(cls, instance):
            return True
        return cls is Parameter and isinstance(instance, Tensor) and getattr(instance, "_is_param", False) is True


NOT_DETACHED = (
    "Creating a Parameter from an instance of type {kind} requires that detach() returns an instance of the same type, "
    "but return type {other} was found instead. To use the type as a Parameter, please correct the detach() semantics "
    "defined by its __torch_function__() or __torch_dispatch__() implementation: write one that gives {kind}."
)


class Parameter(Tensor, metaclass=_ParameterClass):
    """A Tensor that registers itself when assigned to an attribute of a `Module`.

    It shares memory with `data` and asks for gradients unless told not to. A tensor of a subclass of one's own stays
    of that class: what is given is its `detach()`, which is an instance of `Parameter` too. Raises RuntimeError for a
    dtype that cannot have gradients, and for a subclass whose `detach()` gives another class.

    Args:
        data: the tensor whose memory it is.
        requires_grad: whether it asks for gradients.

    >>> import flambeau
    >>> flambeau.nn.Parameter(flambeau.ones(2)).requires_grad
    True
    """

    __slots__ = ()
    __flambeau_function__ = staticmethod(disabled_function)

    def __new__(cls, data: Any = None, requires_grad: bool = True, *args: Any, **kwargs: Any) -> Any:
        """An object whose subclass may take what it likes; of a user's subclass of `Tensor` one of that."""
        if isinstance(data, Tensor) and is_special(type(data)) and not goes_below(type(data)):
            return _of_its_class(data, requires_grad)
        return super().__new__(cls)

    def __init__(self, data: Tensor | None = None, requires_grad: bool = True) -> None:
        tensor = _given(data, "Parameter")
        super().__init__(tensor._array, tensor._storage)
        settle(self)
        if requires_grad:
            self.asking_from_the_start()

    @property
    def data(self) -> Tensor:
        """The same memory without a record of gradients, which counts its own writes. Assigning gives the parameter
        the memory, sizes and dtype of another tensor; it stays the same object."""
        return data_of(self)

    @data.setter
    def data(self, value: Tensor) -> None:
        replace_memory(self, value)
        settle(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> Parameter:
        plain = super().__deepcopy__(memo)
        copied = memo[id(self)] = Parameter(plain, self.requires_grad)
        copied.grad = plain.grad
        return copied

    def __reduce__(self) -> tuple[Any, ...]:
        return (Parameter, (self.detach(), self.requires_grad), self.__dict__ or None)

    def __repr__(self) -> str:
        if type(self) in PLAIN:
            return f"Parameter containing:\n{tensor_text(self)}"
        return f"Parameter containing:\nParameter({tensor_text(self, type(self).__name__)})"


def _of_its_class(data: Tensor, requires_grad: bool) -> Tensor:
    """A parameter that stays an object of a user's subclass."""
    parameter = data.detach()
    if type(parameter) is not type(data):
        raise RuntimeError(NOT_DETACHED.format(kind=type(data).__name__, other=type(parameter).__name__))
    parameter.requires_grad_(requires_grad)
    parameter._is_param = True  # type: ignore[attr-defined]
    return parameter


PLAIN.append(Parameter)
MADE_OF[Parameter] = Parameter


def as_parameter(tensor: Tensor) -> None:
    """Make a plain tensor a parameter, for everybody who has it."""
    tensor.__class__ = Parameter
    settle(tensor)


class Buffer(Tensor):
    """A Tensor that registers itself as a buffer when assigned to an attribute of a `Module`.

    It shares memory with `data`; `persistent=False` leaves it out of `state_dict`.

    Args:
        data: the tensor whose memory it is.
        persistent: whether it is part of `state_dict`.

    >>> import flambeau
    >>> module = flambeau.nn.Module()
    >>> module.count = Buffer(flambeau.zeros(1))
    >>> list(module.state_dict())
    ['count']
    """

    __slots__ = ("persistent",)
    __flambeau_function__ = staticmethod(disabled_function)
    persistent: bool

    def __init__(self, data: Tensor | None = None, *, persistent: bool = True) -> None:
        tensor = _given(data, "Buffer")
        super().__init__(tensor._array, tensor._storage)
        settle(self)
        self.persistent = persistent

    def __deepcopy__(self, memo: dict[int, Any]) -> Buffer:
        copied = memo[id(self)] = Buffer(super().__deepcopy__(memo), persistent=self.persistent)
        return copied

    def __reduce__(self) -> tuple[Any, ...]:
        return (_buffer, (self.detach(), self.persistent), self.__dict__ or None)


MADE_OF[Buffer] = lambda tensor, _: Buffer(tensor)


def _buffer(data: Tensor, persistent: bool) -> Buffer:
    return Buffer(data, persistent=persistent)


_OF_UNINITIALIZED = frozenset(("UninitializedBuffer", "UninitializedParameter", "is_lazy"))
"""Names of `nn.uninitialized` that PyTorch has here."""


def __getattr__(name: str) -> Any:
    if name in _OF_UNINITIALIZED:
        return getattr(import_module("flambeau.nn.uninitialized"), name)
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
