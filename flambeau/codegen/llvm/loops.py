"""A kernel that runs loops over arrays one after the other, as LLVM text: NumPy's inner loops, and a few of its own.

It has the signature of every kernel, ``void (ptr block, i64 low, i64 high)``; what it runs is data, at an address in
the block's word ``PROGRAM``. A loop is a C function as NumPy's universal functions have them: ``void (ptr addresses,
ptr count, ptr steps, ptr data)``. One piece of code serves all operators, with NumPy's results to the last bit.

A program: how many guards there are, how many scratch rows; per guard a word of the block and the bits that must stand
at the address in it; how many loops there are; per loop ``STEP`` words: function, data, operands, for how many
elements it is, and per operand a place and the distance of its elements in bytes. A place is a word of the block, or
from ``SCRATCH`` on the number of a scratch row, or from ``ADDRESS`` on the address itself.

``rows`` runs a program for each row of arrays that lie in any way; the distance ``OWN`` is then that of the array.
"""

from __future__ import annotations

from flambeau.codegen.llvm.builder import ModuleBuilder
from flambeau.codegen.llvm.loop_rows import ByRows
from flambeau.codegen.llvm.loop_words import ADDRESS, NOT_SERVED, ONCE, OPERANDS, PROGRAM, SCRATCH, STEP

SELECT = {size: f"select{8 * size}" for size in (1, 2, 4, 8)}
"""Loops ``a if condition else b``, by bytes of an element."""
COPY = {size: f"copy{8 * size}" for size in (1, 2, 4, 8)}
"""Loops that copy, by bytes of an element."""
_TYPES = {
    "bool": "i8", "uint8": "i8", "int8": "i8", "int16": "i16", "int32": "i32", "int64": "i64", "float32": "float",
    "float64": "double",
}  # fmt: skip
_BITS = {"i8": 8, "i16": 16, "i32": 32, "i64": 64, "float": 32, "double": 64}
_FLOATS = ("float32", "float64")
CONVERT = {
    (a, b): f"{a}_to_{b}"
    for a in _TYPES
    for b in _TYPES
    if a != b and b != "bool" and (a not in _FLOATS or b in _FLOATS)
}
"""Loops that convert, by the names of both dtypes."""
COUNT = {name: f"count_{name}" for name in ("float32", "float64")}
"""Loops that give the number of elements of a row, by the name of the dtype."""
LOOP_EXPORTS = ("loops", "rows", *SELECT.values(), *COPY.values(), *CONVERT.values(), *COUNT.values())


def loops_text() -> str:
    """LLVM text of ``loops``, ``rows`` and of its own loops."""
    own = "".join(_select(size, name) for size, name in SELECT.items())
    own += "".join(_copy(size, name) for size, name in COPY.items())
    own += "".join(_convert(*pair, name) for pair, name in CONVERT.items())
    own += "".join(_count(_TYPES[kind], name) for kind, name in COUNT.items())
    m = ModuleBuilder({}, own={"guards_hold": "i1 (ptr, ptr)"})
    m.special(ByRows, "void rows", "ptr block", "i64 low", "i64 high", exported=True).build()
    return _place() + _guards() + _steps() + m.text() + own


def _word(base: str, place: int | str, name: str, kind: str = "i64") -> str:
    return f"  %{name}.p = getelementptr i64, ptr %{base}, i64 {place}\n  %{name} = load {kind}, ptr %{name}.p\n"


def _place() -> str:
    """`place`: the address of an operand."""
    return f"""
define internal ptr @place(ptr %block, ptr %scratch, i64 %row, i64 %at) {{
entry:
  %is_word = icmp ult i64 %at, {SCRATCH}
  br i1 %is_word, label %word, label %other
word:
{_word("block", "%at", "in_word", "ptr")}  ret ptr %in_word
other:
  %is_scratch = icmp ult i64 %at, {ADDRESS}
  %number = sub i64 %at, {SCRATCH}
  %offset = mul i64 %number, %row
  %in_scratch = getelementptr i8, ptr %scratch, i64 %offset
  %itself = inttoptr i64 %at to ptr
  %chosen = select i1 %is_scratch, ptr %in_scratch, ptr %itself
  ret ptr %chosen
}}
"""


def _guards() -> str:
    """`guards_hold`: whether the numbers are those that the program was made for; else this stands in the flag."""
    return f"""
define internal i1 @guards_hold(ptr %block, ptr %program) alwaysinline {{
entry:
{_word("program", 0, "guards")}\
  %pairs = getelementptr i64, ptr %program, i64 2
  br label %guard
guard:
  %g = phi i64 [0, %entry], [%g1, %check]
  %pair = phi ptr [%pairs, %entry], [%next_pair, %check]
  %more_g = icmp slt i64 %g, %guards
  br i1 %more_g, label %check, label %begin
check:
{_word("pair", 0, "guarded")}{_word("pair", 1, "expected")}{_word("block", "%guarded", "address", "ptr")}\
  %bits = load i64, ptr %address
  %g1 = add i64 %g, 1
  %next_pair = getelementptr i64, ptr %pair, i64 2
  %holds = icmp eq i64 %bits, %expected
  br i1 %holds, label %guard, label %refuse
refuse:
{_word("block", 0, "flag", "ptr")}  store i32 {NOT_SERVED}, ptr %flag
  ret i1 false
begin:
  ret i1 true
}}
"""


