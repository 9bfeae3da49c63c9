"""Numbers and elements as words, and back; and which kind of tensor words are of where they may be of several."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from flambeau.codegen.graph import representation as forms
from flambeau.codegen.graph.representation import Representation, word_count
from flambeau.schema.dtype import DType


def float_bits(value: float) -> int:
    """The word of a float."""
    return ctypes.c_int64.from_buffer(ctypes.c_double(value)).value


def bits_float(bits: int) -> float:
    """The float of a word."""
    return ctypes.c_double.from_buffer(ctypes.c_int64(bits)).value


def element_bits(array: npt.NDArray[Any]) -> int:
    """The word of an array's only element."""
    return int.from_bytes(np.ascontiguousarray(array).tobytes()[:8].ljust(8, b"\0"), "little", signed=True)


def bits_element(bits: int, dtype: DType) -> npt.NDArray[Any]:
    """The element of a word, as an array without axes."""
    raw = bits.to_bytes(8, "little", signed=True)[: dtype.itemsize]
    return np.frombuffer(raw, dtype.numpy).copy().reshape(())


def number_words(value: complex) -> list[int]:
    """The words of a number."""
    if isinstance(value, complex):
        return [float_bits(value.real), float_bits(value.imag)]
    return [float_bits(value) if isinstance(value, float) else int(value)]


def read_number(rep: forms.Int | forms.Float | forms.Complex | forms.Bool, words: Iterator[int]) -> Any:
    """The number of the next words."""
    match rep:
        case forms.Float():
            return bits_float(next(words))
        case forms.Complex():
            return complex(bits_float(next(words)), bits_float(next(words)))
        case forms.Bool():
            return bool(next(words) & 1)
        case forms.Int():
            return next(words)


def unlike_words(rep: forms.Unlike, kind: forms.Array, words: Sequence[int]) -> list[int]:
    """The words of a tensor that is of one of several kinds."""
    return [rep.kinds.index(kind), *words, *[0] * (word_count(rep) - 1 - len(words))]


def kind_of_unlike(rep: forms.Unlike, words: Iterator[int]) -> tuple[forms.Array, Iterator[int]]:
    """Which kind of tensor the next words are, and its own words."""
    kind = rep.kinds[next(words)]
    own = [next(words) for _ in range(word_count(rep.longest))]
    return kind, iter(own[: word_count(kind)])


def plain_words(rep: Representation, value: Any) -> list[int]:
    """The words of a value that is in no block of its own: a number, an element, one of several known values."""
    match rep:
        case forms.Int() | forms.Bool() | forms.Float() | forms.Complex():
            return number_words(value)
        case forms.Element():
            return [element_bits(value._array)]
        case forms.OneOf():
            return [rep.values.index(value)]
        case _:
            return []
