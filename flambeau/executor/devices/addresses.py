"""Where arrays lie, asked often: of the array's struct, where its layout is known, which takes a sixth of the time.

>>> import numpy as np
>>> x = np.zeros(3)
>>> address_of(x) == x.ctypes.data
True
"""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any

from flambeau.codegen.native_call import object_layouts

_word = ctypes.c_uint64.from_address


@cache
def _offset() -> int:
    """Where an array's struct holds its address; 0 where that is not known."""
    layouts = object_layouts()
    return 0 if layouts is None else layouts.array.offset("data")


def address_of(array: Any) -> int:
    """The address of an array's first element."""
    offset = _offset()
    return _word(id(array) + offset).value if offset else int(array.ctypes.data)
