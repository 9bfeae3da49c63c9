"""LLVM text of device kernels as machine code of this processor.

Kernels whose threads never meet run as one native loop over threads. Where they meet (barriers, shuffles), each thread
has a stack of its own, and is left and entered again by `swapcontext`; `blocks.py` decides who goes on.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import llvmlite.binding as llvm

from tests.codegen.cuda.bfloat_conversions import without_instructions
from tests.cuda.pretended.arena import arena

STACK = 1 << 16
CONTEXT = 8192
"""Bytes kept for a `ucontext_t`, which has less than 5 KB on every system."""
RUNNABLE, AT_BARRIER, AT_WARP, DONE = range(4)

REGISTERS = {
    f"llvm.nvvm.read.ptx.sreg.{what}.{axis}": f"@host.{what}.{axis}"
    for what in ("tid", "ctaid", "ntid", "nctaid")
    for axis in "xyz"
}
_SHUFFLE = """
define internal i32 @{name}(i32 %mask, i32 %value, i32 %lane, i32 %clamp) {{
  %t = load i32, ptr @host.current
  %words = load ptr, ptr @host.words
  %mine = getelementptr i32, ptr %words, i32 %t
  store i32 %value, ptr %mine
  call void @host.pause(i32 2)
  %inside = and i32 %t, 31
  %first = and i32 %t, -32
  {source}
  %fits = and i1 %below, %above
  %from = add i32 %first, %wanted
  %place = select i1 %fits, i32 %from, i32 %t
  %theirs = getelementptr i32, ptr %words, i32 %place
  %found = load i32, ptr %theirs
  call void @host.pause(i32 2)
  ret i32 %found
}}
"""
_SOURCES = {
    "down": "%wanted = add i32 %inside, %lane",
    "up": "%wanted = sub i32 %inside, %lane",
    "idx": "%wanted = and i32 %lane, 31",
    "bfly": "%wanted = xor i32 %inside, %lane",
}
_RANGE = "\n  %below = icmp slt i32 %wanted, 32\n  %above = icmp sge i32 %wanted, 0"
_BODY = "define internal void @{name}(TAKES) {{\n  CALL\n  ret void\n}}\n"
_BARRIER = _BODY.replace("CALL", "call void @host.pause(i32 1)")
_MEETING = {
    "llvm.nvvm.barrier.cta.sync.aligned.all": _BARRIER.replace("TAKES", "i32 %id"),
    "llvm.nvvm.barrier0": _BARRIER.replace("TAKES", ""),
    "llvm.nvvm.bar.warp.sync": _BODY.replace("CALL", "call void @host.pause(i32 2)").replace("TAKES", "i32 %mask"),
    **{f"llvm.nvvm.shfl.sync.{how}.i32": _SHUFFLE.replace("{source}", text + _RANGE) for how, text in _SOURCES.items()},
}
"""Where threads meet, as functions of the host."""
_FENCE = _BODY.replace("CALL", "fence seq_cst").replace("TAKES", "")
_NOTHING = {"llvm.nvvm.membar.gl": _FENCE, "llvm.nvvm.membar.cta": _FENCE}
_MACHINERY = """
@host.current = internal global i32 0
@host.threads = internal global i32 0
@host.contexts = internal global ptr null
@host.stacks = internal global ptr null
@host.states = internal global ptr null
@host.words = internal global ptr null
@host.body = internal global ptr null
@host.args = internal global ptr null
@host.scheduler = internal global [{context} x i8] zeroinitializer, align 16
declare i32 @getcontext(ptr)
declare void @makecontext(ptr, ptr, i32, ...)
declare i32 @swapcontext(ptr, ptr)

define internal void @host.pause(i32 %why) {{
  %t = load i32, ptr @host.current
  %states = load ptr, ptr @host.states
  %state = getelementptr i32, ptr %states, i32 %t
  store i32 %why, ptr %state
  %contexts = load ptr, ptr @host.contexts
  %wide = zext i32 %t to i64
  %at = mul i64 %wide, {context}
  %context = getelementptr i8, ptr %contexts, i64 %at
  %r = call i32 @swapcontext(ptr %context, ptr @host.scheduler)
  ret void
}}

