"""Functions of complex numbers by CPython's formulas, where everything is finite; the rest is left to Python."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable

from flambeau.codegen.graph.emitted_function import EmittedFunction
from flambeau.codegen.graph.lowering_tables import lowers, lowers_on_complex
from flambeau.codegen.graph.native_values import CannotCompileError
from flambeau.codegen.graph.numbers.complex_numbers import Arithmetic, Pair
from flambeau.codegen.graph.numbers.scalars import Operand
from flambeau.ir.graph import Node

LARGEST_EXPONENT = math.log(sys.float_info.max / 4)
"""What exp and its like are computed for at once; beyond, CPython divides by e first."""
LARGEST = sys.float_info.max / 4
SMALLEST = sys.float_info.min
Formula = Callable[[Arithmetic, Pair], Pair]
FORMULAS: dict[str, tuple[Formula, Callable[[Arithmetic, Pair], Operand]]] = {}
"""By name: the formula, and where it gives the result."""


def _within(a: Arithmetic, x: Operand, bound: float) -> Operand:
    return a.s.le(a.s.abs(x), a.constant(bound))


def _registered(op: str, formula: Formula, usual: Callable[[Arithmetic, Pair], Operand]) -> None:
    """A function that the formula gives where `usual` holds."""

    def lower(fn: EmittedFunction, node: Node) -> None:
        if len(node.operands) != 1:
            raise CannotCompileError(f"{node.op} with several operands")
        a = Arithmetic(fn, node)
        x = a.number(node.operand(0))
        a.give_if(usual(a, x), lambda: formula(a, x))

    lowers_on_complex(op)(lower)
    FORMULAS[op.removeprefix("aten::")] = formula, usual


def _is_moderate(a: Arithmetic, x: Pair) -> Operand:
    return a.all_of(_within(a, x.re, LARGEST_EXPONENT), a.is_finite(x.im))


def _is_moderate_turned(a: Arithmetic, x: Pair) -> Operand:
    return a.all_of(_within(a, x.im, LARGEST_EXPONENT), a.is_finite(x.re))


def _is_normal(a: Arithmetic, x: Pair) -> Operand:
    """Neither too large to be squared in parts, nor subnormal or zero in both."""
    some = a.s.logical_or(a.s.ge(a.s.abs(x.re), a.constant(SMALLEST)), a.s.ge(a.s.abs(x.im), a.constant(SMALLEST)))
    return a.all_of(_within(a, x.re, LARGEST), _within(a, x.im, LARGEST), some)


def _exp(a: Arithmetic, x: Pair) -> Pair:
    s, size = a.s, a.s.exp(x.re)
    return Pair(a, s.mul(size, s.cos(x.im)), s.mul(size, s.sin(x.im)))


def _sinh(a: Arithmetic, x: Pair) -> Pair:
    s = a.s
    return Pair(a, s.mul(s.cos(x.im), s.sinh(x.re)), s.mul(s.sin(x.im), s.cosh(x.re)))


def _cosh(a: Arithmetic, x: Pair) -> Pair:
    s = a.s
    return Pair(a, s.mul(s.cos(x.im), s.cosh(x.re)), s.mul(s.sin(x.im), s.sinh(x.re)))


def _sin(a: Arithmetic, x: Pair) -> Pair:
    turned = _sinh(a, Pair(a, a.s.neg(x.im), x.re))
    return Pair(a, turned.im, a.s.neg(turned.re))


def _cos(a: Arithmetic, x: Pair) -> Pair:
    return _cosh(a, Pair(a, a.s.neg(x.im), x.re))


def _tanh(a: Arithmetic, x: Pair) -> Pair:
    s, one = a.s, a.constant(1.0)
    along, across, narrow = s.tanh(x.re), s.tan(x.im), s.div(one, s.cosh(x.re))
    both = s.mul(along, across)
    below = s.add(one, s.mul(both, both))
    re = s.div(s.mul(along, s.add(one, s.mul(across, across))), below)
    return Pair(a, re, s.mul(s.mul(s.div(across, below), narrow), narrow))


def _tan(a: Arithmetic, x: Pair) -> Pair:
    turned = _tanh(a, Pair(a, a.s.neg(x.im), x.re))
    return Pair(a, turned.im, a.s.neg(turned.re))


def _sqrt(a: Arithmetic, x: Pair) -> Pair:
    s = a.s
    re, im = s.abs(x.re), s.abs(x.im)
    eighth = s.div(re, a.constant(8.0))
    root = s.mul(a.constant(2.0), s.sqrt(s.add(eighth, s.hypot(eighth, s.div(im, a.constant(8.0))))))
    other = s.div(im, s.mul(a.constant(2.0), root))
    is_right = s.ge(x.re, a.constant(0.0))
    return Pair(a, s.select(is_right, root, other), s.copysign(s.select(is_right, other, root), x.im))


def _log(a: Arithmetic, x: Pair) -> Pair:
    s = a.s
    re, im = s.abs(x.re), s.abs(x.im)
    length = s.hypot(re, im)
    is_wide = s.gt(re, im)
    more, less = s.select(is_wide, re, im), s.select(is_wide, im, re)
    one = a.constant(1.0)
    near = s.div(s.log1p(s.add(s.mul(s.sub(more, one), s.add(more, one)), s.mul(less, less))), a.constant(2.0))
    is_near = a.all_of(s.le(a.constant(0.71), length), s.le(length, a.constant(1.73)))
    return Pair(a, s.select(is_near, near, s.log(length)), s.atan2(x.im, x.re))


@lowers("aten::polar", "python::rect")
def _polar(fn: EmittedFunction, node: Node) -> None:
    """`torch.polar` and `cmath.rect`: a length and an angle. They differ where either is not finite."""
    a = Arithmetic(fn, node)
    length, angle = (a.real(fn.values.get(v)) for v in node.operands)
    s = a.s
    usual = a.all_of(a.is_finite(length, angle), s.ne(angle, a.constant(0.0)))
    a.give_if(usual, lambda: Pair(a, s.mul(length, s.cos(angle)), s.mul(length, s.sin(angle))))


_registered("aten::exp", _exp, _is_moderate)
_registered("aten::sinh", _sinh, _is_moderate)
_registered("aten::cosh", _cosh, _is_moderate)
_registered("aten::tanh", _tanh, _is_moderate)
_registered("aten::tan", _tan, _is_moderate_turned)
_registered("aten::sin", _sin, _is_moderate_turned)
_registered("aten::cos", _cos, _is_moderate_turned)
_registered("aten::sqrt", _sqrt, _is_normal)
_registered("aten::log", _log, _is_normal)
