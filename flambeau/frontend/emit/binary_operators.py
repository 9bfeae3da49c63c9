"""Arithmetic and its mixtures of tensors, numbers, tuples, strings and objects.

2 - x    with a tensor x    →    %a = aten::neg(%x)    %b = aten::add(%a, %two, %one)
"""

from __future__ import annotations

import re
from typing import Any, Final

from flambeau.frontend.emit.dtype_operands import check_number
from flambeau.frontend.emit.implicit_conversions import pack_list, pack_tuple, unpack_tuple
from flambeau.frontend.emit.literal_arithmetic import literal_start, whole_number
from flambeau.frontend.emit.numpy import array_promotion as arrays
from flambeau.frontend.emit.numpy import element_arithmetic as elements
from flambeau.frontend.emit.numpy.array_products import product
from flambeau.frontend.emit.numpy.array_promotion import is_array
from flambeau.frontend.emit.numpy.dtype_values import dtype_text
from flambeau.frontend.emit.numpy.remainders import with_sign_of
from flambeau.frontend.emit.numpy.reversed_views import ReversedView, read
from flambeau.frontend.emit.schema_matching import call_operator
from flambeau.frontend.emit.values import set_values as sets
from flambeau.frontend.emit.values.magic_methods import call_unary, emit_magic, is_magic
from flambeau.frontend.emit.values.object_methods import as_text
from flambeau.frontend.emit.values.simple_value import SimpleValue
from flambeau.frontend.emit.values.sugared import Emitter, FormValue, Given, Sugared
from flambeau.frontend.library import numbers
from flambeau.frontend.scopes.python_constants import out_of_range
from flambeau.frontend.trees.tree_views import BinOp, Const, Expr, Invert, UnaryMinus
from flambeau.ir.graph import Value
from flambeau.schema import registry
from flambeau.schema.dtype import DType, uint64
from flambeau.schema.element_type import element_of, is_element
from flambeau.schema.types import (
    BOOL,
    COMPLEX,
    FLOAT,
    INT,
    STRING,
    DictType,
    ListType,
    StringType,
    TensorType,
    TupleType,
    Type,
    is_number,
)
from flambeau.util.errors import CompileError
from flambeau.util.source import SourceRange

COMMUTING: Final = "+*&|^"
"""Signs whose operands may change places: `number op tensor` is `tensor op number`."""

WIDTHS: Final = re.compile(r"%([-+ #0]+[\d.]*|[\d.]+)[a-zA-Z]|%[goxXGr]")
"""Specifiers of `%` that TorchScript does not have."""


def emit_binary(e: Emitter, tree: BinOp, hint: Type | None) -> Sugared:
    """`a op b`. A chain that leans to the left, however long, takes no recursion."""
    spine: list[BinOp] = []
    left: Expr = tree
    while isinstance(left, BinOp) and id(left) not in e.shared:
        spine.append(left)
        left = left.left
    exact, count = literal_start(left, spine) if e.arrays else (None, 0)
    if exact is not None and count:
        first: Sugared = SimpleValue(number(e, exact, spine[-count].range))
        del spine[-count:]
    else:
        first = e.sugared(left)
    value = None if isinstance(first, ReversedView) else first.as_value(e, left.range)
    for node in reversed(spine):
        second = e.sugared(node.right)
        right = read(e, second, node.right.range)
        value = read(e, first, left.range) if value is None else value
        with e.graph.at_range(node.range):
            value = binary(e, node.range, node.op, value, right)
    assert value is not None
    return SimpleValue(value)


def binary(e: Emitter, where: SourceRange, op: str, left: Value, right: Value) -> Value:
    """`left op right` for the signs of Python's binary operators: as the first rule says that is for such operands."""
    if op in ("**", "/") and COMPLEX in (left.static_type, right.static_type):
        # There is no overload of both; that of any two numbers would say that the result is real.
        for type_ in (BOOL, INT, FLOAT)[: 2 if op == "**" else 3]:
            name = "aten::Float" if op == "**" else "aten::Complex"
            left, right = (_converted(e, where, v, type_, name) for v in (left, right))
    for rule in _RULES:
        result = rule(e, where, op, left, right)
        if result is not None:
            return result
    return _of_numbers(e, where, op, left, right)


def _converted(e: Emitter, where: SourceRange, value: Value, type_: Type, operator_name: str) -> Value:
    """A value, converted if it is of that type."""
    return call_operator(e, where, operator_name, [value]) if value.static_type == type_ else value


