"""Operators: arithmetic, comparison and their mixtures of tensors, numbers, tuples, strings and objects.

2 - x    with a tensor x    →    %a = aten::neg(%x)    %b = aten::add(%a, %two, %one)
"""

from __future__ import annotations

import operator
import re
from typing import Final

from flambeau.frontend.emit import arrays, elements
from flambeau.frontend.emit.arrays import is_array
from flambeau.frontend.emit.conditions import to_bool
from flambeau.frontend.emit.conversions import pack_list, pack_tuple, unpack_tuple
from flambeau.frontend.emit.schema_matching import call_operator
from flambeau.frontend.emit.symbols import BINARY, COMPARE
from flambeau.frontend.trees.views import BinOp, Compare, Const, Expr, Invert, UnaryMinus
from flambeau.frontend.values import sets
from flambeau.frontend.values.lazy_search import contains
from flambeau.frontend.values.magic import MAGIC, call_unary, emit_magic, is_magic
from flambeau.frontend.values.object_methods import as_text, has_method, iterated
from flambeau.frontend.values.simple_value import SimpleValue
from flambeau.frontend.values.sugared import Emitter, Given, Sugared
from flambeau.ir.value import Value
from flambeau.schema.dtype import DType
from flambeau.schema.element_type import is_element
from flambeau.schema.types import (
    BOOL,
    COMPLEX,
    INT,
    STRING,
    BoolType,
    DictType,
    FloatType,
    IntType,
    ListType,
    NamedType,
    OptionalType,
    StringType,
    TensorType,
    TupleType,
    Type,
    UnionType,
    is_number,
)
from flambeau.util.errors import CompileError
from flambeau.util.source import SourceRange

SWAPPED: Final = {
    "+": "+", "*": "*", "&": "&", "|": "|", "^": "^", "<": ">", ">": "<", "<=": ">=", ">=": "<=",
    "==": "==", "!=": "!=",
}  # fmt: skip
"""`number op tensor` as `tensor op number`."""

SIMPLE_ITEMS: Final = (IntType, FloatType, StringType, TensorType)
"""What lists hold whose membership and equality TorchScript has operators for; lists of tensors have no membership."""

WIDTHS: Final = re.compile(r"%([-+ #0]+[\d.]*|[\d.]+)[a-zA-Z]|%[goxXGr]")
"""Specifiers of `%` that TorchScript does not have."""

ORDERED: Final = {"<": operator.lt, ">": operator.gt, "<=": operator.le, ">=": operator.ge}

OUT_OF_RANGE = "Integral constant out of range (must fit in a signed 64 bit integer)"


def emit_binary(e: Emitter, tree: BinOp, hint: Type | None) -> Sugared:
    """`a op b`. A chain that leans to the left, however long, takes no recursion."""
    spine: list[BinOp] = []
    left: Expr = tree
    while isinstance(left, BinOp) and id(left) not in e.shared:
        spine.append(left)
        left = left.left
    value = e.value(left)
    for node in reversed(spine):
        right = e.value(node.right)
        with e.graph.at_range(node.range):
            value = binary(e, node.range, node.op, value, right)
    return SimpleValue(value)


