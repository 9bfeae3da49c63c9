"""`x.round(decimals)` of arrays: whole numbers stay so, and bools become the floats that NumPy makes of them.

x.round(-1)    with int64s in `x`    →    aten::to(aten::mul(aten::round(aten::div(%x, 10.0)), 10.0), int64)
"""

from __future__ import annotations

from typing import Final

import numpy as np

from flambeau.frontend.emit.numpy import array_promotion as arrays
from flambeau.frontend.emit.numpy.array_promotion import dtype_and_rank
from flambeau.frontend.emit.numpy.method_calls import Call, constant_int
from flambeau.ir.graph import Value
from flambeau.schema.dtype import float64
from flambeau.util.errors import CompileError

DECIMALS: Final = "round of integers or bools takes decimals that are written out: x.round(-1)"
COMPLEX: Final = "complex numbers are rounded by their parts: np.round(x.real, 2) + 1j * np.round(x.imag, 2)"


def rounded(c: Call) -> Value:
    """The array with so many decimals. Raises CompileError for complex numbers."""
    dtype, _ = dtype_and_rank(c.array, c.where)
    decimals = c.arguments.get("decimals", c.value(0))
    if dtype.is_floating_point:
        return c.op("round", c.array, decimals=decimals)
    count = constant_int(decimals)
    if count is None or dtype.is_complex:
        raise CompileError(DECIMALS if count is None else COMPLEX, c.where)
    if dtype.name == "bool":
        floats = arrays.asked(c.where, np.round, np.ones(1, np.bool_), count)
        return c.op("round", arrays.converted(c.e, c.array, floats), decimals=count)
    if count >= 0:
        return c.op("clone", c.array)
    power = 10.0**-count
    rounded = c.op("mul", c.op("round", c.op("div", arrays.converted(c.e, c.array, float64), power)), power)
    return arrays.converted(c.e, rounded, dtype)
