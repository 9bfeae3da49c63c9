"""What of a value is known before a graph runs: constants, literal lists, and questions that types answer.

>>> import flambeau.ops
>>> from flambeau.ir import parse_ir
>>> graph = parse_ir('''graph(%x : Float(1, *), %n : int):
...   %1 : int = aten::dim(%x)
...   %2 : int[] = aten::size(%x)
...   %3 : int[] = prim::ListConstruct(%n, %1)
...   %4 : bool = aten::eq(%2, %3)
...   return (%1, %4)''')
>>> known(graph.returns[0]), [known(v) for v in graph.find("aten::eq").operands]
(2, [[1, UNKNOWN], [UNKNOWN, 2]])
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any, Final

from flambeau.ir import constants
from flambeau.ir.graph import Node, Value
from flambeau.schema.device import Device
from flambeau.schema.opdef import UNKNOWN
from flambeau.schema.rule_tables import RuleTable
from flambeau.schema.set_type import SetType
from flambeau.schema.types import (
    NONE,
    AnyType,
    BoolType,
    DictType,
    FloatType,
    IntType,
    ListType,
    NoneType,
    OptionalType,
    StringType,
    TensorType,
    TupleType,
    Type,
    UnionType,
    VarType,
    without_refinement,
)

evaluates: Final = RuleTable[Callable[[Node, "Knowledge"], Any]]("evaluation before a graph runs")
"""Registers what gives the Python value of a node's result, or UNKNOWN, by kind; it asks of operands what is given."""


_decides: Final = RuleTable[Callable[[Node], bool | None]]("conditions that hold whatever tensors come")


class Knowledge:
    """What is known of values, as `known` tells it, remembered: each is worked out once, however many ask.

    It holds for a graph whose types stay as they are; who asks of values in their order never goes far back.
    """

    __slots__ = ("_answers",)

    def __init__(self) -> None:
        self._answers: dict[Value, Any] = {}

    def __call__(self, value: Value) -> Any:
        """The Python value, or UNKNOWN."""
        node = value.defining_node
        if node is None:
            return UNKNOWN
        if constants.is_constant(value):
            return constants.constant_value(value)
        answers = self._answers
        if value not in answers:
            answers[value] = self._way(node, value) if node.op == "prim::If" else self._evaluated(node)
        return answers[value]

    def _way(self, node: Node, value: Value) -> Any:
        way = self(node.operand(0))
        return self(node.nested_blocks[0 if way else 1].returns[value.index]) if isinstance(way, bool) else UNKNOWN

    def _evaluated(self, node: Node) -> Any:
        rule = evaluates.get(node.op)
        return UNKNOWN if rule is None else rule(node, self)

    def forget(self) -> None:
        """Types have changed."""
        self._answers.clear()


def known(value: Value) -> Any:
    """The Python value of what is known, else UNKNOWN; tensors in a list or tuple are known by their types."""
    return Knowledge()(value)


def decided(condition: Value) -> bool | None:
    """What a condition surely is, by constants and by which values may be None. Unlike `known` it does not ask what
    types say of tensors, which may stem from an example.
    """
    node = condition.defining_node
    if node is None:
        return None
    if constants.is_constant(condition):
        value = constants.constant_value(condition)
        return value if isinstance(value, bool) else None
    rule = _decides.get(node.op)
    return None if rule is None else rule(node)


def never_none(type_: Type) -> bool:
    """Whether no value of this type is None."""
    return not isinstance(type_, OptionalType | UnionType | AnyType | VarType) and type_ != NONE


def is_none(value: Value, known: Callable[[Value], Any] = known) -> bool | None:
    """Whether a value is None, as far as its type and the ways that are taken tell; else None.

    Ways that are never taken do not count: `y` is never None in `y = None if x is None else f(x)`, where `x` is not.
    """
    if value.static_type == NONE:
        return True
    if never_none(value.static_type):
        return False
    node = value.defining_node
    if node is None or node.op != "prim::If":
        return None
    way = known(node.operand(0))
    return is_none(node.nested_blocks[0 if way else 1].returns[value.index], known) if isinstance(way, bool) else None