def binary(e: Emitter, where: SourceRange, op: str, left: Value, right: Value) -> Value:
    """`left op right` for the signs of `BINARY`."""
    if op == "**" and {left.static_type, right.static_type} == {COMPLEX, INT}:
        # There is no overload of both; that of any two numbers would say that the result is real.
        left, right = (
            call_operator(e, where, "aten::Float", [v]) if v.static_type == INT else v for v in (left, right)
        )
    if op == "%" and left.static_type == STRING:
        items = unpack_tuple(e, right) if isinstance(right.static_type, TupleType) else [right]
        text = (
            left.defining_node.attribute("value")
            if left.defining_node is not None and left.defining_node.op == "prim::Constant"
            else ""
        )
        kind = "python::percent" if WIDTHS.search(text.replace("%%", "")) else "aten::percentFormat"
        return call_operator(e, where, kind, [left, *[as_text(e, where, i) for i in items]])
    if is_magic(op, left, right):
        return emit_magic(e, where, op, left, right)
    if is_array(left) or is_array(right):
        computed = _of_arrays(e, where, op, left, right)
        if computed is not None:
            return computed
    if elements.are_elements(left, right):
        return elements.arithmetic(e, where, op, left, right, _of_numbers)
    if is_number(left.static_type) and isinstance(right.static_type, TensorType):
        reflected = _number_and_tensor(e, where, op, left, right)
        if reflected is not None:
            return reflected
    if isinstance(left.static_type, TupleType) and isinstance(right.static_type, TupleType) and op == "+":
        return pack_tuple(e, [*unpack_tuple(e, left), *unpack_tuple(e, right)])
    if isinstance(left.static_type, DictType) and isinstance(right.static_type, DictType) and op == "|":
        return call_operator(e, where, "python::merged", [left, right])
    if sets.is_set(left) and sets.is_set(right):
        made = sets.binary(e, where, op, left, right)
        if made is not None:
            return made
    if isinstance(left.static_type, TupleType) and op == "*" and left.static_type.elements:
        constant = (
            right.defining_node
            if right.defining_node is not None and right.defining_node.op == "prim::Constant"
            else None
        )
        count = None if constant is None else constant.attribute("value")
        if type(count) is int:
            return pack_tuple(e, unpack_tuple(e, left) * count)
        left = pack_list(e, unpack_tuple(e, left), left.static_type.elements[0])
    if op in "&|^" and {left.static_type, right.static_type} == {BOOL, INT}:
        left, right = (call_operator(e, where, "aten::Int", [v]) if v.static_type == BOOL else v for v in (left, right))
    return call_operator(e, where, _operator(op, left, right), [left, right])


def _of_numbers(e: Emitter, where: SourceRange, op: str, left: Value, right: Value) -> Value:
    """Arithmetic of numbers, whatever they were read from."""
    if op in "&|^" and {left.static_type, right.static_type} == {BOOL, INT}:
        left, right = (call_operator(e, where, "aten::Int", [v]) if v.static_type == BOOL else v for v in (left, right))
    return call_operator(e, where, _operator(op, left, right), [left, right])


def _of_arrays(e: Emitter, where: SourceRange, op: str, left: Value, right: Value) -> Value | None:
    """Arithmetic as NumPy does it; None where a tensor or something else takes part."""
    if op == "@":
        if not (is_array(left) and is_array(right)):
            return None
        operands = arrays.promoted(e, where, [left, right])
        return arrays.as_number(e, call_operator(e, where, "aten::matmul", operands))
    dtype = arrays.operands_of(where, arrays.BINARY[op], left, right)
    if dtype is None:
        return None
    left, right = (elements.within(e, where, v, dtype) for v in arrays.promoted(e, where, [left, right], dtype))
    if is_number(left.static_type):
        return _number_and_array(e, where, op, left, right, dtype)
    return call_operator(e, where, _operator(op, left, right), [left, right])


def _number_and_array(e: Emitter, where: SourceRange, op: str, left: Value, right: Value, dtype: DType) -> Value:
    """`2 - x`: where the operator takes no number first, it gets an array of it."""
    if op in SWAPPED and op in BINARY:
        return call_operator(e, where, BINARY[op], [right, left])
    if op == "-":
        return call_operator(e, where, "aten::rsub", [right, left])
    options = [Given(e.constant(dtype.code, INT), where, "dtype")]
    filled = call_operator(e, where, "aten::full_like", [right, left], options)
    return call_operator(e, where, _operator(op, filled, right), [filled, right])


def _compare_arrays(e: Emitter, where: SourceRange, op: str, left: Value, right: Value) -> Value | None:
    """Comparison as NumPy does it; None where a tensor or something else takes part."""
    if any(not is_array(v) and not is_number(v.static_type) for v in (left, right)):
        return None
    left, right = arrays.promoted(e, where, [left, right], arrays.result_type(where, left, right))
    if is_number(left.static_type):
        return call_operator(e, where, COMPARE[SWAPPED[op]], [right, left])
    return call_operator(e, where, COMPARE[op], [left, right])


def _operator(op: str, left: Value, right: Value) -> str:
    if op == "//" and (isinstance(left.static_type, TensorType) or isinstance(right.static_type, TensorType)):
        return "aten::floor_divide"
    return BINARY[op]


