"""Functions around gamma, and the inverse error function.

All but erfinv are computed in double precision, those of float32 too: their sums cancel where they are near zero.
lgamma between 1 and 3 is ``(x - 1) (x - 2) P(x - 2)``; greater arguments are brought there by a product, and from 12 on
Stirling's series holds. Below zero both functions are reflected. erfinv is ``x P(w)``, ``w = -log(1 - x^2)``, in three
pieces, of float32 in two.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from flambeau.codegen.llvm import vecmath_exp_log as explog
from flambeau.codegen.llvm.emitter import Emitter, Value

LGAMMA = [
    0.42278433509846713, -0.1003173016743539, 0.032965000621156974, -0.012384192193374355, 0.004998641164623283,
    -0.0021081308338291313, 0.0009153769241238952, -0.0004057073999387517, 0.00018255261441838105,
    -8.30950999467849e-05, 3.81690832831345e-05, -1.76618554743359e-05, 8.221205092155423e-06,
    -3.846514242663473e-06, 1.8114769634727658e-06, -8.554816957122729e-07, 3.95720794275161e-07,
    -1.861315818147291e-07, 1.0444285443279689e-07, -5.2038665332275675e-08, 5.68873795385758e-09,
    -7.860744687083056e-10, 1.6327287432845006e-08, -8.952022836709702e-09, -4.358862409072515e-09,
    2.4694237633377504e-09, 1.5818126337371086e-09, -8.190037783551156e-10,
]  # fmt: skip
"""lgamma(x) / ((x - 1) (x - 2)) in x - 2, on 1 <= x <= 3."""
ERFINV_NEAR = [
    1.6235420064648298, 0.7248912124984749, -0.05164321698905351, -0.02257690797655647, 0.015799967277504073,
    -0.003090090701080893, -0.0012742935283739122, 0.0009841181239339128, -0.00015542173400125983,
    -0.00010761047365987123, 6.559148158762431e-05, -5.566984073222506e-06, -9.209109135698596e-06,
    4.3031321386016135e-06, 2.963488183520968e-08, -7.596720096329073e-07, 2.72843854984716e-07,
    3.560275732652815e-08, -6.295229449811262e-08, 1.4815482668103312e-08, 7.10778474129052e-09,
    -4.0372191375261565e-09, -3.1868752540774684e-10, 3.9795055220256047e-10,
]  # fmt: skip
"""erfinv(x) / x in w / 3 - 1, w = -log(1 - x^2), on 0 <= w <= 6."""
ERFINV_FAR = [
    3.134161532320795, 0.9051922078172158, 0.0039233011103119615, -0.0024004664451267275, 0.0013801597068657371,
    -0.0008389149627830852, 0.0004418214795608361, -0.0001626031789574753, 2.1394956215119783e-05,
    1.7978063773835306e-05, -1.3986863915192313e-05, 4.240854623195384e-06, 1.9016191985594313e-07,
    -7.551622629450116e-07, 3.206810227420958e-07, -3.734357668138547e-08, -2.7646292709230966e-08,
    1.759673918089084e-08, -3.99204699773846e-09, -6.948749517324968e-10, 6.930857695561689e-10,
    -1.3395339348022588e-10,
]  # fmt: skip
"""erfinv(x) / x in (sqrt(w) - 3.3) / 0.9, on 2.4 <= sqrt(w) <= 4.2."""
ERFINV_END = [
    5.051959340939589, 1.0102214561847231, -0.0002509707307903248, -0.00016143426653636304, 5.877435501835316e-05,
    -1.4993697423510658e-05, 3.3548435929312477e-06, -7.023751126974769e-07, 1.445301926356472e-07,
    -3.2547827056323584e-08, 9.906329411612352e-09, -4.37695752773903e-09, 2.2257271592531503e-09,
    -1.105714242737881e-09, 5.24242733350925e-10, -2.0041299777551e-10, 3.917595463110454e-11,
]  # fmt: skip
"""erfinv(x) / x in (sqrt(w) - 5.2) / 1.0, on 4.2 <= sqrt(w) <= 6.2."""
ERFINV_NEAR_32 = [
    1.623542070388794, 0.7248912453651428, -0.0516437403857708, -0.022577203810214996, 0.015805335715413094,
    -0.0030882449354976416, -0.0012945779599249363, 0.000980699434876442, -0.00012030127254547551,
    -0.00010773668327601627, 3.693640246638097e-05,
]  # fmt: skip
"""erfinv(x) / x in w / 3 - 1, on 0 <= w <= 6, to the digits of float32."""
ERFINV_FAR_32 = [
    3.1585490703582764, 0.8810072541236877, 0.003537482349202037, -0.0020693899132311344, 0.0011347848922014236,
    -0.0007053829031065106, 0.00036497219116427004, -9.226885595126078e-05,
]  # fmt: skip
"""erfinv(x) / x in (sqrt(w) - 3.324244871391589) / 0.8757551286084111, on sqrt(6) - 0.001 <= sqrt(w) <= 4.2."""
FAR_CENTRE, FAR_HALF = 3.324244871391589, 0.8757551286084111
SIN_PI = [
    2.534324262661598, -0.5697036803076341, 0.03645310559709345, -0.001092432005489253, 1.8956829192485415e-05,
    -2.1447169597692547e-07, 1.7069665378821027e-09, -1.0077340315799801e-11, 4.588274523967674e-14,
]  # fmt: skip
"""sin(pi r) / r in 8 r^2 - 1, on |r| <= 1/2."""
STIRLING = [1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156, -3617 / 122400]
"""B(2k) / (2k (2k - 1)): the series of lgamma in odd powers of 1 / x."""
DIGAMMA = [1 / 12, -1 / 120, 1 / 252, -1 / 240, 1 / 132, -691 / 32760, 1 / 12, -3617 / 8160]
"""B(2k) / 2k: the series of digamma in even powers of 1 / x."""


def in_double(function: Callable[[Emitter, Value], Value]) -> Callable[[Emitter, Value], Value]:
    """The function for both element types: float32 is converted, and the result rounded."""

    def run(e: Emitter, x: Value) -> Value:
        if x.type == "double":
            return function(e, x)
        return e.convert("fptrunc", function(e, e.convert("fpext", x, "double")), x.type)

    return run


def _sine_of_pi_times(e: Emitter, r: Value) -> Value:
    """sin(pi r) for |r| <= 1/2."""
    return e.fmul(r, e.polynomial(e.fma(e.fmul(r, r), e.like(r, 8.0), e.like(r, -1.0)), SIN_PI))


def _from_nearest(e: Emitter, x: Value) -> Value:
    """The distance from the nearest integer."""
    return e.fsub(x, e.intrinsic("rint", x))


def _is_pole(e: Emitter, x: Value) -> Value:
    is_whole = e.fcmp("oeq", e.intrinsic("floor", x), x)
    return e.binary("and", is_whole, e.fcmp("ole", x, e.like(x, 0.0)))


def _lgamma_positive(e: Emitter, x: Value) -> Value:
    one = e.like(x, 1.0)
    is_small, is_near = e.fcmp("olt", x, one), e.fcmp("olt", x, e.like(x, 12.0))
    reduced, product = e.select(is_near, x, e.like(x, 2.5)), one
    for _ in range(9):
        is_large, less = e.fcmp("ogt", reduced, e.like(x, 3.0)), e.fsub(reduced, one)
        product = e.select(is_large, e.fmul(product, less), product)
        reduced = e.select(is_large, less, reduced)
    t = e.fsub(reduced, e.select(is_small, one, e.like(x, 2.0)))
    inner = e.fmul(e.fmul(e.fadd(t, one), t), e.polynomial(t, LGAMMA))
    logarithm = explog.log(e, e.select(is_small, x, e.select(is_near, product, x)))
    near = e.select(is_small, e.fsub(inner, logarithm), e.fadd(inner, logarithm))
    inverse = e.fdiv(one, x)
    series = e.fmul(inverse, e.polynomial(e.fmul(inverse, inverse), STIRLING))
    leading = e.fma(e.fsub(x, e.like(x, 0.5)), logarithm, e.fneg(x))
    far = e.fadd(leading, e.fadd(series, e.like(x, 0.5 * math.log(2 * math.pi))))
    infinity = e.like(x, math.inf)
    return e.select(is_near, near, e.select(e.fcmp("oeq", x, infinity), infinity, far))


@in_double
def lgamma(e: Emitter, x: Value) -> Value:
    """The logarithm of |gamma(x)|; inf at zero and the negative integers."""
    size = e.fabs(x)
    positive = _lgamma_positive(e, size)
    sine = e.fabs(_sine_of_pi_times(e, _from_nearest(e, size)))
    reflected = e.fsub(explog.log(e, e.fdiv(e.like(x, math.pi), e.fmul(size, sine))), positive)
    value = e.select(e.fcmp("olt", x, e.like(x, 0.0)), reflected, positive)
    return e.select(_is_pole(e, x), e.like(x, math.inf), value)


@in_double
def digamma(e: Emitter, x: Value) -> Value:
    """The derivative of lgamma; -inf at 0, inf at -0.0, nan at the negative integers."""
    zero, one = e.like(x, 0.0), e.like(x, 1.0)
    is_reflected = e.fcmp("olt", x, zero)
    at, total = e.select(is_reflected, e.fsub(one, x), x), zero
    for _ in range(10):
        is_small = e.fcmp("olt", at, e.like(x, 10.0))
        total = e.select(is_small, e.fsub(total, e.fdiv(one, at)), total)
        at = e.select(is_small, e.fadd(at, one), at)
    inverse = e.fdiv(one, at)
    square = e.fmul(inverse, inverse)
    series = e.fma(inverse, e.like(x, 0.5), e.fmul(square, e.polynomial(square, DIGAMMA)))
    value = e.fsub(e.fadd(total, explog.log(e, at)), series)
    r = _from_nearest(e, x)
    cosine = _sine_of_pi_times(e, e.fsub(e.like(x, 0.5), e.fabs(r)))
    cotangent = e.fdiv(e.fmul(e.like(x, math.pi), cosine), _sine_of_pi_times(e, r))
    value = e.select(is_reflected, e.fsub(value, cotangent), value)
    value = e.select(_is_pole(e, x), e.like(x, math.nan), value)
    at_zero = e.intrinsic("copysign", e.like(x, math.inf), e.fneg(x))
    return e.select(e.fcmp("oeq", x, zero), at_zero, value)


def erfinv(e: Emitter, x: Value) -> Value:
    """The number whose erf is x; inf at 1, nan beyond."""
    size, one = e.fabs(x), e.like(x, 1.0)
    w = e.fneg(explog.log(e, e.fmul(e.fsub(one, size), e.fadd(one, size))))
    root = e.intrinsic("sqrt", w)
    p = _erfinv_near_and_far(e, w, root) if x.type == "float" else _erfinv_in_pieces(e, w, root)
    edge = e.intrinsic("copysign", e.like(x, math.inf), x)
    return e.select(e.fcmp("oeq", size, one), edge, e.fmul(x, p))


def _erfinv_near_and_far(e: Emitter, w: Value, root: Value) -> Value:
    """erfinv(x) / x to the digits of float32."""
    near = e.polynomial(e.fma(w, e.like(w, 1 / 3), e.like(w, -1.0)), ERFINV_NEAR_32)
    at = e.fma(root, e.like(w, 1 / FAR_HALF), e.like(w, -FAR_CENTRE / FAR_HALF))
    return e.select(e.fcmp("olt", w, e.like(w, 6.0)), near, e.polynomial(at, ERFINV_FAR_32))


def _erfinv_in_pieces(e: Emitter, w: Value, root: Value) -> Value:
    """erfinv(x) / x."""
    near = e.polynomial(e.fma(w, e.like(w, 1 / 3), e.like(w, -1.0)), ERFINV_NEAR)
    far = e.polynomial(e.fdiv(e.fsub(root, e.like(w, 3.3)), e.like(w, 0.9)), ERFINV_FAR)
    end = e.polynomial(e.fsub(root, e.like(w, 5.2)), ERFINV_END)
    return e.select(e.fcmp("olt", w, e.like(w, 6.0)), near, e.select(e.fcmp("olt", root, e.like(w, 4.2)), far, end))
