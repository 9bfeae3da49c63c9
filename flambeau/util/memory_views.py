"""Memory at an address as a buffer that holds nothing, without a type for each size, as arrays of ctypes have.

>>> import numpy
>>> x = numpy.arange(3, dtype=numpy.uint8)
>>> memory = memory_at(x.ctypes.data, 2)
>>> memory[1] = 7
>>> bytes(memory), x.tolist()
(b'\\x00\\x07', [0, 7, 2])
"""

from __future__ import annotations

import ctypes
from typing import Any, Final

_WRITABLE: Final = 0x200
"""CPython's PyBUF_WRITE."""
_view_of: Final[Any] = ctypes.pythonapi["PyMemoryView_FromMemory"]  # a function object of its own, with these types
_view_of.restype, _view_of.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.c_ssize_t, ctypes.c_int)


def memory_at(address: int, size: int) -> memoryview:
    """So many bytes from an address on, to read and to write. Who asks sees to it that they stay."""
    return memoryview(bytearray()) if size == 0 else _view_of(address, size, _WRITABLE)
