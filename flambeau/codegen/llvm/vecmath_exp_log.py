"""Exponentials and logarithms as branch-free polynomials, for scalars and vectors of float32 and float64.

exp: ``x = n ln2 + r`` with ``n`` from a magic-number addition, ``exp r`` by a polynomial, then an exact scaling by 2^n.
tanh: ``expm1(2|x|) / (expm1(2|x|) + 2)``. log: the exponent is split off at sqrt(1/2). Coefficients are minimax fits.

Vectors whose lanes are all far from overflow, subnormals and nan, as nearly all are, take the shorter way (`usually`):
there 2^n is added to the exponent and no edge is looked for. Both ways give a lane the same bits, whatever its
neighbours are.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from flambeau.codegen.llvm.emitter import Emitter, Value

LN2 = math.log(2.0)
LN2_PARTS = {"float": (0.693359375, -2.12194440054690581e-4), "double": (0.6931471803691238, 1.9082149292705877e-10)}
MAGIC = {"float": 12582912.0, "double": 6755399441055744.0}
EXP_Q = {
    "float": [0.5, 0.166665181517601, 0.04166620597243309, 0.008368917740881443, 0.001395053812302649],
    "double": [
        0.5000000000000014, 0.16666666666666646, 0.041666666666505925, 0.008333333333336974, 0.0013888888949050208,
        0.00019841269858539932, 2.4801488127490354e-05, 2.7557265287084467e-06, 2.763185651475543e-07,
        2.5103212534423376e-08,
    ],
}  # fmt: skip
"""q in ``exp r = 1 + r + r^2 q(r)`` on |r| <= ln2 / 2."""
LOG_P = [
    0.3333331048488617, -0.24999986588954926, 0.20002226531505585, -0.16669251024723053, 0.14218658208847046,
    -0.1238434836268425, 0.11872976273298264, -0.11789807677268982, 0.06915368139743805,
]  # fmt: skip
"""p in ``log(1 + f) = f - f^2/2 + f^3 p(f)``, float32."""
LOG_R = [
    0.6666666666666737, 0.39999999999391544, 0.28571428748428324, 0.22222197882148068, 0.18183603185882063,
    0.15312994088083046, 0.14807053288608812,
]  # fmt: skip
"""R in ``log(1 + f) = 2s + s z R(z)``, ``s = f / (2 + f)``, ``z = s^2``, float64."""
EXPONENT = {"float": (127, 23), "double": (1023, 52)}


def exponent_bits(e: Emitter, t: Value) -> Value:
    """Bits of 2^n relative to 1.0, from a float ``t`` = magic + n."""
    return e.binary("shl", e.as_bits(t), e.bits_like(t, EXPONENT[t.type][1]))


def _scalef(e: Emitter, p: Value, n: Value) -> Value:
    lanes = 512 // p.bits
    suffix = "s" if p.bits == 32 else "d"
    name, vt = f"@llvm.x86.avx512.mask.scalef.p{suffix}.512", f"<{lanes} x {p.type}>"
    e.declare(f"declare {vt} {name}({vt}, {vt}, {vt}, i{lanes}, i32)")
    parts = []
    for first in range(0, p.lanes, lanes):
        a = p if p.lanes == lanes else e.part(p, first, lanes)
        b = n if n.lanes == lanes else e.part(n, first, lanes)
        text = f"call {vt} {name}({vt} {a}, {vt} {b}, {vt} zeroinitializer, i{lanes} -1, i32 4)"
        parts.append(e.define(text, p.type, lanes))
    return e.joined(parts)


def scale(e: Emitter, p: Value, n: Value) -> Value:
    """``p * 2^n`` for an integral float ``n`` with |n| < 2000: exact, or rounded once where it is subnormal."""
    if e.target.has_scalef and p.lanes % (512 // p.bits) == 0:
        return _scalef(e, p, n)
    bias, shift = EXPONENT[p.type]
    i = e.convert("fptosi", n, "i32" if p.type == "float" else "i64")
    half = e.binary("ashr", i, e.like(i, 1))
    rest = e.binary("sub", i, half)
    powers = [
        e.as_float(e.binary("shl", e.binary("add", part, e.like(i, bias)), e.like(i, shift))) for part in (half, rest)
    ]
    return e.fmul(e.fmul(p, powers[0]), powers[1])


def scale_normal(e: Emitter, p: Value, t: Value) -> Value:
    """``p * 2^n`` for ``t`` = magic + n, where p and the result are normal numbers."""
    return e.as_float(e.binary("add", e.as_bits(p), exponent_bits(e, t)))


def usually(e: Emitter, rare: Value, usual: Value, otherwise: Callable[[], Value]) -> Value:
    """``usual``, or where any lane is rare ``otherwise`` for all lanes, which is computed then only."""
    seldom, after, before = e.label("seldom"), e.label("after"), e.block
    e.branch_if(e.any_lane(rare), seldom, after)
    e.start(seldom)
    other = otherwise()
    end = e.block
    e.branch(after)
    e.start(after)
    result = e.name()
    e.phi(result, usual, [(usual, before), (other, end)])
    return Value(result, usual.type, usual.lanes)


def reduce_exp(e: Emitter, x: Value, factor: float = 1.0) -> tuple[Value, Value, Value]:
    """(t, n, r) with ``x * factor = n ln2 + r * factor``."""
    high, low = LN2_PARTS[x.type]
    t = e.fma(x, e.like(x, factor / LN2), e.like(x, MAGIC[x.type]))
    n = e.fsub(t, e.like(x, MAGIC[x.type]))
    r = e.fma(n, e.like(x, -high / factor), x)
    return t, n, e.fma(n, e.like(x, -low / factor), r)


EXP_NORMAL = {"float": 87.0, "double": 708.0}
"""Up to this size of x, exp x is a normal number."""
EXP2_NORMAL = {"float": 125.0, "double": 1021.0}


def exp(e: Emitter, x: Value) -> Value:
    def everywhere() -> Value:
        low, high = (-104.0, 89.0) if x.type == "float" else (-746.0, 710.0)
        bounded = e.least(e.like(x, high), e.most(e.like(x, low), x))
        _, n, r = reduce_exp(e, bounded)
        return scale(e, e.polynomial(r, [1.0, 1.0, *EXP_Q[x.type]]), n)

    if x.lanes == 1 or e.target.has_scalef:
        return everywhere()
    t, _, r = reduce_exp(e, x)
    usual = scale_normal(e, e.polynomial(r, [1.0, 1.0, *EXP_Q[x.type]]), t)
    return usually(e, e.fcmp("ugt", e.fabs(x), e.like(x, EXP_NORMAL[x.type])), usual, everywhere)


def exp2(e: Emitter, x: Value) -> Value:
    def everywhere() -> Value:
        low, high = (-150.0, 129.0) if x.type == "float" else (-1076.0, 1025.0)
        bounded = e.least(e.like(x, high), e.most(e.like(x, low), x))
        n = e.intrinsic("rint", bounded)
        return scale(e, exp2_fraction(e, e.fsub(bounded, n)), n)

    if x.lanes == 1 or e.target.has_scalef:
        return everywhere()
    magic = e.like(x, MAGIC[x.type])
    t = e.fadd(x, magic)
    usual = scale_normal(e, exp2_fraction(e, e.fsub(x, e.fsub(t, magic))), t)
    return usually(e, e.fcmp("ugt", e.fabs(x), e.like(x, EXP2_NORMAL[x.type])), usual, everywhere)


def exp2_fraction(e: Emitter, f: Value, rest: Value | None = None) -> Value:
    """2^(f + rest) for |f| <= 1/2 and a rest, of doubles, that is next to nothing."""
    high_part = e.fmul(f, e.like(f, LN2))
    low_part = e.fma(f, e.like(f, LN2), e.fneg(high_part))
    if f.type == "double":
        low_part = e.fma(f, e.like(f, 2.3190468138462996e-17), low_part)
    if rest is not None:
        low_part = e.fma(rest, e.like(f, LN2), low_part)
    p, one = e.polynomial(high_part, [1.0, *EXP_Q[f.type]]), e.like(f, 1.0)
    if f.type == "float":
        return e.fma(high_part, p, one)
    by_low = e.fma(low_part, e.fmul(high_part, p), low_part)
    return e.fadd(e.fma(high_part, p, by_low), one)


def expm1(e: Emitter, x: Value) -> Value:
    low, high = (-25.0, 89.0) if x.type == "float" else (-50.0, 710.0)
    clamped = e.least(e.like(x, high), e.most(e.like(x, low), x))
    t, _, r = reduce_exp(e, clamped)
    q = e.polynomial(r, EXP_Q[x.type])
    p = e.fma(e.fmul(r, r), q, r)
    # 2^n p + (2^n - 1), with one factor of two held back: 2^n itself overflows where the result does not.
    half = scale_normal(e, e.like(x, 0.5), t)
    y = e.fma(half, p, e.fsub(half, e.like(x, 0.5)))
    tiny = e.fcmp("olt", e.fabs(x), e.like(x, 1e-30))
    return e.select(tiny, x, e.fadd(y, y))


def sigmoid(e: Emitter, x: Value) -> Value:
    y = exp(e, e.fneg(e.fabs(x)))
    numerator = e.select(e.fcmp("oge", x, e.like(x, 0.0)), e.like(x, 1.0), y)
    return e.fdiv(numerator, e.fadd(y, e.like(x, 1.0)))


def tanh(e: Emitter, x: Value) -> Value:
    m = e.least(e.like(x, 9.1 if x.type == "float" else 19.1), e.fabs(x))
    t, _, r = reduce_exp(e, m, 2.0)
    q = e.polynomial(r, [c * 2.0 ** (k + 1) for k, c in enumerate(EXP_Q[x.type])])
    p = e.fma(e.fmul(r, r), q, r)
    one = e.bits_like(x, 0x3F800000 if x.type == "float" else 0x3FF0000000000000)
    power = e.as_float(e.binary("add", exponent_bits(e, t), one))
    half = e.fsub(e.fmul(power, e.like(x, 0.5)), e.like(x, 0.5))
    y = e.fma(power, p, half)
    return e.intrinsic("copysign", e.fdiv(y, e.fadd(y, e.like(x, 1.0))), x)


def split_exponent(e: Emitter, x: Value) -> tuple[Value, Value]:
    """(k, f) with ``x = 2^k (1 + f)``, 1 + f in [sqrt(1/2), sqrt(2)), for positive finite ``x``."""
    wide = x.type == "double"
    tiny, factor, shift = (2.2250738585072014e-308, 2.0**54, 54) if wide else (1.17549435e-38, 2.0**24, 24)
    subnormal = e.fcmp("olt", x, e.like(x, tiny))
    scaled = e.select(subnormal, e.fmul(x, e.like(x, factor)), x)
    n, f = _split_normal(e, scaled)
    k = e.convert("sitofp", n, x.type)
    return e.fsub(k, e.select(subnormal, e.like(x, float(shift)), e.like(x, 0.0))), f


def _split_normal(e: Emitter, x: Value) -> tuple[Value, Value]:
    """(n, f) with ``x = 2^n (1 + f)``, for a positive normal ``x``; n is an integer."""
    offset, mask = (0x3FE6A09E667F3BCD, 0xFFFFFFFFFFFFF) if x.type == "double" else (0x3F3504F3, 0x7FFFFF)
    i = e.binary("sub", e.as_bits(x), e.bits_like(x, offset))
    n = e.binary("ashr", i, e.like(i, EXPONENT[x.type][1]))
    m = e.as_float(e.binary("add", e.binary("and", i, e.like(i, mask)), e.like(i, offset)))
    return n, e.fsub(m, e.like(x, 1.0))


def _is_not_normal(e: Emitter, x: Value) -> Value:
    """Whether a lane is no positive normal number below the last power of two: one addition and one comparison."""
    bias, shift = EXPONENT[x.type]
    bits = e.as_bits(x)
    least, past, sign = 1 << shift, (2 * bias) << shift, 1 << (x.bits - 1)
    moved = e.binary("add", bits, e.like(bits, (sign - least)))
    return e.icmp("sge", moved, e.like(bits, past - least - sign))


Finish = Callable[[Value, Value], Value]
"""Gives the logarithm from k and f."""


def _logarithm(e: Emitter, u: Value, finish: Finish) -> Value:
    """What ``finish`` makes of a number's exponent and fraction, and what is due to 0, infinities, nan, and below 0."""

    def everywhere() -> Value:
        return _log_edges(e, u, finish(*split_exponent(e, u)))

    if u.lanes == 1:
        return everywhere()
    n, f = _split_normal(e, u)
    return usually(e, _is_not_normal(e, u), finish(e.convert("sitofp", n, u.type), f), everywhere)


