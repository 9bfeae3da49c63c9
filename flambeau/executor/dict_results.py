"""Results that are dicts, as native code gives them: their values, of which Python makes the dict.

```
%r : Dict(str, Tensor) = prim::DictConstruct(%out, %x, %aux, %y)          %r = prim::TupleConstruct(%x, %y)
return (%r)                                                         →     return (%r)                   "out", "aux"
```

Native code knows no dicts. One whose keys are constants, and that only the caller has, is a new dict in each call,
whichever way it is made.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flambeau.ir import constants
from flambeau.ir.clone import clone_graph
from flambeau.ir.graph import Graph, Node
from flambeau.schema.types import TupleType
from flambeau.util.record import dataclass


@dataclass(frozen=True, slots=True)
class DictResult:
    """A graph that returns the values of a dict, and the dict's keys."""

    graph: Graph
    keys: tuple[Any, ...]

    def remade(self, results: Sequence[Any]) -> tuple[Any, ...]:
        """The result that the program has, from what the graph gives."""
        (values,) = results
        return (dict(zip(self.keys, values, strict=True)),)


def dict_result(graph: Graph) -> DictResult | None:
    """The graph with a tuple in the place of the dict that it returns; None where it returns something else."""
    made = _made(graph)
    if made is None:
        return None
    keys = made.operands[::2]
    copy = clone_graph(graph)
    value = copy.returns[0]
    node = value.defining_node
    assert node is not None
    values = node.operands[1::2]
    with copy.inserting(node), copy.at_range(node.range):
        type_ = TupleType(tuple([v.static_type for v in values]))
        value.replace_uses_with(copy.insert("prim::TupleConstruct", values, (type_,)).result())
    node.erase()
    return DictResult(copy, tuple(map(constants.constant_value, keys)))


def _made(graph: Graph) -> Node | None:
    """The node that makes the only result, a dict with constant keys which nothing else has."""
    if len(graph.returns) != 1:
        return None
    node = graph.returns[0].defining_node
    if node is None or node.op != "prim::DictConstruct" or len(node.result().uses()) != 1:
        return None
    if node.owner_block is not graph.body or not all(map(constants.is_constant, node.operands[::2])):
        return None
    keys = [constants.constant_value(k) for k in node.operands[::2]]
    return node if all(isinstance(k, str | int) for k in keys) and len(set(keys)) == len(keys) else None
