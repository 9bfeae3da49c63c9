"""The steps that the meaning of a pointwise operator consists of, and what follows of them: how many elements are many.

>>> from flambeau.schema import registry
>>> [step.name for step in steps_of(registry.get("aten::silu"), [None], float64)]
['div', 'add', 'exp', 'neg']
>>> least_large(registry.get("aten::silu")), least_large(registry.get("aten::erf"))
(1024, 128)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from flambeau.ops.derivatives.terms import Recorder, Term
from flambeau.ops.families import numpy_special
from flambeau.schema.dtype import DType, float64
from flambeau.schema.function import NO_DEFAULT
from flambeau.schema.opdef import OpDef
from flambeau.schema.scalar import COMPARE, LOGICAL, PREDICATES
from flambeau.schema.types import FloatType, NumberType, OptionalType, TensorType
from flambeau.util.inversions import LARGE

FEW: Final = 128
"""Elements from which on one native loop takes less than NumPy's tens of loops for a step that it does not know."""
VERY_FEW: Final = 1 << 2
"""The same where NumPy takes a dozen loops, and networks and distributions call it often."""
SEVERAL: Final = 1 << 10
"""Elements from which on one native loop takes less than NumPy's loops for three steps or more, or for a slow one, of
the elements of one array."""
SEVERAL_ARRAYS: Final = 1 << 12
"""The same of the elements of several arrays, which may lie each in its own way, and are looked at from Python then."""
SLOW_ARRAYS: Final = 1 << 8
"""The same where one of the steps is a slow one."""
SINGLE: Final = frozenset(
    {
        "add", "sub", "mul", "div", "neg", "abs", "sqrt", "floor", "ceil", "trunc", "reciprocal",
        "bitnot", "bitand", "bitor", "bitxor", *COMPARE, *LOGICAL, *PREDICATES, "select",
    }
)  # fmt: skip
"""Steps that are one loop of NumPy's, as fast as a kernel's."""
_QUICK: Final = SINGLE | {"exp", "log", "tanh"}
"""Steps for which NumPy's loop costs little more than a kernel's, on arrays that are not large."""
_QUICK_ON_ARRAYS: Final = _QUICK | {"maximum", "minimum"}
"""The same of two arrays; NumPy takes longer for an array and a number."""
_SLOW: Final = frozenset({"remainder", "fmod", "floordiv", "hypot", "log1p"})
"""Steps for which NumPy takes nanoseconds an element."""

OFTEN_FEW: Final = frozenset({"layer_norm", "rms_norm", "logsumexp"})
"""Those of the next for which few elements are many."""
SLOW_FOLDS: Final = OFTEN_FEW | {"var", "std", "cumsum", "gather"}
"""What operators declare to fold with for which NumPy makes several passes, each of them a call."""


def is_for_numbers(formal: Any) -> bool:
    """Whether arguments of a type are elements, or numbers beside them."""
    inner = formal.element if isinstance(formal, OptionalType) else formal
    return isinstance(inner, NumberType | FloatType | TensorType)


def steps_of(definition: OpDef, arguments: Sequence[Any], dtype: DType) -> list[Term]:
    """The steps of a pointwise operator's meaning on operands of a dtype; arguments that are no numbers may choose
    among them."""
    assert definition.scalar is not None
    recorder = Recorder()
    terms = [
        recorder.argument(formal.name, dtype) if is_for_numbers(formal.type) else argument
        for formal, argument in zip(definition.schema.arguments, arguments, strict=True)
    ]
    return _steps(definition.scalar(recorder, *terms))


def _steps(term: Any) -> list[Term]:
    terms: dict[Term, None] = {}
    waiting = [term]
    while waiting:
        one = waiting.pop()
        if isinstance(one, Term) and one.name not in ("argument", "constant", "cast") and one not in terms:
            terms[one] = None
            waiting += one.operands
    return list(terms)


def least_large(definition: OpDef) -> int:
    """The elements from which on calls of an operator, and their way back, are large."""
    formals = definition.schema.arguments
    if definition.scalar is None or any(a.default is NO_DEFAULT and not is_for_numbers(a.type) for a in formals):
        return LARGE
    steps = [step.name for step in steps_of(definition, [a.default for a in formals], float64)]
    if not numpy_special.STEPS.keys().isdisjoint(steps):
        return FEW
    has_several = sum(isinstance(a.type, TensorType) for a in formals) > 1
    quick, few = (_QUICK_ON_ARRAYS, 3) if has_several else (_QUICK, 2)
    if len(steps) <= few and quick.issuperset(steps):
        return LARGE // 2
    if has_several and _SLOW.isdisjoint(steps):
        return SEVERAL_ARRAYS
    return SLOW_ARRAYS if has_several else SEVERAL
