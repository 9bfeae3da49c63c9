"""`math.gamma` and `math.lgamma` of positive numbers, as Python computes them, to the bit.

    gamma(x)   →   L(x) / exp(y) * y**(x - 1/2),  y = x + g - 1/2,  L by Lanczos, with what y lost to rounding put back
    lgamma(x)  →   log(L(x)) - g + (x - 1/2) (log(y) - 1)

L is a quotient of two polynomials, which are evaluated in 1 / x where x is large. Gamma of a small whole number is a
product. Numbers that are not positive, very small or too large are Python's.

C. Lanczos, A Precision Approximation of the Gamma Function, SIAM J. Numer. Anal. 1, 1964; the numbers are those of
degree 12 with g = 6.02..., for doubles.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from flambeau.codegen.graph.emitted_function import EmittedFunction
from flambeau.codegen.graph.lowering_tables import lowers, lowers_on_numbers
from flambeau.codegen.graph.native_values import CannotCompileError
from flambeau.codegen.graph.numbers.complex_numbers import Arithmetic
from flambeau.codegen.graph.numbers.scalars import Operand
from flambeau.codegen.graph.representation import Float
from flambeau.codegen.llvm.emitter import Value as Register
from flambeau.ir.graph import Node
from flambeau.schema import dtype as dtypes

_G: Final = 6.024680040776729583740234375
_ABOVE: Final = (
    23531376880.41076, 42919803642.6491, 35711959237.35567, 17921034426.03721, 6039542586.352028,
    1439720407.3117216, 248874557.86205417, 31426415.585400194, 2876370.6289353725, 186056.26539522348,
    8071.672002365816, 210.82427775157936, 2.5066282746310002,
)  # fmt: skip
"""The polynomial above the line, from its constant on."""
_BELOW: Final = (
    0.0, 39916800.0, 120543840.0, 150917976.0, 105258076.0, 45995730.0, 13339535.0, 2637558.0, 357423.0, 32670.0,
    1925.0, 66.0, 1.0,
)  # fmt: skip
"""That below it: x (x + 1) (x + 2) ... (x + 11)."""
_LEAST, _LARGE = 1e-20, 5.0
_LAST_PRODUCT, _HALVED, _MOST = 23.0, 140.0, 171.0
"""Up to where gamma of whole numbers is a product, from where its power is two halves, and up to where it is computed
here."""


@lowers("aten::gamma")
def _gamma(fn: EmittedFunction, node: Node) -> None:
    a, x = _argument(fn, node)
    s = a.s
    usual = a.all_of(s.ge(x, a.constant(_LEAST)), s.le(x, a.constant(_MOST)))

    def compute() -> Operand:
        is_product = a.all_of(s.eq(x, s.floor(x)), s.le(x, a.constant(_LAST_PRODUCT)))
        return _one_of(a, is_product, lambda: _product(a, x), lambda: _by_lanczos(a, x))

    a.give_if(usual, compute, Float())


@lowers_on_numbers("aten::lgamma")
def _log_gamma(fn: EmittedFunction, node: Node) -> None:
    a, x = _argument(fn, node)
    s = a.s
    usual = a.all_of(s.ge(x, a.constant(_LEAST)), s.lt(x, a.constant(float("inf"))))

    def compute() -> Operand:
        result = s.sub(s.log(_lanczos_sum(a, x)), a.constant(_G))
        below = s.sub(s.log(s.sub(s.add(x, a.constant(_G)), a.constant(0.5))), a.constant(1.0))
        result = s.add(result, s.mul(s.sub(x, a.constant(0.5)), below))
        zero = a.constant(0.0)
        return s.select(s.eq(x, a.constant(1.0)), zero, s.select(s.eq(x, a.constant(2.0)), zero, result))

    a.give_if(usual, compute, Float())


def _argument(fn: EmittedFunction, node: Node) -> tuple[Arithmetic, Operand]:
    if fn.e.lanes > 1:
        raise CannotCompileError("it has no instruction for several lanes")
    a = Arithmetic(fn, node)
    return a, a.real(fn.values.get(node.operand(0)))


def _by_lanczos(a: Arithmetic, x: Operand) -> Operand:
    """The function where it is no product."""
    s, half = a.s, a.constant(0.5)
    offset = a.constant(_G - 0.5)
    y = s.add(x, offset)
    is_longer = s.gt(x, offset)
    longer, shorter = s.select(is_longer, x, offset), s.select(is_longer, offset, x)
    lost = s.sub(s.sub(y, longer), shorter)
    lost = s.div(s.mul(lost, a.constant(_G)), y)
    result = s.div(_lanczos_sum(a, x), s.exp(y))
    result = s.add(result, s.mul(lost, result))
    is_one_power = s.lt(x, a.constant(_HALVED))
    exponent = s.select(is_one_power, s.sub(x, half), s.sub(s.div(x, a.constant(2.0)), a.constant(0.25)))
    power = s.pow(y, exponent)
    result = s.mul(result, power)
    return s.select(is_one_power, result, s.mul(result, power))


def _lanczos_sum(a: Arithmetic, x: Operand) -> Operand:
    """The quotient of the polynomials."""
    s = a.s

    def from_highest() -> Operand:
        above = below = a.constant(0.0)
        for over, under in zip(reversed(_ABOVE), reversed(_BELOW), strict=True):
            above = s.add(s.mul(above, x), a.constant(over))
            below = s.add(s.mul(below, x), a.constant(under))
        return s.div(above, below)

    def from_lowest() -> Operand:
        above = below = a.constant(0.0)
        for over, under in zip(_ABOVE, _BELOW, strict=True):
            above = s.add(s.div(above, x), a.constant(over))
            below = s.add(s.div(below, x), a.constant(under))
        return s.div(above, below)

    return _one_of(a, s.lt(x, a.constant(_LARGE)), from_highest, from_lowest)


def _product(a: Arithmetic, x: Operand) -> Operand:
    """1 * 2 * ... * (x - 1), each product a double."""
    e = a.fn.e
    head, step, done, before = (e.label(stem) for stem in ("product", "factor", "done", "before"))
    e.branch(before)
    e.start(before)
    e.branch(head)
    e.start(head)
    factor, product, following, larger = (Register(e.name(stem), "double", 1) for stem in ("k", "product", "next", "p"))
    one = a.constant(1.0).register
    e.phi(factor.text, one, [(one, before), (following, step)])
    e.phi(product.text, one, [(one, before), (larger, step)])
    e.branch_if(e.fcmp("olt", factor, x.register), step, done)
    e.start(step)
    e.raw(f"{larger} = fmul double {product}, {factor}")
    e.raw(f"{following} = fadd double {factor}, {one}")
    e.branch(head)
    e.start(done)
    return Operand(product, dtypes.float64)


def _one_of(a: Arithmetic, condition: Operand, yes: Callable[[], Operand], no: Callable[[], Operand]) -> Operand:
    """What one of two ways computes, by a condition; the other does not run."""
    e = a.fn.e
    labels = e.label("yes"), e.label("no")
    after = e.label("after")
    e.branch_if(condition.register, *labels)
    results: list[tuple[Register, str]] = []
    for label, compute in zip(labels, (yes, no), strict=True):
        e.start(label)
        results.append((compute().register, e.block))
        e.branch(after)
    e.start(after)
    joined = Register(e.name("joined"), "double", 1)
    e.phi(joined.text, joined, results)
    return Operand(joined, dtypes.float64)
