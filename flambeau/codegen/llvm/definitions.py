"""Definitions of a kernel as values: constants, loads, operations, places, and what goes wrong in them."""

from __future__ import annotations

from flambeau.codegen.choices import FASTMATH
from flambeau.codegen.kernel.dtypes import ElementType, element_type
from flambeau.codegen.kernel.nest import (
    Accumulate,
    Const,
    Extent,
    Kernel,
    Let,
    Load,
    Position,
    Running,
    Statement,
    Store,
    Within,
    walk,
)
from flambeau.codegen.llvm import memory, reduce
from flambeau.codegen.llvm.abi import OUTSIDE, ZERO_DIVISOR, block_layout
from flambeau.codegen.llvm.casts import cast
from flambeau.codegen.llvm.emitter import Emitter, Target, Value, float_constant, int_constant
from flambeau.codegen.llvm.first_lanes import First
from flambeau.codegen.llvm.ops import lower
from flambeau.codegen.schedule import Schedule
from flambeau.util.record import dataclass, field, replace


@dataclass(slots=True)
class Scope:
    """What is known at one place of the nest.

    >>> from flambeau.codegen.llvm.emitter import Value
    >>> scope = Scope(values={"%0": Value("%t4", "float", 1)}, pointers={}, index={}, carries={})
    >>> scope.values["%0"], scope.mask
    (float %t4, None)
    """

    values: dict[str, Value]
    pointers: dict[str, Value]
    index: dict[str, Value]
    carries: dict[str, reduce.State]
    """Current states of the loops open here."""
    in_vector: bool = False
    mask: Value | None = None
    """The lanes that count, of those that are in a vector; all of them where there is none."""
    first: First | None = None
    """How many lanes count, where the mask has the first ones."""
    offsets: dict[str, Value] = field(default_factory=dict)
    """Byte offsets of the lanes of buffers that are gathered."""
    spread: frozenset[str] = frozenset()
    """Buffers whose lanes lie where values say."""
    products: dict[str, tuple[Value, Value]] = field(default_factory=dict)
    """Factors of products of floats that may go into a sum unrounded."""

    def child(self) -> Scope:
        return replace(
            self, values=dict(self.values), pointers=dict(self.pointers), index=dict(self.index),
            carries=dict(self.carries), offsets=dict(self.offsets), products=dict(self.products),
        )  # fmt: skip


def _only_places(kernel: Kernel) -> set[str]:
    statements = list(walk(kernel.body))
    read = {a for s in statements if isinstance(s, Let) for a in s.args}
    read |= {s.value for s in statements if isinstance(s, Store | Accumulate)}
    return {s.name for s in statements if isinstance(s, Position)} - read


