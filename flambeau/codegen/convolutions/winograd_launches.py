"""Convolutions by Winograd's products, as launches: where they pay, and how images are cut."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from math import inf
from typing import Any, Final

import numpy as np

from flambeau.codegen.call_geometry import Output
from flambeau.codegen.choose_schedule import second_cache
from flambeau.codegen.convolutions import sums, winograd
from flambeau.codegen.convolutions.activations import SYMBOL as ACTIVATED
from flambeau.codegen.convolutions.followed import Followed
from flambeau.codegen.convolutions.problem import largest_numbers
from flambeau.codegen.convolutions.run import TYPES, linked, pieces_of, sums_code
from flambeau.codegen.convolutions.stages import spread
from flambeau.codegen.convolutions.tile import AHEAD, shapes
from flambeau.codegen.convolutions.vectors import Floats
from flambeau.codegen.convolutions.winograd_transforms import KERNEL, PRODUCTS, SIDE, STEP
from flambeau.codegen.convolutions.words import BLOCK_WORDS, CALL, CALL_AT, NOTHING, WINOGRAD
from flambeau.codegen.launches import Launch
from flambeau.codegen.llvm.engine import NativeCode, engine
from flambeau.codegen.routines.lying import Lying
from flambeau.codegen.routines.memory import Filling, Memory
from flambeau.codegen.routines.numbers import best, bits_of, least, most
from flambeau.codegen.routines.table import Routine
from flambeau.util.record import dataclass

WEIGHT, FAR_WEIGHT, INPUT, RESULT = 15, 80, 80, 130
"""Instructions for a weight, for one of so many that they leave the caches, for a vector of tiles of a channel, and for
one of results, about: what a product's own are compared with.
"""
NEAR: Final = 8
"""Times the second cache that transformed weights may take without being far."""
GAIN: Final = 1.15
"""How many times fewer there are to be than of sums over windows: these are read where they lie."""
NANOSECONDS: Final = 0.015
"""Of a multiplication of sums over windows, about."""
MOST_PIECES: Final = 4
"""Pieces that threads share: each transforms the weights for itself."""


@cache
def _code(character: str) -> NativeCode:
    """The code for a dtype."""
    return linked(winograd.winograd_text, character, (winograd.SYMBOL,))


@dataclass(frozen=True, slots=True)
class Tiles:
    """How results are cut into tiles, and these into units."""

    rows: Any
    columns: Any
    band: Any
    """Rows of tiles of a unit."""
    images: Any
    """Of a unit."""

    @property
    def places(self) -> Any:
        """Tiles of a unit, at most."""
        return self.images * self.band * self.columns


def tiles_of(images: Any, channels: Any, rows: Any, columns: Any, size: int) -> Tiles:
    """About as many tiles of a unit as have transformed channels in the second cache; of these numbers the one that
    wastes least of vectors.
    """
    lanes = engine().target.vector_bits // 8 // size
    down, across = -(-rows // STEP), -(-columns // STEP)
    width = shapes(Floats(TYPES["f"], engine().target))[0].vectors * lanes
    room = most(2 * width, second_cache() // (PRODUCTS * channels * size))

    def cost(band: Any, together: Any) -> Any:
        """Vectors of all tiles, and something for each time that a tile of sums is not whole."""
        vectors = _vectors(down, band, images, together, across, lanes)
        return vectors * (1 + width / (50 * together * band * across))

    candidates = []
    if images > 1 and room >= 2 * down * across:
        numbers = largest_numbers(least(images, room // (down * across)))
        candidates += [(cost(down, number), down, number) for number in numbers]
    numbers = largest_numbers(most(1, least(down, room // across)))
    candidates += [(cost(number, 1), number, 1) for number in numbers]
    _, band, together = best(candidates)
    return Tiles(down, across, band, together)


def _vectors(down: Any, band: Any, images: Any, together: Any, across: Any, lanes: int) -> Any:
    """Vectors of the tiles of all units: whole ones, and those of what is left over of images and of rows."""

    def of(number: Any) -> Any:
        """Of so many images."""
        whole, rest = down // band, down % band
        return whole * -(-number * band * across // lanes) + -(-number * rest * across // lanes)

    return images // together * of(together) + of(images % together)


def winograd_tiles(x: Lying, w: Lying, y: Lying, geometry: Sequence[Sequence[int]], groups: int) -> Tiles | None:
    """How results are cut, where windows are those that such products are for, arrays lie as this code reads them, and
    it pays; else None. `geometry` has strides and dilations.
    """
    if x.dtype.char != "f" or x.ndim != 4 or groups != 1 or w.shape[2:] != (KERNEL, KERNEL):
        return None
    if engine().target.vector_bits <= 128 or any(n != 1 for numbers in geometry for n in numbers):
        return None
    size, (images, filters, rows, columns) = x.itemsize, y.shape
    is_dense = y.strides[1:] == (rows * columns * size, columns * size, size) and w.first(2).is_dense()
    if not is_dense or x.strides[3] != size:
        return None
    tiles = tiles_of(images, x.shape[1], rows, columns, size)
    return tiles if _pays(tiles, images, x.shape[1], filters, rows * columns, size) else None


def _pays(tiles: Tiles, images: Any, channels: Any, filters: Any, places: Any, size: int) -> bool:
    lanes = engine().target.vector_bits // 8 // size
    vectors = _vectors(tiles.rows, tiles.band, images, tiles.images, tiles.columns, lanes)
    direct = KERNEL * KERNEL * images * places / lanes
    is_far = PRODUCTS * channels * filters * size > NEAR * second_cache()
    weight = FAR_WEIGHT if is_far else WEIGHT
    products = PRODUCTS * vectors + weight + vectors * (INPUT / filters + RESULT / channels)
    return bool(GAIN * products <= direct)


def winograd_launch(
    followed: Followed, output: Output, x: Lying, w: Lying, y: Lying, before: Sequence[int], residual: Lying | None,
    direct: Launch, tiles: Tiles, memory: Memory, *, is_flipped: bool,
) -> Launch:  # fmt: skip
    """The launch for arrays that have such tiles; `direct` is that of sums over windows. `is_flipped`: the last element
    of a kernel is the first of a window.
    """
    size = x.itemsize
    images, filters, rows, columns = y.shape
    channels = x.shape[1]
    bands = -(-tiles.rows // tiles.band)
    lanes = engine().target.vector_bits // 8 // size
    width = lanes * size
    floats = Floats(TYPES[x.dtype.char], engine().target)
    together = winograd.filters_together(floats)
    rounded = -(-filters // together) * together
    row_bytes = spread(-(-tiles.places * size // width) * width + width)
    plane_row = (STEP * -(-tiles.columns // lanes) * lanes + SIDE) * size
    steps = memory.table(np.int32, 2 * (channels + AHEAD), [
        Filling(0, 0, channels, row_bytes, 2), Filling(1, 0, channels, size, 2), Filling(2 * channels, 0, 2 * AHEAD),
    ])  # fmt: skip
    own, last = (followed.bounds, (-inf, inf)) if residual is None else ((-inf, inf), followed.bounds)
    activation = followed.activation_code(x.dtype.char)
    code = sums_code(x.dtype.char).native
    words = memory.struct(
        WINOGRAD, images=images, images_each=tiles.images, channels=channels, filters=filters, height=x.shape[2],
        width=x.shape[3], rows=rows, columns=columns, tile_rows=tiles.rows, tile_columns=tiles.columns, bands=bands,
        band_rows=tiles.band, before_rows=before[0], before_columns=before[1], x_image=x.strides[0],
        x_channel=x.strides[1], x_row=x.strides[2], w_filter=w.strides[0], w_channel=w.strides[1],
        w_first=(KERNEL * KERNEL - 1) * size if is_flipped else 0, w_step=-size if is_flipped else size,
        y_image=y.strides[0], y_filter=y.strides[1], y_row=y.strides[2], **_residual_words(residual),
        least=bits_of(own[0], size), most=bits_of(own[1], size), last_least=bits_of(last[0], size),
        last_most=bits_of(last[1], size), activation=0 if activation is None else activation.addresses[ACTIVATED],
        steps=steps, plane_row=plane_row,
        plane_bytes=-(-(STEP * tiles.band + SIDE - STEP) * plane_row // width) * width,
        input_row=row_bytes, input_bytes=spread(channels * row_bytes),
        weight_row=channels * size, weight_bytes=spread(rounded * channels * size + width),
        sum_row=row_bytes, sum_bytes=spread(rounded * row_bytes), direct=code.addresses[sums.OF_LAUNCH],
        direct_call=direct.words[CALL_AT], direct_units=direct.high,
    )  # fmt: skip
    call = memory.struct(
        CALL, slices=words, slice_count=1, eps=bits_of(followed.eps, size), is_scaled=1, channels=filters,
        y=1 + followed.inputs, **followed.places(1, NOTHING),
    )  # fmt: skip
    block = [0] * BLOCK_WORDS
    block[CALL_AT] = call
    units = -(-images // tiles.images) * bands
    nanoseconds = NANOSECONDS * images * filters * channels * rows * columns * KERNEL * KERNEL
    step, pieces = pieces_of(units, nanoseconds, MOST_PIECES)
    for one in (activation, code):
        memory.keep(one)
    routine = Routine(_code(x.dtype.char), winograd.SYMBOL, memory.kept)
    return Launch((output,), block, units, None, step, pieces, nanoseconds, routine=routine)


def _residual_words(residual: Lying | None) -> dict[str, Any]:
    if residual is None:
        return {}
    return {f"residual_{name}": step for name, step in zip(("image", "filter", "row"), residual.strides, strict=False)}