def _of_numbers(e: Emitter, where: SourceRange, op: str, left: Value, right: Value) -> Value:
    """Arithmetic of numbers, whatever they were read from, and of all else that an overload takes as it is."""
    if op in "&|^" and {left.static_type, right.static_type} == {BOOL, INT}:
        left, right = (_converted(e, where, v, BOOL, "aten::Int") for v in (left, right))
    if op == "*" and BOOL in (left.static_type, right.static_type):
        left, right = _repetitions(e, where, left, right)
    if op == "**" and e.arrays and left.static_type == INT == right.static_type:
        return _power_of_ints(e, where, left, right)
    return call_operator(e, where, _operator(op, left, right), [left, right])


def _repetitions(e: Emitter, where: SourceRange, left: Value, right: Value) -> tuple[Value, Value]:
    """The operands of `"a" * flag`: a text or list once, or not at all."""
    types = (left.static_type, right.static_type)
    if not any(isinstance(t, ListType | StringType) for t in types):
        return left, right
    return _converted(e, where, left, BOOL, "aten::Int"), _converted(e, where, right, BOOL, "aten::Int")


def _power_of_ints(e: Emitter, where: SourceRange, left: Value, right: Value) -> Value:
    """`a ** n` in a program on arrays: an int as in Python, unless the exponent is a constant below 0."""
    exponent = arrays.constant_number(right)
    if isinstance(exponent, int) and exponent < 0:
        return call_operator(e, where, "aten::pow", [left, right])
    return call_operator(e, where, "python::int_power", [left, right])


def _of_arrays(e: Emitter, where: SourceRange, op: str, left: Value, right: Value) -> Value | None:
    """Arithmetic as NumPy does it; None where no array takes part, or a tensor or something else does."""
    if not is_array(left) and not is_array(right):
        return None
    if op == "@":
        if not (is_array(left) and is_array(right)):
            return None
        return arrays.as_number(e, product(e, where, "matmul", [left, right]))
    dtype = arrays.operands_of(where, arrays.BINARY[op], left, right)
    if dtype is None:
        return None
    left, right = (elements.within(e, where, v, dtype) for v in arrays.promoted(e, where, [left, right], dtype))
    check_exponents(e, where, op, right, dtype)
    if is_number(left.static_type):
        result = _number_and_array(e, where, op, left, right, dtype)
    else:
        result = call_operator(e, where, _operator(op, left, right), [left, right])
    return with_sign_of(e, where, right, result) if op == "%" and dtype.is_floating_point else result


def check_exponents(e: Emitter, where: SourceRange, op: str, exponents: Value, dtype: DType) -> None:
    """Have the run refuse exponents below 0 among those of an array, where powers are whole numbers of a dtype."""
    if op == "**" and is_array(exponents) and dtype.is_integral and dtype.is_signed:
        check: Any = e.wrap(numbers.check_exponents, where)
        FormValue(check.kind, check.call_tree).call(e, where, [Given(exponents, where)], ())


def _number_and_array(e: Emitter, where: SourceRange, op: str, left: Value, right: Value, dtype: DType) -> Value:
    """`2 - x`: where the operator takes no number first, it gets an array of it."""
    if op in COMMUTING:
        return call_operator(e, where, registry.spelled(op), [right, left])
    if op == "-":
        return call_operator(e, where, "aten::rsub", [right, left])
    options = [Given(e.constant(dtype.code, INT), where, "dtype")]
    filled = call_operator(e, where, "aten::full_like", [right, left], options)
    return call_operator(e, where, _operator(op, filled, right), [filled, right])


def _operator(op: str, left: Value, right: Value) -> str:
    if op == "//" and (isinstance(left.static_type, TensorType) or isinstance(right.static_type, TensorType)):
        return "aten::floor_divide"
    return registry.spelled(op)


def _number_and_tensor(e: Emitter, where: SourceRange, op: str, left: Value, right: Value) -> Value | None:
    """`2 - x` and the like, for which operators have no overload; None where they have."""
    if not is_number(left.static_type) or not isinstance(right.static_type, TensorType):
        return None
    if op in COMMUTING:
        return call_operator(e, where, registry.spelled(op), [right, left])
    if op == "-":
        return call_operator(e, where, "aten::add", [call_operator(e, where, "aten::neg", [right]), left])
    if op == "/":
        return call_operator(e, where, "aten::mul", [call_operator(e, where, "aten::reciprocal", [right]), left])
    if op in ("//", "<<", ">>"):
        # A tensor of the promoted type, filled with the number: multiplication promotes as the operator itself would.
        filled = call_operator(e, where, "aten::mul", [call_operator(e, where, "aten::ones_like", [right]), left])
        return call_operator(e, where, _operator(op, filled, right), [filled, right])
    return None