class ValueEmitter:
    """The part of an emitter that knows no loops."""

    def __init__(self, kernel: Kernel, schedule: Schedule, target: Target) -> None:
        self.kernel = kernel
        self.schedule = schedule
        self.e = Emitter(replace(target, user_flags=FASTMATH if schedule.fastmath else ""))
        self.buffers = {b.name: b for b in kernel.buffers}
        self.dtypes: dict[str, str] = {}
        self.sizes: dict[str, Value] = {}
        self.strides: dict[tuple[str, str], Value] = {}
        self.narrow_places = _only_places(kernel) if schedule.narrow else set()
        """Positions that nothing but argmax and argmin reads."""
        self.prefixes: dict[str, Value] = {}
        """Running states in the lanes at hand, where the vector axis runs inside of their loop."""

    def word(self, index: int, element: str) -> Value:
        """A word of the block."""
        address = self.e.define(f"getelementptr inbounds i64, ptr %block, i64 {index}", "ptr", 1)
        return self.e.define(f"load {element}, ptr {address}, align 8", element, 1)

    def prologue(self) -> Scope:
        """Load the block; the scope outside all loops."""
        layout = block_layout(self.kernel)
        scope = Scope({}, {}, {}, {})
        self.error = self.word(0, "ptr")
        for name, word in layout.data.items():
            scope.pointers[name] = self.word(word, "ptr")
        for axis, word in layout.sizes.items():
            self.sizes[axis] = self.word(word, "i64")
        for pair, word in layout.strides.items():
            is_dense = pair in self.schedule.dense
            itemsize = element_type(self.buffers[pair[0]].dtype).itemsize
            self.strides[pair] = int_constant(itemsize, "i64", 1) if is_dense else self.word(word, "i64")
        return scope

    def define(self, s: Statement, scope: Scope) -> Value:
        e = self.e
        if isinstance(s, Const):
            t = element_type(s.dtype)
            return float_constant(s.value, t.llvm, 1) if t.is_float else int_constant(int(s.value), t.llvm, 1)
        if isinstance(s, Position):
            return self.position(s.axes, scope, "i32" if s.name in self.narrow_places else "i64")
        if isinstance(s, Extent):
            size = int_constant(1, "i64", 1)
            for axis in s.axes:
                size = e.binary("mul", size, self.sizes[axis])
            return size
        if isinstance(s, Load):
            return memory.load(e, self.schedule, self.moved(s, scope), self.buffers[s.buffer])
        if isinstance(s, Running):
            return self.prefixes.get(s.carry) or scope.carries[s.carry][0]
        if isinstance(s, Within):
            return self.within(scope.values[s.value], self.sizes[s.axis], scope)
        assert isinstance(s, Let)
        args = self.same_lanes([scope.values[a] for a in s.args])
        operand = element_type(self.dtypes[s.args[-1]])
        if s.op == "cast":
            return cast(e, args[0], operand, element_type(s.dtype))
        self.note_product(s, args, operand, scope)
        return lower(e, s.op, args, operand, lambda zero: self.trap(zero, scope))

    def note_product(self, s: Let, args: list[Value], operand: ElementType, scope: Scope) -> None:
        """Remember the factors of a product of floats that may go into a sum unrounded."""
        if s.op == "product" and operand.is_float and self.e.target.has_fma:
            scope.products[s.name] = args[0], args[1]

    def within(self, value: Value, size: Value, scope: Scope) -> Value:
        """A value that is a place along an axis; where it is not, zero, and the error flag is set."""
        e = self.e
        is_outside = e.icmp("uge", value, e.splat(size, value.lanes))
        if value.lanes == 1 and scope.mask is None:
            return self.looked_at(value, is_outside)
        self.trap(is_outside, scope, OUTSIDE)
        return e.select(is_outside, e.like(value, 0), value)

    def looked_at(self, value: Value, is_outside: Value) -> Value:
        """The same for one value: a branch that is never taken costs less than a store."""
        e, before = self.e, self.e.block
        outside, inside = e.label("outside"), e.label("inside")
        e.branch_if(is_outside, outside, inside)
        e.start(outside)
        e.raw(f"store i32 {OUTSIDE}, ptr {self.error}, align 4")
        e.branch(inside)
        e.start(inside)
        name = e.name("at")
        e.phi(name, value, [(value, before), (e.like(value, 0), outside)])
        return Value(name, value.type, 1)

    def moved(self, s: Load | Store, scope: Scope) -> Scope:
        """The scope with the buffer's pointer moved to the indices that values say."""
        e, vector, name = self.e, self.schedule.vector_axis, s.buffer
        if not s.at:
            return scope
        scope = scope.child()
        for axis, value in s.at:
            index = scope.values[value]
            offset = e.binary("mul", index, e.splat(self.strides[name, axis], index.lanes))
            if index.lanes == 1:
                base = scope.pointers[name]
                scope.pointers[name] = e.define(f"getelementptr i8, ptr {base}, i64 {offset}", "ptr", 1)
                continue
            if name not in scope.offsets and vector is not None and vector in self.buffers[name].axes:
                steps = e.splat(self.strides[name, vector], index.lanes)
                scope.offsets[name] = e.binary("mul", memory.iota(index.lanes), steps)
            known = scope.offsets.get(name)
            scope.offsets[name] = offset if known is None else e.binary("add", known, offset)
            scope.spread = scope.spread | {name}
        return scope

    def same_lanes(self, args: list[Value]) -> list[Value]:
        lanes = max(a.lanes for a in args)
        return [self.e.splat(a, lanes) for a in args]

    def position(self, axes: tuple[str, ...], scope: Scope, element: str) -> Value:
        e, lanes = self.e, self.schedule.lanes
        position: Value | None = None
        for axis in axes:
            index = self.as_place(scope.index[axis], element)
            if axis == self.schedule.vector_axis:
                index = e.binary("add", e.splat(index, lanes), memory.iota(lanes, element))
            if position is not None:
                position, size, index = self.same_lanes([position, self.as_place(self.sizes[axis], element), index])
                index = e.binary("add", e.binary("mul", position, size), index)
            position = index
        return int_constant(0, element, 1) if position is None else position

    def as_place(self, index: Value, element: str) -> Value:
        """An index in the type of places."""
        if element == index.type:
            return index
        if not index.text.startswith("%"):
            return int_constant(int(index.text), element, 1)
        return self.e.convert("trunc", index, element)

    def trap(self, zero: Value, scope: Scope, code: int = ZERO_DIVISOR) -> None:
        """Write to the error flag if something is wrong in a lane that counts; elsewhere write to a dummy."""
        e = self.e
        if scope.mask is not None:
            mask = scope.mask
            zero = e.binary("and", e.splat(zero, mask.lanes), mask)
        dummy = e.slot("i32", 4)
        flag = e.define(f"select i1 {e.any_lane(zero)}, ptr {self.error}, ptr {dummy}", "ptr", 1)
        e.raw(f"store i32 {code}, ptr {flag}, align 4")
