"""Convolutions of few places, each of all channels, as launches."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from math import inf, prod
from typing import Any, Final

import numpy as np

from flambeau.codegen.call_geometry import Output
from flambeau.codegen.convolutions import points
from flambeau.codegen.convolutions.activations import SYMBOL as ACTIVATED
from flambeau.codegen.convolutions.followed import Followed
from flambeau.codegen.convolutions.run import linked, pieces_of
from flambeau.codegen.convolutions.words import BLOCK_WORDS, CALL, CALL_AT, NOTHING, POINTS
from flambeau.codegen.launches import Launch
from flambeau.codegen.llvm.engine import NativeCode, engine
from flambeau.codegen.routines.lying import Lying
from flambeau.codegen.routines.memory import Filling, Memory
from flambeau.codegen.routines.numbers import bits_of
from flambeau.codegen.routines.table import Routine

FEWEST: Final = 4
"""Channels from which the sums of lanes at the end are worth it."""
MOST: Final = 16
"""Places; more fill vectors by themselves."""
LOSS: Final = 1.4
"""How much longer a place takes here than a lane of places does elsewhere, about."""
NANOSECONDS: Final = 0.015
"""Of a multiplication, about."""


@cache
def _code(character: str) -> NativeCode:
    """The code for a dtype."""
    return linked(points.points_text, character, (points.SYMBOL,))


def takes_points(x: Lying, w: Lying, y: Lying, stride: Sequence[int], padding: bool, groups: int) -> bool:
    """Whether few places take all channels, and arrays lie as this code reads them: channels of a filter side by side,
    places of a channel too, results row-major.
    """
    if x.ndim != 4 or groups != 1 or padding or engine().target.vector_bits <= 128:
        return False
    lanes, pixels = engine().target.vector_bits // 8 // x.itemsize, prod(y.shape[2:])
    is_sparse = pixels <= MOST and LOSS * pixels <= -(-pixels // lanes) * lanes and prod(w.shape[1:]) >= FEWEST
    return is_sparse and _takes_all(x, w, y, stride) and _lie_dense(x, w, y)


def _takes_all(x: Lying, w: Lying, y: Lying, stride: Sequence[int]) -> bool:
    """Whether each place takes all channels of its own pixel, or the only place all pixels."""
    if w.shape[2:] == x.shape[2:] and y.shape[2:] == (1, 1) and x.first().is_dense():
        return True
    return w.shape[2:] == (1, 1) and x.shape[2:] == y.shape[2:] and (y.shape[2:] == (1, 1) or max(stride) == 1)


def _lie_dense(x: Lying, w: Lying, y: Lying) -> bool:
    return w.first().is_dense() and x.first(2).is_dense() and y.strides[1:] == _dense_strides(y)


def _dense_strides(y: Lying) -> tuple[Any, Any, Any]:
    _, _, rows, columns = y.shape
    return rows * columns * y.itemsize, columns * y.itemsize, y.itemsize


def points_launch(
    followed: Followed, output: Output, x: Lying, w: Lying, y: Lying, residual: Lying | None, memory: Memory
) -> Launch:
    """The launch for arrays that lie as these, which `takes_points`."""
    size, width = x.itemsize, engine().target.vector_bits // 8
    images, filters, pixels = x.shape[0], w.shape[0], prod(y.shape[2:])
    channels = prod(w.shape[1:])
    is_direct = pixels == 1 and x.first().is_dense()
    place_bytes = -(-channels * size // width) * width + width
    lanes = width // size
    turned = memory.table(np.int32, pixels + lanes, [
        Filling(0, 0, pixels, place_bytes), Filling(pixels, pixels * place_bytes, lanes)
    ])  # fmt: skip
    own, last = (followed.bounds, (-inf, inf)) if residual is None else ((-inf, inf), followed.bounds)
    activation = followed.activation_code(x.dtype.char)
    words = memory.struct(
        POINTS, channels=channels, filters=filters, places=pixels, parts=-(-filters // points.FILTERS_EACH),
        is_direct=int(is_direct), x_image=x.strides[0], x_channel=x.strides[1], place_bytes=place_bytes,
        turned_places=turned, w_filter=w.strides[0], y_image=y.strides[0],
        **_residual_words(residual), least=bits_of(own[0], size), most=bits_of(own[1], size),
        last_least=bits_of(last[0], size), last_most=bits_of(last[1], size),
        activation=0 if activation is None else activation.addresses[ACTIVATED],
    )  # fmt: skip
    call = memory.struct(
        CALL, slices=words, slice_count=1, eps=bits_of(followed.eps, size), is_scaled=1, channels=filters,
        y=1 + followed.inputs, **followed.places(1, NOTHING),
    )  # fmt: skip
    block = [0] * BLOCK_WORDS
    block[CALL_AT] = call
    units = images * -(-filters // points.FILTERS_EACH)
    nanoseconds = NANOSECONDS * images * filters * channels * pixels
    step, pieces = pieces_of(units, nanoseconds)
    memory.keep(activation)
    routine = Routine(_code(x.dtype.char), points.SYMBOL, memory.kept)
    return Launch((output,), block, units, None, step, pieces, nanoseconds, routine=routine)


def place_step(a: Lying) -> Any:
    """Bytes from one place of images to the next, row by row; None where rows do not follow each other."""
    _, _, rows, columns = a.shape
    if columns == 1:
        return a.strides[2]
    return a.strides[3] if rows == 1 or a.strides[2] == columns * a.strides[3] else None


def _residual_words(residual: Lying | None) -> dict[str, Any]:
    if residual is None:
        return {}
    step = place_step(residual)
    assert step is not None
    return {"residual_image": residual.strides[0], "residual_filter": residual.strides[1], "residual_place": step}
