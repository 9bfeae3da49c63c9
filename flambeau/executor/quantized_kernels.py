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

Array = np.ndarray[Any, Any]


@QUANTIZED_PANELS.provide
def panels(weights: Array) -> Panels | None:
    """Weights, what integers are above their zero points, (columns, numbers), packed for products; None where there is no
    native code, a first answer does not wait for it, or sums would leave 32 bits.

    >>> packed = panels(np.array([[1, -2, 3], [0, 4, 5]]))
    >>> packed is None or packed.multiply(np.array([[2, 1, 1]], np.int16)).tolist() == [[3.0, 9.0]]
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

    def multiply(self, left: Array, scales: Array | None = None, bias: Array | None = None) -> Array:
        """The sums of products of rows with each column, as float32, times scales, with a bias."""
        left = left if left.shape[1] % 2 == 0 else self.rows_of(left, 0)
        result = np.empty((len(left), self.columns), np.float32)
        of_columns = [None if a is None else _of_columns(a, self.columns) for a in (scales, bias)]
        words: Sequence[int] = block(
            MULTIPLY, rows=len(left), pairs=self._pairs, columns=self.columns, left=address_of(left),
            left_step=left.strides[0], panels=address_of(self._memory),
            scales=0 if of_columns[0] is None else address_of(of_columns[0]),
            bias=0 if of_columns[1] is None else address_of(of_columns[1]),
            result=address_of(result), result_step=result.strides[0],
        )  # fmt: skip
        module.function("multiply")(words)
        return result


def _of_columns(numbers: Array, columns: int) -> Array:
    """A float32 for each column, side by side."""
    return np.ascontiguousarray(np.broadcast_to(numbers, columns), np.float32)
