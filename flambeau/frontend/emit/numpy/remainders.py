"""The sign of remainders that are zero: NumPy's is that of the divisor, the operator's that of the dividend.

x % 1.0    →    %r = aten::remainder(%x, 1.0)    aten::add(%r, 0.0): -0.0 becomes 0.0
x % y      →    %s = aten::sign(%y)    ((%r * %s) + 0.0) * %s
"""

from __future__ import annotations

from flambeau.frontend.emit.numpy.array_promotion import constant_number, is_array
from flambeau.frontend.emit.schema_matching import call_operator
from flambeau.frontend.emit.values.sugared import Emitter
from flambeau.ir.graph import Value
from flambeau.schema.types import FLOAT
from flambeau.util.source import SourceRange


def with_sign_of(e: Emitter, where: SourceRange, divisor: Value, remainder: Value) -> Value:
    """The remainder of an array of floats, in which zeros have the sign of the divisor. Its gradient stays that of the
    remainder, which is why nothing here chooses between two values.
    """
    sign = _sign(e, where, divisor)
    turned = remainder if sign is None else call_operator(e, where, "aten::mul", [remainder, sign])
    positive = call_operator(e, where, "aten::add", [turned, e.constant(0.0)])
    return positive if sign is None else call_operator(e, where, "aten::mul", [positive, sign])


def _sign(e: Emitter, where: SourceRange, divisor: Value) -> Value | None:
    """1 or -1 for a divisor, which is not zero or the remainder is nan; None where it is known to be above 0."""
    if is_array(divisor):
        return call_operator(e, where, "aten::sign", [divisor])
    number = constant_number(divisor)
    if isinstance(number, int | float) and number > 0:
        return None
    if divisor.static_type != FLOAT:
        divisor = call_operator(e, where, "aten::Float", [divisor])
    return call_operator(e, where, "aten::copysign", [e.constant(1.0), divisor])
