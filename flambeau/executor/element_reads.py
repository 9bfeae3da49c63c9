"""Elements of tensors that become numbers at once, in loops that are interpreted: read without a tensor for each.

%r = aten::select(%x, 0, %i)    %v : int = aten::Int(%r)    →    %v : int = prim::ReadElement(%x, %i)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from flambeau.ir.graph import Graph, Node, Value
from flambeau.schema.traits import Role
from flambeau.schema.types import FLOAT, INT, TensorType
from flambeau.tensor.array_library import np
from flambeau.tensor.tensor import Tensor

READ: Final = "prim::ReadElement"
MOST: Final = 2
"""Indexes of an element that are read together."""
_KINDS: Final[dict[Any, tuple[type, str]]] = {INT: (int, "iu"), FLOAT: (float, "f")}
"""By the type of the number: Python's class, and the kinds of array elements that need no conversion."""


class ElementReader:
    """What such a node calls: of arrays with elements of the wanted kind, the element; else what it stands for."""

    def __init__(
        self, number: type, kinds: str, select: Callable[..., Tensor], convert: Callable[[Tensor], Any]
    ) -> None:
        self._number, self._kinds, self._select, self._convert = number, kinds, select, convert
        self.__name__ = "read_element"

    def __call__(self, x: Tensor, *indexes: int) -> Any:
        """The element at a place. Raises what the operators raise where there is none."""
        if type(x) is Tensor:
            array = x._array
            if type(array) is np.ndarray and array.ndim == len(indexes) and array.dtype.kind in self._kinds:
                try:
                    value = array.item(indexes)
                except IndexError:
                    pass  # the operators say where
                else:
                    if type(value) is self._number:
                        return value
        for index in indexes:
            x = self._select(x, 0, index)
        return self._convert(x)


def read_elements(graph: Graph) -> None:
    """Have elements of a graph that is interpreted be read so."""
    for node in list(graph.all_nodes()):
        _rewrite(graph, node)


def _rewrite(graph: Graph, node: Node) -> None:
    definition = node.definition
    is_cast = definition is not None and definition.traits.role is Role.NUMBER_CAST and len(node.operands) == 1
    if not is_cast or not isinstance(node.operand(0).static_type, TensorType):
        return
    kind = _KINDS.get(node.result().static_type)
    source, selects = node.operand(0), list[Node]()
    while len(selects) < MOST and (select := _selecting(source, node)) is not None:
        selects.append(select)
        source = select.operand(0)
    if kind is None or not selects or definition is None or selects[0].definition is None:
        return
    indexes = [select.operand(2) for select in reversed(selects)]
    reader = ElementReader(*kind, selects[0].definition.kernel, definition.kernel)
    read = graph.create(READ, (source, *indexes), (node.result().static_type,), kernel=reader)
    read.copy_metadata(selects[0])
    read.insert_before(node)
    node.result().replace_uses_with(read.result())
    for gone in (node, *selects):
        gone.erase()


def _selecting(value: Value, reader: Node) -> Node | None:
    """What picks a place of the first axis for a value that nothing else uses, in the reader's block."""
    node = value.defining_node
    if node is None or node.op != "aten::select" or node.owner_block is not reader.owner_block:
        return None
    axis = node.operand(1).defining_node
    is_first = axis is not None and axis.op == "prim::Constant" and axis.attributes.get("value", None) == 0
    is_first = is_first and len(value.uses()) == 1
    return node if is_first and isinstance(node.operand(0).static_type, TensorType) else None
