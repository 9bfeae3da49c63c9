"""From a region of a graph to a kernel.

A region is a run of nodes with the values that come in and go out. Every tensor that comes in has a known dtype and
rank; sizes known to be one let a dimension broadcast. `lower_graph` takes a whole graph, such as the body of a fusion
group.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from flambeau.codegen.kernel.dtypes import KernelError, element_type
from flambeau.codegen.lower.copy_and_scatter import build_changed, is_changed
from flambeau.codegen.lower.halves import narrowed
from flambeau.codegen.lower.passes import Lowered, build
from flambeau.codegen.lower.rules import lower_node
from flambeau.codegen.lower.values import Dim, Expr, LoweringError, RepeatedResultsError, size_of
from flambeau.codegen.shapes import Span
from flambeau.ir.constants import is_constant
from flambeau.ir.graph import Graph, Node, Value
from flambeau.schema.dtype import DType
from flambeau.schema.opdef import OpDef
from flambeau.schema.types import BoolType, ComplexType, FloatType, IntType, TensorType, Type

__all__ = ["Lowered", "LoweringError", "RepeatedResultsError", "Span", "lower_graph", "lower_region"]

_ROW_MAJOR = "row-major"
"""Stands among inputs for what a fold or a row operator gives."""
_NUMBERS: tuple[tuple[type[Type], str], ...] = (
    (IntType, "int64"), (FloatType, "float64"), (BoolType, "bool"), (ComplexType, "complex128")
)  # fmt: skip


def lower_graph(
    graph: Graph, types: Sequence[Type] | None = None, *, name: str = "fused"
) -> Lowered:
    """The kernel of a graph; its inputs and outputs are the kernel's. Raises `LoweringError` when there is none.

    `types` says what is known of the inputs where the graph's own types say less.

    >>> from flambeau.codegen.kernel.printer import print_kernel
    >>> from flambeau.ir.parser import parse_ir
    >>> graph = parse_ir("graph(%x : Float(*)):\\n  %y : Float(*) = aten::mul(%x, %x)\\n  return (%y)")
    >>> print(print_kernel(lower_graph(graph).kernel).strip())
    kernel fused {
      axes d0
      in x0: float32[d0]
      out y0: float32[d0]
      for d0 {
        %0: float32 = load x0[d0]
        %1: float32 = mul %0, %0
        store y0[d0], %1
      }
    }
    """
    return lower_region(graph.nodes(), graph.parameters, graph.returns, types, name=name)


def lower_region(
    nodes: Iterable[Node],
    inputs: Sequence[Value],
    outputs: Sequence[Value],
    types: Sequence[Type] | None = None,
    *,
    name: str = "fused",
) -> Lowered:
    """The kernel of some nodes, in order; every value they use is an input, a constant or one of theirs.

    >>> from flambeau.ir.parser import parse_ir
    >>> graph = parse_ir("graph(%x : Float(*)):\\n  %y : Float(*) = aten::exp(%x)\\n  return (%y)")
    >>> kernel = lower_region(graph.nodes(), graph.parameters, graph.returns, name="grown").kernel
    >>> kernel.name, [buffer.role for buffer in kernel.buffers]
    ('grown', ['in', 'out'])
    """
    known = types if types is not None else [v.static_type for v in inputs]
    region = _Region()
    for k, value in enumerate(inputs):
        region.add_input(value, known[k], f"x{k}")
    for node in nodes:
        region.add_node(node)
    try:
        results = [region.tensor(v) for v in outputs]
        if is_changed(results):
            return build_changed(name, region.inputs, results)
        return build(name, region.inputs, results, [region.order_of(v) for v in outputs])
    except LoweringError:
        raise
    except KernelError as error:
        raise LoweringError(str(error)) from error


class _Region:
    def __init__(self) -> None:
        self.inputs: list[Expr] = []
        self.meanings: dict[Value, Any] = {}
        """The expression or the Python constant of each value."""
        self.types: dict[Value, Any] = {}
        """What a dtype rule is told of each value."""
        self.like: dict[Value, tuple[str, ...]] = {}
        """As what a value lies in memory, what decides first in front: inputs, `_ROW_MAJOR`; or nothing."""

    def add_input(self, value: Value, type_: Type, buffer: str) -> None:
        if isinstance(type_, TensorType):
            if type_.dtype is None or type_.sizes is None:
                raise LoweringError(f"%{value.name}: dtype and rank must be known, got {type_}")
            dims = tuple(None if size == 1 else Dim() for size in type_.sizes)
            dtype = type_.dtype.name
        else:
            dims = ()
            dtype = next((d for t, d in _NUMBERS if isinstance(type_, t)), "")
            if not dtype:
                raise LoweringError(f"%{value.name}: a kernel takes tensors and numbers, got {type_}")
        self.check(dtype)
        expr = Expr("input", dtype, (), dims, buffer)
        self.inputs.append(expr)
        self.meanings[value], self.types[value] = expr, type_
        self.like[value] = (buffer,) if dims else ()

    def check(self, dtype: str) -> None:
        """Raise `LoweringError` for a dtype that kernels do not know."""
        try:
            element_type(dtype)
        except KernelError as error:
            raise LoweringError(str(error)) from None

    def tensor(self, value: Value) -> Expr:
        expr = self.meanings.get(value)
        if not isinstance(expr, Expr):
            raise LoweringError(f"%{value.name} is not a value of the region")
        return expr

    def argument(self, value: Value) -> Any:
        """An expression, or the Python value of a constant."""
        if value in self.meanings:
            return self.meanings[value]
        if is_constant(value):
            assert value.defining_node is not None
            return value.defining_node.attributes.get("value")
        if value.defining_node is not None and value.defining_node.op == "prim::ListConstruct":
            return [self.argument(v) for v in value.defining_node.operands]
        raise LoweringError(f"%{value.name} comes from outside the region")

    def add_node(self, node: Node) -> None:
        if node.op in ("prim::Constant", "prim::ListConstruct"):
            return
        if node.op == "aten::size" and len(node.operands) == 2:
            self.meanings[node.result()] = size_of(*map(self.argument, node.operands))
            return
        definition = node.definition
        if definition is None or not node.results:
            raise LoweringError(f"{node.op} has no native form")
        arguments = [self.argument(v) for v in node.operands]
        compute, results = self.dtypes_of(node, definition, arguments)
        named = {a.name: x for a, x in zip(definition.schema.arguments, arguments, strict=True)}
        exprs = narrowed(lower_node(definition, named, compute, results[0]), results)
        if len(exprs) != len(node.results):
            raise LoweringError(f"{node.op} has no native form for all its results")
        for value, expr, dtype in zip(node.results, exprs, results, strict=False):
            self.meanings[value] = expr
            sizes = tuple(1 if d is None else None for d in expr.dims)
            self.types[value] = TensorType(dtype=dtype, sizes=sizes)
        self.lay_out(node, definition, is_single=not exprs[0].dims)

    def dtypes_of(self, node: Node, definition: OpDef, arguments: list[Any]) -> tuple[DType | None, tuple[Any, ...]]:
        """What an operator computes in, and the dtypes of its results, of which the first must be told by its rule."""
        types = [self.types.get(v, x) for v, x in zip(node.operands, arguments, strict=True)]
        result = definition.dtype(*types) if definition.dtype is not None else None
        compute = definition.compute(*types) if definition.compute is not None else None
        results = result if isinstance(result, tuple) else (result,)
        if not isinstance(results[0], DType):
            raise LoweringError(f"{node.op}: the dtype of its result is not known")
        for dtype in results:
            if isinstance(dtype, DType):
                self.check(dtype.name)
        return compute if isinstance(compute, DType) else None, results

    def lay_out(self, node: Node, definition: OpDef, *, is_single: bool) -> None:
        """Note how the results lie in memory, as the operators one by one would have it."""
        tensors = [v for v in node.operands if isinstance(self.types.get(v), TensorType)]
        if definition.scalar is not None:
            like = tuple(dict.fromkeys(name for v in tensors for name in self.like[v]))
            like = like[: like.index(_ROW_MAJOR) + 1] if _ROW_MAJOR in like else like
        else:
            gives_fewer = is_single or any(a.name == "keepdim" for a in definition.schema.arguments)
            like = () if gives_fewer else (_ROW_MAJOR,)  # of fewer elements the other operands decide
        self.like.update(dict.fromkeys(node.results, like))

    def order_of(self, value: Value) -> tuple[str, ...] | None:
        """`Buffer.like` of a result."""
        like = self.like[value]
        if like == tuple(str(x.data) for x in self.inputs if x.dims) != ():
            return None
        return tuple(name for name in like if name != _ROW_MAJOR)
