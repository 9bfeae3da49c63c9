"""Graphs as bytes, for the cache on disk: what a plan is made of, read back in a fraction of the time it took to make.

A record holds graphs, kernels with their schedules, types, numbers, texts and small tensors, alone or in tuples, lists
and dicts. What refers to something of the running process, a class or function of a program, cannot be part of one.

>>> from flambeau.ir import parse_ir
>>> graph = parse_ir("graph(%x : Tensor):\\n  %y : Tensor = aten::relu(%x)\\n  return (%y)")
>>> copy, number = loads(dumps((graph, 3)))
>>> str(copy) == str(graph), number
(True, 3)
>>> loads(b"cbuiltins\\nprint\\n.")
Traceback (most recent call last):
    ...
flambeau.executor.records.RecordError: a record has no builtins.print
"""

from __future__ import annotations

import enum
import io
import pickle
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from flambeau.analysis.gradients import Flow
from flambeau.autodiff.eager_gradient import EagerGradient
from flambeau.autodiff.graph_gradient import Gradient
from flambeau.codegen.graph import representation
from flambeau.codegen.graph.native import Linkage
from flambeau.codegen.graph.tensors.tensor_constants import TensorConstant
from flambeau.codegen.kept_codes import KeptCode, KeptCodes
from flambeau.codegen.kernel import nest
from flambeau.codegen.launch_image import LaunchImage
from flambeau.codegen.llvm.loader import Prelinked
from flambeau.codegen.lower import Lowered
from flambeau.codegen.products import Tiling
from flambeau.codegen.products.match import Product
from flambeau.codegen.schedule import Pack, Schedule
from flambeau.codegen.schedules import ScheduledKernel
from flambeau.codegen.shapes import Span
from flambeau.codegen.specialize import Specialized
from flambeau.executor.native_records import KeptGraph, KeptNative, Looks
from flambeau.ir.graph import Block, Graph, Node, Value
from flambeau.program.function import Function
from flambeau.program.origin import NO_NAMES, Names
from flambeau.schema import dtype as dtypes
from flambeau.schema import registry, types
from flambeau.schema.device import Device
from flambeau.schema.dtype import DType
from flambeau.schema.types import Type
from flambeau.tensor.tensor import Tensor, wrap
from flambeau.util.depth import deep_recursion
from flambeau.util.late_range import LateRange
from flambeau.util.names import qualified_name
from flambeau.util.record import fields
from flambeau.util.source import Source, SourceRange

PROTOCOL: Final = 5
OWN_OPERATORS: Final = ("aten::", "prim::", "prims::", "python::", "flambeau::")
"""Beginnings of the names of operators that are the same in every process."""
LARGEST_TENSOR: Final = 1 << 16
"""Bytes of a constant tensor in a record: what is larger is a weight, and is where the program is."""


FUSION, KERNEL = "prim::FusionGroup", "kernel"
"""What plans give the nodes of their groups, and give them anew when their graphs are read; kernels of other nodes,
ways back of single operators, are part of the graph."""


class RecordError(ValueError):
    """Something cannot be in a record, or bytes are none."""


@deep_recursion()
def dumps(value: Any, names: Names = NO_NAMES, *, keeps_known: bool = False) -> bytes:
    """The record of a value; `names` are the classes and functions that a reader will find by name. With `keeps_known`
    ranges that are looked up late are kept as what stands for them, which the reader has to look up.

    Raises RecordError for what cannot be in a record.
    """
    stream = io.BytesIO()
    _Writer(stream, names, keeps_known=keeps_known).dump(value)
    return stream.getvalue()


@deep_recursion()
def loads(content: bytes, names: Names = NO_NAMES) -> Any:
    """The value of a record, graphs as new ones. Raises RecordError where the bytes are none."""
    try:
        return _Reader(io.BytesIO(content), names).load()
    except RecordError:
        raise
    except Exception as error:  # whatever the bytes make of what reads them
        raise RecordError(f"it is no record: {type(error).__name__}: {error}") from error