def _log_parts(e: Emitter, f: Value) -> tuple[Value, Value]:
    """``log(1 + f)`` as a pair whose sum it is, the first being the larger."""
    f2 = e.fmul(f, f)
    if f.type == "float":
        tail = e.fmul(e.fmul(f2, f), e.polynomial(f, LOG_P))
        return f, e.fma(f2, e.like(f, -0.5), tail)
    s = e.fdiv(f, e.fadd(f, e.like(f, 2.0)))
    z = e.fmul(s, s)
    r = e.fmul(z, e.polynomial(z, LOG_R))
    h = e.fmul(f2, e.like(f, 0.5))
    return f, e.fsub(e.fmul(s, e.fadd(h, r)), h)


def _log_edges(e: Emitter, x: Value, result: Value) -> Value:
    infinity = e.like(x, math.inf)
    result = e.select(e.fcmp("oeq", x, infinity), infinity, result)
    result = e.select(e.fcmp("oeq", x, e.like(x, 0.0)), e.like(x, -math.inf), result)
    return e.select(e.fcmp("ult", x, e.like(x, 0.0)), e.like(x, math.nan), result)


def log(e: Emitter, x: Value) -> Value:
    high, low = LN2_PARTS[x.type]

    def finish(k: Value, f: Value) -> Value:
        big, small = _log_parts(e, f)
        small = e.fma(k, e.like(x, low), small)
        return e.fma(k, e.like(x, high), e.fadd(big, small))

    return _logarithm(e, x, finish)