def _number_and_tensor(e: Emitter, where: SourceRange, op: str, left: Value, right: Value) -> Value | None:
    """`2 - x` and the like, for which operators have no overload; None where they have."""
    if op in SWAPPED:
        return call_operator(e, where, BINARY.get(op) or COMPARE[op], [right, left]) if op in BINARY else None
    if op == "-":
        return call_operator(e, where, "aten::add", [call_operator(e, where, "aten::neg", [right]), left])
    if op == "/":
        return call_operator(e, where, "aten::mul", [call_operator(e, where, "aten::reciprocal", [right]), left])
    if op in ("//", "<<", ">>"):
        # A tensor of the promoted type, filled with the number: multiplication promotes as the operator itself would.
        filled = call_operator(e, where, "aten::mul", [call_operator(e, where, "aten::ones_like", [right]), left])
        return call_operator(e, where, _operator(op, filled, right), [filled, right])
    return None


def emit_compare(e: Emitter, tree: Compare, hint: Type | None) -> Sugared:
    """`a op b` for comparisons, membership and identity."""
    left = e.value(tree.left)
    if tree.op == "in":
        container = e.sugared(tree.right)
        if container.is_lazy:
            return SimpleValue(contains(e, tree.range, container, left))
        found = container.contains(e, tree.range, left)
        if found is not None:
            return SimpleValue(found)
        return SimpleValue(_contains(e, tree.range, container.as_value(e, tree.right.range), left))
    right = e.value(tree.right)
    return SimpleValue(compare(e, tree.range, tree.op, left, right))


def compare(e: Emitter, where: SourceRange, op: str, left: Value, right: Value) -> Value:
    """`left op right` for the signs of `COMPARE`, and `in`."""
    if op == "in":
        return _contains(e, where, right, left)
    if op in ("is", "is not") and left.static_type == BOOL and right.static_type == BOOL:
        op = "==" if op == "is" else "!="
    if is_magic(op, left, right):
        return emit_magic(e, where, op, left, right)
    if (is_array(left) or is_array(right)) and op in SWAPPED:
        compared = _compare_arrays(e, where, op, left, right)
        if compared is not None:
            return compared
    if op in SWAPPED and elements.are_elements(left, right):
        return elements.comparison(e, where, op, left, right, _compare_numbers)
    if is_number(left.static_type) and isinstance(right.static_type, TensorType) and op in SWAPPED:
        return call_operator(e, where, COMPARE[SWAPPED[op]], [right, left])
    if sets.is_set(left) and sets.is_set(right) and op in sets.COMPARISONS:
        return sets.compared(e, where, op, left, right)
    if isinstance(left.static_type, TupleType) and isinstance(right.static_type, TupleType) and op in ("==", "!="):
        return _tuples_equal(e, where, op, left, right)
    if isinstance(left.static_type, TupleType) and isinstance(right.static_type, TupleType) and op in ORDERED:
        return _tuples_ordered(e, where, op, left, right)
    if isinstance(left.static_type, ListType) and isinstance(right.static_type, ListType) and op in MAGIC:
        is_equality = op in ("==", "!=")
        if not is_equality or not isinstance(left.static_type.element, (*SIMPLE_ITEMS, BoolType)):
            return call_operator(e, where, COMPARE[op].replace("aten::", "python::"), [left, right])
    if op in ("==", "!=") and _are_optional(left, right):
        return call_operator(e, where, COMPARE[op].replace("aten::", "python::any_"), [left, right])
    return call_operator(e, where, COMPARE[op], [left, right])


def _compare_numbers(e: Emitter, where: SourceRange, op: str, left: Value, right: Value) -> Value:
    return call_operator(e, where, COMPARE[op], [left, right])


def _are_optional(left: Value, right: Value) -> bool:
    """Whether one of two values may be None or of several types, and neither may be a tensor or an object."""
    types = (left.static_type, right.static_type)
    if not any(isinstance(t, OptionalType | UnionType) for t in types):
        return False
    return not any(isinstance(t, TensorType | NamedType) for type_ in types for t in type_.walk())