_OF_PROGRAMS: Final = (types.ClassType, types.InterfaceType, types.EnumType)
_OF_FIELDS: Final[frozenset[type]] = frozenset(
    kind for kind in vars(types).values()
    if isinstance(kind, type) and issubclass(kind, Type) and not issubclass(kind, _OF_PROGRAMS)
) | {Device, Flow, Gradient, Source, SourceRange} | frozenset({
    nest.Buffer, nest.Const, nest.Position, nest.Extent, nest.Within, nest.Load, nest.Let, nest.Running, nest.Store,
    nest.Accumulate, nest.Carry, nest.Loop, nest.Kernel, Lowered, Span, Specialized, ScheduledKernel, Schedule, Pack,
    Tiling, Product, KeptCode, KeptCodes, Prelinked, LaunchImage, KeptNative, KeptGraph, Looks, Linkage,
    TensorConstant,
    representation.Int, representation.Float, representation.Bool, representation.Complex, representation.Array,
    representation.Element, representation.Text, representation.Listed, representation.Mapped, representation.Tupled,
    representation.Optional, representation.Fixed,
    representation.OneOf, representation.Unlike,
})  # fmt: skip
"""Classes whose fields say all of an instance."""


class _Writer(pickle.Pickler):
    def __init__(self, stream: io.BytesIO, names: Names, *, keeps_known: bool) -> None:
        super().__init__(stream, PROTOCOL)
        self._by_name = names
        self._keeps_known = keeps_known
        self._types: dict[tuple[Type, bool], Type] = {}

    def reducer_override(self, value: Any) -> Any:
        kind = value.__class__
        if kind is LateRange:
            return self._late(value)
        if kind in _OF_FIELDS:
            return kind, tuple([self._shared(getattr(value, f.name)) for f in fields(value)])
        if isinstance(value, Graph):
            return _graph, self._graph(value)
        if kind is Tensor:
            return _tensor, _parts(value)
        if isinstance(value, _OF_PROGRAMS) and self._by_name.find_type(value.name) == value:
            return _type_of_program, (value.name,)
        if kind is Function and self._by_name.find_function(value.name) is value:
            return _function_of_program, (value.name,)
        if kind is EagerGradient:
            return _eager_gradient, value.parts
        if isinstance(value, enum.Enum):
            return _member, (self._enum(value), value.name)
        if kind in (DType, complex) or (isinstance(value, _CALLABLE) and _NAMES.get(_name(value)) is value):
            return NotImplemented
        raise RecordError(f"{value!r} cannot be in a record")

    def _late(self, value: LateRange) -> Any:
        return self.reducer_override(value.known if self._keeps_known else value.settled())

    def _shared(self, value: Any) -> Any:
        """One of all equal types: a graph has thousands."""
        if type(value) is tuple and value and isinstance(value[0], Type):
            return tuple(map(self._shared, value))
        if not isinstance(value, Type):
            return value
        return self._types.setdefault((value, getattr(value, "inferred", False)), value)

    def _enum(self, member: enum.Enum) -> Type:
        kind = type(member)
        type_ = self._by_name.find_type(qualified_name(kind))
        if not isinstance(type_, types.EnumType) or type_.python is not kind:
            raise RecordError(f"{member!r} cannot be in a record")
        return type_

    def _graph(self, graph: Graph) -> tuple[Any, ...]:
        numbers: dict[Value, int] = {}
        return graph.name, graph.keeps_errors, self._block(graph.body, numbers)

    def _value(self, value: Value, numbers: dict[Value, int]) -> tuple[Type, str, int]:
        numbers[value] = len(numbers)
        return self._shared(value.static_type), value._name, value.number

    def _block(self, block: Block, numbers: dict[Value, int]) -> tuple[Any, ...]:
        parameters = [self._value(v, numbers) for v in block.parameters]
        nodes = [self._node(node, numbers) for node in block]
        return parameters, nodes, [numbers[v] for v in block.returns]

    def _node(self, node: Node, numbers: dict[Value, int]) -> tuple[Any, ...]:
        if not node.op.startswith(OWN_OPERATORS):
            raise RecordError(f"{node.op} is an operator of its user, which may be another one in another process")
        operands = [numbers[v] for v in node.operands]
        blocks = [self._block(b, numbers) for b in node.nested_blocks]
        results = [self._value(v, numbers) for v in node.results]
        made_anew = KERNEL if node.op == FUSION else ""
        attributes = {k: v for k, v in node.attributes.items() if k != made_anew} or None
        return node.op, operands, blocks, results, attributes, node.range, node.call_chain, node.scope


