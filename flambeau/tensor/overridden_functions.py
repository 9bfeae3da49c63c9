"""Functions written in Python whose calls modes and classes of arguments answer, as those of operators.

>>> from flambeau.tensor.overridden_functions import overridable
>>> @overridable
... def first_of(values):
...     return values[0]
>>> class Mine:
...     @classmethod
...     def __torch_function__(cls, func, types, args=(), kwargs=None):
...         return func is first_of
>>> first_of([3, 4]), first_of(Mine())
(3, True)
"""

from __future__ import annotations

import functools
from types import FunctionType, NoneType
from typing import Any, Final, TypeVar

from flambeau.schema.dtype import DType
from flambeau.tensor.observer import thread
from flambeau.tensor.overrides import NOT_OVERRIDDEN, answer
from flambeau.tensor.subclasses import PLAIN
from flambeau.tensor.switched_functions import Function, switched
from flambeau.tensor.tensor import Tensor

F = TypeVar("F", bound=Function)
FIRST_CALLS: Final = 64
"""So many calls of a function look for classes that are no tensors and answer calls all the same: nobody is told when
such a class is defined. From the first that is met on, every call looks."""
_ORDINARY: Final = frozenset([Tensor, int, float, bool, str, NoneType, DType])


def overridable(function: F) -> F:
    """Have modes, and classes of arguments, asked about calls of a function before it runs.

    The function stays the same object, with its signature, documentation and source.
    """
    assert isinstance(function, FunctionType), function
    switched.add(function, lambda plain: _asker(function, plain))
    function.is_overridable = True  # type: ignore[attr-defined]
    return function


def method_of(function: F) -> F:
    """The same as a method of tensors: an object of its own, about which is asked where it is called as a method.

    >>> import flambeau
    >>> flambeau.Tensor.norm is flambeau.norm, flambeau.Tensor.norm.__qualname__
    (False, 'Tensor.norm')
    """
    written: Any = function.__wrapped__  # type: ignore[attr-defined]
    method = FunctionType(written.__code__, written.__globals__, written.__name__, written.__defaults__)
    method.__kwdefaults__ = written.__kwdefaults__
    functools.update_wrapper(method, written)
    del method.__wrapped__  # type: ignore[attr-defined]
    method.__qualname__ = f"Tensor.{written.__name__}"
    return overridable(method)  # type: ignore[return-value]


def _asker(function: FunctionType, plain: FunctionType) -> Function:
    calls = 0
    choice = getattr(function, "chosen_by", None)

    def ask(*args: Any, **kwargs: Any) -> Any:
        nonlocal calls
        if calls < FIRST_CALLS:
            calls += 1
            if calls == FIRST_CALLS:
                switched.rest(function)
        if choice is not None and choice.is_true(args, kwargs):
            return plain(*args, **kwargs)  # what it calls is asked about
        if thread.handlers or not (_are_ordinary(args) and (not kwargs or _are_ordinary(kwargs.values()))):
            result = answer(function, args, kwargs)
            if result is not NOT_OVERRIDDEN:
                return result
        return plain(*args, **kwargs)

    return ask


def _are_ordinary(values: Any) -> bool:
    """Whether nobody can have to do with a call of these but modes."""
    types = set(map(type, values))
    return types <= _ORDINARY or all(cls in PLAIN for cls in types - _ORDINARY)
