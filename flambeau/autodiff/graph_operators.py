"""Operators as formulas call them, that put nodes into a graph: what a formula computes is inserted, not run.

What stands for a tensor, an int or a float answers what is known of it (dtype, rank, sizes of 1); a question about
anything else raises `UntraceableError`, and so does what a formula decides by a number that is not known.

>>> import flambeau.ops
>>> from flambeau.ir import parse_ir
>>> graph = parse_ir('''graph(%x : Float(*), %y : Float(*)):
...   return (%x)''')
>>> builder = Builder(graph, SymbolicSizes(graph))
>>> x, y = (TensorProxy(builder, v) for v in graph.parameters)
>>> product = x * builder.operators.sin(y)
>>> [node.op for node in graph.nodes()]
['aten::sin', 'aten::mul']
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial, reduce
from typing import Any, Final

from flambeau.analysis.effects import is_only_read
from flambeau.analysis.lattice import join
from flambeau.analysis.operator_rules import result_types
from flambeau.autodiff import size_rules as size_rules
from flambeau.autodiff.proxies import (
    BoolProxy,
    FloatProxy,
    IntProxy,
    ListProxy,
    NumberProxy,
    TensorProxy,
    UntraceableError,
    refuse,
)
from flambeau.autodiff.repeated_operands import on_single_numbers
from flambeau.autodiff.symbolic_sizes import Size, SymbolicSizes
from flambeau.ir import constants
from flambeau.ir.constants import insert_constant
from flambeau.ir.graph import Graph, Node, Value
from flambeau.ops.derivatives.operators import NUMBERS
from flambeau.schema import match, registry
from flambeau.schema.argument_rules import RuntimeTypes
from flambeau.schema.bind import Binder
from flambeau.schema.dtype import bool_
from flambeau.schema.opdef import OpDef
from flambeau.schema.types import (
    NONE,
    BoolType,
    FloatType,
    IntType,
    ListType,
    NumberType,
    OptionalType,
    TensorType,
    Type,
)


class _NoGenerator:
    """Formulas draw nothing."""


def _no_conversion(value: Any) -> Any:
    return refuse("a number out of a tensor")


_binder: Final = Binder(
    RuntimeTypes(
        tensor=TensorProxy,
        generator=_NoGenerator,
        from_number=lambda number: number,
        from_array=_no_conversion,
        to_number=_no_conversion,
        to_index=_no_conversion,
    )
)

_PROXIES: Final = (TensorProxy, NumberProxy, BoolProxy, ListProxy)


class Builder:
    """Inserts nodes at the insertion point of a graph."""

    def __init__(self, graph: Graph, sizes: SymbolicSizes, use: Callable[[Value], Value] | None = None) -> None:
        """`use` gives for a value of the graph one that can be an operand here; itself, by default."""
        self.graph = graph
        self.sizes = sizes
        self.use: Callable[[Value], Value] = use or (lambda value: value)
        self.operators = GraphOperators(self)
        """All operators as functions, as formulas call them."""

    # -- values -------------------------------------------------------------------------------------------------------

    def proxy(self, value: Value) -> Any:
        """What stands for a value: a Python value for a constant. Raises UntraceableError."""
        if constants.is_constant(value):
            constant = constants.constant_value(value)
            if not isinstance(value.static_type, TensorType) or constant is None:
                return list(constant) if isinstance(constant, list) else constant
        type_ = value.static_type
        if isinstance(type_, TensorType):
            return TensorProxy(self, value)
        if isinstance(type_, ListType):
            return self._listed(value)
        return self._number(self.use(value))

    def _number(self, value: Value) -> Any:
        match value.static_type:
            case IntType():
                return IntProxy(self, value)
            case FloatType() | NumberType():
                return FloatProxy(self, value)
            case BoolType():
                return BoolProxy(value)
            case TensorType():
                return TensorProxy(self, value)
            case ListType(TensorType()):
                return ListProxy(self, value)
        return refuse(f"a {value.static_type}")

    def _listed(self, value: Value) -> Any:
        node = value.defining_node
        known = None if node is None else self._known_items(node, value)
        if known is not None:
            return known
        return (
            ListProxy(self, self.use(value))
            if isinstance(value.static_type.contained[0], TensorType)
            else refuse("the items of a list")
        )

    def _known_items(self, node: Node, value: Value) -> list[Any] | None:
        """The items of a list that a node makes; None where they are not known."""
        if node.op == "aten::size" and len(node.operands) == 1:
            return TensorProxy(self, node.operand(0)).shape
        if not is_only_read(value):
            return None
        if node.op == "prim::ListConstruct":
            return [self.proxy(item) for item in node.operands]
        if node.op == "aten::add" or node.op == "aten::list":
            return [item for operand in node.operands for item in self._items(operand)]
        if _is_known_part(node):
            return self._items(node.operand(0))[slice(*map(constants.constant_value, node.operands[1:]))]
        return None

    def _items(self, value: Value) -> list[Any]:
        items = self.proxy(value)
        return items if isinstance(items, list) else list(refuse("the items of a list"))

    def constant(self, value: Any, type_: Type | None = None) -> Value:
        """A constant of the graph."""
        return insert_constant(self.graph, value, type_)

    def value(self, item: Any, formal: Type) -> Value:
        """The operand that something becomes which a formula computed, for a parameter of a type."""
        if isinstance(item, _PROXIES):
            value: Value = item.value
            return value
        if item is None:
            return self.constant(None, NONE)
        wanted = formal.element if isinstance(formal, OptionalType) else formal
        if isinstance(item, list | tuple) and isinstance(wanted, ListType):
            parts = [self.value(one, wanted.element) for one in item]
            if parts and isinstance(wanted.element, TensorType):  # nobody writes to it
                wanted = ListType(reduce(join, [part.static_type for part in parts]))
            return self.graph.insert("prim::ListConstruct", parts, [wanted]).result()
        if isinstance(item, int) and isinstance(wanted, FloatType):
            item = float(item)
        return self.constant(item)

    def size(self, tensor: TensorProxy, axis: int, size: Size) -> IntProxy:
        """A size of a tensor, as a number of the graph."""
        number = self.graph.insert("aten::size", [tensor.value, self.constant(axis)], [IntType()]).result()
        return IntProxy(self, number, size)

    # -- nodes --------------------------------------------------------------------------------------------------------

    def call(self, name: str, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        """The results of an operator, bound as a call from Python is. Raises UntraceableError."""
        has_tensors = any(isinstance(a, TensorProxy | ListProxy | list | tuple) for a in (*args, *kwargs.values()))
        if not has_tensors and not kwargs and any(isinstance(a, NumberProxy) for a in args):
            return self.scalar(name, args)
        candidates = [d for d in registry.overloads(name) if d.schema.concerns_tensors]
        try:
            binding = _binder.bind(name, candidates, args, kwargs)
        except TypeError as error:
            raise UntraceableError(str(error)) from None
        return self.insert(binding.definition, binding.arguments(args, kwargs))

    def insert(self, definition: OpDef, arguments: Sequence[Any]) -> Any:
        """The results of an overload on all its arguments."""
        operands = [self.value(a, f.type) for a, f in zip(arguments, definition.schema.arguments, strict=True)]
        types = [r.type for r in definition.schema.returns]
        node = self.graph.insert(definition.schema.name, operands, types)
        self.refine(node, definition)
        if definition.scalar is not None and len(node.results) == 1:
            node = on_single_numbers(node, definition, self.sizes, self.refine)
        results = [self._number(value) for value in node.results]
        return results[0] if len(results) == 1 else tuple(results)

    def node(self, op: str, operands: Sequence[Value]) -> Any:
        """The only result of an operator of the language on values."""
        definition = match.find_overload(op, [v.static_type for v in operands])
        if definition is None:
            return refuse(f"{op} of {', '.join(str(v.static_type) for v in operands)}")
        bindings = match.match_types(definition.schema, [v.static_type for v in operands]) or {}
        node = self.graph.insert(op, operands, match.result_types(definition.schema, bindings))
        self.refine(node, definition)
        return self._number(node.result())

    def refine(self, node: Node, definition: OpDef) -> None:
        """Say of the results of a new node what is known of them."""
        results = [v for v in node.results if isinstance(v.static_type, TensorType)]
        if len(results) == len(node.results):
            for value, type_ in zip(results, result_types(node, definition, results), strict=True):
                value.set_type(type_)

    def scalar(self, name: str, args: Sequence[Any]) -> Any:
        """The result of an operator on numbers."""
        return self.node(name, [a.value if isinstance(a, _PROXIES) else self.constant(a) for a in args])


def _is_known_part(node: Node) -> bool:
    """Whether a node gives a part of a list between places that are known."""
    return node.op == "aten::slice" and all(map(constants.is_constant, node.operands[1:]))


class GraphOperators:
    """Every operator as a method, for formulas."""

    def __init__(self, builder: Builder) -> None:
        self._builder = builder

    def where(self, condition: Any, taken: Any, other: Any) -> Any:
        """`taken` where the condition holds, else `other`."""
        if isinstance(condition, bool):
            return taken if condition else other
        if isinstance(condition, BoolProxy):
            return self._chosen(condition.value, taken, other)
        return self._builder.call("aten::where", (condition, taken, other), {})

    def _chosen(self, condition: Value, taken: Any, other: Any) -> Any:
        """One of two numbers."""
        builder = self._builder
        node = builder.graph.insert("prim::If", [condition], [FloatType()])
        for item in (taken, other):
            block = node.add_block()
            with builder.graph.inserting(block):
                if isinstance(item, int):
                    item = float(item)
                value = builder.value(item, FloatType())
                if isinstance(value.static_type, IntType):
                    value = builder.scalar("aten::Float", (IntProxy(builder, value),)).value
            block.add_return(value)
        return FloatProxy(builder, node.result())

    def maximum(self, x: Any, bound: Any) -> Any:
        """The larger one; a bound may be a number."""
        if not isinstance(x, TensorProxy):
            return self._builder.scalar("prim::max", (x, bound))
        name = "aten::maximum" if isinstance(bound, TensorProxy) else "aten::clamp_min"
        return self._builder.call(name, (x, bound), {})

    def minimum(self, x: Any, bound: Any) -> Any:
        """The smaller one; a bound may be a number."""
        if not isinstance(x, TensorProxy):
            return self._builder.scalar("prim::min", (x, bound))
        name = "aten::minimum" if isinstance(bound, TensorProxy) else "aten::clamp_max"
        return self._builder.call(name, (x, bound), {})

    def conj(self, x: Any) -> Any:
        """The complex conjugate; real numbers as they are."""
        if not isinstance(x, TensorProxy):
            return x.conjugate()
        return self._builder.call("aten::conj_physical", (x,), {}) if x.dtype.is_complex else x

    def real(self, x: Any) -> Any:
        """The real part; real numbers as they are."""
        if not isinstance(x, TensorProxy):
            return x.real
        return self._builder.call("aten::real", (x,), {}) if x.dtype.is_complex else x

    def reshape(self, x: TensorProxy, sizes: Sequence[Any]) -> Any:
        """The elements in other sizes."""
        return x.reshape(list(sizes))

    def expand(self, x: TensorProxy, sizes: Sequence[Any]) -> Any:
        """Broadcast to sizes; itself, if these are its own."""
        return x if x.has_sizes(sizes) else self._builder.call("aten::expand", (x, list(sizes)), {})

    def broadcast_tensors(self, tensors: Sequence[TensorProxy]) -> Any:
        """Each in the sizes that all have together: the choice of it, wherever the others are."""
        chosen = self._builder.call("aten::ones", ([],), {"dtype": bool_})
        return [
            reduce(partial(self.where, chosen), [*tensors[:k], *tensors[k + 1 :]], x)
            for k, x in enumerate(tensors)
        ]

    def mT(self, x: TensorProxy) -> Any:  # noqa: N802  (the operator's name)
        """A matrix's transpose."""
        return self._builder.call("aten::transpose", (x, -2, -1), {})

    def chunk(self, x: TensorProxy, chunks: int, dim: int = 0) -> Any:
        """`chunk`: a list of `chunks` parts along an axis, as tensors."""
        parts = self._builder.call("aten::chunk", (x, chunks, dim), {})
        type_ = x.value.static_type
        if not isinstance(type_, TensorType) or type_.sizes is None:
            return parts
        sizes = [None if axis == dim % len(type_.sizes) else size for axis, size in enumerate(type_.sizes)]
        part = type_.refine(sizes=tuple(sizes), strides=None)
        unpacked = self._builder.graph.insert("prim::ListUnpack", [parts.value], [part] * chunks)
        return [TensorProxy(self._builder, value) for value in unpacked.results]

    def narrow(self, x: TensorProxy, dim: int, start: Any, length: Any) -> Any:
        """A part along an axis."""
        return self._builder.call("aten::slice", (x, dim, start, start + length, 1), {})

    def select_scatter(self, x: TensorProxy, part: Any, dim: int, index: Any) -> Any:
        """With other elements at one place of an axis."""
        return self._with_part(x, part, "select", dim, index)

    def slice_scatter(self, x: TensorProxy, part: Any, *view_arguments: Any) -> Any:
        """With other elements in a slice along an axis."""
        return self._with_part(x, part, "slice", *view_arguments)

    def diagonal_scatter(self, x: TensorProxy, part: Any, *view_arguments: Any) -> Any:
        """With other elements on a diagonal."""
        return self._with_part(x, part, "diagonal", *view_arguments)

    def _with_part(self, x: TensorProxy, part: Any, view: str, *view_arguments: Any) -> Any:
        """A tensor with other elements where a view shows them.

        Zeros that were made for this have them put in by an operator, not by a write: its own gradient is a view, where
        that of memory that changes would be a second memory.
        """
        made_by = x.value.defining_node
        if made_by is not None and made_by.op == "aten::new_zeros" and not x.value.is_used:
            return self._builder.call(f"aten::{view}_scatter", (x, part, *view_arguments), {})
        copy = self._builder.call("aten::clone", (x,), {})
        self._builder.call("aten::copy_", (self._builder.call(f"aten::{view}", (copy, *view_arguments), {}), part), {})
        return copy

    def own(self, name: str, *arguments: Any) -> Any:
        """An operator of the package's own."""
        return self._builder.call(f"flambeau::{name}", arguments, {})

    def in_a_loop(self, name: str, body: Callable[..., Any], *arguments: Any) -> Any:
        """The body, of which kernels are made; where operators run one at a time it is one of the package's own."""
        return body(self, *arguments)

    def over_arrays(self, kernel: Callable[..., Any], body: Callable[..., Any], *arguments: Any) -> Any:
        """The body: graphs have no arrays."""
        return body(self, *arguments)

    def convolution_weight(self, *arguments: Any) -> Any:
        """The gradient of a convolution's weight, an operator of the package's own."""
        return self._builder.call("flambeau::convolution_weight", arguments, {})

    def tensor_of(self, numbers: list[Any]) -> Any:
        """Refuse: its dtype would be another's choice."""
        return refuse("a list of numbers as a tensor")

    def trigamma(self, x: Any) -> Any:
        """The second derivative of the logarithm of the gamma function."""
        return self.polygamma(1, x)

    def truncated_quotient(self, x: Any, y: Any) -> Any:
        """The quotient, rounded to zero."""
        return self.div(x, y, rounding_mode="trunc")

    def logical_and(self, x: Any, y: Any) -> Any:
        """Whether both hold."""
        return self._both("aten::logical_and", "aten::__and__", x, y)

    def logical_or(self, x: Any, y: Any) -> Any:
        """Whether one holds."""
        return self._both("aten::logical_or", "aten::__or__", x, y)

    def _both(self, of_tensors: str, of_bools: str, x: Any, y: Any) -> Any:
        if isinstance(x, TensorProxy) or isinstance(y, TensorProxy):
            return self._builder.call(of_tensors, (x, y), {})
        return self._builder.scalar(of_bools, (x, y))

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("__") or not registry.overloads(f"aten::{name}"):
            raise AttributeError(f"no operator aten::{name}")
        of_number = NUMBERS.get(name)

        def run(*args: Any, **kwargs: Any) -> Any:
            if of_number is not None and isinstance(args[0], int | float | complex):
                return of_number(args[0])
            return self._builder.call(f"aten::{name}", args, kwargs)

        return run
