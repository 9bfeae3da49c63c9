"""A thread-mapped kernel to LLVM text for NVPTX: scalars of one thread, memory spaces as address spaces.

A kernel's parameters are, in order: a pointer for each global memory, the sizes, and the byte strides of its strided
memories (`parameters` names them). Float arithmetic is rounded operation by operation unless the schedule contracts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from flambeau.codegen.cuda.device_math import device_functions
from flambeau.codegen.cuda.mapped import (
    WARP,
    Assign,
    AtomicAdd,
    Barrier,
    For,
    If,
    Index,
    MappedKernel,
    Memory,
    Operand,
    Read,
    ReadVector,
    Shuffle,
    Special,
    Statement,
    Var,
    Write,
    WriteVector,
    dynamic_shared,
)
from flambeau.codegen.kernel.dtypes import HALVES, ElementType, element_type
from flambeau.codegen.kernel.nest import Const, Let
from flambeau.codegen.llvm.casts import cast
from flambeau.codegen.llvm.emitter import INT_OF, Emitter, Target, Value, float_constant, int_constant
from flambeau.codegen.llvm.lanes import PREFIX
from flambeau.codegen.llvm.ops import lower
from flambeau.util.record import dataclass, field

REGISTERS = {"thread": "tid.x", "block": "ctaid.x", "blocks": "nctaid.x"}
_SHUFFLES = {"down": "down", "up": "up", "from": "idx"}
ARENA = "shared_rows"
"""Shared memory whose size the launch gives."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a kernel: ``pointer`` to a memory, a ``size``, or a ``stride`` of a memory along a dimension."""

    kind: str
    name: str
    """The memory's name, or the size's."""
    dimension: int = 0


def symbol_of(kernel: MappedKernel) -> str:
    """The kernel's name in LLVM text and PTX, where words such as ``add`` are taken."""
    return f"flambeau_{kernel.name}"


def parameters(kernel: MappedKernel) -> tuple[Parameter, ...]:
    """What a launch passes, in order."""
    shared_by_all = [m for m in kernel.memories if m.space == "global"]
    pointers = [Parameter("pointer", m.name) for m in shared_by_all]
    pointers += [Parameter("size", s) for s in kernel.sizes]
    pointers += [Parameter("stride", m.name, k) for m in shared_by_all if m.is_strided for k in range(len(m.sizes))]
    return tuple(pointers)


def emit_module(kernels: Sequence[MappedKernel], parts: Mapping[str, str] | None = None) -> str:
    """LLVM text of some kernels, of different names. Raises ``LoweringError`` for what has no device code.

    A kernel whose name is among ``parts`` is a function instead, for the text given there: its last two parameters are
    the block and the number of blocks, and what it writes may be what it reads.
    """
    parts = {} if parts is None else parts
    declarations: dict[str, None] = {}
    functions: list[str] = []
    called: dict[str, None] = {}
    for number, kernel in enumerate(kernels):
        emission = _Emission(kernel, is_part=kernel.name in parts)
        functions.append(emission.run(number))
        if kernel.name in parts:
            functions.append(parts[kernel.name].replace("#N", f"#{number}"))
            emission.e.declare("declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()")
        declarations.update(emission.e.declarations)
        called.update(emission.e.libm)
    library = device_functions(tuple(called))
    declarations.update(dict.fromkeys(library.declarations))
    kept = [line for line in declarations if not any(f"@{PREFIX}{name}(" in line for name in called)]
    # Threads of a block are fixed; a launch with others is refused.
    attributes = [f'attributes #{n} = {{ nounwind "nvvm.reqntid"="{k.threads}" }}' for n, k in enumerate(kernels)]
    return "\n".join([*kept, *functions, *library.functions, *attributes, "!0 = !{}"]) + "\n"


