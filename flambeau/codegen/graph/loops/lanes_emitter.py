"""Instructions on operands of different widths, and memory that only some lanes touch.

While a loop's iterations run as lanes, what is the same in all of them stays a scalar; where it meets a vector it is
spread.
"""

from __future__ import annotations

from flambeau.codegen.graph.native_values import Affine
from flambeau.codegen.llvm.emitter import Emitter, Value
from flambeau.util.record import dataclass, field

_MOST_FRESH = 32
"""New tensors that are told apart; of more, LLVM is not told."""
_SCOPES, _LISTS, _OTHERS = 1000, 1100, 1200
"""Numbers of metadata."""
_SHORT = {"float": "f32", "double": "f64", "half": "f16"}
"""Types as intrinsics name them."""


@dataclass(slots=True)
class Write:
    """A store that waits until nothing of its lanes can fail any more."""

    address: Value
    value: Value
    mask: Value | None
    itemsize: int


Part = tuple[Affine, Value]
"""An index, and the stride of its axis in bytes."""


@dataclass(slots=True)
class Accesses:
    """Where the elements lie that a loop reads and writes, by the registers that hold their addresses."""

    paths: dict[str, tuple[str, tuple[Part, ...]]] = field(default_factory=dict)
    """Of addresses that indexes lead to: the address they start from, and the indexes."""
    read: dict[str, None] = field(default_factory=dict)
    """Addresses that are loaded from."""
    written: dict[str, int] = field(default_factory=dict)
    """Addresses that are stored to, and the sizes of elements."""


