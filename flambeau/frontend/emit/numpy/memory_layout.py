"""Where an array's elements lie, as NumPy says it: `x.strides`, in bytes, and `x.flags`.

x.strides                      →    (aten::stride(%x, 0) * itemsize, ...)
x.flags.c_contiguous           →    aten::is_contiguous(%x)         x.flags["F_CONTIGUOUS"]    the same of %x turned
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from flambeau.frontend.emit.implicit_conversions import pack_tuple
from flambeau.frontend.emit.numpy.array_promotion import dtype_and_rank
from flambeau.frontend.emit.numpy.method_calls import constant_text
from flambeau.frontend.emit.schema_matching import call_operator
from flambeau.frontend.emit.values.sugared import Emitter, Sugared
from flambeau.ir.graph import Value
from flambeau.util.errors import CompileError
from flambeau.util.record import dataclass
from flambeau.util.source import SourceRange

FLAGS: Final = "x.flags has c_contiguous, f_contiguous, contiguous and forc in programs, and their names in capitals"
_NAMES: Final = {
    "c_contiguous": (False,), "contiguous": (False,), "f_contiguous": (True,), "forc": (False, True),
    "C_CONTIGUOUS": (False,), "CONTIGUOUS": (False,), "F_CONTIGUOUS": (True,), "FORC": (False, True),
    "C": (False,), "F": (True,),
}  # fmt: skip
"""Which orders of axes a flag says that the elements lie in: the array's, or turned around."""


def strides_of(e: Emitter, where: SourceRange, array: Value) -> Value:
    """The distances of neighbours along each axis in bytes, as a tuple."""
    dtype, rank = dtype_and_rank(array, where)
    steps = [call_operator(e, where, "aten::stride", [array, e.constant(axis)]) for axis in range(rank)]
    size = e.constant(dtype.itemsize)
    return pack_tuple(e, [call_operator(e, where, "aten::mul", [step, size]) for step in steps])


@dataclass(slots=True)
class ArrayFlags(Sugared):
    """`x.flags`."""

    wrap: Callable[[Value], Sugared]
    array: Value

    @property
    def kind(self) -> str:
        """The name of this kind of value in error messages."""
        return "flags of an array"

    def attribute(self, e: Emitter, where: SourceRange, name: str) -> Sugared:
        """One of the flags. Raises CompileError for one that programs do not have."""
        if name not in _NAMES or name == name.upper():
            raise CompileError(FLAGS, where)
        return self._flag(e, where, name)

    def item(self, e: Emitter, where: SourceRange, index: Value) -> Sugared:
        """One of the flags by its name in capitals. Raises CompileError for one that programs do not have."""
        name = constant_text(index)
        if name not in _NAMES or name != name.upper():
            raise CompileError(FLAGS, where)
        return self._flag(e, where, name)

    def _flag(self, e: Emitter, where: SourceRange, name: str) -> Sugared:
        orders = []
        for is_turned in _NAMES[name]:
            array = call_operator(e, where, "aten::numpy_T", [self.array]) if is_turned else self.array
            orders.append(call_operator(e, where, "aten::is_contiguous", [array]))
        result = orders[0]
        for order in orders[1:]:
            result = call_operator(e, where, "aten::__or__", [result, order])
        return self.wrap(result)
