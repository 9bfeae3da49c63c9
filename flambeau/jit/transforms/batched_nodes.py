"""What nodes that are no operators, or ask about sizes, are for whole batches."""

from __future__ import annotations

from typing import Any

from flambeau.autodiff.proxies import UntraceableError, refuse
from flambeau.ir.clone import clone_node
from flambeau.ir.graph import Node
from flambeau.jit.transforms.batched_blocks import Batching, WrittenError, batched_nodes, of_batch, shown_by
from flambeau.jit.transforms.examples import Example
from flambeau.schema.types import IntType, ListType, TensorType


@batched_nodes("prim::TupleConstruct")
def _tuple(batching: Batching, node: Node) -> None:
    """The tuple of the results is made of their batches in the end (`_return`)."""
    if any(use.user is not node.graph.body.return_node for use in node.result().uses()):
        refuse("a tuple of examples")


@batched_nodes("aten::append", "aten::pop", "aten::__getitem__", "aten::len", "prim::ListUnpack")
def _list(batching: Batching, node: Node) -> None:
    """What is done with a list of tensors; of the tensors, each is one of each example."""
    listed = node.operand(0)
    if not isinstance(listed.static_type, ListType):
        return _sizes(batching, node)
    if listed not in batching.batched:
        raise WrittenError(shown_by(listed))
    copies = {**batching.values}
    for value in node.operands[1:]:
        if isinstance(value.static_type, TensorType):
            copies[value] = batching.of_each(value)
    new = batching.graph.insert_node(clone_node(node, batching.graph, copies))
    for old, result in zip(node.results, new.results, strict=True):
        batching.values[old] = result
        if not isinstance(old.static_type, IntType):
            result.set_type(of_batch(old.static_type))
            batching.batched.add(old)
    return None


@batched_nodes("aten::stack", "aten::cat")
def _joined(batching: Batching, node: Node) -> None:
    """The tensors of a list, also of one that a loop filled, joined behind the axis of the examples."""
    listed, dim = node.operands
    if batching.has_all_items(listed):
        return batching.operator(node)
    axis = batching.builder.proxy(batching.values[dim])
    if not isinstance(axis, int):
        raise UntraceableError("an axis that only the run knows")
    values = [batching.values[listed], batching.builder.constant(axis + 1 if axis >= 0 else axis)]
    new = batching.graph.insert(node.op, values, [of_batch(node.result().static_type)])
    batching.values[node.result()] = new.result()
    batching.batched.add(node.result())
    return None


@batched_nodes("aten::size", "aten::sym_size", "prim::shape", "aten::dim", "aten::numel")
def _sizes(batching: Batching, node: Node) -> None:
    """What is asked about sizes, answered for an example."""
    builder = batching.builder
    example = Example(builder, batching.values[node.operand(0)])
    answer: Any = example.dim() if node.op == "aten::dim" else example.shape
    if node.op == "aten::numel":
        answer = example.numel()
    elif node.op == "aten::len" or len(node.operands) == 2:
        axis = 0 if node.op == "aten::len" else builder.proxy(batching.values[node.operand(1)])
        answer = answer[axis] if isinstance(axis, int) else refuse("an axis that only the run knows")
    batching.values[node.result()] = builder.value(answer, node.result().static_type)


@batched_nodes(
    "prim::dtype", "prim::device", "prim::layout", "aten::is_floating_point", "aten::is_complex", "aten::is_signed",
    "prim::is_cuda", "prim::is_cpu", "prim::is_quantized", "aten::element_size", "prim::itemsize", "aten::get_device",
)  # fmt: skip
def _of_any(batching: Batching, node: Node) -> None:
    """What is the same of all examples and of one."""
    batching.graph.insert_node(clone_node(node, batching.graph, batching.values))
