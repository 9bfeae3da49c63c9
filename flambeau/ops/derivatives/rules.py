"""The derivatives of the operations of the Scalar protocol: how a gradient goes back through each.

A rule gets the recorder, the gradient `g` of the result `y`, and the operands; it gives a gradient per operand, None
for none. Gradients of complex numbers follow PyTorch's convention: with L real and x = a + ib, the gradient of x is
dL/da + i dL/db, so that through a holomorphic function it is multiplied by the conjugate of its derivative.

At points without a derivative the choices are those of PyTorch: 0 for `abs` at 0, half to each side where `maximum` and
`minimum` meet.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

from flambeau.ops.derivatives.terms import Recorder, Term
from flambeau.schema import scalar

Gradients = tuple[Term | None, ...]
Rule = Callable[..., Gradients]

_TWO_OVER_ROOT_PI: Final = 2.0 / math.sqrt(math.pi)


def _holomorphic(derivative: Callable[..., Term]) -> Rule:
    """The rule of a function of one number whose derivative is `derivative(s, x, y)`."""
    return lambda s, g, y, x: (s.mul(g, s.conj(derivative(s, x, y))),)


def _over(divisor: Callable[..., Term]) -> Rule:
    """The same where the derivative is one over something."""
    return lambda s, g, y, x: (s.div(g, s.conj(divisor(s, x, y))),)


def _one_minus_square(s: Recorder, x: Term) -> Term:
    return s.sub(s.const(1), s.mul(x, x))


def _square_plus_one(s: Recorder, x: Term) -> Term:
    return s.add(s.mul(x, x), s.const(1))


def _acosh(s: Recorder, x: Term, y: Term) -> Term:
    one = s.const(1)
    if x.is_complex:
        return s.mul(s.rsqrt(s.add(x, one)), s.rsqrt(s.sub(x, one)))
    return s.rsqrt(s.sub(s.mul(x, x), one))


def _bell(s: Recorder, x: Term, factor: float) -> Term:
    return s.mul(s.const(factor), s.exp(s.neg(s.mul(x, x))))


def _erfinv(s: Recorder, x: Term, y: Term) -> Term:
    return s.mul(s.const(math.sqrt(math.pi) / 2), s.exp(s.mul(y, y)))


def _pow(s: Recorder, g: Term, y: Term, x: Term, exponent: Term) -> Gradients:
    zero, one = s.const(0), s.const(1)
    if exponent.name == "constant":
        lower = s.const(exponent.value - 1)
        by_base = s.mul(g, s.conj(s.mul(exponent, s.pow(x, lower)))) if exponent.value else None
    else:
        slope = s.mul(exponent, s.pow(x, s.sub(exponent, one)))
        by_base = s.select(s.eq(exponent, zero), zero, s.mul(g, s.conj(slope)))
    is_flat = s.eq(x, zero) if exponent.is_complex else s.logical_and(s.eq(x, zero), s.ge(exponent, zero))
    by_exponent = s.select(is_flat, zero, s.mul(g, s.conj(s.mul(y, s.log(x)))))
    return by_base, by_exponent


def _extreme(nearer: str) -> Rule:
    def rule(s: Recorder, g: Term, y: Term, a: Term, b: Term) -> Gradients:
        half, zero = s.mul(g, s.const(0.5)), s.const(0)
        if b.is_number:  # a bound: what reaches it passes
            return s.select(s.apply(nearer, b, a), zero, g), None
        shared = s.select(s.eq(a, b), half, g)
        return (
            s.select(s.apply(nearer, b, a), zero, shared),
            s.select(s.apply(nearer, a, b), zero, shared),
        )

    return rule


def _atan2(s: Recorder, g: Term, y: Term, a: Term, b: Term) -> Gradients:
    size = s.add(s.mul(a, a), s.mul(b, b))
    part = s.select(s.eq(size, s.const(0)), s.const(0), s.div(g, size))
    return s.mul(part, b), s.neg(s.mul(part, a))


def _hypot(s: Recorder, g: Term, y: Term, a: Term, b: Term) -> Gradients:
    return s.mul(g, s.div(a, y)), s.mul(g, s.div(b, y))


def _copysign(s: Recorder, g: Term, y: Term, a: Term, b: Term) -> Gradients:
    return s.select(s.eq(a, s.const(0)), s.const(0), s.mul(g, s.div(y, a))), None


def _sign(s: Recorder, g: Term, y: Term, x: Term) -> Gradients:
    if not x.is_complex:
        return (None,)
    along = s.mul(s.real(s.mul(s.conj(y), g)), y)
    turned = s.div(s.sub(g, along), s.abs(x))
    return (s.select(s.eq(x, s.const(0)), s.const(0), turned),)


def _angle(s: Recorder, g: Term, y: Term, x: Term) -> Gradients:
    if not x.is_complex:
        return (None,)
    a, b = s.real(x), s.imag(x)
    size = s.add(s.mul(a, a), s.mul(b, b))
    part = s.select(s.eq(size, s.const(0)), s.const(0), s.div(g, size))
    return (s.complex(s.neg(s.mul(part, b)), s.mul(part, a)),)


def _polar(s: Recorder, g: Term, y: Term, size: Term, angle: Term) -> Gradients:
    real = s.real(s.mul(s.conj(g), s.complex(s.cos(angle), s.sin(angle))))
    turned = s.mul(s.conj(g), s.complex(s.neg(s.imag(y)), s.real(y)))
    return real, s.real(turned)


def _remainder(quotient: str) -> Rule:
    return lambda s, g, y, a, b: (g, s.neg(s.mul(g, s.apply(quotient, a, b))))


_FLAT: Final = ("floor", "ceil", "trunc", "round", "floordiv", "truncdiv", "bitnot", "gcd")
RULES: Final[dict[str, Rule]] = {
    **dict.fromkeys(
        (*_FLAT, *scalar.COMPARE, *scalar.LOGICAL, *scalar.PREDICATES), lambda s, g, y, *xs: (None,) * len(xs)
    ),
    "exp": _holomorphic(lambda s, x, y: y),
    "exp2": _holomorphic(lambda s, x, y: s.mul(y, s.const(math.log(2)))),
    "expm1": _holomorphic(lambda s, x, y: s.add(y, s.const(1))),
    "log": _over(lambda s, x, y: x),
    "log2": _over(lambda s, x, y: s.mul(x, s.const(math.log(2)))),
    "log10": _over(lambda s, x, y: s.mul(x, s.const(math.log(10)))),
    "log1p": _over(lambda s, x, y: s.add(x, s.const(1))),
    "sqrt": _over(lambda s, x, y: s.mul(s.const(2), y)),
    "rsqrt": _holomorphic(lambda s, x, y: s.mul(s.const(-0.5), s.mul(y, s.mul(y, y)))),
    "sin": _holomorphic(lambda s, x, y: s.cos(x)),
    "cos": _holomorphic(lambda s, x, y: s.neg(s.sin(x))),
    "tan": _holomorphic(lambda s, x, y: _square_plus_one(s, y)),
    "asin": _holomorphic(lambda s, x, y: s.rsqrt(_one_minus_square(s, x))),
    "acos": _holomorphic(lambda s, x, y: s.neg(s.rsqrt(_one_minus_square(s, x)))),
    "atan": _over(lambda s, x, y: _square_plus_one(s, x)),
    "sinh": _holomorphic(lambda s, x, y: s.cosh(x)),
    "cosh": _holomorphic(lambda s, x, y: s.sinh(x)),
    "tanh": _holomorphic(lambda s, x, y: _one_minus_square(s, y)),
    "asinh": _holomorphic(lambda s, x, y: s.rsqrt(_square_plus_one(s, x))),
    "acosh": _holomorphic(_acosh),
    "atanh": _over(lambda s, x, y: _one_minus_square(s, x)),
    "erf": _holomorphic(lambda s, x, y: _bell(s, x, _TWO_OVER_ROOT_PI)),
    "erfc": _holomorphic(lambda s, x, y: _bell(s, x, -_TWO_OVER_ROOT_PI)),
    "erfinv": _holomorphic(_erfinv),
    "sigmoid": _holomorphic(lambda s, x, y: s.mul(s.sub(s.const(1), y), y)),
    "lgamma": _holomorphic(lambda s, x, y: s.digamma(x)),
    "digamma": _holomorphic(lambda s, x, y: s.trigamma(x)),
    "reciprocal": _holomorphic(lambda s, x, y: s.neg(s.mul(y, y))),
    "neg": lambda s, g, y, x: (s.neg(g),),
    "abs": lambda s, g, y, x: (s.mul(g, s.sign(x)),),
    "sign": _sign,
    "add": lambda s, g, y, a, b: (g, g),
    "sub": lambda s, g, y, a, b: (g, s.neg(g)),
    "mul": lambda s, g, y, a, b: (s.mul(g, s.conj(b)), s.mul(g, s.conj(a))),
    "div": lambda s, g, y, a, b: (s.div(g, s.conj(b)), s.neg(s.mul(g, s.conj(s.div(y, b))))),
    "remainder": _remainder("floordiv"),
    "fmod": _remainder("truncdiv"),
    "pow": _pow,
    "maximum": _extreme("gt"),
    "minimum": _extreme("lt"),
    "atan2": _atan2,
    "hypot": _hypot,
    "copysign": _copysign,
    "nextafter": lambda s, g, y, a, b: (s.select(s.eq(a, b), s.const(0), g), None),
    "real": lambda s, g, y, x: (g,),
    "imag": lambda s, g, y, x: (s.complex(s.const(0), g),),
    "conj": lambda s, g, y, x: (s.conj(g),),
    "angle": _angle,
    "complex": lambda s, g, y, a, b: (s.real(g), s.imag(g)),
    "polar": _polar,
}
"""A rule per operation; those that are missing have no derivative: bits and shifts."""


class NotDifferentiableError(Exception):
    """A meaning uses an operation without a derivative."""


def backward(s: Recorder, result: Term, gradient: Term, wanted: Term) -> Term | None:
    """The gradient of `wanted` when that of `result` is `gradient`; None if none flows.

    Raises NotDifferentiableError for an operation without a rule.

    Through `select(c, a, b)` goes `select(c, the gradient through a, the gradient through b)`: what overflows on the
    side that is not taken does not turn zeros into nan.
    """
    gradients: dict[Term, Term] = {result: gradient}
    leading = _leading_to(result, wanted)

    def add(operand: Term, part: Term | None) -> None:
        if part is not None and operand in leading:
            part = s.real(part) if part.is_complex and not operand.is_complex else part
            before = gradients.get(operand)
            gradients[operand] = part if before is None else s.add(before, part)

    for term in sorted(leading, key=lambda t: t.order, reverse=True):
        flowing = gradients.get(term)
        if flowing is None or term is wanted:
            continue
        if term.name == "select":
            add(wanted, _through_select(s, term, flowing, wanted))
            continue
        rule = RULES.get(term.name)
        if rule is None:
            raise NotDifferentiableError(term.name)
        for operand, part in zip(term.operands, rule(s, flowing, term, *term.operands), strict=True):
            add(operand, part)
    return gradients.get(wanted)


def _through_select(s: Recorder, term: Term, gradient: Term, wanted: Term) -> Term | None:
    """What flows to `wanted` through the sides of a `select`, of which only the one that was taken counts."""
    condition, *sides = term.operands
    through = [backward(s, side, gradient, wanted) for side in sides]
    if through == [None, None]:
        return None
    taken, other = [s.const(0) if part is None else part for part in through]
    return s.select(condition, taken, other)


def _leading_to(result: Term, wanted: Term) -> set[Term]:
    """The terms between `wanted` and `result`, both included; empty if `result` does not use it."""
    uses: dict[Term, bool] = {}

    def look(term: Term) -> bool:
        known = uses.get(term)
        if known is None:
            known = uses[term] = term is wanted or any(list(map(look, term.operands)))
        return known

    look(result)
    return {term for term, is_on_way in uses.items() if is_on_way}
