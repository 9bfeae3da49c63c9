"""Arithmetic of arrays: NumPy's promotion, numbers for elements, and refusals where operators mean something else.

a * 1.0    with int64s in `a`    →    %b = aten::to(%a, float64)    aten::mul(%b, 1.0)

What NumPy makes of dtypes is asked of NumPy itself, with arrays of no elements. An array without dimensions is a number
of the program: what is read with an integer for every axis, a sum, a product of vectors.
"""

from __future__ import annotations

import operator
import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from flambeau.analysis.operator_facts import result_types
from flambeau.ir.node import Node
from flambeau.ir.value import Value
from flambeau.schema.array_type import ArrayType, array_of, shown_array
from flambeau.schema.dtype import DType, from_numpy_dtype
from flambeau.schema.types import BOOL, COMPLEX, FLOAT, INT, ListType, TensorType, TupleType, Type
from flambeau.util.errors import CompileError
from flambeau.util.source import SourceRange

if TYPE_CHECKING:
    from flambeau.frontend.emit.emission import Emission

Function = Callable[..., Any]
BINARY: Final[dict[str, Function]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv, "//": operator.floordiv,
    "%": operator.mod, "**": operator.pow, "&": operator.and_, "|": operator.or_, "^": operator.xor,
    "<<": operator.lshift, ">>": operator.rshift,
}  # fmt: skip
IN_PLACE: Final[dict[str, Function]] = {
    "+": operator.iadd, "-": operator.isub, "*": operator.imul, "/": operator.itruediv, "//": operator.ifloordiv,
    "%": operator.imod, "**": operator.ipow, "&": operator.iand, "|": operator.ior, "^": operator.ixor,
    "<<": operator.ilshift, ">>": operator.irshift,
}  # fmt: skip
_WEAK: Final[dict[Type, Any]] = {INT: 1, FLOAT: 1.0, BOOL: True, COMPLEX: 1j}
"""A Python number for each type of numbers: such numbers give way to the dtypes of arrays."""
_READ: Final = ("aten::Float", "aten::Int", "aten::Bool", "aten::ComplexImplicit")
"""What makes numbers of elements."""
UNKNOWN_RANK: Final = (
    "how many dimensions this array has is not known here: x = x.reshape(n), or (n, m), before it is indexed says so"
)
UNKNOWN_DTYPE: Final = "the dtype of this array is not known here: x = x.astype(np.float64) says it"
LISTED: Final = "an array and a list: make an array of the list with np.array(...)"
MIXED: Final = "NumPy: {error}"


def is_array(value: Value) -> bool:
    """Whether a value is an array."""
    return isinstance(value.type, ArrayType)


def known_rank(value: Value) -> int | None:
    """The rank of an array, if it is known and the value is one."""
    return value.type.rank if isinstance(value.type, ArrayType) else None


def facts(value: Value, where: SourceRange) -> tuple[DType, int]:
    """The dtype and rank of an array. Raises CompileError where only the run tells them."""
    type_ = value.type
    assert isinstance(type_, ArrayType)
    if type_.dtype is None:
        raise CompileError(UNKNOWN_DTYPE, where)
    if type_.rank is None:
        raise CompileError(UNKNOWN_RANK, where)
    return type_.dtype, type_.rank


def note_results(node: Node, operands: Sequence[Value]) -> None:
    """Make arrays of the results of an operator on arrays; a tensor among the operands makes tensors."""
    tensors = [t for v in _items(operands) for t in v.type.walk() if isinstance(t, TensorType)]
    if not tensors or not all(isinstance(t, ArrayType) for t in tensors):
        return
    definition = node.definition
    results = [v for v in node.outputs if any(isinstance(t, TensorType) for t in v.type.walk())]
    if definition is None or not results:
        return
    for value, found in zip(results, result_types(node, definition, results), strict=True):
        value.set_type(_as_array(found))


def _items(operands: Sequence[Value]) -> list[Value]:
    """The operands, lists that were just made as their items."""
    made = [v.node.inputs if v.node is not None and v.node.kind == "prim::ListConstruct" else (v,) for v in operands]
    return [item for items in made for item in items]


