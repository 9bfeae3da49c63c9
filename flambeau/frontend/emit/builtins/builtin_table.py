"""Python's builtin functions and those of `math`, by the operator each one is."""

from __future__ import annotations

import cmath
import functools
import math
import warnings
from collections import Counter, OrderedDict, defaultdict, deque
from typing import Any, Final

import numpy as np

from flambeau.frontend.emit.builtins import builtin_forms as forms
from flambeau.frontend.emit.builtins import builtin_ordering as ordering
from flambeau.frontend.emit.builtins import iterables, mapped_iterables, reversed_iterables
from flambeau.frontend.emit.builtins.builtin_types import CASTS, DeviceClass
from flambeau.frontend.emit.builtins.class_tests import emit_issubclass
from flambeau.frontend.emit.builtins.combinatorics_forms import COMBINATORICS
from flambeau.frontend.emit.builtins.decorators import DECORATORS
from flambeau.frontend.emit.builtins.functional_forms import FUNCTIONAL_FORMS
from flambeau.frontend.emit.builtins.lazy_search import ALL_FORM, ANY_FORM
from flambeau.frontend.emit.builtins.limits_of_dtypes import LimitsClass
from flambeau.frontend.emit.builtins.mapping_classes import COUNTER, DEFAULTDICT
from flambeau.frontend.emit.builtins.operator_functions import OPERATOR_FUNCTIONS
from flambeau.frontend.emit.builtins.printing import PrintFunction
from flambeau.frontend.emit.builtins.queue_classes import DEQUE
from flambeau.frontend.emit.builtins.standard_library import NOT_IN_PROGRAMS
from flambeau.frontend.emit.builtins.sums import emit_sum
from flambeau.frontend.emit.builtins.warning_forms import WARN
from flambeau.frontend.emit.builtins.zipped import emit_zip
from flambeau.frontend.emit.numpy.element_functions import NumberFunction
from flambeau.frontend.emit.values.context_values import AutocastClass, ContextClass
from flambeau.frontend.emit.values.coroutines import emit_next
from flambeau.frontend.emit.values.function_groups import emit_partial
from flambeau.frontend.emit.values.operator_value import OperatorValue
from flambeau.frontend.emit.values.sugared import FormValue, Sugared
from flambeau.program.prange import prange
from flambeau.schema.device import Device
from flambeau.tensor.autocast import (
    CpuAutocast,
    CudaAutocast,
    autocast,
    is_autocast_cpu_enabled,
    is_autocast_enabled,
)
from flambeau.tensor.create import as_tensor, asarray
from flambeau.tensor.grad_mode import (
    enable_grad,
    inference_block,
    inference_mode,
    is_grad_enabled,
    no_grad,
    set_grad_enabled,
)
from flambeau.tensor.random import Generator, manual_seed
from flambeau.tensor.size import Size

_NAMESPACES: Final[dict[str, tuple[Any, ...]]] = {
    "aten": (
        bin, chr, divmod, hash, hex, oct, ord, pow, manual_seed, Generator, Size, is_grad_enabled, is_autocast_enabled,
        is_autocast_cpu_enabled, as_tensor,
    ),
    "prim": (abs, id),
    "python": (repr, ascii),
}  # fmt: skip
OPERATORS: Final[dict[Any, str]] = {
    function: f"{namespace}::{function.__name__}" for namespace, of in _NAMESPACES.items() for function in of
} | {asarray: "aten::as_tensor"}
"""Functions that are operators of the same name."""

MATH: Final = [
    "acos",
    "acosh",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "ceil",
    "copysign",
    "cos",
    "cosh",
    "degrees",
    "erf",
    "erfc",
    "exp",
    "expm1",
    "fabs",
    "factorial",
    "floor",
    "fmod",
    "frexp",
    "gamma",
    "gcd",
    "isfinite",
    "isinf",
    "isnan",
    "ldexp",
    "lgamma",
    "log",
    "log10",
    "log1p",
    "modf",
    "pow",
    "radians",
    "sin",
    "sinh",
    "sqrt",
    "tan",
    "tanh",
]
MORE_MATH: Final = [
    "cbrt", "comb", "dist", "exp2", "fsum", "hypot", "isclose", "isqrt", "lcm", "log2", "nextafter", "perm", "prod",
    "trunc", "ulp",
]  # fmt: skip
"""Functions of `math` that TorchScript does not have."""
RENAMED: Final = {"remainder": "aten::mathremainder"}
CMATH: Final = [
    "acos",
    "acosh",
    "asin",
    "asinh",
    "atan",
    "atanh",
    "cos",
    "cosh",
    "exp",
    "isfinite",
    "isinf",
    "isnan",
    "log",
    "log10",
    "phase",
    "sin",
    "sinh",
    "sqrt",
    "tan",
    "tanh",
]
CMATH_NAMES: Final = {"phase": "angle"}

