"""Values with gradients of their own: a node that gives what it is given, and knows what goes back through it.

```
%y : Tensor = ^Clamp()(%x)          →     %d : Tensor = aten::detach(%x)
                                          %r : Tensor = aten::clamp(%d, %low)
                                          %y : Tensor = prim::OwnGradient[backward=<function g>, ...](%r, %x, %low)
```

Its operands are the results as they were computed, then the arguments, then what else is kept. `backward` is a function
of the gradients of the results and of what is kept, and gives a tuple with one for each argument; `jvp`, if there is
one, of the tangents of the arguments. `kept` says what they are given: by number the results of the node, then its
operands behind the first ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from flambeau.ir.graph import Graph, Node, Value
from flambeau.program.function import Function

OWN_GRADIENT: Final = "prim::OwnGradient"


def insert_own_gradient(
    graph: Graph, results: Sequence[Value], arguments: Sequence[Value], kept: Sequence[int], others: Sequence[Value],
    backward: Function, jvp: Function | None,
) -> Node:  # fmt: skip
    """The node, at the insertion point of a graph."""
    node = graph.insert(
        OWN_GRADIENT, [*results, *arguments, *others], [v.static_type for v in results], backward=backward,
        arguments=len(arguments), kept=list(kept),
    )  # fmt: skip
    if jvp is not None:
        node.attributes["jvp"] = jvp
    return node


def arguments_of(node: Node) -> list[Value]:
    """The arguments of the function whose results a node gives."""
    first = len(node.results)
    return list(node.operands[first : first + node.attribute("arguments")])


def kept_by(node: Node) -> list[Value]:
    """What `backward` and `jvp` are given behind gradients and tangents."""
    values = [*node.results, *node.operands[len(node.results) :]]
    return [values[number] for number in node.attribute("kept")]
