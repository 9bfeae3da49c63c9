"""Where arrays lie, asked often: read in the array's struct, which takes an eighth of the time.

>>> import numpy
>>> x = numpy.zeros(3)
>>> address_of(x) == x.ctypes.data
True
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any, Final

import numpy

_word: Final = ctypes.c_uint64.from_address
_OFFSET: Final = object.__basicsize__
"""Where NumPy's struct of an array has the address of its first element: right behind the head of an object."""


def _in_struct(array: Any) -> int:
    return _word(id(array) + _OFFSET).value


def _asked(array: Any) -> int:
    return int(array.__array_interface__["data"][0])


def _is_known() -> bool:
    """Whether structs lie as they are expected to."""
    probe = numpy.zeros(4)
    return type(id(probe)) is int and probe.__sizeof__() > _OFFSET + 8 and all(
        _in_struct(one) == _asked(one) for one in (probe, probe[1:], probe[3:])
    )


address_of: Final[Callable[[Any], int]] = _in_struct if _is_known() else _asked
"""The address of the first element of an array of NumPy."""
