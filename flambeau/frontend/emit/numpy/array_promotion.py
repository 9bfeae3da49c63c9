"""Arithmetic of arrays: NumPy's promotion, numbers for elements, and refusals where operators mean something else.

a * 1.0    with int64s in `a`    →    %b = aten::to(%a, float64)    aten::mul(%b, 1.0)

What NumPy makes of dtypes is asked of NumPy itself, with arrays of no elements. An array without dimensions is a number
of the program: what is read with an integer for every axis, a sum, a product of vectors.
"""

from __future__ import annotations

import operator
import warnings
from collections.abc import Callable, Sequence
from itertools import product
from typing import Any, Final

import numpy as np

from flambeau.analysis.operator_rules import result_types
from flambeau.frontend.emit.dtype_operands import check_number
from flambeau.frontend.emit.values.sugared import Emitter, Given
from flambeau.ir.graph import Node, Value
from flambeau.schema.array_type import ArrayType, array_of, scalar_of, shown_array
from flambeau.schema.dtype import DType, from_numpy_dtype, int64, uint64
from flambeau.schema.element_type import element_of, kinds_of
from flambeau.schema.types import BOOL, COMPLEX, FLOAT, INT, ListType, TensorType, TupleType, Type
from flambeau.util.errors import CompileError
from flambeau.util.instead import instead
from flambeau.util.source import SourceRange

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
_PICKS: Final = ("prim::max", "prim::min")
UNKNOWN_RANK: Final = instead(
    "how many dimensions this array has is not known here: {code}, or (n, m), before it is indexed says so",
    "x = x.reshape(n)", given="x: np.ndarray, n: int", gives="x",
)  # fmt: skip
UNKNOWN_DTYPE: Final = instead(
    "the dtype of this array is not known here: {code} says it", "x = x.astype(np.float64)", given="x: np.ndarray",
    gives="x",
)  # fmt: skip
LISTED: Final = instead(
    "an array and a list: make an array of the list with {code}", "x + np.array(y)", of="x + y",
    given="x: np.ndarray, y: list[int]", shown="np.array(...)",
)  # fmt: skip
MIXED: Final = "NumPy: {error}"
BY_THE_WAY: Final = (
    "the number here is one of Python on one way and one of NumPy on another, with which the result is {first} or "
    "{second}: make it one of Python each time with float(...), or one of NumPy with np.float64(...)"
)


def is_array(value: Value) -> bool:
    """Whether a value is an array."""
    return isinstance(value.static_type, ArrayType)


def known_rank(value: Value) -> int | None:
    """The rank of an array, if it is known and the value is one."""
    return value.static_type.rank if isinstance(value.static_type, ArrayType) else None


def dtype_and_rank(value: Value, where: SourceRange) -> tuple[DType, int]:
    """The dtype and rank of an array. Raises CompileError where only the run tells them, and for a list."""
    type_ = value.static_type
    if isinstance(type_, ListType):
        raise CompileError(LISTED, where)
    assert isinstance(type_, ArrayType)
    if type_.dtype is None:
        raise CompileError(UNKNOWN_DTYPE, where)
    if type_.rank is None:
        raise CompileError(UNKNOWN_RANK, where)
    return type_.dtype, type_.rank


def note_results(node: Node, operands: Sequence[Value]) -> None:
    """Make arrays of the results of an operator on arrays; a tensor among the operands makes tensors."""
    if node.op in _PICKS:
        _note_pick(node, operands)
    tensors = [t for v in _items(operands) for t in v.static_type.walk() if isinstance(t, TensorType)]
    if not tensors or not all(isinstance(t, ArrayType) for t in tensors):
        return
    definition = node.definition
    results = [v for v in node.results if any(isinstance(t, TensorType) for t in v.static_type.walk())]
    if definition is None or not results:
        return
    is_computed = definition.family == "pointwise" and not definition.schema.is_mutable
    for value, inferred in zip(results, result_types(node, definition, results), strict=True):
        type_ = _as_array(inferred)
        value.set_type(_as_scalar(type_) if is_computed else type_)


def _as_scalar(type_: Type) -> Type:
    """What NumPy gives where arrays have no dimensions: no array."""
    return scalar_of(type_.dtype) if isinstance(type_, ArrayType) and type_.rank == 0 else type_


def _note_pick(node: Node, operands: Sequence[Value]) -> None:
    """What picks one of its operands gives what any of them may be."""
    kinds = [kind for v in operands for kind in kinds_of(v.static_type)]
    for value in node.results:
        value.set_type(element_of(value.static_type, *kinds))


def _items(operands: Sequence[Value]) -> list[Value]:
    """The operands, lists that were just made as their items."""
    picked = [
        v.defining_node.operands
        if v.defining_node is not None and v.defining_node.op == "prim::ListConstruct"
        else (v,)
        for v in operands
    ]
    return [item for items in picked for item in items]


def _as_array(type_: Type) -> Type:
    if isinstance(type_, TensorType):
        return type_ if isinstance(type_, ArrayType) else array_of(type_.dtype, type_.rank)
    return ListType(_as_array(type_.element)) if isinstance(type_, ListType) else type_


def as_number(e: Emitter, value: Value) -> Value:
    """An array without dimensions as the number it is; other values as they are."""
    type_ = value.static_type
    if not isinstance(type_, ArrayType) or type_.rank != 0 or type_.dtype is None:
        return value
    kind, number = _number_of(type_.dtype)
    if type_.dtype is uint64:
        value = converted(e, value, int64)
    return e.emit(kind, (value,), element_of(number, type_.dtype))


