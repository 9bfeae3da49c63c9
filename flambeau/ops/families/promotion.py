"""The dtype of a result: three priorities of operand, four kinds of number.

Dimensioned tensors decide before 0-dim tensors, and these before Python numbers. An operand of lower priority counts
only if its kind of number (bool < integer < float < complex) is higher; then a 0-dim tensor brings its own dtype and
a Python number the default one.

>>> from flambeau.schema.dtype import float64, int64
>>> result_type((DIMENSIONED, int64), (ZERO_DIM, float64))
flambeau.float64
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any, Final

from flambeau.schema.dtype import (
    Category,
    DType,
    bfloat16,
    bool_,
    complex32,
    complex64,
    float16,
    float32,
    int64,
    promote,
)
from flambeau.schema.types import BoolType, ComplexType, FloatType, IntType, TensorType
from flambeau.tensor.defaults import float_dtype

DIMENSIONED: Final = 0
ZERO_DIM: Final = 1
NUMBER: Final = 2

Operand = tuple[int, DType]
"""Priority and dtype."""

_KINDS: Final = (
    (bool, BoolType, Category.BOOL), (int, IntType, Category.INTEGER), (float, FloatType, Category.FLOAT),
    (complex, ComplexType, Category.COMPLEX),
)  # fmt: skip


def default_dtype(kind: Category) -> DType:
    """The dtype that a Python number of this kind brings to promotion."""
    if kind < Category.FLOAT:
        return bool_ if kind == Category.BOOL else int64
    return float_dtype() if kind == Category.FLOAT else float_dtype().to_complex()


@cache
def result_type(*operands: Operand) -> DType:
    """The dtype in which operands meet. Raises ValueError without operands."""
    levels: list[DType | None] = [None, None, None]
    for priority, dtype in operands:
        known = levels[priority]
        levels[priority] = dtype if known is None else promote(known, dtype)
    result = _combine(levels[DIMENSIONED], _combine(levels[ZERO_DIM], levels[NUMBER]))
    if result is None:
        raise ValueError("result_type needs at least one operand")
    return result


def _combine(higher: DType | None, lower: DType | None) -> DType | None:
    if higher is None or lower is None:
        return lower if higher is None else higher
    if higher.category == Category.FLOAT and lower.is_complex:
        return higher.to_complex()
    return promote(higher, lower) if lower.category > higher.category else higher


def number_dtype(value: Any) -> DType | None:
    """The dtype a Python number brings to promotion; None for what is no number."""
    for python, _, kind in _KINDS:
        if isinstance(value, python):
            return default_dtype(kind)
    return None


def operand_of(argument: Any) -> Operand | None:
    """Priority and dtype of an argument of a dtype rule; None where they are not known.

    `argument` is a `TensorType`, a number, or the type of a number whose value is not known.
    """
    if isinstance(argument, TensorType):
        if argument.dtype is None or argument.sizes is None:
            return None
        return (DIMENSIONED if argument.sizes else ZERO_DIM, argument.dtype)
    for python, type_, kind in _KINDS:
        if isinstance(argument, python | type_):
            return (NUMBER, default_dtype(kind))
    return None


def common_dtype(arguments: Iterable[Any]) -> DType | None:
    """The common dtype of a rule's arguments; None if it is not known. Arguments that are None are ignored."""
    operands: list[Operand] = []
    unranked: list[DType] = []
    for argument in arguments:
        if argument is None:
            continue
        operand = operand_of(argument)
        if operand is not None:
            operands.append(operand)
        elif isinstance(argument, TensorType) and argument.dtype is not None:
            unranked.append(argument.dtype)
        else:
            return None
    return _agree(operands, unranked)


def _agree(operands: list[Operand], unranked: list[DType]) -> DType | None:
    """Tensors of unknown rank may be dimensioned or not: the answer stands if no choice changes it."""
    answers = {
        result_type(*operands, *((DIMENSIONED if bits >> i & 1 else ZERO_DIM, d) for i, d in enumerate(unranked)))
        for bits in range(1 << len(unranked))
        if operands or unranked
    }
    return answers.pop() if len(answers) == 1 else None


def float_of(dtype: DType) -> DType:
    """The dtype itself if it has fractions, else the default one: what `sqrt` of integers gives."""
    return dtype if dtype.category >= Category.FLOAT else float_dtype()


_COMPUTE: Final = {float16: float32, bfloat16: float32, complex32: complex64}


def compute_dtype(dtype: DType) -> DType:
    """The dtype to compute in: single precision for halves, which are rounded once at the end; else the same."""
    return _COMPUTE.get(dtype, dtype)


def can_cast(source: DType, target: DType) -> bool:
    """Whether a result may be written into a tensor of another dtype: never into a lower kind of number.

    >>> can_cast(float32, float16), can_cast(float32, int64), can_cast(int64, bool_)
    (True, False, False)
    """
    return source.category <= target.category