define internal void @host.fiber() {{
  %body = load ptr, ptr @host.body
  %args = load ptr, ptr @host.args
  call void %body(ptr %args)
  call void @host.pause(i32 3)
  ret void
}}

define internal void @host.place(i32 %t) {{
  %bx = load i32, ptr @host.ntid.x
  %by = load i32, ptr @host.ntid.y
  %x = urem i32 %t, %bx
  %rest = udiv i32 %t, %bx
  %y = urem i32 %rest, %by
  %z = udiv i32 %rest, %by
  store i32 %t, ptr @host.current
  store i32 %x, ptr @host.tid.x
  store i32 %y, ptr @host.tid.y
  store i32 %z, ptr @host.tid.z
  ret void
}}

define void @host.begin(ptr %contexts, ptr %stacks, ptr %states, ptr %words, ptr %body, ptr %args, i32 %n) {{
entry:
  store ptr %contexts, ptr @host.contexts
  store ptr %stacks, ptr @host.stacks
  store ptr %states, ptr @host.states
  store ptr %words, ptr @host.words
  store ptr %body, ptr @host.body
  store ptr %args, ptr @host.args
  br label %head
head:
  %t = phi i64 [ 0, %entry ], [ %next, %head ]
  %a = mul i64 %t, {context}
  %context = getelementptr i8, ptr %contexts, i64 %a
  %r = call i32 @getcontext(ptr %context)
  %b = mul i64 %t, {stack}
  %low = getelementptr i8, ptr %stacks, i64 %b
  %link = getelementptr i8, ptr %context, i64 8
  store ptr null, ptr %link
  %sp = getelementptr i8, ptr %context, i64 16
  store ptr %low, ptr %sp
  %size = getelementptr i8, ptr %context, i64 32
  store i64 {stack}, ptr %size
  call void (ptr, ptr, i32, ...) @makecontext(ptr %context, ptr @host.fiber, i32 0)
  %state = getelementptr i32, ptr %states, i64 %t
  store i32 0, ptr %state
  %next = add i64 %t, 1
  %n64 = zext i32 %n to i64
  %more = icmp ult i64 %next, %n64
  br i1 %more, label %head, label %end
end:
  ret void
}}

define void @host.round(i32 %n) {{
entry:
  %states = load ptr, ptr @host.states
  %contexts = load ptr, ptr @host.contexts
  br label %head
head:
  %t = phi i32 [ 0, %entry ], [ %next, %tail ]
  %state = getelementptr i32, ptr %states, i32 %t
  %s = load i32, ptr %state
  %goes = icmp eq i32 %s, 0
  br i1 %goes, label %run, label %tail
run:
  call void @host.place(i32 %t)
  %wide = zext i32 %t to i64
  %at = mul i64 %wide, {context}
  %context = getelementptr i8, ptr %contexts, i64 %at
  %r = call i32 @swapcontext(ptr @host.scheduler, ptr %context)
  br label %tail
tail:
  %next = add i32 %t, 1
  %more = icmp ult i32 %next, %n
  br i1 %more, label %head, label %end
end:
  ret void
}}

define void @host.alone(ptr %body, ptr %args, i32 %n) {{
entry:
  br label %head
head:
  %t = phi i32 [ 0, %entry ], [ %next, %head ]
  call void @host.place(i32 %t)
  call void %body(ptr %args)
  %next = add i32 %t, 1
  %more = icmp ult i32 %next, %n
  br i1 %more, label %head, label %end
end:
  ret void
}}
"""


@dataclass(frozen=True, slots=True)
class KernelCode:
    """A kernel's entry and what it takes."""

    name: str
    parameters: tuple[str, ...]
    """LLVM types."""
    meets: bool
    """Whether its threads wait for each other."""
    threads: int | None
    """Threads of a block, if the code is for one number only."""