class _Reader(pickle.Unpickler):
    def __init__(self, stream: io.BytesIO, names: Names) -> None:
        super().__init__(stream)
        self._by_name = names

    def find_class(self, module: str, name: str) -> Any:
        known = _NAMES.get((module, name))
        if known is None:
            raise RecordError(f"a record has no {module}.{name}")
        if known is _type_of_program:
            return self._found(self._by_name.find_type)
        return self._found(self._by_name.find_function) if known is _function_of_program else known

    def _found(self, find: Callable[[str], Any]) -> Callable[[str], Any]:
        def by_name(name: str) -> Any:
            known = find(name)
            if known is None:
                raise RecordError(f"the program has no {name}")
            return known

        return by_name


def _type_of_program(name: str) -> Any:
    """Stands in records for the reader's own way to find classes."""


def _function_of_program(name: str) -> Any:
    """Stands in records for the reader's own way to find functions."""


def _eager_gradient(full_name: str, present: tuple[bool, ...], indices: tuple[int, ...]) -> EagerGradient:
    return EagerGradient(registry.get(full_name), present, indices)


def _parts(value: Tensor) -> tuple[bytes, DType, tuple[int, ...], bool]:
    array = value._array
    if array.nbytes > LARGEST_TENSOR or not array.flags.c_contiguous:
        raise RecordError("a tensor that is large, or not in the order of its memory, cannot be in a record")
    if value.requires_grad or value.device.type != "cpu":
        raise RecordError("a tensor of another device, or one that asks for gradients, cannot be in a record")
    return array.tobytes(), value.dtype, array.shape, value.is_wrapped_number


def _tensor(content: bytes, dtype: DType, shape: tuple[int, ...], is_number: bool) -> Tensor:
    value = wrap(np.frombuffer(bytearray(content), dtype.numpy).reshape(shape))
    value.is_wrapped_number = is_number
    return value


def _member(type_: types.EnumType, name: str) -> Any:
    return type_.python[name]


def _graph(name: str, keeps_errors: bool, body: tuple[Any, ...]) -> Graph:
    graph = Graph(name)
    graph.keeps_errors = keeps_errors
    values: list[Value] = []
    numbers: list[int] = []
    _fill(graph.body, body, values, numbers)
    for value, number in zip(values, numbers, strict=True):
        if not value.has_name:
            graph.number(value, number)
    return graph


def _fill(block: Block, record: tuple[Any, ...], values: list[Value], numbers: list[int]) -> None:
    graph = block.graph
    parameters, nodes, returns = record
    for type_, name, number in parameters:
        values.append(block.add_parameter(type_, name))
        numbers.append(number)
    for op, operands, blocks, results, attributes, range_, call_chain, scope in nodes:
        node = Node(graph, op)
        node.range, node.call_chain, node.scope = range_, call_chain, scope
        if attributes is not None:
            node.attributes = attributes
        for operand in operands:
            node.add_operand(values[operand])
        block.append(node)
        for nested in blocks:
            _fill(node.add_block(), nested, values, numbers)
        for type_, name, number in results:
            values.append(node.add_result(type_, name))
            numbers.append(number)
    for value in returns:
        block.add_return(values[value])


def _name(value: Any) -> tuple[str, str]:
    return value.__module__, value.__qualname__


_CALLABLE: Final = (type, type(_graph))
_MAKERS: Final = (
    _graph, _member, _tensor, _type_of_program, _function_of_program, _eager_gradient, dtypes.by_name, complex,
)  # fmt: skip
_NAMES: Final = {_name(v): v for v in (*_OF_FIELDS, *_MAKERS)}
"""What a record may name."""
