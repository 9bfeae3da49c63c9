"""The words that functions of convolutions are called with, and those of one part of the results."""

from __future__ import annotations

from typing import Final

from flambeau.codegen.layouts import Layout, words_layout

PROBLEM: Final[Layout] = words_layout(
    "ptr x, ptr w, ptr bias, ptr y, ptr planes, ptr shifts, ptr parts, "
    "i64 images, i64 images_each, i64 groups, i64 bands, i64 band_rows, i64 chunks, i64 chunk_columns, "
    "i64 plane_count, i64 planes_each, i64 positions_each, i64 shift_count, i64 part_count, i64 height, i64 width, "
    "i64 x_image, i64 x_group, i64 x_row, i64 x_column, i64 step_rows, i64 step_columns, i64 before_rows, "
    "i64 before_columns, i64 pitch, i64 copy_rows, i64 image_size, i64 plane_bytes, i64 copy_bytes, i64 sums_bytes, "
    "i64 filters, i64 w_group, i64 w_filter, i64 y_image, i64 y_filter, i64 y_row, i64 y_column, "
    "i64 is_in_place, i64 least, i64 most, i64 slopes_bytes, i64 rest_bytes, i64 filters_each, "
    "i64 data_at, i64 units, ptr scale, ptr shift, ptr residual, i64 residual_image, i64 residual_filter, "
    "i64 residual_row, i64 residual_column, i64 last_least, i64 last_most, "
    "ptr activation, ptr error"
)
"""A convolution of images in two dimensions.

Images are copied band by band (``bands`` of ``band_rows`` rows of results, and ``chunks`` of columns), with zeros
around, into planes of rows of ``pitch`` numbers; for strides, each shift of ``shifts`` is a plane of its own. All steps
but ``pitch`` and ``image_size`` are bytes. ``planes`` are the input's planes in bytes from an image's group on.
``data_at`` is where array objects have the address of their elements. Behind the sums: with a ``scale`` and a
``shift``, a number for each filter, sums are scaled, shifted (the bias is in the shift then) and clamped to bounds,
whose bits are ``least`` and ``most``; with a ``residual`` its number is added, and the result clamped to the ``last``
bounds. At the end comes an ``activation``, a function over numbers that lie side by side. ``error`` is the error flag.
``rest_bytes`` is from one column of places left over to the next, 0 where these are not taken by themselves.
``planes_each`` planes are copied and summed at a time; where that is not all of them, so are ``positions_each``
positions.
"""

PART: Final[Layout] = words_layout("ptr table, i64 steps, i64 y_from, i64 rows, i64 columns")
"""A part of the results: those of a transposed convolution between which a stride lies are one."""

SLOPES: Final[Layout] = words_layout(
    "ptr slices, i64 slice_count, i64 x, i64 slope, i64 w, i64 images, i64 inner, i64 x_image, i64 x_channel, "
    "i64 slope_image, i64 slope_filter, "
    + ", ".join(
        f"i64 {name}_{axis}"
        for axis in range(3)
        for name in ("size", "kernel", "places", "stride", "before", "dilation", "x", "slope")
    )
)
"""The gradient of a convolution's weight as a launch: its slices, which words of a launch's block are the addresses of
the input, the gradient of the result and the result, and how the arrays lie: steps in bytes for images, channels and,
of each of three axes, the elements of both.
"""
SLOPES_AT, SLOPES_WORDS = 4, 5
"""The word of a launch's block with the address of `SLOPES`, and how many there are."""

LARGEST: Final[Layout] = words_layout("ptr problem, ptr inside, i64 x, i64 y, i64 places")
"""The largest numbers of windows as a launch: a `PROBLEM` without addresses, where windows have their first elements,
and which words of a launch's block are the addresses of the input and the results. The places may be missing.
"""
LARGEST_AT, LARGEST_WORDS = 5, 6
"""The word of a launch's block with the address of `LARGEST`, and how many there are; one before is always 0."""