def _contains(e: Emitter, where: SourceRange, container: Value, item: Value) -> Value:
    type_ = container.static_type
    if isinstance(type_, NamedType):
        if not has_method(e, type_, "__contains__", where):
            found = e.rules.search(e, where, container, item)
            listed = iterated(e, where, container) if found is None else None
            if listed is not None:
                return _contains(e, where, listed, item)
            if found is not None:
                return found
        method = SimpleValue(container).attribute(e, where, "__contains__")
        return method.call(e, where, [Given(item, where)], ()).as_value(e, where)
    if isinstance(type_, StringType) and item.static_type == STRING:
        length = call_operator(e, where, "aten::len", [container])
        found = call_operator(e, where, "aten::find", [container, item, e.constant(0), length])
        return call_operator(e, where, "aten::ne", [found, e.constant(-1)])
    if isinstance(type_, TupleType):
        result = e.constant(False)
        for element in unpack_tuple(e, container):
            if STRING in (element.static_type, item.static_type) and is_number(element.static_type) | is_number(
                item.static_type
            ):
                continue  # no text is a number
            equal = to_bool(e, where, compare(e, where, "==", element, item))
            result = call_operator(e, where, "aten::__or__", [result, equal])
        return result
    if isinstance(type_, ListType) and not isinstance(type_.element, SIMPLE_ITEMS):
        return call_operator(e, where, "python::contains", [container, item])
    return call_operator(e, where, "aten::__contains__", [container, item])


def _tuples_equal(e: Emitter, where: SourceRange, op: str, left: Value, right: Value) -> Value:
    pairs = list(zip(unpack_tuple(e, left), unpack_tuple(e, right), strict=False))
    assert isinstance(left.static_type, TupleType)
    assert isinstance(right.static_type, TupleType)
    if len(left.static_type.elements) != len(right.static_type.elements):
        return e.constant(op == "!=")
    result = e.constant(True)
    for a, b in pairs:
        equal = to_bool(e, where, compare(e, where, "==", a, b))
        result = call_operator(e, where, "aten::__and__", [result, equal])
    return result if op == "==" else call_operator(e, where, "aten::__not__", [result])


def _tuples_ordered(e: Emitter, where: SourceRange, op: str, left: Value, right: Value) -> Value:
    """`(a, b) < (c, d)`: the first items that differ decide; if none does, the lengths."""
    pairs = list(zip(unpack_tuple(e, left), unpack_tuple(e, right), strict=False))
    assert isinstance(left.static_type, TupleType)
    assert isinstance(right.static_type, TupleType)
    sizes = len(left.static_type.elements), len(right.static_type.elements)
    result = e.constant(ORDERED[op](*sizes))
    for a, b in reversed(pairs):
        equal = to_bool(e, where, compare(e, where, "==", a, b))
        node = e.graph.insert("prim::If", (equal,), (BOOL,))
        same, other = node.add_block(), node.add_block()
        same.add_return(result)
        with e.inside(other):
            other.add_return(to_bool(e, where, compare(e, where, op, a, b)))
        result = node.result()
    return result


def emit_minus(e: Emitter, tree: UnaryMinus, hint: Type | None) -> Sugared:
    """`-a`; of a literal it is a literal, so that the smallest int can be written."""
    if isinstance(tree.value, Const):
        return SimpleValue(number(e, -tree.value.value, tree.range))
    value = e.value(tree.value)
    if is_element(value.static_type):
        return SimpleValue(elements.negative(e, tree.range, value))
    result = call_unary(e, tree.range, "__neg__", value)
    return SimpleValue(call_operator(e, tree.range, "aten::neg", [value]) if result is None else result)


def emit_invert(e: Emitter, tree: Invert, hint: Type | None) -> Sugared:
    """`~a`, for tensors, ints and objects."""
    value = e.value(tree.value)
    if is_element(value.static_type):
        return SimpleValue(elements.negative(e, tree.range, value, "aten::bitwise_not"))
    result = call_unary(e, tree.range, "__invert__", value)
    if result is not None:
        return SimpleValue(result)
    if value.static_type == INT:
        return SimpleValue(call_operator(e, tree.range, "aten::__xor__", [value, e.constant(-1)]))
    return SimpleValue(call_operator(e, tree.range, "aten::bitwise_not", [value]))


def emit_const(e: Emitter, tree: Const, hint: Type | None) -> Sugared:
    """A number."""
    return SimpleValue(number(e, tree.value, tree.range))


def number(e: Emitter, value: complex, where: SourceRange) -> Value:
    """A constant number. Raises CompileError for an int beyond 64 bits."""
    if isinstance(value, int) and not -(1 << 63) <= value < 1 << 63:
        raise CompileError(OUT_OF_RANGE, where)
    return e.constant(value)
