"""Rules of `peephole` for numbers: arithmetic that changes nothing, comparisons, negations and casts."""

from __future__ import annotations

import operator
from math import isfinite
from typing import Any, Final

from flambeau.analysis.constant_evaluation import is_none, never_none
from flambeau.analysis.int_bounds import bounds_of
from flambeau.ir import constants
from flambeau.ir.graph import Node, Value
from flambeau.passes.peephole_outcomes import KEEP, Apart, Chain, Constant, Literal, is_number, number_of, rewrites
from flambeau.schema import dtype as dtypes
from flambeau.schema import registry
from flambeau.schema.dtype import Category, DType
from flambeau.schema.subtype import is_subtype
from flambeau.schema.types import (
    BOOL,
    FLOAT,
    INT,
    NONE,
    TENSOR,
    AnyType,
    BoolType,
    FloatType,
    IntType,
    ListType,
    OptionalType,
    StringType,
    TensorType,
    Type,
    UnionType,
)


def _keeps_dtype(tensor: Value, number: Value, *, is_division: bool = False) -> bool:
    """Whether arithmetic with the number gives a tensor of the same dtype."""
    type_ = tensor.static_type
    if not isinstance(type_, TensorType) or type_.dtype is None or type_.dtype.is_complex:
        return False
    least = Category.FLOAT if is_division or isinstance(number.static_type, FloatType) else Category.INTEGER
    return type_.dtype.category >= least


def _is_integral(value: Value) -> bool:
    type_ = value.static_type
    if isinstance(type_, TensorType):
        return type_.dtype is not None and type_.dtype.is_integral
    return isinstance(type_, IntType)


def _plain_alpha(node: Node) -> bool:
    return len(node.operands) < 3 or is_number(node.operand(2), 1)


def _same_kind(node: Node) -> bool:
    """Whether the result has the type of the first operand, both numbers."""
    return (
        isinstance(node.operand(0).static_type, IntType | FloatType)
        and node.operand(0).static_type == node.result().static_type
    )


@rewrites("aten::add", "aten::sub", "aten::mul", "aten::div", "aten::floordiv")
def _neutral(node: Node) -> Any:
    """x + 0, x - 0, x * 1, x / 1, x // 1 for tensors and numbers; 0 + x and 1 * x for numbers."""
    if len(node.operands) < 2 or not _plain_alpha(node):
        return KEEP
    x, y = node.operands[:2]
    name = node.op.partition("::")[2]
    if isinstance(x.static_type, TensorType):
        fits = not isinstance(y.static_type, TensorType) and _keeps_dtype(x, y, is_division=name == "div")
        return x if fits and len(node.operands) < 4 and _is_neutral(name, x, y) else KEEP
    if _same_kind(node) and isinstance(y.static_type, IntType | FloatType) and _is_neutral(name, x, y):
        return x
    if (
        name in ("add", "mul")
        and y.static_type == node.result().static_type
        and isinstance(x.static_type, IntType | FloatType)
    ):
        return y if _is_neutral(name, y, x) else KEEP
    return KEEP


def _is_neutral(name: str, x: Value, y: Value) -> bool:
    """Whether the operator of this name gives x for x and y. A sum with 0. does not, for x = -0.; nor does x - -0."""
    if name == "add":
        return is_number(y, 0) if _is_integral(x) else is_number(y, -0.0)
    if name == "sub":
        is_int_zero = isinstance(y.static_type, IntType) and is_number(y, 0)
        return is_number(y, 0) if _is_integral(x) else is_number(y, 0.0) or is_int_zero
    if name == "floordiv":
        return _is_integral(x) and is_number(y, 1)
    return is_number(y, 1)


@rewrites("aten::add", "aten::mul")
def _wrapped_number(node: Node) -> Any:
    """n * x and x + n, where a constant tensor stands for the number n, as a trace has it: operators of numbers."""
    if len(node.operands) not in (2, 3) or not _plain_alpha(node):
        return KEEP
    for number, x in (node.operands[:2], node.operands[1::-1]):
        constant = constants.constant_value(number) if constants.is_constant(number) else None
        is_open = isinstance(x.static_type, TensorType) and not constants.is_constant(x)
        plain = constant.item() if constant is not None and getattr(constant, "is_wrapped_number", False) else None
        if not is_open or plain is None or isinstance(plain, bool | complex):
            continue

        def make(x: Value = x, plain: float = plain) -> Value:
            operands = [x, constants.insert_constant(node.graph, plain), *node.operands[2:]]
            return node.graph.insert(node.op, operands, (node.result().static_type,)).result()

        return Chain(make, node)
    return KEEP


@rewrites("aten::eq", "aten::ne", "aten::lt", "aten::le", "aten::gt", "aten::ge")
def _compare_same(node: Node) -> Any:
    """x == x, x < x of ints, bools, strings and lists of them; floats may be nan."""
    x, y = node.operands[:2]
    plain = x.static_type.element if isinstance(x.static_type, ListType) else x.static_type
    if x is not y or not isinstance(plain, IntType | BoolType | StringType):
        return KEEP
    return Constant(bool(getattr(operator, node.op.removeprefix("aten::"))(0, 0)))


