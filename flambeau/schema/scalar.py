"""The Scalar protocol: what one element of a pointwise operator may do.

An operator writes its meaning once, against this protocol, `lambda s, x, y: s.add(x, s.mul(y, y))`, and each way to run
it brings an implementation: NumPy arrays for eager calls, the recorder that builds loop nests for native code. A value
is opaque to the operator; it has a dtype, given by `s.dtype_of`. The operands of a call have one dtype (the family
promotes before), except the condition of `select` and the count of a shift.

Integer arithmetic wraps; `floordiv` and `remainder` follow Python's signs and report a zero divisor; a shift by a
negative count or by at least the width is defined as in PyTorch; `minimum`/`maximum` propagate nan; `round` is half to
even.
"""

from __future__ import annotations

from typing import Any, Protocol, TypeVar

from flambeau.schema.dtype import DType

V = TypeVar("V")

UNARY_FLOAT = (
    "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sqrt", "rsqrt", "sin", "cos", "tan", "asin", "acos",
    "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "erf", "erfc", "erfinv", "sigmoid", "lgamma", "digamma",
)  # fmt: skip
"""One float in, the same float out."""
UNARY_ANY = ("neg", "abs", "sign", "floor", "ceil", "trunc", "round", "bitnot", "reciprocal")
"""One number in, the same dtype out."""
BINARY = (
    "add", "sub", "mul", "div", "floordiv", "truncdiv", "remainder", "fmod", "pow", "minimum", "maximum", "atan2",
    "copysign", "hypot", "nextafter", "bitand", "bitor", "bitxor", "shl", "shr",
)  # fmt: skip
"""Two numbers of one dtype in, the same dtype out."""
COMPARE = ("eq", "ne", "lt", "le", "gt", "ge")
"""Two numbers of one dtype in, bool out."""
LOGICAL = ("logical_and", "logical_or", "logical_xor", "logical_not")
"""Bools in, bool out (`logical_not` takes one)."""
EXACT_INTEGER = ("gcd",)
"""Two integers of one dtype in, the same dtype out."""
COMPLEX = ("real", "imag", "conj", "angle", "complex", "polar")
"""Between complex numbers and their parts: `real`, `imag`, `angle` and the `abs` of a complex number give its real
dtype.
"""
PREDICATES = ("isnan", "isinf", "isfinite", "signbit")
"""One number in, bool out."""


class Scalar(Protocol[V]):
    """Operations on values `V`. The names in the tuples above are methods; these five differ in shape."""

    def dtype_of(self, x: V) -> DType:
        """The dtype of a value."""
        ...

    def const(self, value: complex, dtype: DType) -> V:
        """A literal, rounded (floats) or wrapped (integers) to `dtype`."""
        ...

    def cast(self, x: V, dtype: DType) -> V:
        """Conversion as `Tensor.to`: floats truncate to integers, nan becomes the smallest integer."""
        ...

    def select(self, condition: V, a: V, b: V) -> V:
        """`a` where the bool `condition` holds, else `b`; both are already computed."""
        ...

    def supports(self, name: str, dtype: DType) -> bool:
        """Whether `name` can be computed on `dtype` here."""
        ...

    def __getattr__(self, name: str) -> Any:
        """Any of the names in this module's tuples, as a method from values to a value."""
        ...
