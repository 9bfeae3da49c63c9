"""What functions of users' own ask so that modes and subclasses of tensors may answer their calls.

>>> import flambeau
>>> class Logged(flambeau.Tensor):
...     @classmethod
...     def __torch_function__(cls, func, types, args=(), kwargs=None):
...         return f"{func.__name__} of {len(args)}"
>>> def scaled(x, by):
...     if has_torch_function_unary(x):
...         return handle_torch_function(scaled, (x,), x, by)
...     return x * by
>>> scaled(flambeau.ones(2), 3), scaled(flambeau.ones(2).as_subclass(Logged), 3)
(tensor([3., 3.]), 'scaled of 2')
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any, Final, TypeVar

from flambeau.tensor.interceptors import stack
from flambeau.tensor.modes import FunctionMode as TorchFunctionMode  # noqa: F401
from flambeau.tensor.observer import thread
from flambeau.tensor.overridable import (  # noqa: F401
    get_default_nowrap_functions,
    get_ignored_functions,
    get_overridable_functions,
    get_testing_overrides,
    is_tensor_method_or_property,
    resolve_name,
)
from flambeau.tensor.overrides import NOT_OVERRIDDEN, answer, overriding
from flambeau.tensor.subclasses import FUNCTION
from flambeau.tensor.tensor import Tensor

F = TypeVar("F", bound=Callable[..., Any])


def has_torch_function(relevant_args: Iterable[Any]) -> bool:
    """Whether a mode of this thread, or the class of one of the arguments, answers calls.

    >>> has_torch_function((1, 2))
    False
    """
    if thread.handlers and stack().functions:
        return True
    return not thread.ignores_subclasses and bool(overriding(tuple(relevant_args)))


def has_torch_function_unary(tensor: Any) -> bool:
    """Whether the one argument of a call has `__torch_function__`."""
    return has_torch_function((tensor,))


def has_torch_function_variadic(*tensors: Any) -> bool:
    """Whether one of the arguments of a call has `__torch_function__`."""
    return has_torch_function(tensors)


def handle_torch_function(
    public_api: Callable[..., Any], relevant_args: Iterable[Any], *args: Any, **kwargs: Any
) -> Any:
    """What modes and classes give for a call of `public_api`. Raises TypeError where all of them refuse.

    Args:
        public_api: the function that is called.
        relevant_args: arguments whose classes are asked.
        args: what it is called with.
        kwargs: what it is called with by name.
    """
    result = answer(public_api, args, kwargs)
    if result is NOT_OVERRIDDEN:
        names = ", ".join(type(value).__name__ for value in relevant_args)
        raise TypeError(f"no mode and no class of ({names}) answers calls of {public_api.__name__}")
    return result


def wrap_torch_function(dispatcher: Callable[..., Iterable[Any]]) -> Callable[[F], F]:
    """A decorator: calls ask modes, and the classes of the arguments that `dispatcher` gives, before they run.

    >>> @wrap_torch_function(lambda x: (x,))
    ... def twice(x):
    ...     return x + x
    >>> twice(2)
    4
    """

    def decorate(function: F) -> F:
        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            relevant = tuple(dispatcher(*args, **kwargs))
            if has_torch_function(relevant):
                return handle_torch_function(call, relevant, *args, **kwargs)
            return function(*args, **kwargs)

        return call  # type: ignore[return-value]

    return decorate


def is_tensor_like(inp: Any) -> bool:
    """Whether something is a tensor, or answers calls as one.

    >>> is_tensor_like(3)
    False
    """
    cls = type(inp)
    return isinstance(inp, Tensor) or hasattr(cls, FUNCTION) or hasattr(cls, "__torch_function__")


NAMES: Final = (
    "TorchFunctionMode get_default_nowrap_functions get_ignored_functions get_overridable_functions "
    "get_testing_overrides handle_torch_function has_torch_function has_torch_function_unary "
    "has_torch_function_variadic is_tensor_like is_tensor_method_or_property resolve_name wrap_torch_function"
)
"""What `flambeau.overrides` has."""