@rewrites("aten::__is__", "aten::__isnot__")
def _identity(node: Node) -> Any:
    """Comparison with None, where types and the ways taken decide; of a value with itself, of tensors made apart, of
    bools, of which there are two.
    """
    x, y = node.operands[:2]
    is_ = node.op == "aten::__is__"
    if x.static_type == NONE and y.static_type == NONE:
        return Constant(is_)
    if (x.static_type == NONE and is_none(y) is False) or (y.static_type == NONE and is_none(x) is False):
        return Constant(not is_)
    if x is y:
        return Constant(is_)
    if x.static_type == BOOL and y.static_type == BOOL:
        return Chain(lambda: node.graph.insert("aten::eq" if is_ else "aten::ne", [x, y], (BOOL,)).result(), node)
    are_tensors = isinstance(x.static_type, TensorType) and isinstance(y.static_type, TensorType)
    return Apart((x, y), Constant(not is_)) if are_tensors else KEEP


_OPPOSITES: Final = (("==", "!="), ("is", "is not"))
"""Comparisons of which always exactly one holds: of two floats that may be nan, neither < nor >= might."""


def _opposite(kind: str) -> str:
    """The operator that gives the opposite truth; empty if there is none."""
    for pair in _OPPOSITES:
        names = [registry.spelled(symbol) for symbol in pair]
        if kind in names:
            return names[1 - names.index(kind)]
    return ""


@rewrites("aten::__not__")
def _negation(node: Node) -> Any:
    """not not x; not (a == b)."""
    inner = node.operand(0).defining_node
    if inner is None or len(inner.results) != 1:
        return KEEP
    if inner.op == "aten::__not__":
        return inner.operand(0)
    opposite = _opposite(inner.op)
    if opposite and inner.result().static_type == node.result().static_type:
        new = node.graph.create(opposite, inner.operands, [node.result().static_type])
        new.copy_metadata(node)
        return new
    return KEEP


@rewrites("prim::unchecked_cast")
def _cast(node: Node) -> Any:
    """A cast to the type that the value has, or to one that says less."""
    own, wanted = node.operand(0).static_type, node.result().static_type
    is_wider = isinstance(wanted, OptionalType | UnionType | AnyType) and never_none(own) and is_subtype(own, wanted)
    return node.operand(0) if own == wanted or is_wider else KEEP


_EXACT: Final[dict[Type, DType]] = {INT: dtypes.int64, FLOAT: dtypes.float64, BOOL: dtypes.bool_}
"""The dtypes in which a number made a tensor is what it was, by the number's type."""


@rewrites("aten::Int", "aten::Float", "aten::Bool")
def _number_cast(node: Node) -> Any:
    """int(n) of an int; int(t) of a number made a tensor."""
    x = node.operand(0)
    if x.static_type == node.result().static_type:
        return x
    source = x.defining_node
    if source is None or not source.operands or source.operand(0).static_type != node.result().static_type:
        return KEEP
    keeps_number = source.op == "prim::NumToTensor"
    if source.op == "aten::tensor":
        keeps_number = (
            isinstance(x.static_type, TensorType) and x.static_type.dtype is _EXACT[node.result().static_type]
        )
    return Literal(x, source.operand(0)) if keeps_number else KEEP


@rewrites(*[f"python::within_{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32)])
def _within_dtype(node: Node) -> Any:
    """An int that lies within a dtype whatever comes: there is nothing to look at."""
    dtype = dtypes.by_name(node.op.removeprefix("python::within_"))
    x = node.operand(0)
    return x if bounds_of(x).is_within(dtype) else KEEP


@rewrites("prim::If")
def _truth_of_condition(node: Node) -> Any:
    """True if the condition holds and else False: the condition."""
    if len(node.results) != 1 or any(len(list(block)) for block in node.nested_blocks):
        return KEEP
    ways = [block.returns[0] for block in node.nested_blocks]
    if not all(map(constants.is_constant, ways)):
        return KEEP
    is_condition = [constants.constant_value(v) for v in ways] == [True, False]
    return node.operand(0) if is_condition and all(isinstance(v.static_type, BoolType) for v in ways) else KEEP


@rewrites("prim::abs")
def _absolute(node: Node) -> Any:
    """`abs(x)` of a tensor: the operator, about which more is known."""
    x = node.operand(0)
    if not isinstance(x.static_type, TensorType):
        return KEEP
    return Chain(lambda: node.graph.insert("aten::abs", (x,), (TENSOR,)).result(), node)


@rewrites("aten::__derive_index")
def _derived_index(node: Node) -> Any:
    """The counter of a range with the step 1."""
    index, start, step = node.operands
    if not is_number(step, 1):
        return KEEP
    if is_number(start, 0):
        return index
    new = node.graph.create("aten::add", (index, start), (node.result().static_type,))
    new.copy_metadata(node)
    return new


@rewrites("aten::masked_fill")
def _masked_fill(node: Node) -> Any:
    """masked_fill(x, mask, number) as a choice, which kernels know, where the number is one of x's dtype."""
    x, mask, number = node.operands[:3]
    constant = number_of(number)
    if constant is None or not isinstance(x.static_type, TensorType) or not isinstance(mask.static_type, TensorType):
        return KEEP
    if (
        mask.static_type.dtype is not dtypes.bool_
        or x.static_type.dtype not in _CHOSEN
        or isinstance(number.static_type, BoolType)
    ):
        return KEEP
    if isinstance(constant, float) and isfinite(constant) and abs(constant) > _LARGEST:
        return KEEP
    new = node.graph.create("aten::where", (mask, number, x), (node.result().static_type,))
    new.copy_metadata(node)
    return new


_CHOSEN: Final = frozenset({dtypes.float32, dtypes.float64})
"""Dtypes that a number does not change."""
_LARGEST: Final = 3.4e38
"""Beyond it a number may be none of float32."""
