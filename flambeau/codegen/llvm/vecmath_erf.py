"""Error functions.

erf below 1 is ``x + x P(x^2)``. erfc is ``exp(-x^2) G(t) / (1 + 2x)`` with ``t = (x - K) / (x + K)``, K = 3.75, which
one polynomial covers from 0 to where erfc underflows (Shepherd and Laframboise, Mathematics of Computation 36, 1981).
The rounding error of ``x^2`` is put back, since exp would magnify it. erf of float32 beyond 1 needs less: it is
``1 - exp(-x - x Q(x))`` with a Q fitted to ``-log(erfc x) / x - 1``, weighted by what an error in it does to erf. Where
the processor looks numbers up in registers, there is a shorter way (`vecmath_erf_table`).
"""

from __future__ import annotations

from flambeau.codegen.llvm import vecmath_erf_table
from flambeau.codegen.llvm import vecmath_exp_log as explog
from flambeau.codegen.llvm.emitter import Emitter, Value

K = 3.75
ERF_P = {
    "float": [0.12837916612625122, -0.3761262595653534, 0.11283597350120544, -0.02685432881116867,
              0.005189312156289816, -0.0008018855005502701, 7.882497448008507e-05],
    "double": [0.1283791670955126, -0.3761263890318375, 0.11283791670954882, -0.026866170645077334,
               0.005223977624823223, -0.0008548326981129666, 0.00012055331122299266, -1.4925595519506043e-05,
               1.6461004480962034e-06, -1.6350354461959655e-07, 1.4660051998394848e-08, -1.1373902296430911e-09,
               5.958930743134941e-11],
}  # fmt: skip
"""erf(x)/x - 1 in x^2 on |x| <= 1."""
ERFC_G = {
    "float": [1.2375125885009766, -0.14024052023887634, 0.003584751160815358, 0.08227282762527466,
              -0.10879283398389816, 0.09236138314008713, -0.05872814357280731, 0.028042038902640343,
              -0.009930567815899849, 0.002305567031726241, 0.001095449784770608],
    "double": [1.2375126308378275, -0.1402405985855467, 0.003585415485462923, 0.0822767384901136,
               -0.10880393014166642, 0.09230432116149695, -0.058693398591271706, 0.02836227740063849,
               -0.009746579543152195, 0.0017556260190550639, 0.0002937136032241231, -0.00029015499507168964,
               5.164914755632659e-05, 2.2387427637258928e-05, -1.1443517322844351e-05, -9.806719801770009e-07,
               1.7487944759342778e-06, -4.730067896194929e-08, -2.530056585907777e-07, 1.522034241809898e-08,
               3.281870121629357e-08, -5.867732509499109e-10, -2.3089433585938825e-09],
}  # fmt: skip
"""(1 + 2x) exp(x^2) erfc(x) in t."""
ERF_Q = [0.1284800324712867, 0.6358314984236756, 0.10511611182504615, -0.022798444496465717, 0.003186940814866099,
         -0.00021064248611216886]  # fmt: skip
"""-log(erfc x) / x - 1 on 1 <= x <= 3.95, float32: erf within 0.03 units in the last place before rounding."""
ERF_IS_ONE = 3.95
"""From here on erf of float32 is 1."""
UNDERFLOW = {"float": 10.1, "double": 27.3}


def _erfc_positive(e: Emitter, a: Value) -> Value:
    """erfc of ``a >= 0``."""
    a = e.least(e.like(a, UNDERFLOW[a.type]), a)
    t = e.fdiv(e.fsub(a, e.like(a, K)), e.fadd(a, e.like(a, K)))
    g = e.fdiv(e.polynomial(t, ERFC_G[a.type]), e.fma(a, e.like(a, 2.0), e.like(a, 1.0)))
    square = e.fmul(a, a)
    lost = e.fma(a, a, e.fneg(square))
    decay = explog.exp(e, e.fneg(square))
    return e.fmul(decay, e.fma(e.fneg(lost), g, g))


def _erf_small(e: Emitter, x: Value) -> Value:
    z = e.fmul(x, x)
    return e.fma(x, e.polynomial(z, ERF_P[x.type]), x)


def _erfc_from_one(e: Emitter, a: Value) -> Value:
    """erfc of a float32 ``a >= 1``, to the places that erf needs."""
    a = e.least(e.like(a, ERF_IS_ONE), a)
    t, _, r = explog.reduce_exp(e, e.fneg(e.fma(a, e.polynomial(a, ERF_Q), a)))
    return explog.scale_normal(e, e.polynomial(r, [1.0, 1.0, *explog.EXP_Q[a.type]]), t)


def erf(e: Emitter, x: Value) -> Value:
    if vecmath_erf_table.has_table(e, x):
        return vecmath_erf_table.erf(e, x)
    a, one = e.fabs(x), e.like(x, 1.0)
    beyond = _erfc_from_one(e, a) if x.type == "float" else _erfc_positive(e, a)
    far = e.intrinsic("copysign", e.fsub(one, beyond), x)
    return e.select(e.fcmp("ogt", a, one), far, _erf_small(e, x))


def erfc(e: Emitter, x: Value) -> Value:
    a = e.fabs(x)
    y = _erfc_positive(e, a)
    y = e.select(e.fcmp("olt", x, e.like(x, 0.0)), e.fsub(e.like(x, 2.0), y), y)
    return e.select(e.fcmp("olt", a, e.like(x, 0.5)), e.fsub(e.like(x, 1.0), _erf_small(e, x)), y)
