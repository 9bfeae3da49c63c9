"""The results of a node on constants, if it is safe and cheap to have them now."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, Final

from flambeau.ir import constants, literals
from flambeau.ir.graph import Node, Value
from flambeau.ir.literals import EnumMember, Opaque, TensorLiteral
from flambeau.schema.opdef import OpDef
from flambeau.schema.subtype import is_subtype
from flambeau.schema.types import TensorType, Type
from flambeau.util.foreign import is_foreign

LARGEST: Final = 1024
"""Tensors, strings and lists that are larger are not worth a constant."""
NOT_FOLDED: Final[Any] = object()
"""What `evaluate` gives when the node is to run later."""
_TEXTUAL = (EnumMember, Opaque, TensorLiteral)
_MISTAKES = (AssertionError, AttributeError, NameError)
"""What no operator raises on purpose."""


class _NotConstantError(Exception):
    """A value that only a run gives; a class of its own, so that what a signal's handler raises is not taken for it."""


def evaluate(node: Node) -> Any:
    """A tuple with the value of each result, or `NOT_FOLDED`. No refusal of the operator comes through."""
    is_view = _looks_at_operands(node)
    operands = _operands(node, is_view)
    if operands is None:
        return NOT_FOLDED
    rule = _STRUCTURAL.get(node.op)
    if rule is not None:
        return rule(node, operands)
    definition = node.definition
    if definition is None or not (is_view or _is_cheap(node, operands)):
        return NOT_FOLDED
    result = _attempt(definition, operands)
    results = (result,) if len(node.results) == 1 else result
    is_complete = result is not NOT_FOLDED and isinstance(results, tuple) and len(results) == len(node.results)
    return results if is_complete and (is_view or all(map(_is_small, results))) else NOT_FOLDED


def _operands(node: Node, is_view: bool) -> list[Any] | None:
    """The operands' values; None where they are not constant, only known by their text, or too large."""
    try:
        operands = [_value(v) for v in node.operands]
    except _NotConstantError:
        return None
    if any(isinstance(v, _TEXTUAL) or not (is_view or _is_small(v)) for v in operands):
        return None
    return operands


def _attempt(definition: OpDef, operands: list[Any]) -> Any:
    """What the operator gives, or `NOT_FOLDED` where it refuses: it will again, when the program comes here."""
    try:
        return definition.kernel(*operands)
    except Exception as error:
        is_mistake = isinstance(error, _MISTAKES) and _fit(definition, operands)
        if definition.family != "custom" and (is_mistake or is_foreign(error)):
            raise
        return NOT_FOLDED


def _fit(definition: OpDef, operands: list[Any]) -> bool:
    """Whether operands have the types that the operator takes: behind a cast on a way never taken, they have not."""
    try:
        pairs = zip(operands, definition.schema.arguments, strict=True)
        return all(is_subtype(constants.type_of(value), argument.type) for value, argument in pairs)
    except TypeError:  # of a value that only Python knows
        return False


def _looks_at_operands(node: Node) -> bool:
    """Whether results are memory that the operands are: views of tensors, items of containers. That is cheap."""
    definition = node.definition
    return definition is not None and all(r.alias is not None for r in definition.schema.returns)


def _value(value: Value) -> Any:
    """A constant, or a new container built as the graph builds it. Raises `_NotConstantError` for anything else."""
    if constants.is_constant(value):
        constant = constants.constant_value(value)
        return constant.copy() if isinstance(constant, list | dict) else constant
    if value.defining_node is not None and value.defining_node.op in _STRUCTURAL:
        results = _STRUCTURAL[value.defining_node.op](
            value.defining_node, [_value(v) for v in value.defining_node.operands]
        )
        if results is not NOT_FOLDED:
            return results[value.index]
    raise _NotConstantError(f"%{value.name} is not a constant")


def _is_small(value: Any) -> bool:
    if literals.is_tensor(value):
        return bool(math.prod(value.shape) <= LARGEST)
    if isinstance(value, str | list | dict | tuple):
        return len(value) <= LARGEST
    return True


def _is_cheap(node: Node, operands: list[Any]) -> bool:
    """Whether the operator surely makes nothing large: no new tensors, and only small ints beside strings and lists."""
    has_tensor = any(map(literals.is_tensor, operands))
    if not has_tensor and any(isinstance(v.static_type, TensorType) for v in node.results):
        return False
    if not has_tensor and not any(isinstance(v, str | list) for v in operands):
        return True
    numbers = [n for v in operands for n in (v if isinstance(v, list) else (v,)) if isinstance(n, int)]
    return math.prod(max(abs(n), 1) for n in numbers) <= LARGEST**2


def _list(node: Node, operands: list[Any]) -> Any:
    return NOT_FOLDED if any(map(constants.is_mutable, operands)) else (operands,)


def _dictionary(node: Node, operands: list[Any]) -> Any:
    if any(map(constants.is_mutable, operands)):
        return NOT_FOLDED
    return (dict(zip(operands[::2], operands[1::2], strict=True)),)


def _index(node: Node, operands: list[Any]) -> Any:
    items, index = operands
    return (items[index],) if -len(items) <= index < len(items) else NOT_FOLDED


def _slice(node: Node, operands: list[Any]) -> Any:
    start, end = (operands[1], operands[2]) if len(operands) > 2 else (node.attribute("beg"), node.attribute("end"))
    return (operands[0][start:end],)


def _is_instance(node: Node, operands: list[Any]) -> Any:
    types: list[Type] = node.attribute("types")
    try:
        return (all(any(is_subtype(constants.type_of(v), t) for t in types) for v in operands),)
    except TypeError:  # of a value that only Python knows
        return NOT_FOLDED


def _tuple(node: Node, operands: list[Any]) -> Any:
    if getattr(node.result().static_type, "name", None) is not None:
        return NOT_FOLDED
    return (tuple(operands),)


_STRUCTURAL: Mapping[str, Callable[[Node, list[Any]], Any]] = {
    "prim::ListConstruct": _list,
    "prim::TupleConstruct": _tuple,
    "prim::DictConstruct": _dictionary,
    "prim::TupleUnpack": lambda node, operands: tuple(operands[0]),
    "prim::ListUnpack": lambda node, operands: tuple(operands[0]),
    "prim::TupleIndex": _index,
    "prim::TupleSlice": _slice,
    "prim::unchecked_cast": lambda node, operands: (operands[0],),
    "prim::isinstance": _is_instance,
}
"""Kinds that have no kernel."""
