"""Comparisons, membership and identity of tensors, numbers, tuples, strings and objects.

(a, b) < c    with a tuple c    →    items compared from the last to the first, each in a branch
"""

from __future__ import annotations

import operator
from functools import partial
from typing import Final

from flambeau.frontend.emit.binary_operators import by_method
from flambeau.frontend.emit.builtins.lazy_search import contains
from flambeau.frontend.emit.conditions import to_bool
from flambeau.frontend.emit.implicit_conversions import pack_tuple, unpack_tuple
from flambeau.frontend.emit.numpy import array_promotion as arrays
from flambeau.frontend.emit.numpy import element_arithmetic as elements
from flambeau.frontend.emit.numpy.array_promotion import as_number, is_array
from flambeau.frontend.emit.numpy.complex_order import complex_comparison, is_complex
from flambeau.frontend.emit.numpy.dtype_values import dtype_or_value, dtypes_compared
from flambeau.frontend.emit.numpy.exact_comparisons import SWAPPED, exact_comparison
from flambeau.frontend.emit.numpy.spectra import ordered
from flambeau.frontend.emit.schema_matching import call_operator
from flambeau.frontend.emit.values import set_values as sets
from flambeau.frontend.emit.values.magic_methods import MAGIC
from flambeau.frontend.emit.values.object_methods import has_method, iterated
from flambeau.frontend.emit.values.simple_value import SimpleValue
from flambeau.frontend.emit.values.sugared import Emitter, Given, Sugared
from flambeau.frontend.trees.tree_views import Compare, ListLiteral, TupleLiteral
from flambeau.ir.graph import Value
from flambeau.schema import registry
from flambeau.schema.array_type import ArrayType
from flambeau.schema.dtype_code import is_code_of_dtype
from flambeau.schema.types import (
    BOOL,
    STRING,
    BoolType,
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
from flambeau.util.source import SourceRange

SIMPLE_ITEMS: Final = (IntType, FloatType, StringType, TensorType)
"""What lists hold whose membership and equality TorchScript has operators for; lists of tensors have no membership."""

ORDERED: Final = {"<": operator.lt, ">": operator.gt, "<=": operator.le, ">=": operator.ge}


def emit_compare(e: Emitter, tree: Compare, hint: Type | None) -> Sugared:
    """`a op b` for comparisons, membership and identity."""
    left = e.value(tree.left)
    if tree.op == "in":
        if is_code_of_dtype(left.static_type) and isinstance(tree.right, TupleLiteral | ListLiteral):
            named = pack_tuple(e, [dtype_or_value(e, item) for item in tree.right.items])
            return SimpleValue(_tuple_contains(e, tree.range, named, left))
        container = e.sugared(tree.right)
        if container.is_lazy:
            return SimpleValue(contains(e, tree.range, container, left))
        result = container.contains(e, tree.range, left)
        if result is not None:
            return SimpleValue(result)
        return SimpleValue(_contains(e, tree.range, container.as_value(e, tree.right.range), left))
    right = dtype_or_value(e, tree.right) if is_code_of_dtype(left.static_type) else e.value(tree.right)
    return SimpleValue(compare(e, tree.range, tree.op, left, right))


def compare(e: Emitter, where: SourceRange, op: str, left: Value, right: Value) -> Value:
    """`left op right` for a comparison, `in`, `is` and `is not`: as the first rule says that is for such operands."""
    if op == "in":
        return _contains(e, where, right, left)
    if op in ("is", "is not") and left.static_type == BOOL and right.static_type == BOOL:
        op = "==" if op == "is" else "!="
    for rule in _RULES:
        result = rule(e, where, op, left, right)
        if result is not None:
            return result
    return _plain(e, where, op, left, right)


def _plain(e: Emitter, where: SourceRange, op: str, left: Value, right: Value) -> Value:
    return call_operator(e, where, registry.spelled(op), [left, right])


def _of_python(op: str, prefix: str = "python::") -> str:
    """The operator that compares as Python does what TorchScript's compares otherwise, or not at all."""
    return registry.spelled(op).replace("aten::", prefix)


def _arrays(e: Emitter, where: SourceRange, op: str, left: Value, right: Value) -> Value | None:
    """Comparison as NumPy does it; None where no array takes part, or a tensor or something else does."""
    if op not in SWAPPED or not (is_array(left) or is_array(right)):
        return None
    if any(not is_array(v) and not is_number(v.static_type) for v in (left, right)):
        return None
    if op not in ("==", "!="):
        left, right = ordered(e, where, left), ordered(e, where, right)
    exact = exact_comparison(e, where, op, left, right, partial(_plain, e, where))
    if exact is not None:
        return exact
    left, right = arrays.promoted(e, where, [left, right], arrays.result_type(where, left, right))
    if op in ORDERED and (is_complex(left) or is_complex(right)):
        return complex_comparison(e, where, op, left, right, partial(compare, e, where))
    if is_number(left.static_type):
        return _plain(e, where, SWAPPED[op], right, left)
    return _plain(e, where, op, left, right)


def _elements(e: Emitter, where: SourceRange, op: str, left: Value, right: Value) -> Value | None:
    """Numbers of which one was read from an array."""
    if op not in SWAPPED or not elements.are_elements(left, right):
        return None
    return elements.comparison(e, where, op, left, right, _plain)


def _number_and_tensor(e: Emitter, where: SourceRange, op: str, left: Value, right: Value) -> Value | None:
    """`2 < x` as `x > 2`."""
    if op not in SWAPPED or not is_number(left.static_type) or not isinstance(right.static_type, TensorType):
        return None
    return _plain(e, where, SWAPPED[op], right, left)


def _sets(e: Emitter, where: SourceRange, op: str, left: Value, right: Value) -> Value | None:
    """Equality and inclusion of sets."""
    if op not in sets.COMPARISONS or not (sets.is_set(left) and sets.is_set(right)):
        return None
    return sets.compared(e, where, op, left, right)


def _tuples(e: Emitter, where: SourceRange, op: str, left: Value, right: Value) -> Value | None:
    """Item by item."""
    if not isinstance(left.static_type, TupleType) or not isinstance(right.static_type, TupleType):
        return None
    if op in ("==", "!="):
        return _tuples_equal(e, where, op, left, right)
    return _tuples_ordered(e, where, op, left, right) if op in ORDERED else None


def _lists(e: Emitter, where: SourceRange, op: str, left: Value, right: Value) -> Value | None:
    """The order of lists, and the equality of those whose items no operator of lists compares."""
    if not isinstance(left.static_type, ListType) or not isinstance(right.static_type, ListType) or op not in MAGIC:
        return None
    if op in ("==", "!=") and isinstance(left.static_type.element, (*SIMPLE_ITEMS, BoolType)):
        return None
    return call_operator(e, where, _of_python(op), [left, right])


def _optionals(e: Emitter, where: SourceRange, op: str, left: Value, right: Value) -> Value | None:
    """Equality where one value may be None or of several types, and neither may be a tensor or an object."""
    types = (left.static_type, right.static_type)
    if op not in ("==", "!=") or not any(isinstance(t, OptionalType | UnionType) for t in types):
        return None
    if any(isinstance(t, TensorType | NamedType) for type_ in types for t in type_.walk()):
        return None
    return call_operator(e, where, _of_python(op, "python::any_"), [left, right])


_RULES: Final = (by_method, dtypes_compared, _arrays, _elements, _number_and_tensor, _sets, _tuples, _lists, _optionals)
"""What the operator of a comparison does not do by itself; each gives None for other operands."""


def _contains(e: Emitter, where: SourceRange, container: Value, item: Value) -> Value:
    """`item in container`."""
    match container.static_type:
        case NamedType():
            return _object_contains(e, where, container, container.static_type, item)
        case StringType() if item.static_type == STRING:
            length = call_operator(e, where, "aten::len", [container])
            index = call_operator(e, where, "aten::find", [container, item, e.constant(0), length])
            return call_operator(e, where, "aten::ne", [index, e.constant(-1)])
        case TupleType():
            return _tuple_contains(e, where, container, item)
        case ListType(element) if not isinstance(element, SIMPLE_ITEMS):
            return call_operator(e, where, "python::contains", [container, item])
        case ArrayType():
            equal = compare(e, where, "==", container, item)
            return as_number(e, call_operator(e, where, "aten::any", [equal]))
    return call_operator(e, where, "aten::__contains__", [container, item])


def _object_contains(e: Emitter, where: SourceRange, container: Value, type_: NamedType, item: Value) -> Value:
    """By `__contains__`, else by what a loop over the object gives."""
    if not has_method(e, type_, "__contains__", where):
        result = e.rules.search(e, where, container, item)
        if result is not None:
            return result
        items = iterated(e, where, container)
        if items is not None:
            return _contains(e, where, items, item)
    method = SimpleValue(container).attribute(e, where, "__contains__")
    return method.call(e, where, [Given(item, where)], ()).as_value(e, where)


def _tuple_contains(e: Emitter, where: SourceRange, container: Value, item: Value) -> Value:
    """Whether one of a tuple's items is equal. No text is a number, so that the two are not compared."""
    result = e.constant(False)
    for element in unpack_tuple(e, container):
        types = (element.static_type, item.static_type)
        if STRING in types and any(is_number(t) and not is_code_of_dtype(t) for t in types):
            continue
        equal = to_bool(e, where, compare(e, where, "==", element, item))
        result = call_operator(e, where, "aten::__or__", [result, equal])
    return result


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
