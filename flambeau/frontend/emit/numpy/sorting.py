"""Sorts of arrays: in place, as a copy, and by places.

x.sort()    →    aten::sort, then aten::copy_ into %x        x.argsort()    →    aten::argsort(%x, stable=True)
"""

from __future__ import annotations

from flambeau.frontend.emit.implicit_conversions import unpack_tuple
from flambeau.frontend.emit.numpy.method_calls import Call
from flambeau.ir.graph import Value


def sort(c: Call) -> Value:
    """`x.sort(axis=-1)`."""
    c.op("copy_", c.array, sorted_copy(c))
    return c.value(None)


def sorted_copy(c: Call) -> Value:
    """What `np.sort` gives."""
    pair = c.op("sort", c.array, c.number("axis", -1), False)
    return unpack_tuple(c.e, pair)[0]


def argsort(c: Call) -> Value:
    """`x.argsort(axis=-1)`; of equal elements the first is first."""
    return c.op("argsort", c.array, stable=True, dim=c.number("axis", -1), descending=False)