def _steps() -> str:
    """`loops`: one loop after the other, each over all elements."""
    return f"""
define void @loops(ptr %block, i64 %low, i64 %high) {{
entry:
{_word("block", PROGRAM, "program", "ptr")}{_word("program", 0, "guards")}{_word("program", 1, "rows")}\
  %holds = call i1 @guards_hold(ptr %block, ptr %program)
  br i1 %holds, label %begin, label %done
begin:
  %twice_guards = shl i64 %guards, 1
  %list_at = add i64 %twice_guards, 2
{_word("program", "%list_at", "count")}  %first = getelementptr i64, ptr %count.p, i64 1
  %row = mul i64 %high, 8
  %bytes = mul i64 %row, %rows
  %scratch = alloca i8, i64 %bytes, align 64
  %args = alloca [{OPERANDS} x ptr], align 8
  %steps = alloca [{OPERANDS} x i64], align 8
  %dims = alloca i64, align 8
  br label %each
each:
  %k = phi i64 [0, %begin], [%k1, %run]
  %step = phi ptr [%first, %begin], [%next_step, %run]
  %more = icmp slt i64 %k, %count
  br i1 %more, label %one, label %done
one:
{_word("step", 0, "function", "ptr")}{_word("step", 1, "data", "ptr")}{_word("step", 2, "operands")}\
{_word("step", 3, "iterations")}  %is_single = icmp eq i64 %iterations, {ONCE}
  %n = select i1 %is_single, i64 1, i64 %high
  store i64 %n, ptr %dims
  %list = getelementptr i64, ptr %step, i64 4
  br label %fill
fill:
  %o = phi i64 [0, %one], [%o1, %put]
  %more_o = icmp slt i64 %o, %operands
  br i1 %more_o, label %put, label %run
put:
  %twice = shl i64 %o, 1
{_word("list", "%twice", "at")}  %after = add i64 %twice, 1
{_word("list", "%after", "distance")}  %where = call ptr @place(ptr %block, ptr %scratch, i64 %row, i64 %at)
  %arg.p = getelementptr ptr, ptr %args, i64 %o
  store ptr %where, ptr %arg.p
  %step.p = getelementptr i64, ptr %steps, i64 %o
  store i64 %distance, ptr %step.p
  %o1 = add i64 %o, 1
  br label %fill
run:
  call void %function(ptr %args, ptr %dims, ptr %steps, ptr %data)
  %k1 = add i64 %k, 1
  %next_step = getelementptr i64, ptr %step, i64 {STEP}
  br label %each
done:
  ret void
}}
"""


def _over(name: str, operands: int, body: str) -> str:
    """A loop function: ``body`` computes one iteration from the pointers ``%p0``, ``%p1``, ..."""
    loads = "".join(
        f"  %a{k}.p = getelementptr ptr, ptr %args, i64 {k}\n  %a{k} = load ptr, ptr %a{k}.p\n"
        f"  %s{k}.p = getelementptr i64, ptr %steps, i64 {k}\n  %s{k} = load i64, ptr %s{k}.p\n"
        for k in range(operands)
    )
    places = "".join(
        f"  %o{k} = mul i64 %i, %s{k}\n  %p{k} = getelementptr i8, ptr %a{k}, i64 %o{k}\n" for k in range(operands)
    )
    return f"""
define void @{name}(ptr %args, ptr %dims, ptr %steps, ptr %data) {{
entry:
  %n = load i64, ptr %dims
{loads}  br label %head
head:
  %i = phi i64 [0, %entry], [%i1, %iteration]
  %more = icmp slt i64 %i, %n
  br i1 %more, label %iteration, label %done
iteration:
{places}{body}  %i1 = add i64 %i, 1
  br label %head
done:
  ret void
}}
"""


def _select(size: int, name: str) -> str:
    kind = f"i{8 * size}"
    return _over(
        name, 4,
        f"  %c = load i8, ptr %p0\n  %x = load {kind}, ptr %p1\n  %y = load {kind}, ptr %p2\n"
        f"  %is = icmp ne i8 %c, 0\n  %z = select i1 %is, {kind} %x, {kind} %y\n  store {kind} %z, ptr %p3\n",
    )  # fmt: skip


def _copy(size: int, name: str) -> str:
    kind = f"i{8 * size}"
    return _over(name, 2, f"  %x = load {kind}, ptr %p0\n  store {kind} %x, ptr %p1\n")


def _convert(source: str, target: str, name: str) -> str:
    from_, to = _TYPES[source], _TYPES[target]
    body = f"  %x = load {from_}, ptr %p0\n"
    is_unsigned = source in ("bool", "uint8")
    if target in _FLOATS:
        way = (
            ("uitofp" if is_unsigned else "sitofp")
            if source not in _FLOATS
            else ("fpext" if to == "double" else "fptrunc")
        )
    else:
        way = (
            "bitcast"
            if _BITS[from_] == _BITS[to]
            else "trunc"
            if _BITS[from_] > _BITS[to]
            else "zext"
            if is_unsigned
            else "sext"
        )
    return _over(name, 2, f"{body}  %y = {way} {from_} %x to {to}\n  store {to} %y, ptr %p1\n")


def _count(kind: str, name: str) -> str:
    return f"""
define void @{name}(ptr %args, ptr %dims, ptr %steps, ptr %data) {{
  %n = load i64, ptr %dims
  %x = sitofp i64 %n to {kind}
  %to = load ptr, ptr %args
  store {kind} %x, ptr %to
  ret void
}}
"""