def _as_array(type_: Type) -> Type:
    if isinstance(type_, TensorType):
        return type_ if isinstance(type_, ArrayType) else array_of(type_.dtype, type_.rank)
    return ListType(_as_array(type_.element)) if isinstance(type_, ListType) else type_


def as_number(e: Emission, value: Value) -> Value:
    """An array without dimensions as the number it is; other values as they are."""
    type_ = value.type
    if not isinstance(type_, ArrayType) or type_.rank != 0 or type_.dtype is None:
        return value
    kind, number = _number_of(type_.dtype)
    return e.emit(kind, (value,), number)


def _number_of(dtype: DType) -> tuple[str, Type]:
    if dtype.is_complex:
        return "aten::ComplexImplicit", COMPLEX
    if dtype.is_floating_point:
        return "aten::Float", FLOAT
    return ("aten::Bool", BOOL) if dtype.name == "bool" else ("aten::Int", INT)


def element_type(dtype: DType) -> Type:
    """The type of the numbers that elements are."""
    return _number_of(dtype)[1]


def converted(e: Emission, value: Value, dtype: DType) -> Value:
    """An array of another dtype; a number as it is."""
    type_ = value.type
    if not isinstance(type_, ArrayType) or type_.dtype is dtype:
        return value
    falsy = e.constant(False)
    operands = (value, e.constant(dtype.code, INT), falsy, falsy, e.constant(None))
    return e.emit("aten::to", operands, array_of(dtype, type_.rank))


def sample(value: Value, where: SourceRange) -> Any:
    """What stands for an operand when NumPy is asked about dtypes: an array of nothing, or a Python number."""
    if isinstance(value.type, ArrayType):
        dtype = value.type.dtype
        if dtype is None:
            raise CompileError(UNKNOWN_DTYPE, where)
        return np.ones(1, dtype.numpy)
    read = value.node.inputs[0].type if value.node is not None and value.node.kind in _READ else None
    if isinstance(read, ArrayType) and read.dtype is not None:
        return np.ones((), read.dtype.numpy)[()]  # an element: NumPy's scalar, which does not give way
    if value.type == INT and value.node is not None and value.node.kind == "prim::Constant":
        return value.node.attribute("value")  # what does not fit into the dtype, NumPy refuses
    return _WEAK.get(value.type)


def asked(where: SourceRange, function: Function, *operands: Any) -> DType:
    """The dtype that NumPy's function has for such operands. Raises CompileError for what NumPy refuses."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return from_numpy_dtype(np.asarray(function(*operands)).dtype)
    except (TypeError, ValueError, OverflowError, ZeroDivisionError) as error:
        raise CompileError(MIXED.format(error=str(error).partition("\n")[0]), where) from None


def promoted(e: Emission, where: SourceRange, values: Sequence[Value], dtype: DType | None = None) -> list[Value]:
    """Operands in the dtype in which NumPy computes with them, or in the one that is given."""
    target = dtype or result_type(where, *values)
    return [converted(e, v, target) for v in values]


def operands_of(where: SourceRange, function: Function, left: Value, right: Value) -> DType | None:
    """The dtype of a result of two operands, of which one is an array; None for what NumPy's rules do not cover."""
    for value in (left, right):
        if isinstance(value.type, ListType | TupleType):
            raise CompileError(LISTED, where)
        if not is_array(value) and value.type not in _WEAK:
            return None
    return asked(where, function, sample(left, where), sample(right, where))


def result_type(where: SourceRange, *values: Value) -> DType:
    """The dtype in which values meet."""
    samples = [sample(v, where) for v in values]
    try:
        return from_numpy_dtype(np.result_type(*samples))
    except TypeError as error:
        raise CompileError(MIXED.format(error=error), where) from None


def check_in_place(where: SourceRange, op: str, left: Value, right: Value) -> None:
    """Raise CompileError for `left op= right` that NumPy refuses: a result that the array's dtype cannot hold."""
    if right.type in _WEAK or is_array(right):
        asked(where, IN_PLACE[op], sample(left, where), sample(right, where))


def describe(type_: Type) -> str:
    """A type as messages about arrays have it."""
    return shown_array(type_) if isinstance(type_, ArrayType) else type_.annotation
