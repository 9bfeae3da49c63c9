"""Dtypes among the arguments of functions of arrays: a program is compiled for each, as for those of arrays.

>>> import numpy as np, flambeau
>>> @flambeau.script
... def grid(n, dtype=np.float32):
...     return np.zeros((n, n), dtype=dtype)
>>> grid(2).dtype, grid(2, np.int8).dtype
(dtype('float32'), dtype('int8'))
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from flambeau.schema.dtype import from_numpy_dtype
from flambeau.schema.dtype_code import DtypeCode

_PYTHON: Final = (bool, int, float, complex)


def is_dtype(value: Any) -> bool:
    """Whether an argument is a dtype: `np.dtype("f4")`, a class of NumPy's scalars, or one of Python's numbers.

    >>> [is_dtype(value) for value in (np.float32, np.dtype("i1"), float, "f4", np.floating, str)]
    [True, True, True, False, False, False]
    """
    if isinstance(value, np.dtype):
        return value.kind in "biufc"
    return isinstance(value, type) and (value in _PYTHON or (issubclass(value, np.generic) and _is_concrete(value)))


def _is_concrete(scalar: type[np.generic]) -> bool:
    """Whether numbers are of just this class; of `np.floating` there are none."""
    return scalar in np.sctypeDict.values() and np.dtype(scalar).kind in "biufc"


def type_of_dtype(value: Any) -> DtypeCode:
    """The type of a parameter that is given this dtype. Raises TypeError for one that tensors do not have."""
    return DtypeCode(from_numpy_dtype(np.dtype(value)))


def code_or_value(value: Any) -> Any:
    """What a program is given: the code of a dtype, any other value itself."""
    return from_numpy_dtype(np.dtype(value)).code if is_dtype(value) else value
