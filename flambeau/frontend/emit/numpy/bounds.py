"""Ints of Python as bounds of arrays of integers, which may not hold them.

np.clip(x, -1, 300)    of uint8s    →    %x: neither binds one
np.clip(x, n, 300)     of uint8s    →    clamp(%x, python::within_uint8(prim::max(%n, 0)), None)
"""

from __future__ import annotations

import numpy as np

from flambeau.frontend.emit.numpy.array_promotion import DtypeError
from flambeau.frontend.emit.numpy.method_calls import constant_int
from flambeau.frontend.emit.schema_matching import call_operator
from flambeau.frontend.emit.values.sugared import Emitter
from flambeau.ir.graph import Value
from flambeau.ops.language.element_scalars import OUT_OF_BOUNDS
from flambeau.schema.dtype import DType, bool_, int64
from flambeau.schema.element_type import PYTHON, kinds_of
from flambeau.schema.types import INT
from flambeau.util.source import SourceRange


def bound(e: Emitter, where: SourceRange, value: Value, dtype: DType, extreme: str) -> Value:
    """A lower bound, of which and the least there is the `max` binds, or an upper one (`min`): one beyond all elements
    binds nothing, and is None.

    Raises CompileError for one beyond the other end, which is refused by the run where only that tells it.
    """
    is_int = value.static_type == INT and kinds_of(value.static_type) == PYTHON
    if not is_int or not dtype.is_integral or dtype in (bool_, int64):
        return value
    info = np.iinfo(dtype.numpy)
    least, most = int(info.min), min(int(info.max), (1 << 63) - 1)
    end = least if extreme == "max" else most
    number = constant_int(value)
    if number is None:
        nearest = call_operator(e, where, f"prim::{extreme}", [value, e.constant(end)])
        return call_operator(e, where, f"python::within_{dtype.name}", [nearest])
    if number == end or (number < least if extreme == "max" else number > most):
        return e.constant(None)
    if not least <= number <= most:
        raise DtypeError("NumPy: " + OUT_OF_BOUNDS.format(value=number, name=dtype.name), where)
    return value
