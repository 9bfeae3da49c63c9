"""Large arrays as another dtype: one native loop, where NumPy converts halves one number at a time, and goes over the
elements twice for other dtypes.

>>> import flambeau
>>> x = flambeau.linspace(-1, 1, 1 << 16)
>>> x.half()[0], x.half().float()[-1]
(tensor(-1., dtype=flambeau.float16), tensor(1.))
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from flambeau.codegen import available
from flambeau.executor.large_calls import LargeCalls
from flambeau.schema import registry
from flambeau.schema.dtype import DType
from flambeau.tensor.tensor import wrap
from flambeau.util.inversions import LARGE_CONVERSION

CONVERSION: Final = "prims::convert_element_type"
_calls: list[LargeCalls] = []


@LARGE_CONVERSION.provide
def _converted(array: np.ndarray[Any, Any], dtype: DType) -> np.ndarray[Any, Any] | None:
    """The elements of a large array of floats as another dtype; None where NumPy is to do it."""
    if type(array) is not np.ndarray or not available():
        return None
    if not _calls:
        _calls.append(LargeCalls(registry.get(CONVERSION), is_always=True))
    result = _calls[0]((wrap(array), dtype.code))
    return None if result is None else result._array
