"""Operands of operators in text: how many there may be, and which are `out` tensors that must be named.

The text of a graph gives operands without their names, `out` tensors too. That is no matter until one value is an
operand and the `out` tensor at once: `aten::relu(%x, %x)` would be a call with an operand too many that happens to
overwrite it. Such a call says what it means: `aten::relu(%x, out=%x)`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from flambeau.ir.graph import Node
from flambeau.schema import registry
from flambeau.schema.opdef import OpDef


def outs_over_operands(node: Node) -> Mapping[int, str]:
    """The `out` operands that are another operand too: their places, with the names of their parameters."""
    inputs = node.operands
    if len(set(inputs)) == len(inputs) or (definition := node.definition) is None:
        return {}
    arguments = definition.schema.arguments
    read = {v for v, a in zip(inputs, arguments, strict=False) if not a.is_out}
    return {i: a.name for i, (v, a) in enumerate(zip(inputs, arguments, strict=False)) if a.is_out and v in read}


def problem_of_operands(node: Node, names: Sequence[str]) -> str:
    """What is wrong with the number or the names of an operator's operands; empty for other nodes and where nothing is.

    `names` has for each operand what it was called in the text, or an empty string.
    """
    overloads = registry.overloads(node.op)
    if not overloads:
        return f"{node.op} has no operand called '{next(filter(None, names))}'" if any(names) else ""
    if not any(_takes(d, len(names)) for d in overloads):
        return f"{node.op} takes {_counts(overloads)}, not {len(names)}"
    outs = outs_over_operands(node)
    for index, name in enumerate(names):
        if name and not any(_is_out(d, index, name) for d in overloads):
            return f"{node.op} has no out operand '{name}' at place {index}"
        if not name and index in outs:
            value, meant = f"%{node.operand(index).name}", f"{outs[index]}=%{node.operand(index).name}"
            fewer = _counts([d for d in overloads if not any(a.is_out for a in d.schema.arguments)])
            return (
                f"{node.op} takes {fewer}; with {len(names)} it would write its result over its operand {value}. "
                f"If that is meant, write {meant}"
            )
    return ""


def _takes(definition: OpDef, count: int) -> bool:
    schema = definition.schema
    return count == len(schema.arguments) or (schema.is_vararg and count > len(schema.arguments))


def _is_out(definition: OpDef, index: int, name: str) -> bool:
    arguments = definition.schema.arguments
    return index < len(arguments) and arguments[index].is_out and arguments[index].name == name


def _counts(overloads: Sequence[OpDef]) -> str:
    """`1 operand`, `2 or 3 operands`."""
    counts = sorted({len(d.schema.arguments) for d in overloads})
    *others, last = map(str, counts)
    text = f"{', '.join(others)} or {last}" if others else last
    return f"{text} operand{'' if counts == [1] else 's'}"