NORM: Final[Layout] = words_layout(
    "ptr x, ptr y, ptr slope, ptr weight, ptr bias, ptr mean, ptr variance, ptr scale, i64 images, i64 plane, "
    "i64 x_image, i64 x_channel, i64 y_image, i64 y_channel, i64 slope_image, i64 slope_channel, i64 eps, "
    "ptr factors, i64 factors_image, i64 factors_channel"
)
"""A norm of channels, there and back; steps are bytes, ``plane`` counts numbers, and ``eps`` is the bits of one.
``factors`` are a number for each of a plane.
"""

SLICE: Final[Layout] = words_layout("ptr problem, i64 from_x, i64 from_y, i64 from_residual, i64 units")
"""A convolution in two dimensions that is a part of one in three; its arrays start some bytes behind those given."""

CALL: Final[Layout] = words_layout(
    "ptr slices, i64 slice_count, i64 x, i64 w, i64 bias, i64 y, i64 gamma, i64 beta, i64 mean, i64 variance, "
    "i64 residual, i64 eps, i64 is_scaled, i64 channels"
)
"""A convolution as a launch: its slices, and which words of a launch's block are the addresses of its arrays. That of
what is not there is `NOTHING`.
"""
NOTHING, CALL_AT, BLOCK_WORDS = 12, 13, 14
"""Words of a launch's block: one that is always 0, that with the address of a `CALL`, and how many there are."""

CHANNELS: Final[Layout] = words_layout(
    "i64 channels, i64 blocks, i64 bands, i64 band_rows, i64 rows, i64 columns, i64 rows_each, i64 height, i64 width, "
    "i64 x_image, i64 x_channel, i64 x_row, i64 is_dense, i64 step_rows, i64 step_columns, i64 before_rows, "
    "i64 copy_rows, i64 pitch, i64 copy_bytes, ptr places, i64 w_channel, ptr w_places, i64 w_at, i64 sums_at, "
    "i64 room, ptr taps, i64 tap_count, i64 row_step, i64 column_step, i64 y_image, i64 y_channel, i64 y_row, "
    "i64 least, i64 most, ptr activation, i64 before_columns, i64 w_first, i64 w_step"
)
"""A convolution of each channel by itself, in bands of ``band_rows`` rows of results, of as many channels as a vector
has lanes. A band's copy has a vector for each pixel, ``pitch`` bytes a row. ``places`` says where each pixel of its
rows goes, ``taps`` where each element of a window lies from the first, in bytes as ints of 32 bits. With ``is_dense``
rows of the input follow each other in memory. Where places lie in lanes, only sizes and steps count, the latter as
numbers for windows, ``before_columns``, and how far the weight of a window's first element lies from its filter's, and
the next from there: windows may be flipped.
"""

POINTS: Final[Layout] = words_layout(
    "i64 channels, i64 filters, i64 places, i64 parts, i64 is_direct, i64 x_image, i64 x_channel, i64 place_bytes, "
    "ptr turned_places, i64 w_filter, i64 y_image, i64 residual_image, i64 residual_filter, i64 residual_place, "
    "i64 least, i64 most, i64 last_least, i64 last_most, ptr activation"
)
"""A convolution of few places. The numbers of a place lie side by side, ``place_bytes`` from one to the next: with
``is_direct`` in the input, else in a copy, where ``turned_places`` says, in bytes as ints of 32 bits.
"""

