"""Convolutions of each channel by itself as launches."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache
from math import prod
from typing import Any, Final

import numpy as np

from flambeau.codegen.call_geometry import Output
from flambeau.codegen.convolutions import channel_rows, channels
from flambeau.codegen.convolutions.activations import SYMBOL as ACTIVATED
from flambeau.codegen.convolutions.followed import Followed
from flambeau.codegen.convolutions.problem import LARGEST_OFFSET, Array, bits_of
from flambeau.codegen.convolutions.run import linked, pieces_of
from flambeau.codegen.convolutions.vectors import Floats
from flambeau.codegen.convolutions.words import BLOCK_WORDS, CALL, CALL_AT, CHANNELS, NOTHING
from flambeau.codegen.launches import Launch
from flambeau.codegen.llvm.engine import NativeCode, engine
from flambeau.codegen.routines.table import Routine
from flambeau.util.array_address import address_of
from flambeau.util.record import dataclass

FEWEST: Final = 4
"""Channels from which they go in lanes: of fewer most of a vector would be empty."""
COPY_BYTES: Final = 160 << 10
"""Of a band's copy, about: it stays in the second cache."""
PIXELS_TURNED: Final = 64
"""Results that are turned back at a time, at least."""
NANOSECONDS_OF_PIXEL, NANOSECONDS_OF_VECTOR, NANOSECONDS_OF_TAP = 2.0, 0.5, 0.2
"""Of a vector, about: of channels, which are turned, and of places."""
FILLED: Final = 0.6
"""How much of vectors is filled at least where places go in lanes."""


@dataclass(frozen=True, slots=True)
class WindowGeometry:
    """How windows lie over rows and columns."""

    stride: tuple[int, int]
    before: tuple[int, int]
    dilation: tuple[int, int]


@cache
def _code(write: Callable[[Floats], str], symbol: str, character: str) -> NativeCode:
    """The code for a dtype."""
    return linked(write, character, (symbol,))


def takes_channels(x: Array, w: Array, y: Array, groups: int) -> bool:
    """Whether each channel has a filter of its own, and arrays lie as this code reads them: rows side by side, results
    row-major, all elements of a filter together.
    """
    if x.ndim != 4 or groups != x.shape[1] or w.shape[:2] != (groups, 1) or groups < FEWEST:
        return False
    size, (rows, columns) = x.itemsize, w.shape[2:]
    has_filters_together = (w.strides[3] == size or columns == 1) and (w.strides[2] == columns * size or rows == 1)
    is_wide = engine().target.vector_bits > 128 and y.shape[3] * 64 * 8 < LARGEST_OFFSET
    is_planar = (x.strides[3] == size or x.shape[3] == 1) and y.strides[2:] == (y.shape[3] * size, size)
    return is_wide and is_planar and has_filters_together


