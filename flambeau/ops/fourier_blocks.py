"""NumPy's Fourier transforms, some lines at a time: what lies between is in memory that a thread keeps.

Without a factor NumPy transforms single precision in double precision. It converts whole arrays for that, or piece by
piece in its buffers, and asks the system for memory again with each call, which takes several times as long as the
transform.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator
from typing import Any, Final, Literal

import numpy.typing as npt

from flambeau.ops.families.arrays import Array
from flambeau.tensor.array_library import is_on_device, np

Name = Literal["fft", "ifft", "rfft", "irfft"]
Mode = Literal["backward", "ortho", "forward"]
POINTS: Final = 1 << 16
"""Points of a block: with fewer, calls cost more than they save. Arrays of fewer are transformed as they are."""
LARGEST: Final = 16
"""Bytes of a number."""
_PLAIN: Final[dict[Name, Mode]] = {"fft": "backward", "rfft": "backward", "ifft": "forward", "irfft": "forward"}
"""The mode in which a transform has no factor."""


def along(name: Name, array: Array, count: int, axis: int, mode: Mode, window: Array | None = None) -> Array:
    """The transform along an axis, cut or filled up to `count` points: in the precision of the array, row-major, and
    to the bit what NumPy gives. `window` is multiplied with each line before.

    >>> import numpy
    >>> along("rfft", numpy.array([[1.0, 2.0, 4.0, 7.0]]), 4, 1, "backward")
    array([[14.+0.j, -3.+5.j, -4.+0.j]])
    """
    transform = getattr(np.fft, name)
    if is_on_device():
        return np.ascontiguousarray(transform(array if window is None else array * window, count, axis, mode))
    if window is None and (not _is_widened(name, array, mode) or array.size <= POINTS):
        return np.ascontiguousarray(transform(array, count, axis, mode))
    lines = np.moveaxis(array, axis, -1)
    kind = lines.dtype if window is None else np.result_type(lines, window)
    size = count // 2 + 1 if name == "rfft" else count
    real = np.empty(0, kind).real.dtype
    result_kind = real if name == "irfft" else np.result_type(real, np.complex64)
    result = np.empty((*array.shape[:axis], size, *array.shape[axis + 1 :]), result_kind)
    is_widened, double = _is_widened(name, lines, mode), np.dtype(np.float64)
    results = np.moveaxis(result, axis, -1)
    for some, target in _blocks(lines, results) if lines.ndim > 1 else [(lines, results)]:
        operand = some if window is None else np.multiply(some, window, out=_memory.of("weighed", some.shape, kind))
        if not is_widened:
            transform(operand, count, -1, mode, out=target)
            continue
        wide = _memory.of("operand", operand.shape, np.result_type(kind, double))
        wide[...] = operand
        wide_result = _memory.of("result", target.shape, np.result_type(result_kind, double))
        target[...] = transform(wide, count, -1, mode, out=wide_result)
    return result


def _is_widened(name: Name, array: Array, mode: Mode) -> bool:
    """Whether NumPy computes in double precision what it gives in single precision."""
    return array.dtype in (np.float32, np.complex64) and mode == _PLAIN[name]


def _blocks(lines: Array, results: Array) -> Iterator[tuple[Array, Array]]:
    """Parts along the first axes, with what becomes of them."""
    each = max(lines[0].size, results[0].size) if len(lines) else 1
    if each > POINTS and lines.ndim > 2:
        for some, target in zip(lines, results, strict=True):
            yield from _blocks(some, target)
        return
    step = max(1, POINTS // max(each, 1))
    for start in range(0, len(lines), step):
        yield lines[start : start + step], results[start : start + step]


class _Memory(threading.local):
    """What lies between the signals and their transforms, block after block; a thread keeps it for its next call, since
    memory that the system gives anew takes longer to reach than a transform.
    """

    def __init__(self) -> None:
        self._kept: dict[str, npt.NDArray[np.uint8]] = {}

    def of(self, use: str, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
        """An array for a use, whose elements are anything."""
        size = math.prod(shape) * dtype.itemsize
        memory = self._kept.get(use)
        if memory is None or memory.size < size:
            memory = np.empty(size, np.uint8)
            if size <= POINTS * LARGEST:
                self._kept[use] = memory
        return memory[:size].view(dtype).reshape(shape)


_memory = _Memory()
