"""Complex tensors without axes, and conversions to complex dtypes, in code of the function; all else is kernels'."""

from __future__ import annotations

from typing import Any

from flambeau.codegen.graph import memory
from flambeau.codegen.graph.emitted_function import EmittedFunction
from flambeau.codegen.graph.interpreter_calls import attempt, is_dense_now
from flambeau.codegen.graph.literals import as_rules_take
from flambeau.codegen.graph.memory import number
from flambeau.codegen.graph.native_values import ArrayValue, CannotCompileError, ComplexValue, Native
from flambeau.codegen.graph.numbers import complex_elements
from flambeau.codegen.graph.numbers.complex_elements import ComplexRegisters
from flambeau.codegen.graph.numbers.scalars import Operand
from flambeau.codegen.graph.representation import Array
from flambeau.codegen.graph.result_types import rule_argument
from flambeau.codegen.graph.tensors import arrays
from flambeau.codegen.graph.tensors.picks import broadcast
from flambeau.codegen.graph.tensors.pointwise import element, inner_value
from flambeau.codegen.graph.tensors.writes import everywhere
from flambeau.codegen.llvm.emitter import Value as Register
from flambeau.ir.graph import Node, Value
from flambeau.schema.dtype import DType
from flambeau.schema.types import TensorType


def has_complex_operand(fn: EmittedFunction, node: Node) -> bool:
    """Whether one of a node's first two operands is a complex tensor, or a complex number."""
    natives = (fn.values.get(v) for v in node.operands[:2])
    return any(
        isinstance(n, ComplexValue) or (isinstance(n, ArrayValue) and n.rep.dtype.is_complex) for n in natives
    )


def computes_complex(fn: EmittedFunction, node: Node) -> bool:
    """Whether a fused group takes complex tensors or numbers, or makes some."""
    natives = [fn.values.get(v) for v in node.operands]
    if any(isinstance(n, ComplexValue) or (isinstance(n, ArrayValue) and n.rep.dtype.is_complex) for n in natives):
        return True
    types = [v.static_type for inner in node.attribute("Subgraph").nodes() for v in inner.results]
    return any(isinstance(t, TensorType) and t.dtype is not None and t.dtype.is_complex for t in types)


def group(fn: EmittedFunction, node: Node) -> bool:
    """A fused group of complex tensors without axes as code of the function; whether it was one that has such code."""
    graph = node.attribute("Subgraph")
    natives = [fn.values.get(v) for v in node.operands]
    nodes = [n for n in graph.nodes() if n.op not in ("prim::Constant", "prim::ListConstruct")]
    if any(map(_moves, natives)) or len(node.results) != 1 or not all(map(_goes_by_elements, nodes)):
        return False
    inputs = dict(zip(graph.parameters, map(as_rules_take, natives), strict=True))
    types = _types(nodes, inputs)

    def meaning(s: ComplexRegisters, arguments: list[Any]) -> Operand:
        values = dict(zip(graph.parameters, arguments, strict=True))
        for inner in nodes:
            assert inner.definition is not None
            own = [inner_value(values, v) for v in inner.operands]
            taken = [types.get(v, a) for v, a in zip(inner.operands, own, strict=True)]
            values[inner.result()] = element(inner.definition, s, own, taken)
        result: Operand = values[graph.returns[0]]
        return result

    _loop(fn, node, natives, types[graph.returns[0]].dtype, meaning)
    return True


def _goes_by_elements(node: Node) -> bool:
    return node.definition is not None and node.definition.scalar is not None


def _types(nodes: list[Node], arguments: dict[Value, Any]) -> dict[Value, Any]:
    """What rules take for each value of a group. Raises `CannotCompileError` where one does not tell a dtype."""
    types = dict(arguments)
    for inner in nodes:
        definition = inner.definition
        taken = [types[v] if v in types else inner_value({}, v) for v in inner.operands]
        dtype = None if definition is None or definition.dtype is None else definition.dtype(*taken)
        if definition is None or definition.scalar is None or not isinstance(dtype, DType):
            raise CannotCompileError("complex tensors in an operator without a meaning per element")
        types[inner.result()] = rule_argument(Array(dtype, 0))
    return types


def convert(fn: EmittedFunction, node: Node, dtype: DType) -> None:
    """`to` a complex dtype: a new tensor."""
    native = fn.values.get(node.operand(0))
    _loop(fn, node, [native], dtype, lambda s, arguments: s.cast(arguments[0], dtype))


def _loop(fn: EmittedFunction, node: Node, natives: list[Native], dtype: DType, meaning: Any) -> None:
    """A new tensor of what a meaning gives for the elements of operands at each place."""
    moving = [n for n in natives if isinstance(n, ArrayValue) and _moves(n)]
    _refuse(fn, natives)
    sizes = broadcast(fn, node, moving) if moving else []
    s = ComplexRegisters(fn, node)
    is_dense = len(sizes) < 2 or all(n.rep.dense == n.rep.rank for n in moving)
    rep = Array(dtype, len(sizes), len(sizes) if is_dense else 0)

    def made() -> tuple[list[ArrayValue], Register | None]:
        fn.parts.element_loops += 1
        target = arrays.new(fn, dtype, sizes, node)
        spread = [arrays.broadcast_to(fn, n, sizes, node) for n in moving]

        def one(addresses: list[Register]) -> None:
            elements = iter([
                complex_elements.load(fn, a, x.rep.dtype) for x, a in zip(moving, addresses[1:], strict=True)
            ])
            arguments = [next(elements) if _moves(n) else complex_elements.argument(fn, n) for n in natives]
            complex_elements.store(fn, addresses[0], meaning(s, arguments))

        everywhere(fn, target, moving, spread, one)
        shown = ArrayValue(rep, target.owner, target.data, target.sizes, target.strides)
        return [shown], None

    attempt(fn, node, _keeps_order(fn, moving, len(sizes)), [rep], made)


def _refuse(fn: EmittedFunction, natives: list[Native]) -> None:
    """Raise `CannotCompileError` for what cannot be loaded, before anything is emitted."""
    if fn.e.lanes > 1:
        raise CannotCompileError("complex tensors in several lanes")
    for n in natives:
        if isinstance(n, ArrayValue) and not n.rep.dtype.is_complex:
            memory.element(n.rep.dtype)


def _moves(native: Native) -> bool:
    return isinstance(native, ArrayValue) and native.rep.rank > 0


def _keeps_order(fn: EmittedFunction, moving: list[ArrayValue], rank: int) -> Register:
    """Whether the result is row-major, as one is of operands in another order in memory where there is one axis."""
    answer = Register("true", "i1", 1)
    for x in moving:
        if rank > 1 and x.rep.dense != x.rep.rank:
            dense = fn.e.binary("or", is_dense_now(fn, x), fn.e.icmp("eq", arrays.product(fn, x.sizes), number(0)))
            answer = fn.e.binary("and", answer, dense)
    return answer
