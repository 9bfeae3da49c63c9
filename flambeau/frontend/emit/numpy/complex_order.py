"""The order of complex numbers in arrays: NumPy's, by real parts, and by imaginary ones where those are equal.

x > y    →    (x.real > y.real and no imaginary part is nan) or (x.real == y.real and x.imag > y.imag)
"""

from __future__ import annotations

from flambeau.frontend.emit.numpy.array_promotion import is_array
from flambeau.frontend.emit.numpy.exact_comparisons import SWAPPED, Compare
from flambeau.frontend.emit.schema_matching import call_operator
from flambeau.frontend.emit.values.sugared import Emitter
from flambeau.ir.graph import Value
from flambeau.schema.array_type import array_of
from flambeau.schema.dtype import complex128
from flambeau.schema.types import COMPLEX, TensorType
from flambeau.util.source import SourceRange


def is_complex(value: Value) -> bool:
    """Whether a value is a complex number, or an array of some."""
    type_ = value.static_type
    return type_.dtype is not None and type_.dtype.is_complex if isinstance(type_, TensorType) else type_ == COMPLEX


def complex_comparison(e: Emitter, where: SourceRange, op: str, left: Value, right: Value, compare: Compare) -> Value:
    """`left op right` for one of `<`, `<=`, `>` and `>=`, of operands of which one is an array, one complex."""
    if not is_array(left):
        return complex_comparison(e, where, SWAPPED[op], right, left, compare)
    (first, second), (third, fourth) = _parts(e, where, left), _parts(e, where, right)
    decides = compare(op.rstrip("="), first, third)
    for part in filter(is_array, (second, fourth)):
        decides = call_operator(e, where, "aten::logical_and", [decides, compare("==", part, part)])
    is_next = call_operator(e, where, "aten::logical_and", [compare("==", first, third), compare(op, second, fourth)])
    return call_operator(e, where, "aten::logical_or", [decides, is_next])


def _parts(e: Emitter, where: SourceRange, value: Value) -> tuple[Value, Value]:
    """The real and the imaginary part; that of a real number, or of an array of some, is 0."""
    if not is_complex(value):
        return value, e.constant(0.0)
    if not is_array(value):
        options = map(e.constant, (complex128.code, None, None, None))
        value = e.emit("aten::scalar_tensor", (value, *options), array_of(complex128, 0))
    return call_operator(e, where, "aten::real", [value]), call_operator(e, where, "aten::imag", [value])
