"""Rules of `peephole` for lists and dicts that the graph builds."""

from __future__ import annotations

from typing import Any, Final

from flambeau.ir import constants
from flambeau.ir.graph import Node, Value
from flambeau.ir.walk import is_visible
from flambeau.passes.peephole_outcomes import KEEP, Chain, Constant, Literal, built_by, number_of, rewrites
from flambeau.schema.types import FloatType, IntType, TensorType


def _entries(value: Value) -> dict[Any, Value] | None:
    """The entries of a dict that the graph builds with keys that are known; None for any other value."""
    flat = built_by(value, "prim::DictConstruct")
    if flat is None or not all(constants.is_constant(key) for key in flat[::2]):
        return None
    keys = [constants.constant_value(key) for key in flat[::2]]
    return dict(zip(keys, flat[1::2], strict=True)) if all(isinstance(key, str | int) for key in keys) else None


@rewrites("aten::len")
def length_of_literal(node: Node) -> Any:
    """len of a list or dict the graph builds, of the sizes of a tensor of known rank, and of a tensor's known size."""
    type_ = node.operand(0).static_type
    if isinstance(type_, TensorType):
        size = type_.sizes[0] if type_.sizes else None
        return Constant(size) if size is not None and size >= 0 else KEEP
    elements, entries = built_by(node.operand(0), "prim::ListConstruct"), _entries(node.operand(0))
    asked = built_by(node.operand(0), "aten::size")
    count = None if elements is None else len(elements)
    if asked is not None and len(asked) == 1 and isinstance(asked[0].static_type, TensorType):
        count = asked[0].static_type.rank
    if entries is not None:
        count = len(entries)
    return KEEP if count is None else Literal(node.operand(0), Constant(count), is_shallow=True)


@rewrites("aten::__getitem__")
def item_of_literal(node: Node) -> Any:
    """[a, b][1] and {"k": a}["k"], where the container is built by the graph."""
    elements, index = built_by(node.operand(0), "prim::ListConstruct"), number_of(node.operand(1))
    entries = _entries(node.operand(0))
    if entries is not None and constants.is_constant(node.operand(1)):
        item = entries.get(constants.constant_value(node.operand(1)))
        return KEEP if item is None else _item_of(node, item)
    if elements is None:
        return _one_size(node, index)
    if not isinstance(index, int) or not -len(elements) <= index < len(elements):
        return KEEP
    return _item_of(node, elements[index])


def _item_of(node: Node, item: Value) -> Any:
    is_known = item.static_type == node.result().static_type
    return Literal(node.operand(0), item, is_shallow=True) if is_known else KEEP


def _one_size(node: Node, index: Any) -> Any:
    """size(x)[1], where there is such a dimension: asked for where all sizes were."""
    sizes = node.operand(0).defining_node
    asked = built_by(node.operand(0), "aten::size")
    type_ = asked[0].static_type if asked is not None and len(asked) == 1 else None
    if sizes is None or not isinstance(type_, TensorType) or type_.rank is None or not isinstance(index, int):
        return KEEP
    if not -type_.rank <= index < type_.rank:
        return KEEP

    def make() -> Value:
        where = node.operand(1) if is_visible(node.operand(1), sizes) else constants.insert_constant(node.graph, index)
        return node.graph.insert("aten::size", (sizes.operand(0), where), (node.result().static_type,)).result()

    return Literal(node.operand(0), Chain(make, sizes))


@rewrites("prim::min", "prim::max")
def _extreme(node: Node) -> Any:
    """min and max of a list the graph builds: of two numbers at a time, a later one against the best before it."""
    elements = built_by(node.operand(0), "prim::ListConstruct") if len(node.operands) == 1 else None
    type_ = node.result().static_type
    if not elements or len(elements) > _LONGEST or not isinstance(type_, IntType | FloatType):
        return KEEP

    def make() -> Value:
        best = elements[0]
        for element in elements[1:]:
            best = node.graph.insert(node.op, (element, best), (type_,)).result()
        return best

    return Literal(node.operand(0), Chain(make, node))


_LONGEST: Final = 8
"""Lists of more elements are not taken apart."""
