"""Kernels on arrays of half precision by way of float32: what goes in is widened, what comes out is rounded once. What
has native code for float32 then has it for halves too.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from itertools import repeat
from typing import Any, Final, TypeVar, cast

from flambeau.ops.families.arrays import is_half, rounded, widened
from flambeau.tensor.array_library import np

Kernel = TypeVar("Kernel", bound=Callable[..., Any])
_SINGLE: Final = np.dtype(np.float32)


def in_float32(kernel: Kernel, *, mixed: bool = False) -> Kernel:
    """The kernel, which computes in float32 where its first argument is an array of halves. Calls with arrays of other
    floats beside them are left to the kernel, which refuses them; `mixed` takes float32 beside halves.

    >>> twice = in_float32(lambda x: x * 2)
    >>> twice(np.ones(2, np.float16)).dtype, twice(np.ones(2)).dtype
    (dtype('float16'), dtype('float64'))
    """

    @wraps(kernel)
    def call(*arguments: Any, **named: Any) -> Any:
        first = arguments[0]
        if type(first) is not np.ndarray or not is_half(first):
            return kernel(*arguments, **named)
        dtype = first.dtype
        values = [*arguments, *named.values()]
        if not all(map(_goes_with, values, repeat(dtype), repeat(mixed))):
            return kernel(*arguments, **named)
        wide = [_widened(one) for one in arguments]
        result = kernel(*wide, **{name: _widened(one) for name, one in named.items()})
        if isinstance(result, tuple):
            return tuple([_rounded(one, dtype) for one in result])
        return _rounded(result, dtype)

    return cast(Kernel, call)


def _goes_with(value: Any, dtype: np.dtype[Any], mixed: bool) -> bool:
    """Whether a value is no array of floats, or one that is computed in float32 beside halves of a dtype."""
    if type(value) is not np.ndarray:
        return True
    return value.dtype == dtype or value.dtype.kind in "iub" or (mixed and value.dtype == _SINGLE)


def _widened(value: Any) -> Any:
    return widened(value) if type(value) is np.ndarray else value


def _rounded(value: Any, dtype: np.dtype[Any]) -> Any:
    """A result in half precision; places, and what is no array, as they are."""
    return rounded(value, dtype) if type(value) is np.ndarray and value.dtype == _SINGLE else value