def host_text(text: str) -> tuple[str, list[KernelCode]]:
    """LLVM text for this machine, and the kernels in it. Raises NotImplementedError for what is not known here."""
    kernels = _kernels(text)
    added = [_MACHINERY.format(context=CONTEXT, stack=STACK)]
    added += [f"{name} = global i32 1" for name in REGISTERS.values()]
    for line in re.findall(r"^declare .*@llvm\.nvvm\.[^\n]*$", text, re.M):
        name = re.search(r"@(llvm\.nvvm\.[\w.]+)", line)[1]  # type: ignore[index]
        own = "host.of." + name.removeprefix("llvm.nvvm.")
        if name in REGISTERS:
            added.append(f"define internal i32 @{own}() {{\n  %v = load i32, ptr {REGISTERS[name]}\n  ret i32 %v\n}}")
        elif name in _MEETING or name in _NOTHING:
            added.append((_MEETING.get(name) or _NOTHING[name]).format(name=own))
        else:
            raise NotImplementedError(f"tests/cuda/pretended/host_code.py does not know {line}")
        text = text.replace(line, "").replace(f"@{name}(", f"@{own}(")
    text = re.sub(
        r"external addrspace\(3\) global \[0 x i8\]", "internal addrspace(3) global [262144 x i8] poison", text
    )
    text = without_instructions(text.replace("define ptx_kernel", "define"))
    # Addresses that a kernel reads from tables are the device's: the host has them elsewhere.
    text = re.sub(
        r"(%[\w.]+) = inttoptr i64 (%[\w.]+) to ptr addrspace\(1\)",
        rf"\1.there = add i64 \2, {arena.distance}\n  \1 = inttoptr i64 \1.there to ptr addrspace(1)",
        text,
    )
    added += [_entry(k) for k in kernels]
    return "\n".join([text, *added]), kernels


def _kernels(text: str) -> list[KernelCode]:
    found = []
    attributes = dict(re.findall(r"^attributes #(\d+) = \{(.*)\}$", text, re.M))
    meeting = _functions_that_meet(text)
    for name, given, number in re.findall(r"define ptx_kernel void @([\w.$]+)\((.*?)\)(?: #(\d+))? ?\{", text):
        kinds = tuple(_kind(p) for p in re.split(r",\s*(?![^(]*\))", given) if p.strip())
        fixed = re.search(r'"nvvm\.reqntid"="([\d,]+)"', attributes.get(number, ""))
        threads = None
        if fixed:
            threads = 1
            for n in fixed[1].split(","):
                threads *= int(n)
        found.append(KernelCode(name, kinds, name in meeting, threads))
    return found


def _kind(parameter: str) -> str:
    return re.match(r"ptr addrspace\(\d\)|\S+", parameter.strip())[0]  # type: ignore[index]


def _functions_that_meet(text: str) -> set[str]:
    """Names of the functions whose threads wait for each other, by what they call."""
    bodies = dict(re.findall(r"^define [^@\n]*@([\w.$]+)\(.*?\{\n(.*?)^\}", text, re.M | re.S))
    calls = {name: set(re.findall(r"call [^@\n]*@([\w.$]+)\(", body)) for name, body in bodies.items()}
    found = {name for name, called in calls.items() if called & set(_MEETING)}
    while more := {name for name, called in calls.items() if called & found} - found:
        found |= more
    return found


def _entry(kernel: KernelCode) -> str:
    """A function that takes the kernel's arguments from an array of words."""
    lines = [f"define void @host.call.{kernel.name}(ptr %args) {{"]
    for k, kind in enumerate(kernel.parameters):
        lines += [f"  %p{k} = getelementptr i64, ptr %args, i64 {k}", f"  %v{k} = load {kind}, ptr %p{k}"]
    given = ", ".join(f"{kind} %v{k}" for k, kind in enumerate(kernel.parameters))
    return "\n".join([*lines, f"  call void @{kernel.name}({given})", "  ret void", "}"])


def compiled(text: str) -> Any:
    """An engine that holds the functions of an LLVM text."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    module = llvm.parse_assembly(text)
    module.verify()
    machine = llvm.Target.from_default_triple().create_target_machine(
        cpu=llvm.get_host_cpu_name(), features=llvm.get_host_cpu_features().flatten(), opt=1
    )
    engine = llvm.create_mcjit_compiler(module, machine)
    engine.finalize_object()
    return engine