def _formatted(e: Emitter, where: SourceRange, op: str, left: Value, right: Value) -> Value | None:
    """`"%d of %d" % (a, b)`."""
    if op != "%" or left.static_type != STRING:
        return None
    items = unpack_tuple(e, right) if isinstance(right.static_type, TupleType) else [right]
    node = left.defining_node
    text = node.attribute("value") if node is not None and node.op == "prim::Constant" else ""
    is_python = e.arrays or WIDTHS.search(text.replace("%%", ""))
    kind = "python::percent" if is_python else "aten::percentFormat"
    return call_operator(e, where, kind, [left, *[_shown(e, where, i) for i in items]])


def _shown(e: Emitter, where: SourceRange, item: Value) -> Value:
    """An item as `%` takes it: a text of an array, a dtype or an object, any other value itself."""
    item = arrays.as_number(e, item)
    name = dtype_text(e, where, item)
    if name is not None:
        return name
    return e.emit("python::array_text", (item,), STRING) if is_array(item) else as_text(e, where, item)


def by_method(e: Emitter, where: SourceRange, op: str, left: Value, right: Value) -> Value | None:
    """`__add__`, `__lt__` and the like, if an operand is an object."""
    return emit_magic(e, where, op, left, right) if is_magic(op, left, right) else None


def _of_dtypes(e: Emitter, where: SourceRange, op: str, left: Value, right: Value) -> Value | None:
    """Nothing: dtypes are ints to operators alone."""
    check_number(left, where)
    check_number(right, where)
    return None


def _of_elements(e: Emitter, where: SourceRange, op: str, left: Value, right: Value) -> Value | None:
    """Arithmetic of numbers of which one was read from an array."""
    return elements.arithmetic(e, where, op, left, right, _of_numbers) if elements.are_elements(left, right) else None


def _of_tuples(e: Emitter, where: SourceRange, op: str, left: Value, right: Value) -> Value | None:
    """`(a, b) + (c,)`, and `(a, b) * 2`, which is a list if the number is not known here."""
    if not isinstance(left.static_type, TupleType):
        return None
    if op == "+" and isinstance(right.static_type, TupleType):
        return pack_tuple(e, [*unpack_tuple(e, left), *unpack_tuple(e, right)])
    if op != "*" or not left.static_type.elements:
        return None
    count = arrays.constant_number(right)
    items = unpack_tuple(e, left)
    if type(count) is int:
        return pack_tuple(e, items * count)
    return _of_numbers(e, where, op, pack_list(e, items, left.static_type.elements[0]), right)


def _of_dicts(e: Emitter, where: SourceRange, op: str, left: Value, right: Value) -> Value | None:
    """`d | other`."""
    if op != "|" or not all(isinstance(v.static_type, DictType) for v in (left, right)):
        return None
    return call_operator(e, where, "python::merged", [left, right])


def _of_sets(e: Emitter, where: SourceRange, op: str, left: Value, right: Value) -> Value | None:
    """Union, intersection and the like."""
    return sets.binary(e, where, op, left, right) if sets.is_set(left) and sets.is_set(right) else None


_RULES: Final = (
    _formatted, by_method, _of_dtypes, _of_arrays, _of_elements, _number_and_tensor, _of_tuples, _of_dicts, _of_sets
)  # fmt: skip
"""What operators of one overload for two operands do not do by themselves; each gives None for other operands."""


def emit_minus(e: Emitter, tree: UnaryMinus, hint: Type | None) -> Sugared:
    """`-a`; of a literal it is a literal, so that the smallest int can be written."""
    exact = whole_number(tree) if e.arrays else None
    if exact is not None:
        return SimpleValue(number(e, exact, tree.range))
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
    if isinstance(value, int) and e.arrays and 1 << 63 <= value < 1 << 64:  # NumPy's uint64 alone has such numbers
        constant = e.constant(value - (1 << 64))
        return e.emit("prim::unchecked_cast", (constant,), element_of(INT, uint64))
    if isinstance(value, int) and not -(1 << 63) <= value < 1 << 63:
        raise CompileError(out_of_range(value), where)
    return e.constant(value)
