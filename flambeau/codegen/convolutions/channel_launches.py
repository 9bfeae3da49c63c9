"""Convolutions of each channel by itself as launches."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from math import prod
from typing import Any, Final

import numpy as np

from flambeau.codegen.call_geometry import Output
from flambeau.codegen.convolutions import channel_rows, channels
from flambeau.codegen.convolutions.activations import SYMBOL as ACTIVATED
from flambeau.codegen.convolutions.followed import Followed
from flambeau.codegen.convolutions.problem import LARGEST_OFFSET
from flambeau.codegen.convolutions.run import linked, pieces_of
from flambeau.codegen.convolutions.vectors import Floats
from flambeau.codegen.convolutions.words import BLOCK_WORDS, CALL, CALL_AT, CHANNELS, NOTHING
from flambeau.codegen.launches import Launch
from flambeau.codegen.llvm.engine import NativeCode, engine
from flambeau.codegen.routines.lying import Lying
from flambeau.codegen.routines.memory import Filling, Memory
from flambeau.codegen.routines.numbers import bits_of, least, most
from flambeau.codegen.routines.table import Routine
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
    is_flipped: bool = False
    """Whether the last element of a kernel is the first of a window."""


@cache
def _code(write: Callable[[Floats], str], symbol: str, character: str) -> NativeCode:
    """The code for a dtype."""
    return linked(write, character, (symbol,))


def takes_channels(x: Lying, w: Lying, y: Lying, groups: int) -> bool:
    """Whether each channel has a filter of its own, and arrays lie as this code reads them: rows side by side, results
    row-major, all elements of a filter together.
    """
    if x.ndim != 4 or groups != x.shape[1] or w.shape[:2] != (groups, 1) or groups < FEWEST:
        return False
    size, (rows, columns) = x.itemsize, w.shape[2:]
    has_filters_together = (w.strides[3] == size or columns == 1) and (w.strides[2] == columns * size or rows == 1)
    is_wide = engine().target.vector_bits > 128 and y.shape[3] * 64 * 8 < LARGEST_OFFSET
    is_planar = (x.strides[3] == size or x.shape[3] == 1) and y.strides[2:] == (y.shape[3] * size, size)
    return bool(is_wide and is_planar and has_filters_together)


def channels_launch(
    followed: Followed, output: Output, x: Lying, w: Lying, y: Lying, geometry: WindowGeometry, memory: Memory
) -> Launch:  # fmt: skip
    """The launch for arrays that lie as these, which `takes_channels`."""
    if goes_by_rows(x, w, y, geometry):
        return _by_rows(followed, output, x, w, y, geometry, memory)
    size, width = x.itemsize, engine().target.vector_bits // 8
    images, count, rows, columns = y.shape
    kernel = w.shape[2:]
    reach = [d * (k - 1) for d, k in zip(geometry.dilation, kernel, strict=True)]
    across = most((columns - 1) * geometry.stride[1] + reach[1] + 1, geometry.before[1] + x.shape[3])
    pitch = across * width
    band = _band_rows(rows, geometry.stride[0], reach[0], pitch)
    copy_rows = (band - 1) * geometry.stride[0] + reach[0] + 1
    copied = copy_rows * pitch
    lanes = width // size
    wide = x.shape[3]
    where = memory.table(np.int32, copy_rows * wide + lanes, [
        Filling(0, geometry.before[1] * width, wide, width, 1, copy_rows, pitch, wide),
        Filling(copy_rows * wide, copied, lanes),
    ])  # fmt: skip
    tap_count = prod(kernel)
    (down_step, across_step) = geometry.dilation
    taps = memory.table(np.int32, tap_count, [
        Filling(0, 0, kernel[1], across_step * width, 1, kernel[0], down_step * pitch, kernel[1])
    ])  # fmt: skip
    first, step = ((tap_count - 1) * width, -width) if geometry.is_flipped else (0, width)
    own = memory.table(np.int32, tap_count + lanes, [
        Filling(0, first, tap_count, step), Filling(tap_count, tap_count * width, lanes, width)
    ])  # fmt: skip
    each = least(band, -(-PIXELS_TURNED // columns))
    w_at = copied + width
    sums_at = w_at + (tap_count + lanes) * width
    blocks, bands = -(-count // lanes), -(-rows // band)
    activation = followed.activation_code(x.dtype.char)
    words = memory.struct(
        CHANNELS, channels=count, blocks=blocks, bands=bands, band_rows=band, rows=rows, columns=columns,
        rows_each=each, height=x.shape[2], width=x.shape[3], x_image=x.strides[0], x_channel=x.strides[1],
        x_row=x.strides[2], is_dense=x.strides[2] == x.shape[3] * size, step_rows=geometry.stride[0],
        step_columns=geometry.stride[1], before_rows=geometry.before[0], copy_rows=copy_rows, pitch=pitch,
        copy_bytes=copied, places=where, w_channel=w.strides[0], w_places=own, w_at=w_at, sums_at=sums_at,
        room=sums_at + (each * columns + lanes) * width, taps=taps, tap_count=tap_count,
        row_step=geometry.stride[0] * pitch, column_step=geometry.stride[1] * width, y_image=y.strides[0],
        y_channel=y.strides[1], y_row=y.strides[2], least=bits_of(followed.bounds[0], size),
        most=bits_of(followed.bounds[1], size),
        activation=0 if activation is None else activation.addresses[ACTIVATED],
    )  # fmt: skip
    nanoseconds = images * blocks * rows * columns * (NANOSECONDS_OF_PIXEL + NANOSECONDS_OF_TAP * tap_count)
    memory.keep(activation)
    code = _code(channels.channels_text, channels.SYMBOL, x.dtype.char)
    run = code, channels.SYMBOL, words
    return _launch(followed, output, size, count, run, images * blocks * bands, nanoseconds, memory)


def goes_by_rows(x: Lying, w: Lying, y: Lying, geometry: WindowGeometry) -> bool:
    """Whether places go in lanes: of windows that there is code for, where results fill vectors well enough."""
    down, across = geometry.stride
    is_known = w.shape[2:] == (channel_rows.SIZE,) * 2 and down == across and across in channel_rows.STEPS
    lanes = engine().target.vector_bits // (8 * x.itemsize)
    filled = y.shape[3] / (-(-y.shape[3] // lanes) * lanes)
    return bool(is_known and geometry.dilation == (1, 1) and y.shape[3] > lanes and filled >= FILLED)


def _by_rows(
    followed: Followed, output: Output, x: Lying, w: Lying, y: Lying, geometry: WindowGeometry, memory: Memory
) -> Launch:  # fmt: skip
    """The launch for arrays of which places go in lanes."""
    size, (images, count, rows, columns) = x.itemsize, y.shape
    activation = followed.activation_code(x.dtype.char)
    words = memory.struct(
        CHANNELS, channels=count, rows=rows, columns=columns, height=x.shape[2], width=x.shape[3], x_image=x.strides[0],
        x_channel=x.strides[1], x_row=x.strides[2], before_rows=geometry.before[0], before_columns=geometry.before[1],
        w_channel=w.strides[0], y_image=y.strides[0], y_channel=y.strides[1], y_row=y.strides[2],
        least=bits_of(followed.bounds[0], size), most=bits_of(followed.bounds[1], size),
        activation=0 if activation is None else activation.addresses[ACTIVATED],
        step_columns=geometry.stride[1], w_first=(prod(w.shape[2:]) - 1) * size if geometry.is_flipped else 0,
        w_step=-size if geometry.is_flipped else size,
    )  # fmt: skip
    vectors = images * count * rows * -(-columns // (engine().target.vector_bits // (8 * size)))
    nanoseconds = vectors * (NANOSECONDS_OF_VECTOR + NANOSECONDS_OF_TAP * prod(w.shape[2:]))
    code = _code(channel_rows.channel_rows_text, channel_rows.SYMBOL, x.dtype.char)
    memory.keep(activation)
    run = code, channel_rows.SYMBOL, words
    return _launch(followed, output, size, count, run, images * count, nanoseconds, memory)


def _launch(
    followed: Followed, output: Output, size: int, count: Any, run: tuple[NativeCode, str, Any], units: Any,
    nanoseconds: Any, memory: Memory,
) -> Launch:  # fmt: skip
    """The launch of some code, by its symbol, and the address of its words."""
    code, symbol, words = run
    call = memory.struct(
        CALL, slices=words, slice_count=1, eps=bits_of(followed.eps, size),
        is_scaled=int(followed.is_scaled), channels=count, y=1 + followed.inputs, **followed.places(1, NOTHING),
    )  # fmt: skip
    block = [0] * BLOCK_WORDS
    block[CALL_AT] = call
    step, pieces = pieces_of(units, nanoseconds)
    routine = Routine(code, symbol, memory.kept)
    return Launch((output,), block, units, None, step, pieces, nanoseconds, routine=routine)


def _band_rows(rows: Any, step: int, reach: int, pitch: Any) -> Any:
    """Rows of results whose copy is about as large as it may be, and bands of about one size."""
    largest = most(1, least(rows, (COPY_BYTES // pitch - reach - 1) // step + 1))
    return -(-rows // -(-rows // largest))