def is_unmodified(value: Value) -> bool:
    """Whether a list is only ever given to operators that leave it as it is and return nothing one could change."""
    for user, offset in value.uses():
        if user.op == "prim::ListUnpack":
            continue
        definition = user.definition
        if definition is None or offset >= len(definition.schema.arguments):
            return False
        alias = definition.schema.arguments[offset].alias
        if alias is None:
            continue
        gives_container = any(
            isinstance(v.static_type, ListType | DictType | SetType | TupleType) for v in user.results
        )
        if alias.is_write or gives_container:
            return False
    return True


def _element(value: Value, known: Knowledge) -> Any:
    return value.static_type if isinstance(value.static_type, TensorType) else known(value)


@evaluates("prim::ListConstruct")
def _list(node: Node, known: Knowledge) -> Any:
    return [_element(v, known) for v in node.operands] if is_unmodified(node.result()) else UNKNOWN


@evaluates("prim::TupleConstruct")
def _tuple(node: Node, known: Knowledge) -> Any:
    return tuple(_element(v, known) for v in node.operands)


@evaluates("prim::DictConstruct")
def _dict(node: Node, known: Knowledge) -> Any:
    keys = [known(v) for v in node.operands[::2]]
    if not all(isinstance(k, str | int) for k in keys) or not is_unmodified(node.result()):
        return UNKNOWN
    return dict(zip(keys, (_element(v, known) for v in node.operands[1::2]), strict=True))


@evaluates("aten::__contains__")
def _contains(node: Node, known: Knowledge) -> Any:
    """Whether a literal dict has a key."""
    items, key = (known(v) for v in node.operands)
    return key in items if isinstance(items, dict) and isinstance(key, str | int) else UNKNOWN


@evaluates("aten::str")
def _text(node: Node, known: Knowledge) -> Any:
    """The name of a device: programs keep things by it."""
    device = known(node.operand(0))
    return str(device) if isinstance(device, Device) else UNKNOWN


def _type_of(node: Node) -> TensorType:
    type_ = node.operand(0).static_type
    return type_ if isinstance(type_, TensorType) else TensorType()


def _or_unknown(value: Any) -> Any:
    return UNKNOWN if value is None else value


@evaluates("prim::dtype")
def _dtype(node: Node, known: Knowledge) -> Any:
    dtype = _type_of(node).dtype
    return UNKNOWN if dtype is None else dtype.code


@evaluates("prim::device")
def _device(node: Node, known: Knowledge) -> Any:
    return _or_unknown(_type_of(node).device)


@evaluates("aten::dim")
def _dim(node: Node, known: Knowledge) -> Any:
    return _or_unknown(_type_of(node).rank)


@evaluates("aten::size")
def _size(node: Node, known: Knowledge) -> Any:
    sizes = _type_of(node).sizes
    if sizes is None:
        return UNKNOWN
    plain = [UNKNOWN if s is None or s < 0 else s for s in sizes]
    if len(node.operands) == 1:
        return plain if is_unmodified(node.result()) else UNKNOWN
    dim = known(node.operand(1))
    return plain[dim] if isinstance(dim, int) and -len(plain) <= dim < len(plain) else UNKNOWN


@evaluates("aten::slice")
def _slice(node: Node, known: Knowledge) -> Any:
    operands = [known(v) for v in node.operands]
    if UNKNOWN in operands or not isinstance(operands[0], list) or operands[3] == 0 or not is_unmodified(node.result()):
        return UNKNOWN
    return operands[0][operands[1] : operands[2] : operands[3]]


@evaluates("aten::add")
def _sum(node: Node, known: Knowledge) -> Any:
    """Lists put one behind another."""
    if not isinstance(node.result().static_type, ListType):
        return UNKNOWN
    a, b = known(node.operand(0)), known(node.operand(1))
    is_list = isinstance(a, list) and isinstance(b, list)
    return [*a, *b] if is_list and is_unmodified(node.result()) else UNKNOWN


@evaluates("aten::list")
def _copy(node: Node, known: Knowledge) -> Any:
    """The items of a list as a list of its own."""
    items = known(node.operand(0))
    return [*items] if isinstance(items, list) and is_unmodified(node.result()) else UNKNOWN


