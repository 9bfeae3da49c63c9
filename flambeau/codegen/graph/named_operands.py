"""A node's operands by the names that its schema gives them, and what its operator's rules say of its result."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from flambeau.codegen.graph import result_types
from flambeau.codegen.graph.emitted_function import EmittedFunction
from flambeau.codegen.graph.literals import as_rules_take, literal_of
from flambeau.codegen.graph.native_values import CannotCompileError, Native
from flambeau.ir.graph import Node, Value
from flambeau.schema.dtype import DType


def values_by_name(node: Node) -> dict[str, Value]:
    """The values that a call of an operator is passed."""
    assert node.definition is not None
    return dict(zip((a.name for a in node.definition.schema.arguments), node.operands, strict=True))


def operands_by_name(fn: EmittedFunction, node: Node) -> dict[str, Native]:
    """What these values have become."""
    return {name: fn.values.get(value) for name, value in values_by_name(node).items()}


def result_type(node: Node, operands: Iterable[Native]) -> tuple[DType, int] | None:
    """(dtype, rank) of the one result; None where the operator's rules cannot tell."""
    assert node.definition is not None
    return result_types.result_types(node.definition, [as_rules_take(n) for n in operands], 1)[0]


def refuse_options(operands: Mapping[str, Native], names: Iterable[str], why: str) -> None:
    """Raise `CannotCompileError` if one of these options is passed, and is neither None nor False."""
    if any(literal_of(operands[k]) not in (None, False) for k in names if k in operands):
        raise CannotCompileError(why)
