"""Loop nests that users write and schedule: what is computed, and apart from it how; see `docs/te.md`.

>>> import numpy as np
>>> from flambeau import te
>>> n = te.var("n")
>>> x = te.placeholder("x", (n, 4))
>>> total = te.reduce("total", n, "sum", lambda i, k: x[i, k], over=4)
>>> nest = te.LoopNest(total)
>>> nest.unroll("k")
>>> print(nest)
in x: float32[n, 4]
out total: float32[n]
for i in range(n):
    total[i] = 0.0
    unroll for k in range(4):
        total[i] += x[i, k]
<BLANKLINE>
>>> nest.codegen("llvm")(np.ones((2, 4), np.float32))
array([4., 4.], dtype=float32)
"""

# ruff: noqa: E402  (the compiler as a whole is imported before parts of it)
from __future__ import annotations

from flambeau.util.inversions import import_compiler as _import_compiler

_import_compiler()

from flambeau.te.compiled import Interpreted, NativeCode
from flambeau.te.device.compiled import CudaCode
from flambeau.te.errors import ScheduleError
from flambeau.te.expressions import Expr, Var, cast, var
from flambeau.te.intrinsics import (
    acos,
    acosh,
    asin,
    asinh,
    atan,
    atanh,
    ceil,
    cos,
    cosh,
    eq,
    erf,
    erfc,
    exp,
    exp2,
    expm1,
    floor,
    frac,
    isfinite,
    isinf,
    isnan,
    lgamma,
    log,
    log1p,
    log2,
    log10,
    maximum,
    minimum,
    ne,
    power,
    reciprocal,
    round,
    rsqrt,
    sigmoid,
    sin,
    sinh,
    sqrt,
    tan,
    tanh,
    trunc,
    where,
)
from flambeau.te.loop_nest import LoopNest
from flambeau.te.placing import Cached
from flambeau.te.statements import Loop
from flambeau.te.tensors import Tensor, compute, placeholder, reduce

__all__ = [
    "Cached", "CudaCode", "Expr", "Interpreted", "Loop", "LoopNest", "NativeCode", "ScheduleError", "Tensor", "Var",
    "acos", "acosh", "asin", "asinh", "atan", "atanh", "cast", "ceil", "compute", "cos", "cosh", "eq", "erf",
    "erfc", "exp", "exp2", "expm1", "floor", "frac", "isfinite", "isinf", "isnan", "lgamma", "log", "log1p", "log2",
    "log10", "maximum", "minimum", "ne", "placeholder", "power", "reciprocal", "reduce", "round", "rsqrt",
    "sigmoid", "sin", "sinh", "sqrt", "tan", "tanh", "trunc", "var", "where",
]  # fmt: skip
