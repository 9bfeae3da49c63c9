"""The words that functions of convolutions are called with, and those of one part of the results."""

from __future__ import annotations

from typing import Final

from flambeau.codegen.layouts import Layout, words_layout

PROBLEM: Final[Layout] = words_layout(
    "ptr x, ptr w, ptr bias, ptr y, ptr planes, ptr shifts, ptr parts, "
    "i64 images, i64 images_each, i64 groups, i64 bands, i64 band_rows, i64 chunks, i64 chunk_columns, "
    "i64 plane_count, i64 shift_count, i64 part_count, i64 height, i64 width, "
    "i64 x_image, i64 x_group, i64 x_row, i64 x_column, i64 step_rows, i64 step_columns, i64 before_rows, "
    "i64 before_columns, i64 pitch, i64 copy_rows, i64 image_size, i64 plane_bytes, i64 copy_bytes, i64 sums_bytes, "
    "i64 filters, i64 w_group, i64 w_filter, i64 y_image, i64 y_filter, i64 y_row, i64 y_column, "
    "i64 is_in_place, i64 least, i64 most, i64 slopes_bytes, i64 filters_each, "
    "i64 data_at, i64 units, i64 is_clamped"
)
"""A convolution of images in two dimensions.

Images are copied band by band (``bands`` of ``band_rows`` rows of results, and ``chunks`` of columns), with zeros
around, into planes of rows of ``pitch`` numbers; for strides, each shift of ``shifts`` is a plane of its own. All steps
but ``pitch`` and ``image_size`` are bytes. ``planes`` are the input's planes in bytes from an image's group on.
``data_at`` is where array objects have the address of their elements. ``least`` and ``most`` are the bits of the bounds
that results are clamped to.
"""

PART: Final[Layout] = words_layout("ptr table, i64 steps, i64 y_from, i64 rows, i64 columns")
"""A part of the results: those of a transposed convolution between which a stride lies are one."""

NORM: Final[Layout] = words_layout(
    "ptr x, ptr y, ptr slope, ptr weight, ptr bias, ptr mean, ptr variance, ptr scale, i64 images, i64 plane, "
    "i64 x_image, i64 x_channel, i64 y_image, i64 y_channel, i64 slope_image, i64 slope_channel, i64 eps"
)
"""A norm of channels, there and back; steps are bytes, ``plane`` counts numbers, and ``eps`` is the bits of one."""

SLICE: Final[Layout] = words_layout("ptr problem, i64 from_x, i64 from_y, i64 units")
"""A convolution in two dimensions that is a part of one in three; its arrays start some bytes behind those given."""

CALL: Final[Layout] = words_layout("ptr slices, i64 slice_count, i64 x, i64 w, i64 bias, i64 y")
"""A convolution as a launch: its slices, and which words of a launch's block are the addresses of its arrays. That of
what is not there is `NOTHING`.
"""
NOTHING, CALL_AT, BLOCK_WORDS = 12, 13, 14
"""Words of a launch's block: one that is always 0, that with the address of a `CALL`, and how many there are."""
