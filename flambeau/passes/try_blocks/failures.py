"""What an operator may raise, and what to ask beforehand: `100 // n` raises ZeroDivisionError where `n == 0`.

>>> import flambeau.ops
>>> from flambeau.ir import parse_ir
>>> graph = parse_ir('''graph(%a : int, %b : int):
...   %q : int = aten::floordiv(%a, %b)
...   return (%q)''')
>>> (node,) = graph.nodes()
>>> failures_of(node)
Failures(tested=(<class 'ZeroDivisionError'>,), others=())
>>> with graph.inserting(node):
...     for test in tests_before(node):
...         print(test.defining_node.op)
aten::eq
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from flambeau.analysis.effects import own_may_raise
from flambeau.ir import constants
from flambeau.ir.graph import Node, Value
from flambeau.program.protected import class_of
from flambeau.schema.dtype import DType, int64
from flambeau.schema.rule_tables import RuleTable
from flambeau.schema.set_type import SetType
from flambeau.schema.types import (
    BOOL,
    INT,
    BoolType,
    DictType,
    FloatType,
    IntType,
    ListType,
    StringType,
    TensorType,
)
from flambeau.util.errors import ScriptError
from flambeau.util.record import dataclass

Kinds = tuple[type[BaseException], ...]


@dataclass(frozen=True, slots=True)
class Failures:
    """The classes of exceptions that a node may raise."""

    tested: Kinds = ()
    """The kinds of which a test tells beforehand, in the order of `tests_before`."""
    others: Kinds = ()
    """The kinds of which only running it tells."""


NOTHING: Final = Failures()
ANYTHING: Final = Failures(others=(BaseException,))
_ODD: Final = Failures(others=(RuntimeError, TypeError, ValueError, OverflowError))
"""Of tensors whose sizes or dtypes may not go together."""
failures: Final = RuleTable[Callable[[Node], Failures]]("what it may raise in a try block")
tests: Final = RuleTable[Callable[[Node], "list[Value]"]]("what tells beforehand whether it raises")


def failures_of(node: Node) -> Failures:
    """What a node may raise, apart from what is nested in it."""
    if node.op == "prim::RaiseException":
        raised = raised_class(node)
        return ANYTHING if raised is None else Failures(tested=(raised,))
    if not own_may_raise(node):
        return NOTHING
    rule = failures.get(node.op)
    if rule is not None:
        return rule(node)
    definition = node.definition
    return _of_pointwise(node) if definition is not None and definition.family == "pointwise" else ANYTHING


def has_no_rule(node: Node) -> bool:
    """Whether nothing says what a node may raise, whatever its operands are."""
    definition = node.definition
    return node.op not in failures and (definition is None or definition.family != "pointwise")


def tests_before(node: Node) -> list[Value]:
    """Insert what tells whether a node will raise: a bool for each class that `failures_of` calls tested."""
    return tests[node.op](node)


def raised_class(node: Node) -> type[BaseException] | None:
    """The class that a `prim::RaiseException` raises, if the program names it."""
    text, name = node.operands[0], node.operands[1] if len(node.operands) > 1 else None
    if name is not None and constants.is_constant(name) and constants.constant_value(name) is not None:
        return class_of(ScriptError(f"{constants.constant_value(name)}: "))
    first = _first_part(text)
    return AssertionError if first is not None and first.startswith("AssertionError: ") else None


def _first_part(text: Value) -> str | None:
    """What a text begins with, if that is a constant."""
    maker = text.defining_node
    if maker is not None and maker.op == "aten::add":
        return _first_part(maker.operand(0))
    value = constants.constant_value(text) if constants.is_constant(text) else None
    return value if isinstance(value, str) else None


@failures("prim::CreateObject", "prim::SetAttr")
def _of_new_objects(node: Node) -> Failures:
    return NOTHING


@failures("prim::GetAttr")
def _of_attributes(node: Node) -> Failures:
    """Of one that was never assigned."""
    return Failures(others=(RuntimeError,))


# -- numbers and containers -------------------------------------------------------------------------------------------


@failures("aten::floordiv", "aten::remainder", "aten::__round_to_zero_floordiv", "aten::div")
def _division(node: Node) -> Failures:
    if all(map(_is_number, node.operands[:2])):
        return Failures(tested=(ZeroDivisionError,))
    result = node.result().static_type
    if isinstance(result, TensorType) and _is_real(result.dtype, floats=True):
        return _of_pointwise(node)
    return Failures(others=(ZeroDivisionError, *_ODD.others))


@tests("aten::floordiv", "aten::remainder", "aten::__round_to_zero_floordiv", "aten::div")
def _is_zero(node: Node) -> list[Value]:
    return [_ask(node, "aten::eq", node.operand(1), constants.insert_constant(node.graph, 0))]


@failures("aten::__getitem__", "aten::_set_item", "aten::Delete", "aten::pop")
def _item(node: Node) -> Failures:
    owner = node.operand(0).static_type
    if isinstance(owner, DictType):
        is_plain = node.op != "aten::_set_item" and not (node.op == "aten::pop" and len(node.operands) > 2)
        return Failures(tested=(KeyError,)) if is_plain else NOTHING
    return Failures(tested=(IndexError,)) if isinstance(owner, ListType | StringType) else ANYTHING


@tests("aten::__getitem__", "aten::_set_item", "aten::Delete", "aten::pop", "python::set_remove")
def _is_missing(node: Node) -> list[Value]:
    graph, owner = node.graph, node.operand(0)
    key = node.operand(1) if len(node.operands) > 1 else constants.insert_constant(graph, -1)
    if isinstance(owner.static_type, DictType | SetType):
        there = _ask(node, "aten::__contains__", owner, key)
        return [graph.insert("aten::__not__", (there,), (BOOL,)).result()]
    return [_is_outside(node, key, graph.insert("aten::len", (owner,), (INT,)).result())]


@failures("python::set_remove")
def _removed(node: Node) -> Failures:
    return Failures(tested=(KeyError,))


@failures("aten::index", "aten::remove", "python::index", "python::remove", "python::check_unpack")
def _searched(node: Node) -> Failures:
    is_plain = isinstance(node.operand(0).static_type, ListType) and len(node.operands) == 2
    return Failures(tested=(ValueError,)) if is_plain else _ODD


@tests("aten::index", "aten::remove", "python::index", "python::remove")
def _is_not_there(node: Node) -> list[Value]:
    there = _ask(node, "python::contains", node.operand(0), node.operand(1))
    return [node.graph.insert("aten::__not__", (there,), (BOOL,)).result()]


@tests("python::check_unpack")
def _is_short(node: Node) -> list[Value]:
    length = node.graph.insert("aten::len", (node.operand(0),), (INT,)).result()
    return [_ask(node, "aten::lt", length, node.operand(1))]


@failures("python::set_slice", "python::del_slice", "aten::slice")
def _sliced(node: Node) -> Failures:
    if not isinstance(node.operand(0).static_type, ListType | StringType):
        return ANYTHING
    step = node.operand(3)
    known = constants.constant_value(step) if constants.is_constant(step) else 0
    fits = known in (None, 1) or (node.op != "python::set_slice" and known != 0)
    return NOTHING if fits else Failures(others=(ValueError,))


@failures("aten::append", "aten::extend", "aten::clear", "aten::get", "aten::keys", "aten::values", "aten::items",
          "aten::__contains__", "python::set_add", "python::set_discard", "aten::copy", "aten::reverse",
          "aten::insert", "prim::DictConstruct", "prim::unchecked_cast", "prim::unchecked_unwrap_optional",
          "aten::str", "prim::dtype", "prim::device", "prim::TupleIndex", "prim::Print")  # fmt: skip
def _total(node: Node) -> Failures:
    return NOTHING


@failures("aten::Int")
def _whole(node: Node) -> Failures:
    match node.operand(0).static_type:
        case BoolType() | IntType():
            return NOTHING
        case FloatType():
            return Failures(tested=(ValueError, OverflowError))
        case StringType():
            return Failures(tested=(ValueError,))
        case TensorType() as tensor if tensor.rank == 0 and _is_real(tensor.dtype, floats=False):
            return NOTHING
    return Failures(others=(ValueError, OverflowError, RuntimeError, TypeError))


@tests("aten::Int")
def _is_no_int(node: Node) -> list[Value]:
    graph, value = node.graph, node.operand(0)
    if isinstance(value.static_type, StringType):
        return _is_misspelt(node, "python::spells_int")
    least, most = (constants.insert_constant(graph, x) for x in (-9223372036854775808.0, 9223372036854775808.0))
    outside = _ask(node, "aten::lt", value, least), _ask(node, "aten::ge", value, most)
    return [_ask(node, "aten::ne", value, value), _ask(node, "aten::__or__", *outside)]


def _is_misspelt(node: Node, op: str) -> list[Value]:
    spells = node.graph.insert(op, (node.operand(0),), (BOOL,)).result()
    return [node.graph.insert("aten::__not__", (spells,), (BOOL,)).result()]


def _is_outside(node: Node, index: Value, length: Value) -> Value:
    """Whether an index is none of a sequence of so many items, counted from either end."""
    negative = node.graph.insert("aten::neg", (length,), (INT,)).result()
    return _ask(node, "aten::__or__", _ask(node, "aten::lt", index, negative), _ask(node, "aten::ge", index, length))


def _ask(node: Node, op: str, a: Value, b: Value) -> Value:
    return node.graph.insert(op, (a, b), (BOOL,)).result()


# -- tensors ----------------------------------------------------------------------------------------------------------


@failures("aten::select")
def _selected(node: Node) -> Failures:
    owner = node.operand(0).static_type
    if isinstance(owner, ListType):
        return Failures(tested=(IndexError,))
    dim = constants.constant_value(node.operand(1)) if constants.is_constant(node.operand(1)) else None
    if not (isinstance(owner, TensorType) and owner.rank is not None and isinstance(dim, int)):
        return ANYTHING
    return Failures(tested=(IndexError,)) if -owner.rank <= dim < owner.rank else ANYTHING


@tests("aten::select")
def _is_no_place(node: Node) -> list[Value]:
    owner, graph = node.operand(0), node.graph
    if isinstance(owner.static_type, ListType):
        return [_is_outside(node, node.operand(1), graph.insert("aten::len", (owner,), (INT,)).result())]
    return [_is_outside(node, node.operand(2), graph.insert("aten::size", (owner, node.operand(1)), (INT,)).result())]


@failures("aten::item", "aten::Bool")
def _taken(node: Node) -> Failures:
    return NOTHING if _rank(node) == 0 else _ODD


@failures("aten::Float")
def _taken_float(node: Node) -> Failures:
    if isinstance(node.operand(0).static_type, StringType):
        return Failures(tested=(ValueError,))
    return _taken_as(node, floats=None)


@tests("aten::Float")
def _is_no_float(node: Node) -> list[Value]:
    return _is_misspelt(node, "python::spells_float")


@failures("aten::FloatImplicit")
def _taken_as_it_is(node: Node) -> Failures:
    return _taken_as(node, floats=True)


@failures("aten::IntImplicit")
def _taken_int(node: Node) -> Failures:
    return _taken_as(node, floats=False)


def _taken_as(node: Node, *, floats: bool | None) -> Failures:
    operand = node.operand(0).static_type
    is_fit = isinstance(operand, TensorType) and _is_real(operand.dtype, floats=floats)
    return NOTHING if is_fit and _rank(node) == 0 else _ODD


def _rank(node: Node) -> int | None:
    operand = node.operand(0).static_type
    return operand.rank if isinstance(operand, TensorType) else None


@failures("aten::tensor")
def _made(node: Node) -> Failures:
    """A tensor of one number: floats take every real one, and 64 bits every int."""
    result = node.result().static_type
    return NOTHING if isinstance(result, TensorType) and _holds(result.dtype, node.operand(0)) else _ODD


@failures("aten::copy_", "aten::fill_")
def _written(node: Node) -> Failures:
    """An element that is set: floats take every real number, and ints those of a dtype that they hold."""
    into, of = node.operand(0).static_type, node.operand(1).static_type
    if not (isinstance(into, TensorType) and into.rank == 0 and into.dtype is not None):
        return _ODD
    if isinstance(of, TensorType):
        is_fit = of.rank == 0 and _is_real(of.dtype, floats=None)
        is_fit = is_fit and (_is_real(into.dtype, floats=True) or of.dtype is into.dtype)
    else:
        is_fit = _holds(into.dtype, node.operand(1))
    return NOTHING if is_fit else _ODD


def _of_pointwise(node: Node) -> Failures:
    """Elements go together whatever they are, and float functions have an answer to everything."""
    result = node.results[0].static_type if len(node.results) == 1 else None
    if not isinstance(result, TensorType):
        return ANYTHING
    kinds = [v.static_type for v in node.operands]
    tensors = [t for t in kinds if isinstance(t, TensorType)]
    are_known = all(t.rank == 0 and _is_real(t.dtype, floats=None) for t in tensors)
    return NOTHING if are_known and _is_real(result.dtype, floats=True) else Failures(
        others=(*_ODD.others, ZeroDivisionError)
    )  # fmt: skip


def _holds(dtype: DType | None, value: Value) -> bool:
    """Whether elements of a dtype take a number, whatever it is."""
    if isinstance(value.static_type, IntType) and dtype is int64:
        return True
    return _is_number(value) and _is_real(dtype, floats=True)


def _is_number(value: Value) -> bool:
    return isinstance(value.static_type, IntType | FloatType | BoolType)


def _is_real(dtype: DType | None, *, floats: bool | None) -> bool:
    """Whether a dtype is one of floats, of ints (`floats=False`; bools are among them), or either."""
    if dtype is None or dtype.is_complex:
        return False
    return floats is None or dtype.is_floating_point == floats


def overlap(kinds: Sequence[type[BaseException]], handlers: Sequence[Kinds]) -> bool:
    """Whether a handler may take an exception of one of these classes, or of a class derived from them."""
    return any(issubclass(k, h) or issubclass(h, k) for k in kinds for classes in handlers for h in classes)
