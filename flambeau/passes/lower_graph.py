"""Do without the module: the tensors that a method reads of it come in as further inputs.

```
graph(%self, %x):                                       graph(%x, %weight):
  %w = prim::GetAttr[name="weight"](%self)       →        %y = aten::mul(%x, %weight)
  %y = aten::mul(%x, %w)                                  return (%y)
  return (%y)
```

Calls are inlined first. Numbers and other values that no call could change become constants.
"""

from __future__ import annotations

from typing import Any, Final

from flambeau.ir.clone import clone_graph
from flambeau.ir.constants import insert_constant, type_of
from flambeau.ir.graph import Graph, Node, Value
from flambeau.passes import dce, inline
from flambeau.program.object import ScriptObject
from flambeau.tensor.tensor import Tensor

GET, SET = "prim::GetAttr", "prim::SetAttr"
WRITTEN: Final = "'{name}' is assigned by what the graph calls: a graph without its module has nowhere to put it"
OTHER_USE: Final = "{op} has the module '{name}' itself as an operand: only reads of attributes can do without it"
NO_CONSTANT: Final = "'{name}' is {value!r}: only tensors come in as inputs, and only what has no state is constant"
CONSTANTS: Final = (bool, int, float, complex, str, type(None))


def do(graph: Graph, module: ScriptObject) -> tuple[Graph, list[Tensor]]:
    """A copy of a method's graph without its module, and the tensors for its further inputs.

    Raises RuntimeError where the module, or an object in it, is more than read.
    """
    copy = clone_graph(graph)
    inline.do(copy)
    lowered = _Lowering(copy)
    lowered.lower(copy.parameters[0], module, "")
    copy.body.remove_parameter(0)
    dce.do(copy)
    return copy, lowered.tensors


class _Lowering:
    """The inputs and constants made so far."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self.tensors: list[Tensor] = []
        self._inputs: dict[int, Value] = {}
        """By the tensor's identity, as one tensor may be two attributes."""

    def lower(self, value: Value, owner: ScriptObject, path: str) -> None:
        """Put inputs and constants in the place of what is read of an object."""
        for use in list(value.uses()):
            node: Node = use.user
            if node.op == SET and node.operand(0) is value:
                raise RuntimeError(WRITTEN.format(name=path + node.attribute("name")))
            if node.op != GET:
                raise RuntimeError(OTHER_USE.format(op=node.op, name=path.rstrip(".") or "self"))
            name: str = node.attribute("name")
            self._replace(node, owner.get(name), path + name)

    def _replace(self, node: Node, value: Any, path: str) -> None:
        result = node.result()
        if isinstance(value, ScriptObject):
            self.lower(result, value, f"{path}.")
        elif isinstance(value, Tensor):
            result.replace_uses_with(self._input(value, path))
        elif isinstance(value, CONSTANTS):
            with self._graph.inserting(node), self._graph.at_range(node.range):
                result.replace_uses_with(insert_constant(self._graph, value, result.static_type))
        else:
            raise RuntimeError(NO_CONSTANT.format(name=path, value=value))
        node.erase()

    def _input(self, tensor: Tensor, path: str) -> Value:
        if id(tensor) not in self._inputs:
            self._inputs[id(tensor)] = self._graph.add_parameter(type_of(tensor), path.replace(".", "_"))
            self.tensors.append(tensor)
        return self._inputs[id(tensor)]
