"""What each value of a graph has become in native code, and who has references to its blocks."""

from __future__ import annotations

from collections.abc import Sequence

from flambeau.analysis.alias import AliasAnalysis
from flambeau.codegen.graph import memory, native_values
from flambeau.codegen.graph.lifetimes import Lifetimes
from flambeau.codegen.graph.loops.lanes_emitter import LaneEmitter
from flambeau.codegen.graph.native_values import (
    UNINITIALIZED,
    CannotCompileError,
    Native,
    OptionalValue,
    Scalar,
    constant_of,
)
from flambeau.codegen.graph.parts import Parts
from flambeau.codegen.graph.releases import release_function
from flambeau.codegen.graph.representation import Array, Fixed, Listed, Mapped, Object, Text, holds_blocks
from flambeau.codegen.graph.tensors.new_arrays import KnownSizes
from flambeau.codegen.graph.tensors.tensor_constants import TensorConstant
from flambeau.codegen.llvm.emitter import Value as Register
from flambeau.ir.graph import Graph, Node, Value
from flambeau.schema.types import TensorType, TupleType, Type
from flambeau.tensor.tensor import Tensor


class ValueTable:
    """Values of the graph as registers. `native` holds what each has become."""

    def __init__(self, graph: Graph, alias: AliasAnalysis, e: LaneEmitter, parts: Parts) -> None:
        self.graph = graph
        self.alias = alias
        self.lifetimes = Lifetimes(graph, alias)
        self.e = e
        self.parts = parts
        self.native: dict[Value, Native] = {}
        self.known_sizes = KnownSizes()
        self.owned: set[Value] = set()
        """Values with references of their own to their blocks."""
        self._written: dict[Value, bool] = {}
        self._has_loops = graph.find("prim::Loop") is not None

    def get(self, value: Value) -> Native:
        """What a value has become."""
        native = self.native.get(value)
        if native is None:
            node = value.defining_node
            if node is not None and node.op == "prim::Constant":
                native = self.native[value] = self.constant(node)
            elif node is not None and node.op == "prim::Uninitialized":
                native = native_values.FixedValue(Fixed(UNINITIALIZED))
            else:
                raise CannotCompileError(f"{value} has no native form")
        return native

    def constant(self, node: Node) -> Native:
        """A constant: a tensor by its symbols, anything else as literals."""
        constant = node.attributes.get("value")
        if not isinstance(constant, Tensor):
            return constant_of(constant)
        self.parts.tensors.append(TensorConstant(len(self.parts.tensors), constant))
        native = self.parts.tensors[-1].native()
        self.e.origins[native.owner.text] = self.e.origins[native.data.text] = 0
        return native

    def set(self, value: Value, native: Native) -> None:
        """Note what a value has become."""
        self.native[value] = native

    def set_new(self, value: Value, native: Native) -> None:
        """Note a value that comes with its own references to its blocks."""
        self.native[value] = native
        if holds_blocks(native.rep):
            self.owned.add(value)

    def set_view(self, value: Value, native: Native) -> None:
        """Note a value that shows the blocks of another: it holds them itself unless it is only looked at."""
        self.native[value] = native
        if holds_blocks(native.rep) and not self.lifetimes.is_borrowed(value):
            self.retain(native)
            self.owned.add(value)

    def is_written(self, value: Value) -> bool:
        """Whether anything may write to a tensor."""
        is_written = self._written.get(value)
        if is_written is None:
            is_written = self._written[value] = self.alias.has_writers(value)
        return is_written

    # -- reference counts ---------------------------------------------------------------------------------------------

    def retain(self, native: Native) -> None:
        """One more reference to every block of a value."""
        for block, _ in self.blocks(native):
            self.e.raw(f"call void @retain(ptr {block})")

    def drop(self, native: Native) -> None:
        """One reference less to every block of a value."""
        for block, rep in self.blocks(native):
            function = release_function(self.parts.functions, rep)
            self.e.raw(f"call void @{function}(ptr {block})")

    def blocks(self, native: Native) -> list[tuple[Register, Array | Text | Listed | Mapped | Object]]:
        """The blocks a value refers to; those of what is not there are null."""
        match native:
            case native_values.ArrayValue() | native_values.TextValue():
                return [(native.owner, native.rep)]
            case native_values.ListValue() | native_values.DictValue() | native_values.ObjectValue():
                return [(native.block, native.rep)]
            case native_values.TupleValue():
                return [b for item in native.items for b in self.blocks(item)]
            case OptionalValue():
                return self.blocks(native.inner)
            case native_values.UnlikeValue():
                return [(native.owner, native.rep.longest)]
            case _:
                return []

    def release(self, value: Value) -> None:
        """The end of a value."""
        if value in self.owned:
            self.drop(self.native[value])

    def keep(self, native: Native, value: Value, ending: list[Value], among: Sequence[Value]) -> None:
        """Make sure that a value that is passed on is held: its own hold goes along if it ends here, once."""
        if not holds_blocks(native.rep):
            return
        if value in self.owned and value in ending and sum(v is value for v in among) == 1:
            ending.remove(value)
        else:
            self.retain(native)

    # -- scalars ------------------------------------------------------------------------------------------------------

    def scalar(self, value: Value) -> Scalar:
        """A value that is a number, or a tensor of one element in a register."""
        native = self.get(value)
        if isinstance(native, Scalar):
            return native
        raise CannotCompileError(f"{value} is {native_values.describe(native.rep)}, not a number")

    def truth(self, value: Value) -> Register:
        """A bool's register."""
        native = self.scalar(value)
        if native.register.type != "i1":
            raise CannotCompileError(f"{value} is no bool")
        return native.register

    def index(self, value: Value) -> Register:
        """An int's register."""
        native = self.scalar(value)
        if native.register.type != "i64":
            raise CannotCompileError(f"{value} is no int")
        return native.register

    def densified(self, value: Native, type_: Type | None = None) -> Native:
        """The value with strides that follow from sizes computed instead of remembered.

        Those of axes whose size is 1, as its type may say, do not follow: there they are anything.
        """
        if isinstance(value, native_values.TupleValue):
            types = type_.elements if isinstance(type_, TupleType) else (None,) * len(value.items)
            items = [self.densified(i, t) for i, t in zip(value.items, types, strict=True)]
            return native_values.TupleValue(tuple(items), value.is_list, value.keys)
        if not isinstance(value, native_values.ArrayValue) or value.rep.dense == 0:
            return value
        first = value.rep.rank - value.rep.dense
        itemsize = memory.itemsize(value.rep.dtype)
        strides_of = memory.dense_strides if self._has_loops else memory.empty_strides  # loops want plain products
        dense = strides_of(self.e, value.sizes[first:], itemsize)
        known = type_.sizes if isinstance(type_, TensorType) and type_.sizes is not None else (None,) * value.rep.rank
        strides = [own if k < first or known[k] == 1 else dense[k - first] for k, own in enumerate(value.strides)]
        return native_values.ArrayValue(value.rep, value.owner, value.data, value.sizes, tuple(strides))