@dataclass(slots=True)
class LaneEmitter(Emitter):
    """An emitter that is writing scalar code, or code for several iterations of a loop at a time."""

    lanes: int = 1
    """Iterations that run at a time; 1 outside loops that run as lanes."""
    mask: Value | None = None
    """The lanes that run here; None for all."""
    is_some: bool = True
    """Whether the mask is known to have a lane set."""
    bail: str = ""
    """Where to go if a lane fails."""
    writes: list[Write] = field(default_factory=list)
    depth: int = 0
    """Inner loops around the place, among the lanes."""
    angles: dict[tuple[str, str], tuple[int, str, str, str]] = field(default_factory=dict)
    """By function and argument, calls of `sin` and `cos`: their line, its text, the result, the block."""

    origins: dict[str, int] = field(default_factory=dict)
    """Of addresses of elements that are known to lie in an argument, 0; in a tensor made here, its number."""
    fresh: int = 0
    """Tensors made here so far."""
    accesses: Accesses | None = None
    """What the fast copy of a loop that is being written reads and writes."""

    # -- what lies apart in memory ------------------------------------------------------------------------------------

    def make_fresh(self, address: Value) -> None:
        """Note the address of a new tensor's elements: nothing else in memory is there."""
        if self.fresh < _MOST_FRESH:
            self.fresh += 1
            self.origins[address.text] = self.fresh

    def apart(self, address: Value) -> str:
        """What to say of a load or store there: which others it cannot meet."""
        origin = self.origins.get(address.text)
        if origin is None:
            return ""
        own = f", !alias.scope !{_LISTS + origin}" if origin else ""
        return f"{own}, !noalias !{_OTHERS + origin}"

    def reads(self, address: Value) -> str:
        """Note that an element is loaded; what to say of it."""
        accesses = self.accesses
        if accesses is not None:
            accesses.read[address.text] = None
        return self.apart(address)

    def put_one(self, address: Value, value: Value, itemsize: int, tag: str) -> None:
        """Store an element."""
        self.raw(f"store {value.type} {value}, ptr {address}, align {itemsize}, {tag}{self.apart(address)}")
        if self.accesses is not None:
            self.accesses.written[address.text] = itemsize

    def scopes(self) -> list[str]:
        """The metadata that `apart` names."""
        numbers = range(1, self.fresh + 1)
        metadata = [f'!{_SCOPES} = distinct !{{!{_SCOPES}, !"tensors made here"}}']
        metadata += [f"!{_SCOPES + k} = distinct !{{!{_SCOPES + k}, !{_SCOPES}}}" for k in numbers]
        metadata += [f"!{_LISTS + k} = !{{!{_SCOPES + k}}}" for k in numbers]
        for k in range(self.fresh + 1):
            others = ", ".join(f"!{_SCOPES + j}" for j in numbers if j != k)
            metadata.append(f"!{_OTHERS + k} = !{{{others}}}")
        return metadata

    # -- operands of different widths ---------------------------------------------------------------------------------

    def _matched(self, args: tuple[Value, ...]) -> tuple[Value, ...]:
        widest = max([a.lanes for a in args])
        return tuple([self.splat(a, widest) for a in args])

    def binary(self, op: str, a: Value, b: Value) -> Value:
        """As `Emitter.binary`, of any widths."""
        if a.lanes != b.lanes:
            a, b = self._matched((a, b))
        return self.define(f"{op} {a.full_type} {a}, {b}", a.type, a.lanes)

    def user(self, op: str, a: Value, b: Value) -> Value:
        """As `Emitter.user`, of any widths."""
        if a.lanes != b.lanes:
            a, b = self._matched((a, b))
        return self.define(f"{op} {self.target.user_flags} {a.full_type} {a}, {b}", a.type, a.lanes)

    def fcmp(self, predicate: str, a: Value, b: Value) -> Value:
        """As `Emitter.fcmp`, of any widths."""
        if a.lanes != b.lanes:
            a, b = self._matched((a, b))
        return self.define(f"fcmp {predicate} {a.full_type} {a}, {b}", "i1", a.lanes)

    def icmp(self, predicate: str, a: Value, b: Value) -> Value:
        """As `Emitter.icmp`, of any widths."""
        if a.lanes != b.lanes:
            a, b = self._matched((a, b))
        return self.define(f"icmp {predicate} {a.full_type} {a}, {b}", "i1", a.lanes)

    def select(self, c: Value, a: Value, b: Value) -> Value:
        """As `Emitter.select`, of any widths."""
        if not c.lanes == a.lanes == b.lanes:
            c, a, b = self._matched((c, a, b))
        return self.define(f"select {c.full_type} {c}, {a.full_type} {a}, {b.full_type} {b}", a.type, a.lanes)

    def intrinsic(self, name: str, *args: Value) -> Value:
        """As `Emitter.intrinsic`, of any widths."""
        return Emitter.intrinsic(self, name, *(self._matched(args) if len(args) > 1 else args))

    # -- masks --------------------------------------------------------------------------------------------------------

    def both(self, a: Value | None, b: Value | None) -> Value | None:
        """Lanes set in both masks; None is all. What is not set in the first may be anything in the second."""
        if a is None or a.text == "true":
            return b
        if b is None or b.text == "true":
            return a
        return self.select(a, b, Value("false", "i1", 1))

    def bail_if(self, condition: Value) -> None:
        """Go on one iteration at a time if a lane that runs fails."""
        if condition.text == "false":
            return
        if condition.lanes > 1 or not self.is_some:
            condition = self.any_lane(self.splat(self.both(self.mask, condition) or condition, self.lanes))
        fine = self.label("fine")
        self.raw(f"br i1 {condition}, label %{self.bail}, label %{fine}, !prof !20")
        self.start(fine)

    def gathers(self, address: Value) -> bool:
        """Whether a load from here must be one of several lanes, or of none."""
        return address.lanes > 1 or not self.is_some

    def _mask_text(self, mask: Value | None) -> str:
        if mask is None:
            return f"<{self.lanes} x i1> splat (i1 true)"
        mask = self.splat(mask, self.lanes)
        return f"{mask.full_type} {mask}"

    def gather(self, address: Value, memory_type: str, itemsize: int) -> Value:
        """Elements at the addresses of the lanes that run; 0 in others."""
        n, address = self.lanes, self.splat(address, self.lanes)
        vector, pointers = f"<{n} x {memory_type}>", f"<{n} x ptr>"
        stem = _SHORT.get(memory_type, memory_type)
        name = f"@llvm.masked.gather.v{n}{stem}.v{n}p0"
        self.declare(f"declare {vector} {name}({pointers}, i32, <{n} x i1>, {vector})")
        return self.define(
            f"call {vector} {name}({pointers} {address}, i32 {itemsize}, {self._mask_text(self.mask)}, "
            f"{vector} zeroinitializer)", memory_type, n,
        )  # fmt: skip

    def put(self, write: Write) -> None:
        """A store that waited. Lanes that write to one address do so in their order."""
        n, kind = self.lanes, write.value.type
        address, value = self.splat(write.address, n), self.splat(write.value, n)
        stem = _SHORT.get(kind, kind)
        name = f"@llvm.masked.scatter.v{n}{stem}.v{n}p0"
        self.declare(f"declare void {name}({value.full_type}, <{n} x ptr>, i32, <{n} x i1>)")
        self.raw(
            f"call void {name}({value.full_type} {value}, <{n} x ptr> {address}, i32 {write.itemsize}, "
            f"{self._mask_text(write.mask)})"
        )  # fmt: skip

    def put_in_iteration(self, writes: list[Write]) -> None:
        """Stores that waited, of one lane after the other, each in the order of the program."""
        slots = []
        for write in writes:
            operands = (write.address, write.value, write.mask or Value("true", "i1", 1))
            slots.append([self._spilled(a) for a in operands])
        head, iteration, after, before = self.label("lane"), self.label("iteration"), self.label("after"), self.block
        index, following = Value(self.name("k"), "i64", 1), Value(self.name("k"), "i64", 1)
        self.branch(head)
        self.start(head)
        latch = self.label("latch")
        self.raw(f"{index} = phi i64 [0, %{before}], [{following}, %{latch}]")
        self.branch_if(self.icmp("ult", index, Value(str(self.lanes), "i64", 1)), iteration, after)
        self.start(iteration)
        for write, slots_of_write in zip(writes, slots, strict=True):
            address, value, mask = (self._item(slot, kind, index) for slot, kind in slots_of_write)
            put, on = self.label("put"), self.label("on")
            self.branch_if(self.convert("trunc", mask, "i1"), put, on)
            self.start(put)
            self.raw(f"store {value.type} {value}, ptr {address}, align {write.itemsize}")
            self.branch(on)
            self.start(on)
        self.branch(latch)
        self.start(latch)
        self.raw(f"{following} = add nuw nsw i64 {index}, 1")
        self.branch(head)
        self.start(after)

    def _spilled(self, a: Value) -> tuple[Value, str]:
        """The lanes of a value in memory, and the type they have there."""
        a = self.splat(a, self.lanes)
        if a.type == "i1":
            a = self.convert("zext", a, "i8")
        slot = self.slot(a.full_type)
        self.raw(f"store {a.full_type} {a}, ptr {slot}, align 64")
        return slot, a.type

    def _item(self, slot: Value, kind: str, index: Value) -> Value:
        address = self.define(f"getelementptr inbounds {kind}, ptr {slot}, i64 {index}", "ptr", 1)
        return self.define(f"load {kind}, ptr {address}", kind, 1)
