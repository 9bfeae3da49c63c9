"""When two runs of nodes are the same code: keys that are equal where kinds, operands, constants and types are.

A network of a thousand equal layers has a thousand equal groups of nodes; whoever makes something costly of a group
makes it once for all that have one key.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from itertools import count

from flambeau.ir.constants import CONSTANT, constant_key
from flambeau.ir.graph import Node, Value


def code_key(nodes: Iterable[Node], inputs: Sequence[Value], outputs: Sequence[Value]) -> Hashable | None:
    """Equal for nodes that do the same with `inputs` to give `outputs`; None where attributes or blocks forbid a key.

    The types of the inputs are no part of it. Constants count by value, tensors by identity.
    """
    numbers = {value: k for k, value in enumerate(inputs)}
    parts: list[Hashable] = []
    following = count(len(inputs))
    for node in nodes:
        if node.op == CONSTANT:
            value = node.attributes.get("value")
            parts.append((constant_key(value), type(node.result().static_type), bool(node.attributes)))
        elif node.attributes or node.nested_blocks or any(v not in numbers for v in node.operands):
            return None
        else:
            results = tuple([type(v.static_type) for v in node.results])
            parts.append((node.op, tuple([numbers[v] for v in node.operands]), results))
        for value in node.results:
            numbers[value] = next(following)
    if any(v not in numbers for v in outputs):
        return None
    return tuple(parts), tuple([numbers[v] for v in outputs])
