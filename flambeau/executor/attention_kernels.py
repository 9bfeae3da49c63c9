"""Attention by native code, for plans and for calls of the operator by itself."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from flambeau.codegen import available
from flambeau.codegen.attention.rules import Options, is_worth_waiting, launch_of
from flambeau.codegen.kernel.dtypes import KernelError
from flambeau.codegen.launches import Launch
from flambeau.codegen.routines.table import is_native
from flambeau.codegen.runtime import block_of, start
from flambeau.specialise.cache import SpecialisationCache
from flambeau.util import thread_count
from flambeau.util.at_hand import is_hurried
from flambeau.util.inversions import ATTENTION

Array = np.ndarray[Any, Any]
MOST_LAUNCHES: Final = 64
"""That are kept, one for each combination of sizes, strides, dtypes and options."""
_launches: SpecialisationCache[tuple[Any, ...], Launch | None] = SpecialisationCache(
    "launches of attention", MOST_LAUNCHES, describe=lambda key: ", ".join(str(shape) for _, shape, _ in key[1:])
)


@ATTENTION.provide
def attention(arrays: Sequence[Array], is_causal: bool, scale: float | None, has_groups: bool) -> Array | None:
    """Attention of queries, keys, values and perhaps a mask; None where there is no native code for them.

    >>> x = np.ones((1, 2, 3), np.float32)
    >>> found = attention([x, x, x], True, None, False)
    >>> found is None or found.shape == (1, 2, 3)
    True
    """
    if not available() or not is_native(*arrays):
        return None
    options = Options(is_causal, scale, has_groups)
    key = (options, *((a.dtype, a.shape, a.strides) for a in arrays))
    launch = _launches.get(key)
    if launch is None:
        if is_hurried() and not is_worth_waiting(arrays):
            return None
        launch = _launches.get_or_make(key, lambda cause: _launch(arrays, options))
    if launch is None:
        return None
    result = launch.outputs[0].allocate()
    start(launch, block_of(launch, [*arrays, result], ctypes.c_int32(0)))
    return result


def _launch(arrays: Sequence[Array], options: Options) -> Launch | None:
    try:
        launch = launch_of(arrays, range(len(arrays)), options)
    except KernelError:
        return None
    launch.threads = thread_count.ANY
    return launch
