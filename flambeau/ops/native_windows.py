"""Kernels over arrays that native code takes calls from: averages of windows, linear interpolation and reflected
borders, whose places follow from the sizes and the numbers of a call. What NumPy copies as fast is left to it.

Which calls these are follows from the call alone, so that equal calls give equal bits from the first one on; only a
program's first answer may be given by NumPy, rather than wait for code (`util.at_hand`).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, Final

import numpy as np

from flambeau.ops.convolution_calls import KnownCalls, look
from flambeau.ops.families.arrays import Array
from flambeau.schema import registry
from flambeau.util.at_hand import is_hurried
from flambeau.util.inversions import WINDOWS

Kernel = Callable[..., Array]
Run = Callable[[Array], Array]
_known: Final = KnownCalls[Run | None]()
_UNKNOWN: Final[Any] = object()


def natively(full_name: str, kernel: Kernel) -> Kernel:
    """The kernel of an overload, whose calls go to native code where there is some for them.

    >>> from flambeau.ops.pooling import avg_pool
    >>> natively("aten::avg_pool1d", avg_pool(1))(np.ones((1, 4), np.float32), [2], [], [0], False, True)
    array([[1., 1.]], dtype=float32)
    """

    @wraps(kernel)
    def call(array: Array, *rest: Any) -> Array:
        if type(array) is not np.ndarray:
            return kernel(array, *rest)
        key = (full_name, *look(array), *[(*one, None) if isinstance(one, list | tuple) else one for one in rest])
        run = _known.get(key, _UNKNOWN)
        if run is _UNKNOWN:
            run = _find(full_name, array, rest)
            if run is not None or not is_hurried():
                _known.put(key, run)
        return kernel(array, *rest) if run is None else run(array)

    return call


def _find(full_name: str, array: Array, rest: tuple[Any, ...]) -> Run | None:
    """The native code for calls like this one; None where there is none, or where it is refused."""
    schema = registry.get(full_name).schema
    names = [argument.name for argument in schema.arguments[1:]]
    if len(names) != len(rest):
        return None
    run: Run | None = WINDOWS.implementation(schema.name, array, dict(zip(names, rest, strict=True)))
    return run
