"""Layouts, memory formats and schemes of quantisation: ints in programs (`layout=0`), with names for Python.

>>> MemoryFormat.channels_last, int(MemoryFormat.channels_last)
(flambeau.channels_last, 2)
"""

from __future__ import annotations

from enum import IntEnum


class _Named(IntEnum):
    def __repr__(self) -> str:
        return f"flambeau.{self.name}"

    __str__ = __repr__


class Layout(_Named):
    """How a tensor stores its elements. Every tensor here is strided; programs may name the others.

    >>> import flambeau
    >>> flambeau.ones(1).layout
    flambeau.strided
    """

    strided = 0
    sparse_coo = 1
    sparse_csr = 2
    sparse_csc = 3
    sparse_bsr = 4
    sparse_bsc = 5
    _mkldnn = 6
    jagged = 7


class MemoryFormat(_Named):
    """In which order a new tensor lays out its dimensions.

    >>> import flambeau
    >>> flambeau.ones(1, 2, 3, 3).contiguous(memory_format=flambeau.channels_last).stride()
    (18, 1, 6, 2)
    """

    contiguous_format = 0
    preserve_format = 1
    channels_last = 2
    channels_last_3d = 3


class QScheme(_Named):
    """How the integers of a quantised tensor stand for real numbers.

    >>> import flambeau
    >>> flambeau.quantize_per_tensor(flambeau.ones(1), 0.5, 0, flambeau.qint8).qscheme()
    flambeau.per_tensor_affine
    """

    per_tensor_affine = 0
    per_channel_affine = 1
    per_tensor_symmetric = 2
    per_channel_symmetric = 3
    per_channel_affine_float_qparams = 4
