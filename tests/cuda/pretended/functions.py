"""CuPy's functions by name: those of NumPy's that it has, on arrays of the device."""

from __future__ import annotations

from functools import cache, partial, reduce
from typing import Any

import numpy as np

from tests.cuda.pretended import creation
from tests.cuda.pretended.arrays import call_ufunc, ndarray
from tests.cuda.pretended.calls import call, is_array, refuse_host_arrays
from tests.cuda.pretended.extras import factoring
from tests.cuda.pretended.names import NAMES, check_arguments

OWN = {
    name: getattr(creation, name)
    for name in (
        "array", "asarray", "asnumpy", "empty", "empty_like", "from_dlpack", "full", "full_like", "ones", "ones_like",
        "zeros", "zeros_like",
    )
}  # fmt: skip
_BY_PLACES = (
    "take pad array_split split tile repeat roll delete r_ c_ ix_ unravel_index result_type can_cast promote_types"
)
TAKE_HOST_ARRAYS = frozenset(_BY_PLACES.split())
"""Functions whose places and numbers may be the host's."""


class ufunc:  # noqa: N801  (as CuPy calls it)
    """A function per element, with its methods."""

    def __init__(self, function: Any) -> None:
        self.function, self.__name__ = function, function.__name__
        self.nin, self.nout = function.nin, function.nout

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if len(args) > self.nin and kwargs.get("out") is None:
            args, kwargs["out"] = args[: self.nin], args[self.nin]
        if not any(map(is_array, [*args, kwargs.get("out")])):
            refuse_host_arrays(*args)
            args = tuple(creation.asarray(a) for a in args)
        return call_ufunc(self.function, "__call__", args, kwargs)

    def reduce(self, array: Any, axis: Any = 0, dtype: Any = None, out: Any = None, keepdims: bool = False) -> Any:
        return call_ufunc(self.function, "reduce", (array,), {"axis": axis, "dtype": dtype, "keepdims": keepdims})

    def accumulate(self, array: Any, axis: int = 0, dtype: Any = None, out: Any = None) -> Any:
        return call_ufunc(self.function, "accumulate", (array,), {"axis": axis, "dtype": dtype})

    def outer(self, a: Any, b: Any, **kwargs: Any) -> Any:
        return call_ufunc(self.function, "outer", (a, b), kwargs)

    def at(self, a: Any, indices: Any, b: Any = None) -> None:
        call_ufunc(self.function, "at", (a, indices, b) if b is not None else (a, indices), {})


@cache
def function_named(name: str) -> Any:
    """What CuPy has under a name (`linalg.inv`). Raises AttributeError for what it does not have."""
    kind = NAMES.get(name, ("", ()))[0]
    if not kind:
        raise AttributeError(f"module 'cupy' has no attribute {name!r}")
    if name in OWN:
        return _checked(name, OWN[name])
    if name == "ndarray":
        return ndarray
    if name == "ufunc":
        return ufunc
    try:
        own = reduce(getattr, name.split("."), np)
    except AttributeError:
        raise NotImplementedError(f"the pretended CuPy does not have {name} yet") from None
    if kind in ("value", "class"):
        return own
    if isinstance(own, np.ufunc):
        return ufunc(own)

    if name in ("linalg.inv", "linalg.solve", "linalg.cholesky"):
        own = factoring(own)
    if name == "take":
        own = partial(own, mode="wrap")

    def function(*args: Any, **kwargs: Any) -> Any:
        if name not in TAKE_HOST_ARRAYS:
            refuse_host_arrays(args, kwargs)
        with np.errstate(all="ignore"):
            return call(own, args, kwargs, name.rpartition(".")[2])

    function.__name__ = name
    return _checked(name, function)


def _checked(name: str, function: Any) -> Any:
    def checked(*args: Any, **kwargs: Any) -> Any:
        check_arguments(name, args, kwargs)
        return function(*args, **kwargs)

    checked.__name__ = name
    return checked
