"""Products of quantised layers on arrays by native code: weights packed once, numbers quantised at each call."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from flambeau.codegen import available
from flambeau.codegen.kernel.dtypes import KernelError
from flambeau.codegen.llvm.host import ProcessorError
from flambeau.codegen.quantized import module
from flambeau.codegen.quantized.products import MOST_NUMBERS, MULTIPLY, QUANTISE
from flambeau.codegen.recurrent.panels import WIDTH
from flambeau.codegen.recurrent.words import block
from flambeau.util.array_address import address_of
from flambeau.util.at_hand import does_without
from flambeau.util.inversions import QUANTIZED_PANELS
from flambeau.util.record import dataclass

Array = np.ndarray[Any, Any]


@QUANTIZED_PANELS.provide
def panels(weights: Array) -> Panels | None:
    """Weights, what integers are above their zero points, packed for products: (columns, numbers), or of windows
    (columns, rows, columns of the image, channels). None where there is no native code, a first answer does not wait
    for it, there is nothing to multiply by, or sums would leave 32 bits.

    >>> packed = panels(np.array([[1, -2, 3], [0, 4, 5]]))
    >>> packed is None or packed.multiply(packed.rows_of(np.array([[2, 1, 1]]), 0)).tolist() == [[3.0, 9.0]]
    True
    """
    numbers = weights[:1].size
    if not available() or not 0 < numbers <= MOST_NUMBERS or (does_without(weights.size) and not module.is_at_hand()):
        return None
    in_bytes = module.takes_bytes() and bool(weights.min(initial=0) >= -128 and weights.max(initial=0) <= 127)
    return Panels(weights, in_bytes=in_bytes) if _is_compiled(in_bytes) else None


@cache
def _is_compiled(in_bytes: bool) -> bool:
    try:
        for name in ("multiply", "quantise"):
            module.function(name, in_bytes)
    except (KernelError, ProcessorError):
        return False
    return True


@dataclass(frozen=True, slots=True)
class Left:
    """The left factor of products, as they take it."""

    levels: Array
    zero_point: int
    """What is still in the levels."""


@dataclass(frozen=True, slots=True)
class After:
    """What becomes of sums: (sum + offset) * scales + bias, with numbers of each column, each rounded to float32."""

    offset: Array | None = None
    scales: Array | None = None
    bias: Array | None = None
    levels: tuple[int, int, int] | None = None
    """The zero point, the least and the highest level, where the nearest level is wanted."""


class Panels:
    """Weights that are packed."""

    def __init__(self, weights: Array, *, in_bytes: bool) -> None:
        self.in_bytes, self._dtype = in_bytes, np.dtype(np.uint8 if in_bytes else np.int16)
        unit, lanes = 4 // self._dtype.itemsize, module.lanes()
        self.columns, self.channels = len(weights), weights.shape[-1]
        """Of the image, or numbers of a row."""
        self._even = -(-self.channels // unit) * unit
        rows = np.zeros((*weights.shape[:-1], self._even), np.int8 if in_bytes else np.int16)
        rows[..., : self.channels] = weights
        rows = rows.reshape(self.columns, -1)
        self._units = rows.shape[1] // unit
        self._sums = rows.sum(1, dtype=np.int32)
        vectors = -(-self.columns // lanes)
        padded = np.zeros((vectors * lanes, rows.shape[1]), rows.dtype)
        padded[: self.columns] = rows
        split = padded.reshape(vectors, lanes, self._units, unit)
        wide = vectors // WIDTH * WIDTH
        panels = split[:wide].reshape(-1, WIDTH, lanes, self._units, unit).transpose(0, 3, 1, 2, 4)
        single = split[wide:].transpose(0, 2, 1, 3)
        self._memory = np.concatenate([panels.ravel(), single.ravel()])
        self._lanes = lanes

    def quantised(self, x: Array, inverse: float, zero_point: int, top: int) -> Left:
        """The levels of float32, (rows, numbers and zeros behind them)."""
        rows = np.ascontiguousarray(x, np.float32).reshape(-1, self.channels)
        result = np.empty((len(rows), -(-self.channels // self._lanes) * self._lanes), self._dtype)
        parameters = np.array([inverse, zero_point, top], np.float32)
        words = block(
            QUANTISE, rows=len(rows), numbers=self.channels, source=address_of(rows), source_step=rows.strides[0],
            parameters=address_of(parameters), result=address_of(result), result_step=result.strides[0],
        )  # fmt: skip
        module.function("quantise", self.in_bytes)(words)
        return Left(result, zero_point if self.in_bytes else 0)

    def rows_of(self, levels: Array, zero_point: int) -> Left:
        """Integers of 8 bits, (rows, numbers and zeros behind them)."""
        return self.padded(levels.reshape(-1, 1, 1, self.channels), zero_point, (0, 0))

    def padded(self, levels: Array, zero_point: int, padding: Sequence[int]) -> Left:
        """Integers of 8 bits, (images, rows, columns, channels), with zeros around the rows and columns, and behind the
        channels as many as it takes.
        """
        images, height, width, channels = levels.shape
        (top, left), below = padding, -128 if self.in_bytes and levels.dtype.kind == "i" else 0
        fill = zero_point - below if self.in_bytes else 0
        result = np.full((images, height + 2 * top, width + 2 * left, self._even), fill, self._dtype)
        inside = result[:, top : top + height, left : left + width, :channels]
        np.subtract(levels, below if self.in_bytes else zero_point, out=inside, dtype=np.int16, casting="unsafe")
        return Left(result, fill)

    def multiply(self, left: Left, dtype: Any = np.float32, **after: Any) -> Array:
        """The sums of products of rows with each column; `after` is what becomes of them, the fields of `After`."""
        rows = left.levels.reshape(len(left.levels), -1)
        result = np.empty((len(rows), self.columns), dtype)
        run = self._prepared(left, After(**after))
        run(rows, result, 1, (0, rows.strides[0], 0), 1, (0, result.strides[0]))
        return result

    def convolve(
        self, images: Left, rows: int, stride: Sequence[int], dilation: int, result: Array, **after: Any
    ) -> None:  # fmt: skip
        """The sums over windows of some rows of images that are padded, to (images, rows, columns, filters).
        `dilation`: rows of the image from one row of a window to the next.
        """
        _, row, column, _ = images.levels.strides
        steps = (row * stride[0], column * stride[1], row * dilation)
        run = self._prepared(images, After(**after))
        for image, own in zip(images.levels, result, strict=True):
            run(image, own, len(own), steps, rows, own.strides[:2])

    def _prepared(self, left: Left, after: After) -> Callable[..., None]:
        """What runs products: left factor, result, groups, their steps, parts, the steps of the result."""
        start = self._sums * np.int32(-left.zero_point) if left.zero_point else None
        of_columns = {name: _of_columns(getattr(after, name), self.columns) for name in ("offset", "scales", "bias")}
        levels = None if after.levels is None else np.array(after.levels, np.float32)
        function = module.function("multiply", self.in_bytes)

        def run(
            rows: Array, result: Array, groups: int, steps: Sequence[int], parts: int, result_steps: Sequence[int]
        ) -> None:  # fmt: skip
            function(block(
                MULTIPLY, groups=groups, rows=result.shape[-2], parts=parts, units=self._units // parts,
                columns=self.columns, left=address_of(rows), left_group=steps[0], left_step=steps[1],
                left_part=steps[2], panels=address_of(self._memory), start=_address(start), levels=_address(levels),
                result=address_of(result), result_group=result_steps[0], result_step=result_steps[1],
                **{name: _address(a) for name, a in of_columns.items()},
            ))  # fmt: skip

        return run


def _of_columns(numbers: Array | None, columns: int) -> Array | None:
    """A float32 for each column, side by side."""
    if numbers is None or numbers.shape == (columns,):
        return None if numbers is None else np.ascontiguousarray(numbers, np.float32)
    return np.full(columns, numbers, np.float32)


def _address(a: Array | None) -> int:
    return 0 if a is None else address_of(a)