def channels_launch(
    followed: Followed, output: Output, x: Array, w: Array, y: Array, geometry: WindowGeometry
) -> Launch:  # fmt: skip
    """The launch for arrays that lie as these, which `takes_channels`."""
    if goes_by_rows(x, w, y, geometry):
        return _by_rows(followed, output, x, w, y, geometry)
    size, width = x.itemsize, engine().target.vector_bits // 8
    images, count, rows, columns = y.shape
    kernel = w.shape[2:]
    reach = [d * (k - 1) for d, k in zip(geometry.dilation, kernel, strict=True)]
    across = max((columns - 1) * geometry.stride[1] + reach[1] + 1, geometry.before[1] + x.shape[3])
    pitch = across * width
    band = _band_rows(rows, geometry.stride[0], reach[0], pitch)
    copy_rows = (band - 1) * geometry.stride[0] + reach[0] + 1
    copied = copy_rows * pitch
    lanes = width // size
    where = np.full(copy_rows * x.shape[3] + lanes, copied, np.int32)
    pixels = np.arange(copy_rows)[:, None] * across + np.arange(x.shape[3]) + geometry.before[1]
    where[: pixels.size] = pixels.reshape(-1) * width
    reached = [np.arange(k) * d for k, d in zip(kernel, geometry.dilation, strict=True)]
    taps = ((reached[0][:, None] * across + reached[1]) * width).astype(np.int32).reshape(-1)
    own = np.arange(taps.size + lanes, dtype=np.int32) * np.int32(width)
    each = min(band, -(-PIXELS_TURNED // columns))
    w_at = copied + width
    sums_at = w_at + (taps.size + lanes) * width
    blocks, bands = -(-count // lanes), -(-rows // band)
    activation = followed.activation_code(x.dtype.char)
    words = CHANNELS.pack(
        channels=count, blocks=blocks, bands=bands, band_rows=band, rows=rows, columns=columns, rows_each=each,
        height=x.shape[2], width=x.shape[3], x_image=x.strides[0], x_channel=x.strides[1], x_row=x.strides[2],
        is_dense=int(x.strides[2] == x.shape[3] * size), step_rows=geometry.stride[0], step_columns=geometry.stride[1],
        before_rows=geometry.before[0], copy_rows=copy_rows, pitch=pitch, copy_bytes=copied, places=_at(where),
        w_channel=w.strides[0], w_places=_at(own), w_at=w_at, sums_at=sums_at,
        room=sums_at + (each * columns + lanes) * width, taps=_at(taps), tap_count=taps.size,
        row_step=geometry.stride[0] * pitch, column_step=geometry.stride[1] * width, y_image=y.strides[0],
        y_channel=y.strides[1], y_row=y.strides[2], least=bits_of(followed.bounds[0], size),
        most=bits_of(followed.bounds[1], size),
        activation=0 if activation is None else activation.addresses[ACTIVATED],
    )  # fmt: skip
    nanoseconds = images * blocks * rows * columns * (NANOSECONDS_OF_PIXEL + NANOSECONDS_OF_TAP * taps.size)
    kept = words, where, taps, own, activation
    code = _code(channels.channels_text, channels.SYMBOL, x.dtype.char)
    return _launch(followed, output, size, count, (code, channels.SYMBOL, kept), images * blocks * bands, nanoseconds)


def goes_by_rows(x: Array, w: Array, y: Array, geometry: WindowGeometry) -> bool:
    """Whether places go in lanes: of windows that there is code for, where results fill vectors well enough."""
    down, across = geometry.stride
    is_known = w.shape[2:] == (channel_rows.SIZE,) * 2 and down == across and across in channel_rows.STEPS
    lanes = engine().target.vector_bits // (8 * x.itemsize)
    filled = y.shape[3] / (-(-y.shape[3] // lanes) * lanes)
    return is_known and geometry.dilation == (1, 1) and y.shape[3] > lanes and filled >= FILLED


def _by_rows(
    followed: Followed, output: Output, x: Array, w: Array, y: Array, geometry: WindowGeometry
) -> Launch:  # fmt: skip
    """The launch for arrays of which places go in lanes."""
    size, (images, count, rows, columns) = x.itemsize, y.shape
    activation = followed.activation_code(x.dtype.char)
    words = CHANNELS.pack(
        channels=count, rows=rows, columns=columns, height=x.shape[2], width=x.shape[3], x_image=x.strides[0],
        x_channel=x.strides[1], x_row=x.strides[2], before_rows=geometry.before[0], before_columns=geometry.before[1],
        w_channel=w.strides[0], y_image=y.strides[0], y_channel=y.strides[1], y_row=y.strides[2],
        least=bits_of(followed.bounds[0], size), most=bits_of(followed.bounds[1], size),
        activation=0 if activation is None else activation.addresses[ACTIVATED],
        step_columns=geometry.stride[1],
    )  # fmt: skip
    vectors = images * count * rows * -(-columns // (engine().target.vector_bits // (8 * size)))
    nanoseconds = vectors * (NANOSECONDS_OF_VECTOR + NANOSECONDS_OF_TAP * prod(w.shape[2:]))
    code = _code(channel_rows.channel_rows_text, channel_rows.SYMBOL, x.dtype.char)
    symbol = channel_rows.SYMBOL
    return _launch(followed, output, size, count, (code, symbol, (words, activation)), images * count, nanoseconds)


def _launch(
    followed: Followed, output: Output, size: int, count: int, run: tuple[NativeCode, str, tuple[Any, ...]],
    units: int, nanoseconds: float,
) -> Launch:  # fmt: skip
    """The launch of some code, by its symbol, and what is kept for it, the words first."""
    code, symbol, kept = run
    call = CALL.pack(
        slices=ctypes.addressof(kept[0]), slice_count=1, eps=bits_of(followed.eps, size),
        is_scaled=int(followed.is_scaled), channels=count, y=1 + followed.inputs, **followed.places(1, NOTHING),
    )  # fmt: skip
    block = [0] * BLOCK_WORDS
    block[CALL_AT] = ctypes.addressof(call)
    step, pieces = pieces_of(units, nanoseconds)
    routine = Routine(code, symbol, (call, *kept))
    return Launch((output,), block, units, None, step, pieces, nanoseconds, routine=routine)


def _band_rows(rows: int, step: int, reach: int, pitch: int) -> int:
    """Rows of results whose copy is about as large as it may be, and bands of about one size."""
    most = max(1, min(rows, (COPY_BYTES // pitch - reach - 1) // step + 1))
    return -(-rows // -(-rows // most))


def _at(a: Array) -> int:
    return address_of(a)
