"""Products of quantised layers on arrays by native code: weights packed once, numbers quantised at each call."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any, Final

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
    """Weights, what integers are above their zero points, (columns, numbers), packed for products; None where there is no
    native code, a first answer does not wait for it, or sums would leave 32 bits.

    >>> packed = panels(np.array([[1, -2, 3], [0, 4, 5]]))
    >>> packed is None or packed.multiply(packed.rows_of(np.array([[2, 1, 1]]), 0)).tolist() == [[3.0, 9.0]]
    True
    """
    if not available() or weights.shape[1] > MOST_NUMBERS or (does_without(weights.size) and not module.is_at_hand()):
        return None
    return Panels(weights) if _is_compiled() else None


@cache
def _is_compiled() -> bool:
    try:
        return bool(module.function("multiply") and module.function("quantise"))
    except (KernelError, ProcessorError):
        return False


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

    def __init__(self, weights: Array) -> None:
        self.columns, self.numbers = weights.shape
        self.lanes = lanes = module.lanes()
        self._pairs = -(-self.numbers // 2)
        vectors = -(-self.columns // lanes)
        padded = np.zeros((vectors * lanes, 2 * self._pairs), np.int16)
        padded[: self.columns, : self.numbers] = weights
        split = padded.reshape(vectors, lanes, self._pairs, 2)
        wide = vectors // WIDTH * WIDTH
        panels = split[:wide].reshape(-1, WIDTH, lanes, self._pairs, 2).transpose(0, 3, 1, 2, 4)
        single = split[wide:].transpose(0, 2, 1, 3)
        self._memory = np.concatenate([panels.ravel(), single.ravel()])

    def quantised(self, x: Array, inverse: float, zero_point: int, top: int) -> Array:
        """The levels of float32 above the zero point, (rows, numbers and zeros behind them)."""
        rows = np.ascontiguousarray(x, np.float32).reshape(-1, self.numbers)
        result = np.empty((len(rows), -(-self.numbers // self.lanes) * self.lanes), np.int16)
        parameters = np.array([inverse, zero_point, top], np.float32)
        words = block(
            QUANTISE, rows=len(rows), numbers=self.numbers, source=address_of(rows), source_step=rows.strides[0],
            parameters=address_of(parameters), result=address_of(result), result_step=result.strides[0],
        )  # fmt: skip
        module.function("quantise")(words)
        return result

    def rows_of(self, levels: Array, zero_point: int) -> Array:
        """Integers above their zero point, (rows, numbers and zeros behind them)."""
        rows = levels.reshape(-1, self.numbers)
        result = np.zeros((len(rows), 2 * self._pairs), np.int16)
        np.subtract(rows, zero_point, out=result[:, : self.numbers], dtype=np.int16)
        return result

    def multiply(self, left: Array, dtype: Any = np.float32, **after: Any) -> Array:
        """The sums of products of rows with each column; `after` is what becomes of them, the fields of `After`."""
        result = np.empty((len(left), self.columns), dtype)
        self._run(left, result, After(**after), 1, (0, left.strides[0], 0), 1, (0, result.strides[0]))
        return result

    def convolve(self, image: Array, rows: int, stride: Sequence[int], dilation: int, result: Array, **after: Any) -> None:
        """The sums over windows of some rows of an image, (rows, columns, an even number of channels), to (rows, columns,
        filters). `dilation`: rows of the image from one row of a window to the next.
        """
        row, column, _ = image.strides
        steps = (row * stride[0], column * stride[1], row * dilation)
        self._run(image, result, After(**after), len(result), steps, rows, result.strides[:2])

    def _run(
        self, left: Array, result: Array, after: After, groups: int, left_steps: Sequence[int], parts: int,
        result_steps: Sequence[int],
    ) -> None:  # fmt: skip
        of_columns = {name: _of_columns(getattr(after, name), self.columns) for name in ("offset", "scales", "bias")}
        levels = None if after.levels is None else np.array(after.levels, np.float32)
        words = block(
            MULTIPLY, groups=groups, rows=result.shape[-2], parts=parts, pairs=self._pairs // parts,
            columns=self.columns, left=address_of(left), left_group=left_steps[0], left_step=left_steps[1],
            left_part=left_steps[2], panels=address_of(self._memory), levels=_address(levels),
            result=address_of(result), result_group=result_steps[0], result_step=result_steps[1],
            **{name: _address(a) for name, a in of_columns.items()},
        )  # fmt: skip
        module.function("multiply")(words)


def _of_columns(numbers: Array | None, columns: int) -> Array | None:
    """A float32 for each column, side by side."""
    return None if numbers is None else np.ascontiguousarray(np.broadcast_to(numbers, columns), np.float32)


def _address(a: Array | None) -> int:
    return 0 if a is None else address_of(a)
