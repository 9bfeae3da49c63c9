"""Quantised convolutions of each channel by itself, by native code on arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from flambeau.codegen import available
from flambeau.codegen.kernel.dtypes import KernelError
from flambeau.codegen.llvm.host import ProcessorError
from flambeau.codegen.quantized import module
from flambeau.codegen.quantized.windows import BLOCK, WINDOWS
from flambeau.codegen.recurrent.words import block
from flambeau.util.array_address import address_of
from flambeau.util.at_hand import does_without
from flambeau.util.inversions import QUANTIZED_WINDOWS

Array = np.ndarray[Any, Any]
SIGN = np.uint8(128)


@QUANTIZED_WINDOWS.provide
def windows(weights: Array) -> Windows | None:
    """Weights, what integers of 8 bits are above their zero points, (channels, rows, columns of a window), packed for
    convolutions of each channel by itself. None where there is no native code, or a first answer does not wait for it.

    >>> packed = windows(np.ones((1, 2, 2)))
    >>> how = {"offset": None, "scales": np.float32([1]), "levels": (0, 0, 255)}
    >>> result = np.empty((1, 1, 2, 1), np.uint8)
    >>> x = np.array([[1, 2, 3], [4, 5, 6]], np.uint8).reshape(1, 2, 3, 1)
    >>> plain = (1, 1), (0, 0), (1, 1)
    >>> packed is None or packed.convolve(x, 1, plain, result, **how).ravel().tolist() == [8, 12]
    True
    """
    if not available() or not weights.size or (does_without(weights.size) and not module.has_windows()):
        return None
    try:
        module.function("windows", False)
    except (KernelError, ProcessorError):
        return None
    return Windows(weights)


class Windows:
    """Weights that are packed."""

    def __init__(self, weights: Array) -> None:
        self.channels, *self._window = weights.shape
        lanes = module.lanes()
        self._channels = max(self.channels, lanes)
        firsts = np.minimum(np.arange(0, self._channels, lanes), self._channels - lanes)
        rows = self._padded(weights.reshape(self.channels, -1).T.astype(np.float32))
        vectors = rows[:, firsts[:, None] + np.arange(lanes)]
        self._weights = np.ascontiguousarray(vectors.swapaxes(0, 1))

    def _padded(self, array: Array) -> Array:
        """Zeros behind the last channels, where they are less than a vector."""
        left = self._channels - array.shape[-1]
        padded = np.pad(array, [(0, 0)] * (array.ndim - 1) + [(0, left)]) if left else array
        return np.ascontiguousarray(padded)  # of columns side by side, NumPy's borders make the same

    def convolve(
        self,
        images: Array,
        zero_point: int,
        how: Sequence[Sequence[int]],
        result: Array,
        *,
        offset: Array | None,
        scales: Array,
        levels: tuple[int, int, int],
    ) -> Array:
        """Write the levels of a convolution of images, (images, rows, columns, channels), to a result of the same
        order; `how` are stride, padding and dilation. `levels`: the zero point, the least and the highest level of the
        result, which are nearest to (sums + offset) * scales.
        """
        if images.dtype == np.int8:
            images, zero_point = images.view(np.uint8) ^ SIGN, zero_point + int(SIGN)
        images = self._padded(images)
        stride, padding, dilation = how
        count, height, width, channels = images.shape
        rows, columns = result.shape[1:3]
        to = result if channels == self.channels else np.empty((count, rows, columns, channels), np.uint8)
        inside = min(-(-padding[1] // stride[1]), columns)
        reach = width + padding[1] - dilation[1] * (self._window[1] - 1) - 1
        behind = min(reach // stride[1] + 1, columns)
        numbers = [self._of_channels(0 if offset is None else offset), self._of_channels(scales)]
        parameters = np.array([zero_point, *levels], np.float32)
        image, row, column, _ = images.strides
        module.function("windows", False)(block(
            WINDOWS, images=count, rows=rows, columns=columns, channels=channels, height=height, width=width,
            window_rows=self._window[0], window_columns=self._window[1], row_stride=stride[0],
            column_stride=stride[1], row_dilation=dilation[0], column_dilation=dilation[1], above=padding[0],
            left=padding[1], inside=inside, blocks=max(0, behind - inside) // BLOCK, source=address_of(images),
            source_image=image, source_row=row, source_column=column, weights=address_of(self._weights),
            offset=address_of(numbers[0]), scales=address_of(numbers[1]), parameters=address_of(parameters),
            result=address_of(to), result_image=to.strides[0], result_row=to.strides[1],
        ))  # fmt: skip
        if to is not result:
            result[...] = to[..., : self.channels].view(result.dtype)
        return result

    def _of_channels(self, numbers: Array | int) -> Array:
        """A float32 for each channel, side by side."""
        return self._padded(np.ascontiguousarray(np.broadcast_to(numbers, self.channels), np.float32))