FORMS: Final[dict[Any, Sugared]] = {
    **CASTS,
    Device: DeviceClass(),
    print: PrintFunction(),
    len: FormValue("__len__", forms.emit_len),
    isinstance: FormValue("isinstance", forms.emit_isinstance),
    any: ANY_FORM,
    all: ALL_FORM,
    callable: FormValue("callable", forms.emit_callable),
    issubclass: FormValue("issubclass", emit_issubclass),
    hasattr: FormValue("hasattr", forms.emit_hasattr),
    getattr: FormValue("getattr", forms.emit_getattr),
    setattr: FormValue("setattr", forms.emit_setattr),
    list: FormValue("list", forms.emit_list),
    tuple: FormValue("tuple", forms.emit_tuple),
    dict: FormValue("dict", forms.emit_dict),
    slice: FormValue("slice", forms.emit_slice),
    sum: FormValue("sum", emit_sum),
    round: FormValue("round", ordering.emit_round),
    sorted: FormValue("sorted", ordering.emit_sorted),
    min: FormValue("min", ordering.emit_min),
    max: FormValue("max", ordering.emit_max),
    format: FormValue("format", ordering.emit_format),
    range: FormValue("range", iterables.emit_range),
    prange: FormValue("prange", iterables.emit_prange),
    enumerate: FormValue("enumerate", iterables.emit_enumerate),
    zip: FormValue("zip", emit_zip),
    reversed: FormValue("reversed", reversed_iterables.emit_reversed),
    iter: FormValue("iter", forms.emit_iter),
    next: FormValue("next", emit_next),
    map: FormValue("map", mapped_iterables.emit_map),
    set: FormValue("set", forms.emit_set),
    frozenset: FormValue("frozenset", forms.emit_frozenset),
    filter: FormValue("filter", ordering.emit_filter),
    functools.partial: FormValue("partial", emit_partial),
    warnings.warn: WARN,
    functools.reduce: FormValue("reduce", ordering.emit_reduce),
}

BUILTINS: Final[dict[Any, Sugared]] = {
    **{function: OperatorValue(name) for function, name in OPERATORS.items()},
    **{function: NumberFunction(OPERATORS[function]) for function in (abs, divmod, pow)},
    np.finfo: LimitsClass("finfo"), np.iinfo: LimitsClass("iinfo"),
    **{getattr(cmath, name): OperatorValue(f"aten::{CMATH_NAMES.get(name, name)}") for name in CMATH},
    **{getattr(math, name): OperatorValue(f"aten::{name}") for name in MATH},
    **{getattr(math, name): OperatorValue(kind) for name, kind in RENAMED.items()},
    **{getattr(math, name): OperatorValue(f"python::{name}") for name in MORE_MATH},
    **{cls: ContextClass(cls) for cls in (no_grad, enable_grad, set_grad_enabled)},
    inference_mode: ContextClass(inference_block),
    **{cls: AutocastClass(cls) for cls in (autocast, CpuAutocast, CudaAutocast)},
    OrderedDict: FormValue("dict", forms.emit_dict),
    **NOT_IN_PROGRAMS,
    **COMBINATORICS,
    deque: DEQUE,
    defaultdict: DEFAULTDICT,
    Counter: COUNTER,
    cmath.polar: OperatorValue("python::polar"),
    cmath.rect: OperatorValue("python::rect"),
    **OPERATOR_FUNCTIONS,
    **DECORATORS,
    **FUNCTIONAL_FORMS,
    **FORMS,
}
"""What each Python builtin is in a program."""
