"""Norms of channels of arrays by machine code: one module for each dtype and direction, whatever the sizes."""

from __future__ import annotations

import struct
from array import array
from collections.abc import Callable, Sequence
from functools import cache
from math import prod
from typing import Any, Final

import numpy as np

from flambeau.codegen.convolutions import channel_norms, column_norms
from flambeau.codegen.convolutions.run import TYPES, Code, address, pieces_of
from flambeau.codegen.convolutions.vectors import Floats
from flambeau.codegen.convolutions.words import NORM
from flambeau.codegen.launches import Launch
from flambeau.codegen.routines.lying import Lying
from flambeau.codegen.routines.table import Routine

Array = np.ndarray[Any, Any]
NANOSECONDS: Final = 0.5
"""Of a number, there or back, about."""
LEAST: Final = 16
"""Numbers of a plane from which on going over channels by planes pays."""

LEAST_COPIED: Final = 512
"""Numbers of an array from which on a copy with planes pays, where there are none."""


@cache
def forward_code(character: str) -> Code:
    """The code of norms for a dtype."""
    return Code(channel_norms.forward_text, character, channel_norms.FORWARD)


def launch_by_channels(x: Lying, outputs: Sequence[Any], words: list[Any], routine: Routine) -> Launch:
    """A launch of a norm's code, whose channels several threads share."""
    nanoseconds = x.size * NANOSECONDS
    step, pieces = pieces_of(x.shape[1], nanoseconds)
    return Launch(tuple(outputs), words, x.shape[1], None, step, pieces, nanoseconds, routine=routine)


def is_native(*arrays: Array) -> bool:
    """Whether there is code for arrays (images, channels, *sizes): of one dtype, whose planes lie side by side."""
    return prod(arrays[0].shape[2:]) >= LEAST and has_planes(*arrays)


def has_planes(*arrays: Array | Lying) -> bool:
    """Whether there is code for such arrays, however few numbers a plane has."""
    x = arrays[0]
    if x.dtype.char not in TYPES or x.ndim < 3 or x.size == 0:
        return False
    dense = tuple([x.itemsize * prod(x.shape[k + 1 :]) for k in range(2, x.ndim)])
    return all(a.dtype == x.dtype and a.strides[2:] == dense for a in arrays)


def as_planes(array: Array) -> Array:
    """The same numbers as one image, (1, channels, numbers of a channel), row-major."""
    return np.ascontiguousarray(array.swapaxes(0, 1)).reshape(1, array.shape[1], -1)


def from_planes(planes: Array, like: Array) -> Array:
    """Such an image as an array of the sizes of another one, row-major."""
    batch, channels, *rest = like.shape
    return np.ascontiguousarray(planes.reshape(channels, batch, *rest).swapaxes(0, 1))


def run(code: Code, eps: float, vectors: dict[str, Array | None], **images: Array | None) -> None:
    """Run the code on `images` (images, channels, *sizes), which are native, and vectors with a number a channel."""
    words = array("q", bytes(NORM.words * 8))
    x = images["x"]
    assert x is not None
    for name, one in images.items():
        if one is not None:
            words[NORM.word(name)] = address(one)
            words[NORM.word(f"{name}_image")], words[NORM.word(f"{name}_channel")] = one.strides[:2]
    for name, vector in vectors.items():
        words[NORM.word(name)] = 0 if vector is None else address(vector)
    words[NORM.word("images")], words[NORM.word("plane")] = len(x), prod(x.shape[2:])
    bits = struct.pack("<f" if x.itemsize == 4 else "<d", eps)
    words[NORM.word("eps")] = int.from_bytes(bits, "little", signed=True)
    code.run(words, x.shape[1], x.size * NANOSECONDS)


def _goes_by_columns(x: Array) -> bool:
    return x.size >= LEAST_COPIED and column_norms.are_columns(x)


def text_for(x: Array) -> Callable[[Floats], str]:
    """What writes the code that `normalise` has for such an array."""
    return column_norms.forward_text if _goes_by_columns(x) else channel_norms.forward_text


def normalise(
    x: Array, weight: Array | None, bias: Array | None, eps: float
) -> tuple[Array, Array, Array, Array] | None:
    """The result, row-major, and each channel's mean, variance and reciprocal root; None where there is no code."""
    if _goes_by_columns(x):
        return column_norms.normalise(x, weight, bias, eps)
    if not is_native(x):
        planes = as_planes(x) if x.ndim > 1 and x.size >= LEAST_COPIED else x
        normalised = normalise(planes, weight, bias, eps) if is_native(planes) else None
        return None if normalised is None else (from_planes(normalised[0], x), *normalised[1:])
    y = np.empty(x.shape, x.dtype)
    mean, variance, scale = (np.empty(x.shape[1], x.dtype) for _ in range(3))
    vectors = {"weight": weight, "bias": bias, "mean": mean, "variance": variance, "scale": scale}
    run(forward_code(x.dtype.char), eps, vectors, x=x, y=y)
    return y, mean, variance, scale