def array_of_number(e: Emitter, number: Value, dtype: DType) -> Value:
    """A number as an array without dimensions."""
    options = (e.constant(dtype.code, INT), e.constant(None), e.constant(None), e.constant(None))
    return e.emit("aten::scalar_tensor", (number, *options), array_of(dtype, 0))


def array_of_list(e: Emitter, where: SourceRange, value: Value) -> Value:
    """A list of numbers, or of lists of these, as the array that NumPy makes of it; any other value itself."""
    inner: Type = value.static_type
    if not isinstance(inner, ListType):
        return value
    while isinstance(inner, ListType):
        inner = inner.element
    if inner not in _WEAK:
        return value
    return e.wrap(np.array, where).call(e, where, [Given(value, where)], ()).as_value(e, where)


def _number_of(dtype: DType) -> tuple[str, Type]:
    if dtype.is_complex:
        return "aten::ComplexImplicit", COMPLEX
    if dtype.is_floating_point:
        return "aten::Float", FLOAT
    return ("aten::Bool", BOOL) if dtype.name == "bool" else ("aten::Int", INT)


def element_type(dtype: DType) -> Type:
    """The type of the numbers that elements are."""
    return _number_of(dtype)[1]


def converted(e: Emitter, value: Value, dtype: DType) -> Value:
    """An array of another dtype; a number as it is."""
    type_ = value.static_type
    if not isinstance(type_, ArrayType) or type_.dtype is dtype:
        return value
    falsy = e.constant(False)
    operands = (value, e.constant(dtype.code, INT), falsy, falsy, e.constant(None))
    return e.emit("aten::to", operands, array_of(dtype, type_.rank))


def samples(value: Value, where: SourceRange) -> list[Any]:
    """What stands for an operand when NumPy is asked about dtypes: an array of one, or each number that it may be."""
    if isinstance(value.static_type, ArrayType):
        dtype = value.static_type.dtype
        if dtype is None:
            raise CompileError(UNKNOWN_DTYPE, where)
        return [np.ones(1, dtype.numpy)]
    check_number(value, where)
    return [element_sample(kind, value) for kind in kinds_of(value.static_type)]


def element_sample(kind: DType | None, value: Value, default: Any = None) -> Any:
    """A number of one of the kinds that a value may be: NumPy's scalar, or Python's number, which gives way."""
    if kind is not None:
        return np.ones((), kind.numpy)[()]
    number = constant_number(value) if value.static_type == INT and default is None else None
    return _WEAK.get(value.static_type) if number is None else number  # what does not fit into the dtype, NumPy refuses


def constant_number(value: Value) -> complex | None:
    """The number that a value is known to be; None for any other."""
    node = value.defining_node
    constant = node.attribute("value") if node is not None and node.op == "prim::Constant" else None
    return constant if type(constant) in (int, float, complex) else None


class DtypeError(CompileError):
    """NumPy refuses operands of such dtypes."""


def asked(where: SourceRange, function: Function, *operands: Any) -> DType:
    """The dtype that NumPy's function has for such operands. Raises DtypeError for what NumPy refuses."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return from_numpy_dtype(np.asarray(function(*operands)).dtype)
    except (TypeError, ValueError, OverflowError, ZeroDivisionError) as error:
        raise DtypeError(MIXED.format(error=str(error).partition("\n")[0]), where) from None


def dtype_of(where: SourceRange, function: Function, *values: Value) -> DType:
    """The dtype of a function of values. Raises CompileError where it depends on the way which numbers they are."""
    dtypes = {asked(where, function, *each) for each in product(*(samples(v, where) for v in values))}
    if len(dtypes) > 1:
        names = sorted(d.name for d in dtypes)
        raise CompileError(BY_THE_WAY.format(first=names[0], second=names[-1]), where)
    return dtypes.pop()


def promoted(e: Emitter, where: SourceRange, values: Sequence[Value], dtype: DType | None = None) -> list[Value]:
    """Operands in the dtype in which NumPy computes with them, or in the one that is given."""
    target = dtype or result_type(where, *values)
    return [converted(e, v, target) for v in values]


def operands_of(where: SourceRange, function: Function, left: Value, right: Value) -> DType | None:
    """The dtype of a result of two operands, of which one is an array; None for what NumPy's rules do not cover."""
    for value in (left, right):
        if isinstance(value.static_type, ListType | TupleType):
            raise CompileError(LISTED, where)
        if not is_array(value) and value.static_type not in _WEAK:
            return None
    return dtype_of(where, function, left, right)


def result_type(where: SourceRange, *values: Value) -> DType:
    """The dtype in which values meet."""
    return dtype_of(where, _meeting, *values)


def _meeting(*operands: Any) -> Any:
    return np.empty((), np.result_type(*operands))


def check_in_place(where: SourceRange, op: str, left: Value, right: Value) -> None:
    """Raise CompileError for `left op= right` that NumPy refuses: a result that the array's dtype cannot hold."""
    if right.static_type in _WEAK or is_array(right):
        for each in product(samples(left, where), samples(right, where)):
            asked(where, IN_PLACE[op], *each)


def describe(type_: Type) -> str:
    """A type as messages about arrays have it."""
    return shown_array(type_) if isinstance(type_, ArrayType) else type_.annotation