def _log_base(e: Emitter, x: Value, per_e: tuple[float, float], per_two: tuple[float, float]) -> Value:
    """``log(x) / log(base)``: ``per_e`` = 1 / log(base), ``per_two`` = log2 / log(base), each as high + low."""

    def finish(k: Value, f: Value) -> Value:
        big, small = _log_parts(e, f)
        total = e.fadd(big, small)
        rest = e.fadd(e.fsub(big, total), small)
        product = e.fmul(total, e.like(x, per_e[0]))
        error = e.fma(total, e.like(x, per_e[0]), e.fneg(product))
        error = e.fma(total, e.like(x, per_e[1]), e.fma(rest, e.like(x, per_e[0]), error))
        head = e.fma(k, e.like(x, per_two[0]), product)
        left = e.fadd(e.fma(k, e.like(x, per_two[0]), e.fneg(head)), product)
        left = e.fma(k, e.like(x, per_two[1]), left)
        return e.fadd(head, e.fadd(left, error))

    return _logarithm(e, x, finish)


def log2(e: Emitter, x: Value) -> Value:
    single, double = (1.4426950216293335, 1.925963033500011e-08), (1.4426950408889634, 2.0355273740931033e-17)
    return _log_base(e, x, single if x.type == "float" else double, (1.0, 0.0))