WINOGRAD: Final[Layout] = words_layout(
    "i64 images, i64 images_each, i64 channels, i64 filters, i64 height, i64 width, i64 rows, i64 columns, "
    "i64 tile_rows, i64 tile_columns, i64 bands, i64 band_rows, i64 before_rows, i64 before_columns, i64 x_image, "
    "i64 x_channel, i64 x_row, i64 w_filter, i64 w_channel, i64 w_first, i64 w_step, i64 y_image, i64 y_filter, "
    "i64 y_row, i64 residual_image, i64 residual_filter, i64 residual_row, i64 least, i64 most, i64 last_least, "
    "i64 last_most, ptr activation, ptr steps, i64 plane_row, i64 plane_bytes, i64 input_row, i64 input_bytes, "
    "i64 weight_row, i64 weight_bytes, i64 sum_row, i64 sum_bytes, ptr direct, ptr direct_call, i64 direct_units"
)
"""A convolution by Winograd's products: bands of ``band_rows`` rows of tiles of ``images_each`` images. Of the sixteen
products each has ``input_bytes`` of transformed input, ``weight_bytes`` of weights and ``sum_bytes`` of sums, whose
rows are those of a channel, a filter and a filter; ``plane_bytes`` are a channel with zeros around. ``w_first`` and
``w_step`` are those of `CHANNELS`. ``direct`` computes the whole with another call in its block.
"""

TAP: Final[Layout] = words_layout("i64 offset, i64 weight")
"""An element that a place takes: how far it lies from the first of its axis, in bytes, and the bits of its weight."""
PLACE: Final[Layout] = words_layout("ptr taps, i64 count, i64 divisor")
"""What one place along an axis takes; the divisor's bits."""
TAPS: Final[Layout] = words_layout(
    "i64 x_image, i64 x_channel, i64 channels, i64 width, i64 x_column, i64 depths, i64 rows, i64 columns, "
    "ptr depth_places, ptr row_places, ptr column_places, i64 y_image, i64 y_channel, i64 y_depth, i64 y_row, "
    "i64 y_column, i64 filling, i64 room_bytes, i64 is_direct, i64 even_from, i64 even_end, i64 even_step"
)
"""A result of places that take elements along three axes; steps are bytes, ``filling`` is the bits of what places hold
that take nothing. With ``is_direct`` a place takes one depth and one row at most, as they are. Places of a row from
``even_from`` to ``even_end`` take as many elements each, ``even_step`` further from one place to the next, all alike.
"""
TAPS_AT = 3
"""The word of a launch's block with the address of `TAPS`, behind those of the input and the result."""

GROUPS: Final[Layout] = words_layout("ptr norm, i64 x, i64 y, i64 weight, i64 bias, i64 groups")
"""A norm of groups of channels: a `NORM` without addresses, and which words of a launch's block these are."""
GROUPS_AT, GROUPS_WORDS = 7, 8
"""The word of a launch's block with the address of `GROUPS`, and how many words there are; one before is always 0."""

ROWS: Final[Layout] = words_layout(
    "ptr norm, i64 x, i64 slope, i64 factors, i64 y, i64 of_weight, i64 of_bias, i64 rows, i64 each, ptr ones"
)
"""Gradients of norms of rows: a `NORM` without addresses, which words of a launch's block these are, how many rows
there are, how many a part has, and ones in the place of factors that are not there. Results may be missing.
"""
ROWS_AT, ROWS_WORDS = 8, 9
"""The word of a launch's block with the address of `ROWS`, and how many words there are; one before is always 0."""

NORM_THERE: Final[Layout] = words_layout(
    "ptr norm, i64 x, i64 y, i64 weight, i64 bias, i64 mean, i64 variance, i64 scale"
)
"""A norm of channels in training: a `NORM` without addresses, and which words of a launch's block these are: ``y``, the
``mean`` and the ``variance``, which is the unbiased one, are the results, which may be missing; so may the ``scale``.
"""
NORM_THERE_AT, NORM_THERE_WORDS = 10, 11
"""The word of a launch's block with the address of `NORM_THERE`, and how many there are; one before is always 0."""

NORM_BACK: Final[Layout] = words_layout("ptr norm, i64 x, i64 y, i64 slope, i64 weight, i64 bias, i64 scale")
"""Gradients of norms of channels: a `NORM` without addresses, and which words of a launch's block these are: ``y``, the
``scale`` and the ``bias`` are the results, which may be missing.
"""
NORM_BACK_AT, NORM_BACK_WORDS = 8, 9
"""The word of a launch's block with the address of `NORM_BACK`, and how many there are; one before is always 0."""