@evaluates("aten::mul")
def _repeated(node: Node, known: Knowledge) -> Any:
    """A list of n times the same."""
    if not isinstance(node.result().static_type, ListType):
        return UNKNOWN
    a, n = known(node.operand(0)), known(node.operand(1))
    if not (isinstance(a, list) and isinstance(n, int) and is_unmodified(node.result())):
        return UNKNOWN
    return a * n if n * len(a) < _LONGEST else UNKNOWN


@evaluates("aten::__getitem__")
def _item(node: Node, known: Knowledge) -> Any:
    items, index = known(node.operand(0)), known(node.operand(1))
    if isinstance(items, dict) and isinstance(index, str | int):
        item = items.get(index, UNKNOWN)
        return UNKNOWN if isinstance(item, TensorType) else item
    if not (isinstance(items, list) and isinstance(index, int) and -len(items) <= index < len(items)):
        return UNKNOWN
    return UNKNOWN if isinstance(items[index], TensorType) else items[index]


@evaluates("aten::len")
def _len(node: Node, known: Knowledge) -> Any:
    type_ = node.operand(0).static_type
    if isinstance(type_, TensorType):
        first = type_.sizes[0] if type_.sizes else None
        return UNKNOWN if first is None or first < 0 else first
    items = known(node.operand(0))
    return len(items) if isinstance(items, list) else UNKNOWN


@evaluates("aten::__is__", "aten::__isnot__")
def _identity(node: Node, known: Knowledge) -> Any:
    """Comparison with None."""
    x, y = (is_none(v, known) for v in node.operands)
    if x is None or y is None or not (x or y):
        return UNKNOWN
    return (x and y) == (node.op == "aten::__is__")


@_decides("aten::__is__", "aten::__isnot__")
def _identity_by_types(node: Node) -> bool | None:
    first, second = (v.static_type for v in node.operands)
    if first == NONE and second == NONE:
        return node.op == "aten::__is__"
    if (first == NONE and never_none(second)) or (second == NONE and never_none(first)):
        return node.op == "aten::__isnot__"
    return None


def _isinstance_of_tensors(type_: TensorType | ListType, asked: Sequence[Type]) -> Any:
    """Of a tensor, or of a list, which is none."""
    if isinstance(type_, ListType):
        return False if all(isinstance(t, TensorType) for t in asked) else UNKNOWN
    if any(isinstance(t, TensorType) for t in asked):
        return True
    return False if all(isinstance(t, (*_PLAIN, ListType, DictType, NoneType)) for t in asked) else UNKNOWN


@evaluates("prim::isinstance")
def _isinstance(node: Node, known: Knowledge) -> Any:
    """Whether a value of a plain type, or a tensor, is of one of some types; ints and bools may be each other."""
    type_, asked = node.operand(0).static_type, node.attributes.get("types", ())
    if isinstance(type_, TensorType | ListType):
        return _isinstance_of_tensors(type_, asked)
    if not isinstance(type_, _PLAIN):
        return UNKNOWN
    if any(type_ == without_refinement(t) for t in asked):
        return True
    is_number = isinstance(type_, IntType | BoolType)
    if not all(isinstance(t, _PLAIN) and not (is_number and isinstance(t, IntType | BoolType)) for t in asked):
        return UNKNOWN
    return False


@evaluates("aten::eq", "aten::ne", "aten::lt", "aten::le", "aten::gt", "aten::ge")
def _comparison(node: Node, known: Knowledge) -> Any:
    """What a comparison of two known ints gives."""
    if len(node.operands) != 2:
        return UNKNOWN
    x, y = (known(v) for v in node.operands)
    if not (isinstance(x, int) and isinstance(y, int)):
        return UNKNOWN
    compare: Callable[[int, int], bool] = getattr(operator, node.op.removeprefix("aten::"))
    return compare(x, y)


@evaluates("aten::__not__")
def _not(node: Node, known: Knowledge) -> Any:
    x = known(node.operand(0))
    return not x if isinstance(x, bool) else UNKNOWN


@_decides("aten::__not__")
def _decided_negation(node: Node) -> bool | None:
    negated = decided(node.operand(0))
    return None if negated is None else not negated


_PLAIN = (IntType, FloatType, BoolType, StringType)
"""Types of which no other is a kind."""
_LONGEST = 64
"""Longer lists are no sizes."""
