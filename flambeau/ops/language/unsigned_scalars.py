"""What scalars of uint64 do otherwise than ints, as which programs keep their 64 bits: those from 2**63 on are below 0.

python::uint64_floordiv(%a, %b)    the quotient of what the bits of %a and %b are without a sign, as its bits

Sums, products, bits and shifts to the left are the same of either.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final

from flambeau.ops.language import int64 as int64s
from flambeau.ops.language.declare import NEVER, ON_ZERO, Kernel, declare
from flambeau.schema.dtype import float64, int64, uint64

_SIZE: Final = 1 << 64
TOO_LARGE: Final = (
    "a np.uint64 of {value} does not fit into an int of 64 bits, as which programs count and index: keep it a "
    "np.uint64, or take what remains of it, x % np.uint64(n)"
)
NEGATIVE: Final = "Python integer {value} out of bounds for uint64"


def value_of(bits: int) -> int:
    """What the bits of an int are without a sign.

    >>> value_of(5), value_of(-1) == 2**64 - 1
    (5, True)
    """
    return bits & (_SIZE - 1)


def bits_of(value: int) -> int:
    """The int with the low 64 bits of a number."""
    low = value & (_SIZE - 1)
    return low - _SIZE if low >> 63 else low


def _binary(function: Callable[[int, int], int]) -> Kernel:
    return lambda a, b: bits_of(function(value_of(a), value_of(b)))


def _divided(signed: Callable[[int, int], int]) -> Kernel:
    """A division without signs, which refuses a divisor of zero as that of ints does."""

    def kernel(a: int, b: int) -> int:
        if b == 0:
            return signed(a, b)
        return bits_of(value_of(a) // value_of(b) if signed is int64s.floordiv else value_of(a) % value_of(b))

    return kernel


def _meaning(name: str) -> Kernel:
    def meaning(s: Any, a: Any, b: Any) -> Any:
        return s.cast(getattr(s, name)(s.cast(a, uint64), s.cast(b, uint64)), int64)

    return meaning


def _shifted(value: int, count: int, *, left: bool) -> int:
    if count >= 64:
        return 0
    return value << count if left else value >> count


def _fitting(message: str) -> tuple[Kernel, Kernel]:
    def kernel(x: int) -> int:
        if x < 0:
            raise OverflowError(message.format(value=value_of(x) if message is TOO_LARGE else x))
        return x

    def meaning(s: Any, x: Any) -> Any:
        zero, one = (s.const(value, int64) for value in (0, 1))
        return s.floordiv(x, s.select(s.lt(x, zero), zero, one))  # by zero: the kernel says what is wrong

    return kernel, meaning


def _from_float(x: float) -> int:
    if x != x or not -(2.0**63) <= x < 2.0**64:
        return -(1 << 63)
    return bits_of(math.trunc(x))


declare(
    "python::uint64_floordiv(int a, int b) -> int",
    _divided(int64s.floordiv), scalar=_meaning("floordiv"), traits=ON_ZERO,
)  # fmt: skip
declare(
    "python::uint64_remainder(int a, int b) -> int",
    _divided(int64s.remainder), scalar=_meaning("remainder"), traits=ON_ZERO,
)  # fmt: skip
for _name, _operator, _is_left in (("lshift", "shl", True), ("rshift", "shr", False)):
    declare(
        f"python::uint64_{_name}(int a, int b) -> int",
        _binary(lambda a, b, _is_left=_is_left: _shifted(a, b, left=_is_left)),  # type: ignore[misc]
        scalar=_meaning(_operator), traits=NEVER,
    )  # fmt: skip
declare(
    "python::uint64_power(int a, int b) -> int",
    _binary(lambda a, b: pow(a, b, _SIZE)), scalar=_meaning("pow"), traits=NEVER,
)  # fmt: skip
declare(
    "python::uint64_less(int a, int b) -> bool", lambda a, b: value_of(a) < value_of(b),
    scalar=lambda s, a, b: s.lt(s.cast(a, uint64), s.cast(b, uint64)), traits=NEVER,
)  # fmt: skip
declare(
    "python::uint64_float(int a) -> float", lambda a: float(value_of(a)),
    scalar=lambda s, a: s.cast(s.cast(a, uint64), float64), traits=NEVER,
)  # fmt: skip
declare(
    "python::as_uint64(float x) -> int", _from_float,
    scalar=lambda s, x: s.cast(s.cast(x, uint64), int64), traits=NEVER,
)  # fmt: skip
for _name, _message in (("uint64_int", TOO_LARGE), ("within_uint64", NEGATIVE)):
    _kernel, _scalar = _fitting(_message)
    declare(f"python::{_name}(int x) -> int", _kernel, scalar=_scalar)
