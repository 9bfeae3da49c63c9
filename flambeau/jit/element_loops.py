"""Loops over elements of arrays that operators run: functions of the language, compiled when they are first needed."""

from __future__ import annotations

from collections.abc import Callable

from flambeau.codegen import available
from flambeau.jit.script import script
from flambeau.util.inversions import ELEMENT_LOOPS

_compiled: dict[Callable[..., None], Callable[..., None]] = {}


@ELEMENT_LOOPS.provide
def element_loop(function: Callable[..., None]) -> Callable[..., None] | None:
    """The native form of a loop; None where there is no native code.

    >>> import numpy as np
    >>> def double(x: np.ndarray) -> None:
    ...     for i in range(len(x)):
    ...         x[i] *= 2.0
    >>> element_loop(double) is element_loop(double)
    True
    """
    loop = _compiled.get(function)
    if loop is None and available():
        loop = _compiled.setdefault(function, script(function))
    return loop
