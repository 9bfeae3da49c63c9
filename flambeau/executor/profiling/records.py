"""Counted runs: a graph with a `prim::profile` node before each use of a tensor, which records what comes by.

```
%y = aten::tanh(%x)      →      %1 = prim::profile[profiled_type=Float(2, 3, strides=[3, 1]), seen_none=0](%x)
                                %y = aten::tanh(%1)
```

What several runs saw is merged: what differs becomes unknown.
"""

from __future__ import annotations

from typing import Any

from flambeau.interpreter.code import Code
from flambeau.interpreter.compile import compile_graph
from flambeau.interpreter.liveness import KERNEL
from flambeau.ir import constants
from flambeau.ir.clone import Copies, clone_graph
from flambeau.ir.graph import Graph, Node, Value
from flambeau.ir.walk import blocks
from flambeau.schema.types import TENSOR, ListType, OptionalType, TensorType, Type
from flambeau.tensor.tensor import Tensor
from flambeau.util.locks import Lock
from flambeau.util.record import dataclass

PROFILE = "prim::profile"


class Record:
    """What one `prim::profile` node has seen: its kernel, which gives what it takes."""

    __slots__ = ("_lock", "_node", "count", "is_number", "nones", "type")

    def __init__(self, node: Node) -> None:
        self._node = node
        self._lock = Lock()
        self.count = self.nones = 0
        self.type: TensorType | None = None
        self.is_number = False
        """Whether a tensor that stands for a number came by: its dtype gives way, so that nothing follows from it."""
        self._show()

    def __call__(self, value: Any) -> Any:
        with self._lock:
            self.count += 1
            if isinstance(value, Tensor):
                seen = constants.type_of(value)
                assert isinstance(seen, TensorType)
                self.type = seen if self.type is None else self.type.merge(seen)
                self.is_number = self.is_number or value.is_wrapped_number
            else:
                self.nones += 1
            self._show()
        return value

    def _show(self) -> None:
        self._node.attributes["profiled_type"] = TENSOR if self.type is None else self.type
        self._node.attributes["seen_none"] = int(self.nones > 0)


@dataclass(frozen=True, slots=True)
class ProfiledRun:
    """A graph that records, and what it recorded of each value of the graph that it is a copy of."""

    graph: Graph
    code: Code
    records: dict[Value, list[Record]]

    def seen(self, value: Value) -> TensorType | None:
        """What all that came by for a value has in common; None for what was not seen, or was None or a number once."""
        merged: TensorType | None = None
        for record in self.records.get(value, ()):
            if record.nones or record.is_number:
                return None
            if record.type is not None:
                merged = record.type if merged is None else merged.merge(record.type)
        return merged


def profiled_run(graph: Graph, name: str) -> ProfiledRun:
    """A copy of a graph that records."""
    copies: Copies = {}
    copy = clone_graph(graph, copies)
    originals = {new: old for old, new in copies.items()}
    records: dict[Value, list[Record]] = {}
    for node in [n for n in copy.listed_nodes() if _is_watched(n)]:
        _watch(copy, node, originals, records)
    for block in list(blocks(copy.body)):
        _watch(copy, block.return_node, originals, records)
    return ProfiledRun(copy, compile_graph(copy, name), records)


def _is_watched(node: Node) -> bool:
    """Whether a node is an operator, or makes a list of tensors for one."""
    if node.op == "prim::ListConstruct":
        type_ = node.result().static_type
        return isinstance(type_, ListType) and isinstance(type_.element, TensorType)
    return node.definition is not None or node.op == "prim::ConstantChunk"


def _watch(graph: Graph, node: Node, originals: dict[Value, Value], records: dict[Value, list[Record]]) -> None:
    """Put a node before another one for each tensor that this takes."""
    for index, value in enumerate(node.operands):
        if value in originals and _is_tensor(value.static_type) and not constants.is_constant(value):
            watching = graph.create(PROFILE, [value], [value.static_type])
            record = watching.attributes[KERNEL] = Record(watching)
            watching.insert_before(node)
            node.replace_operand(index, watching.result())
            records.setdefault(originals[value], []).append(record)


def _is_tensor(type_: Type) -> bool:
    return isinstance(type_.element if isinstance(type_, OptionalType) else type_, TensorType)
