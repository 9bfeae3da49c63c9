"""Where arrays lie, read in their structs."""

from __future__ import annotations

import numpy as np
import pytest

from flambeau.util import array_address
from flambeau.util.array_address import address_of

ARRAYS = [
    np.zeros(3), np.zeros((2, 3))[1:], np.zeros(()), np.zeros(0), np.zeros((4, 4)).T, np.arange(9)[::-1],
    np.frombuffer(b"12345678", np.int32), np.broadcast_to(np.float32(1), (3, 4)), np.zeros(2).view(np.recarray),
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(ARRAYS)))
def test_the_address_is_numpys(number: int) -> None:
    array = ARRAYS[number]
    assert address_of(array) == array.ctypes.data == array_address._asked(array)


def test_it_is_read_in_the_struct_here() -> None:
    assert address_of is array_address._in_struct
