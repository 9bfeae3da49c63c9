"""Tensors as programs print them: right-aligned columns, then the type and the sizes.

>>> from flambeau.tensor.tensor import wrap
>>> print(script_text(wrap(np.array([[1, 2], [3, 4]]))))
 1  2
 3  4
[ CPULongType{2,2} ]

Non-integral numbers have four decimals and a common scale, or an exponent when they span more than four decades. The
first row of a block is never indented, later ones are: stored outputs are compared to the blank.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from flambeau.schema import dtype as dtypes
from flambeau.tensor.tensor import Tensor, install_method
from flambeau.util.record import dataclass

Array = np.ndarray[Any, Any]
LINE = 80


@dataclass(frozen=True, slots=True)
class _Format:
    """How all numbers of one block are written."""

    scale: float
    width: int
    write: Callable[[float], str]

    def __call__(self, value: float) -> str:
        return self.write(value / self.scale if self.scale != 1 else value).rjust(self.width)


def _plain(value: float) -> str:
    return f"{value:g}"


def _fixed(value: float) -> str:
    return f"{value:.4f}"


def _scientific(value: float) -> str:
    return f"{value:.4e}"


def _exponent(value: float) -> int:
    return math.floor(math.log10(value)) + 1 if value else 1


def _format_of(values: Array) -> _Format:
    finite = np.abs(values[np.isfinite(values)])
    is_integral = bool(np.all(finite == np.ceil(finite)))
    low, high = (_exponent(float(finite.min())), _exponent(float(finite.max()))) if finite.size else (1, 1)
    if is_integral:
        return _Format(1, 11, _scientific) if high > 9 else _Format(1, high + 1, _plain)
    if high - low > 4:
        return _Format(1, 12 if abs(high) > 99 or abs(low) > 99 else 11, _scientific)
    if high > 5 or high < 0:
        return _Format(10.0 ** (high - 1), 7, _fixed)
    return _Format(1, 7 if high == 0 else high + 6, _fixed)


def _scale_line(scale: float) -> str:
    return f"{scale:g} *\n" if scale < 1e6 and scale >= 1e-4 else f"{_shortest(scale)} *\n"


def _shortest(value: float) -> str:
    return repr(value).removesuffix(".0")


def _matrix(values: Array, indent: int) -> str:
    """Rows of a matrix, in blocks of as many columns as fit a line."""
    number = _format_of(values)
    rows, columns = values.shape
    per_line = (LINE - indent) // (number.width + 1)
    text = ""
    first = 0
    while first < columns:
        last = min(first + per_line, columns) if per_line < columns else columns
        if per_line < columns:
            text += ("\n" if first else "") + f"Columns {first + 1} to {last}" + " " * indent
        if number.scale != 1:
            text += _scale_line(number.scale) + " " * indent
        for i in range(rows):
            if i:
                text += " " * (indent + (number.scale != 1))
            text += " ".join(number(v) for v in values[i, first:last].tolist()) + "\n"
        first = last
    return text


def _blocks(values: Array) -> str:
    """A matrix for each place of the outer dimensions, its numbers counted from 1, the first one running fastest."""
    parts = [
        f"({','.join(str(p + 1) for p in index[::-1])},.,.) = \n{_matrix(values[index[::-1]], 1)}"
        for index in itertools.product(*map(range, values.shape[-3::-1]))
    ]
    return "\n".join(parts)


def _numbers(tensor: Tensor) -> Array:
    array = tensor._array
    if tensor.dtype is dtypes.complex32:
        array = array["real"]
    with np.errstate(all="ignore"):
        return np.asarray(array.real if tensor.dtype.is_complex else array).astype(np.float64)


def script_text(tensor: Tensor) -> str:
    """The text that `print(tensor)` gives inside a program."""
    values = _numbers(tensor)
    sizes = ",".join(map(str, tensor._array.shape))
    end = f"[ {tensor.device.type.upper()}{tensor.dtype.display}Type{{{sizes}}} ]"
    if values.size == 0:
        return end
    if values.ndim == 0:
        return f"{_shortest(float(values))}\n{end}"
    if values.ndim == 1:
        number = _format_of(values)
        head = _scale_line(number.scale) if number.scale != 1 else ""
        return head + "".join(number(v) + "\n" for v in values.tolist()) + end
    return (_matrix(values, 0) if values.ndim == 2 else _blocks(values)) + end


def _columns_text(self: Tensor) -> str:
    """How graphs show a tensor of few elements; one on a device is not read for that."""
    return script_text(self) if self.device.type == "cpu" else "<Tensor>"


install_method("_columns_text", _columns_text)
