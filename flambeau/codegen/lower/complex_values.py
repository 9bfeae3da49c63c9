"""Complex values of a region: a complex expression is made of two real ones, or has two as its parts.

An operation on complex numbers becomes operations on their parts, so that loop nests compute in real numbers only, and
load, take apart, put together and store what is complex.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from flambeau.codegen.complex_arithmetic import Pair
from flambeau.codegen.complex_functions import power
from flambeau.codegen.complex_meanings import meaning_of
from flambeau.codegen.kernel.dtypes import COMPLEX, PARTS, WHOLE
from flambeau.codegen.lower.values import Expr, LoweringError, broadcast


def is_complex(x: Any) -> bool:
    """Whether an expression is complex."""
    return isinstance(x, Expr) and x.dtype in COMPLEX


def parts(x: Expr) -> Pair:
    """The real and the imaginary part of a complex expression."""
    if x.op == "complex":
        return Pair(*x.args)
    part = PARTS[x.dtype]
    if x.op == "view":
        return Pair(*[Expr("view", part, (one,), x.dims, x.data) for one in parts(x.args[0])])
    return Pair(*[Expr(name, part, (x,), x.dims) for name in ("real", "imag")])


def whole(re: Expr, im: Expr) -> Expr:
    """The complex number with these parts."""
    return Expr("complex", WHOLE[re.dtype], (re, im), broadcast([re.dims, im.dims]))


def each(x: Expr, function: Callable[[Expr], Expr]) -> Expr:
    """What a function of real values, which is linear, gives for both parts; for a real one itself."""
    return whole(*map(function, parts(x))) if is_complex(x) else function(x)


def apply(s: Any, op: str, *args: Expr) -> Expr:
    """An operation on complex expressions of one dtype, by who records operations on real ones."""
    pairs = [parts(x) for x in args]
    if op == "pow":
        return whole(*power(s, pairs[0], pairs[1], constant_of(args[1])))
    if op == "mul" and (other := _times_one(args)) is not None:
        return other
    meaning = meaning_of(op)
    if meaning is None:
        raise LoweringError(f"{op} of complex numbers has no native code")
    result = meaning(s, *pairs)
    return whole(*result) if isinstance(result, Pair) else cast(Expr, result)


def constant_of(x: Expr) -> complex | None:
    """The number that a complex expression is, if it is a literal."""
    if x.op != "complex" or any(one.op != "const" for one in x.args):
        return None
    re, im = (float(one.data) for one in x.args)  # type: ignore[arg-type]
    return complex(re, im)


def _times_one(args: tuple[Expr, ...]) -> Expr | None:
    """A product with the literal one, as `alpha` is in sums: the other factor."""
    return next((other for one, other in (args, args[::-1]) if constant_of(one) == 1), None)


def select(s: Any, condition: Expr, a: Expr, b: Expr) -> Expr:
    """One of two complex numbers."""
    x, y = parts(a), parts(b)
    return whole(s.select(condition, x.re, y.re), s.select(condition, x.im, y.im))