def log10(e: Emitter, x: Value) -> Value:
    if x.type == "float":
        return _log_base(e, x, (0.4342944920063019, -1.0103049952192578e-08), (0.301025390625, 4.605039066518657e-06))
    return _log_base(e, x, (0.4342944819032518, 1.098319650216765e-17), (0.3010299955494702, 1.1451100898021838e-10))


def log1p(e: Emitter, x: Value) -> Value:
    """With ``u = 1 + x`` rounded and ``c`` what the rounding lost, ``log(u) + c / u``; ``x`` itself where tiny."""
    one = e.like(x, 1.0)
    u = e.fadd(x, one)
    lost = e.select(e.fcmp("oge", e.fabs(x), one), e.fsub(one, e.fsub(u, x)), e.fsub(x, e.fsub(u, one)))
    high, low = LN2_PARTS[x.type]

    def finish(k: Value, f: Value) -> Value:
        # 2^-k c joins f before the polynomial, which keeps the relative error near x = 0.
        correction = scale(e, lost, e.fneg(k))
        exact = e.fadd(f, correction)
        residue = e.fsub(correction, e.fsub(exact, f))
        big, small = _log_parts(e, exact)
        small = e.fadd(e.fma(k, e.like(x, low), small), residue)
        return e.fma(k, e.like(x, high), e.fadd(big, small))

    result = _logarithm(e, u, finish)
    tiny = e.fcmp("olt", e.fabs(x), e.like(x, 1e-10 if x.type == "float" else 1e-20))
    return e.select(tiny, x, result)