@dataclass(slots=True)
class _Emission:
    kernel: MappedKernel
    is_part: bool = False
    """Whether it is a function that another kernel calls."""
    e: Emitter = field(init=False)
    values: dict[str, Value] = field(default_factory=dict)
    dtypes: dict[str, str] = field(default_factory=dict)
    variables: dict[str, tuple[Value, ElementType]] = field(default_factory=dict)
    """Stack slots, which LLVM makes registers."""
    bases: dict[str, Value] = field(default_factory=dict)
    strides: dict[tuple[str, int], Value] = field(default_factory=dict)

    def run(self, number: int) -> str:
        """The function's text, with the attributes of that number."""
        kernel = self.kernel
        # A target without vectors: whatever has two forms takes the portable one.
        flags = "contract" if kernel.contract else ""
        self.e = e = Emitter(Target(vector_bits=32, converted_halves=tuple(HALVES), user_flags=flags))
        self.shared()
        declared = [self.parameter(p) for p in parameters(kernel)]
        self.arena()
        self.body(kernel.body)
        e.raw("ret void")
        if self.is_part:
            declared += ["i64 %block", "i64 %blocks"]
            head = f"define internal void @{symbol_of(kernel)}({', '.join(declared)}) alwaysinline {{"
        else:
            head = f"define ptx_kernel void @{symbol_of(kernel)}({', '.join(declared)}) #{number} {{"
        return "\n".join([head, "entry:", *e.entry, *e.lines, "}"])

    # --- parameters and memory

    def parameter(self, p: Parameter) -> str:
        name = f"%p.{p.kind}.{p.name}" + (f".{p.dimension}" if p.kind == "stride" else "")
        if p.kind == "pointer":
            self.bases[p.name] = Value(name, "ptr addrspace(1)", 1)
            role = self.kernel.memory(p.name).role
            return f"ptr addrspace(1) {'noalias ' if role in ('in', 'out') and not self.is_part else ''}{name}"
        value = Value(name, "i64", 1)
        if p.kind == "size":
            self.values["#" + p.name] = value
            self.dtypes["#" + p.name] = "int64"
        else:
            self.strides[p.name, p.dimension] = value
        return f"i64 {name}"

    def shared(self) -> None:
        """Arrays of fixed size in shared memory."""
        loose = {m.name for m in dynamic_shared(self.kernel)}
        for m in self.kernel.memories:
            if m.space == "shared" and m.name not in loose:
                count = 1
                for s in m.sizes:
                    assert isinstance(s, int)
                    count *= s
                symbol = f"@{symbol_of(self.kernel)}.{m.name}"
                t = element_type(m.dtype).memory
                self.e.declare(f"{symbol} = internal addrspace(3) global [{count} x {t}] poison, align 8")
                self.bases[m.name] = Value(symbol, "ptr addrspace(3)", 1)

    def arena(self) -> None:
        """Arrays whose size is known at run time, one after another in the memory that the launch gives."""
        e, loose = self.e, dynamic_shared(self.kernel)
        if not loose:
            return
        e.declare(f"@{ARENA} = external addrspace(3) global [0 x i8], align 16")
        offset = int_constant(0, "i64", 1)
        for m in loose:
            text = f"getelementptr i8, ptr addrspace(3) @{ARENA}, i64 {offset}"
            self.bases[m.name] = e.define(text, "ptr addrspace(3)", 1)
            size = int_constant(element_type(m.dtype).itemsize, "i64", 1)
            for s in m.sizes:
                size = e.binary("mul", size, self.operand(s))
            padded = e.binary("and", e.binary("add", size, int_constant(7, "i64", 1)), int_constant(-8, "i64", 1))
            offset = e.binary("add", offset, padded)

    def address(self, m: Memory, at: tuple[Operand, ...], dense: int = -1) -> str:
        """``ptr addrspace(n) %p`` of an element; along the dimension ``dense`` elements lie side by side."""
        e, t = self.e, element_type(m.dtype)
        base = self.bases[m.name]
        offset = int_constant(0, "i64", 1)
        for k, index in enumerate(at):
            if m.is_strided:
                step = int_constant(t.itemsize, "i64", 1) if k == dense else self.strides[m.name, k]
                offset = e.binary("add", offset, e.binary("mul", self.operand(index), step))
            else:
                offset = e.binary("add", e.binary("mul", offset, self.operand(m.sizes[k])), self.operand(index))
        unit = "i8" if m.is_strided else t.memory
        moved = e.define(f"getelementptr {unit}, {base.type} {base}, i64 {offset}", base.type, 1)
        return f"{base.type} {moved}"

    # --- statements

    def body(self, body: tuple[Statement, ...]) -> None:
        for s in body:
            if isinstance(s, For):
                self.loop(s)
            elif isinstance(s, If):
                self.branch(s)
            else:
                self.simple(s)

    def loop(self, s: For) -> None:
        e = self.e
        start, stop, step = self.operand(s.start), self.operand(s.stop), self.operand(s.step)
        head, iteration, after, before = e.label("for"), e.label("iteration"), e.label("end"), e.block
        index = Value(e.name("i"), "i64", 1)
        e.branch(head)
        e.start(head)
        at = len(e.lines)
        e.branch_if(e.icmp("slt", index, stop), iteration, after)
        e.start(iteration)
        self.values[s.index], self.dtypes[s.index] = index, "int64"
        self.body(s.body)
        following = e.binary("add nsw", index, step)
        e.lines.insert(at, f"  {index} = phi i64 [{start}, %{before}], [{following}, %{e.block}]")
        e.branch(head)
        e.start(after)

    def branch(self, s: If) -> None:
        e = self.e
        inside, after = e.label("then"), e.label("end")
        e.branch_if(self.operand(s.condition), inside, after)
        e.start(inside)
        self.body(s.body)
        e.branch(after)
        e.start(after)

    def simple(self, s: Statement) -> None:
        e = self.e
        if isinstance(s, Assign):
            slot, _ = self.variables[s.name]
            value = self.operand(s.value)
            e.raw(f"store {value.type} {value}, ptr {slot}")
        elif isinstance(s, Var):
            t = element_type(s.dtype)
            slot = e.slot(t.llvm, t.itemsize)
            self.variables[s.name] = (slot, t)
            self.dtypes[s.name] = s.dtype
            e.raw(f"store {t.llvm} {self.operand(s.initial)}, ptr {slot}")
        elif isinstance(s, Write):
            self.write(s)
        elif isinstance(s, AtomicAdd):
            self.atomic_add(s)
        elif isinstance(s, ReadVector):
            self.read_vector(s)
        elif isinstance(s, WriteVector):
            self.write_vector(s)
        elif isinstance(s, Barrier):
            e.declare("declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)")
            e.raw("call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)")
        else:
            assert isinstance(s, Const | Let | Special | Index | Read | Shuffle), s
            self.values[s.name] = self.define(s)
            is_test = isinstance(s, Index) and s.op in ("lt", "eq")
            self.dtypes[s.name] = "bool" if is_test else getattr(s, "dtype", "int64")

    def define(self, s: Const | Let | Special | Index | Read | Shuffle) -> Value:
        e = self.e
        if isinstance(s, Const):
            t = element_type(s.dtype)
            return float_constant(s.value, t.llvm, 1) if t.is_float else int_constant(int(s.value), t.llvm, 1)
        if isinstance(s, Special) and self.is_part and s.what != "thread":
            return Value(f"%{s.what}", "i64", 1)
        if isinstance(s, Special):
            name = f"llvm.nvvm.read.ptx.sreg.{REGISTERS[s.what]}"
            e.declare(f"declare i32 @{name}()")
            return e.convert("zext", e.define(f"call i32 @{name}()", "i32", 1), "i64")
        if isinstance(s, Index):
            return self.index(s)
        if isinstance(s, Read):
            t = element_type(s.dtype)
            address = self.address(self.kernel.memory(s.memory), s.at)
            kept = self.unchanging(s.memory)
            raw = e.define(f"load {t.memory}, {address}, align {t.itemsize}{kept}", t.memory, 1)
            return e.icmp("ne", raw, e.like(raw, 0)) if t.kind == "bool" else raw
        if isinstance(s, Shuffle):
            return self.shuffle(s)
        args = [self.operand(a) for a in s.args]
        operand = element_type(self.dtypes[s.args[-1]])
        if s.op == "cast":
            return cast(e, args[0], operand, element_type(s.dtype))
        return lower(e, s.op, args, operand, lambda zero: None)  # the mapping has set the flag

    def operand(self, operand: Operand) -> Value:
        if isinstance(operand, int):
            return int_constant(operand, "i64", 1)
        if operand in self.variables:
            slot, t = self.variables[operand]
            return self.e.define(f"load {t.llvm}, ptr {slot}", t.llvm, 1)
        return self.values[operand]

    def write(self, s: Write) -> None:
        m = self.kernel.memory(s.memory)
        t = element_type(m.dtype)
        value = self.operand(s.value)
        if t.kind == "bool":
            value = self.e.convert("zext", value, "i8")
        self.e.raw(f"store {t.memory} {value}, {self.address(m, s.at)}, align {t.itemsize}")

    def atomic_add(self, s: AtomicAdd) -> None:
        m = self.kernel.memory(s.memory)
        t, value = element_type(m.dtype), self.operand(s.value)
        op = "fadd" if t.is_float else "add"
        scope = 'syncscope("device") ' if m.space == "global" else ""
        address = self.address(m, s.at)
        self.e.define(f"atomicrmw {op} {address}, {t.memory} {value} {scope}monotonic, align {t.itemsize}", t.memory, 1)

    def unchanging(self, memory: str) -> str:
        """What says that nobody writes a memory while the kernel runs, so that its loads may go through the cache for
        such memory."""
        is_fixed = self.kernel.memory(memory).role == "in" and not self.is_part
        return ", !invariant.load !0" if is_fixed else ""

    def read_vector(self, s: ReadVector) -> None:
        e, m, t, count = self.e, self.kernel.memory(s.memory), element_type(s.dtype), len(s.names)
        address = self.address(m, s.at, s.dimension)
        loaded = f"load <{count} x {t.memory}>, {address}, align {count * t.itemsize}{self.unchanging(s.memory)}"
        vector = e.define(loaded, f"<{count} x {t.memory}>", 1)
        for k, name in enumerate(s.names):
            raw = e.define(f"extractelement <{count} x {t.memory}> {vector}, i32 {k}", t.memory, 1)
            self.values[name] = e.icmp("ne", raw, e.like(raw, 0)) if t.kind == "bool" else raw
            self.dtypes[name] = s.dtype

    def write_vector(self, s: WriteVector) -> None:
        e, m, count = self.e, self.kernel.memory(s.memory), len(s.values)
        t = element_type(m.dtype)
        kind, text = f"<{count} x {t.memory}>", "poison"
        for k, name in enumerate(s.values):
            value = self.operand(name)
            value = e.convert("zext", value, "i8") if t.kind == "bool" else value
            text = str(e.define(f"insertelement {kind} {text}, {t.memory} {value}, i32 {k}", kind, 1))
        e.raw(f"store {kind} {text}, {self.address(m, s.at, s.dimension)}, align {count * t.itemsize}")

    def index(self, s: Index) -> Value:
        e = self.e
        a, b = (self.operand(x) for x in s.args)
        if s.op in ("div", "rem"):
            op = "udiv" if s.op == "div" else "urem"
            if not self.kernel.narrow:
                return e.binary(op, a, b)
            # Division in 64 bits takes a device about ten times as long.
            short = e.binary(op, e.convert("trunc", a, "i32"), e.convert("trunc", b, "i32"))
            return e.convert("zext", short, "i64")
        if s.op in ("lt", "eq"):
            return e.icmp({"lt": "slt", "eq": "eq"}[s.op], a, b)
        if s.op == "min":
            return e.intrinsic("smin", a, b)
        return e.binary(f"{s.op} nsw", a, b)

    def shuffle(self, s: Shuffle) -> Value:
        """A value from another lane, in words of 32 bits."""
        e, value = self.e, self.operand(s.value)
        bits = e.as_bits(value) if value.type in INT_OF else value
        if bits.type == "i64":
            low = self.exchange(s, e.convert("trunc", bits, "i32"))
            shift = e.like(bits, 32)
            high = self.exchange(s, e.convert("trunc", e.binary("lshr", bits, shift), "i32"))
            wide = e.binary("shl", e.convert("zext", high, "i64"), shift)
            moved = e.binary("or", wide, e.convert("zext", low, "i64"))
        elif bits.type == "i32":
            moved = self.exchange(s, bits)
        else:
            moved = e.convert("trunc", self.exchange(s, e.convert("zext", bits, "i32")), bits.type)
        return e.as_float(moved) if value.type in INT_OF else moved

    def exchange(self, s: Shuffle, word: Value) -> Value:
        name = f"llvm.nvvm.shfl.sync.{_SHUFFLES[s.how]}.i32"
        last = 0 if s.how == "up" else WARP - 1
        self.e.declare(f"declare i32 @{name}(i32, i32, i32, i32)")
        return self.e.define(f"call i32 @{name}(i32 -1, i32 {word}, i32 {s.lane}, i32 {last})", "i32", 1)
