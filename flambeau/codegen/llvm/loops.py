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

from collections.abc import Callable, Sequence

from flambeau.codegen.llvm.builder import FunctionBuilder, ModuleBuilder
from flambeau.codegen.llvm.checked_emitter import FALSE, TRUE
from flambeau.codegen.llvm.emitter import Value
from flambeau.codegen.llvm.loop_rows import ByRows
from flambeau.codegen.llvm.loop_words import ADDRESS, NOT_SERVED, ONCE, OPERANDS, PROGRAM, SCRATCH, STEP

SELECT = {size: f"select{8 * size}" for size in (1, 2, 4, 8)}
"""Loops ``a if condition else b``, by bytes of an element."""
COPY = {size: f"copy{8 * size}" for size in (1, 2, 4, 8)}
"""Loops that copy, by bytes of an element."""
_TYPES = {
    "bool": "i8", "uint8": "i8", "int8": "i8", "int16": "i16", "int32": "i32", "int64": "i64", "float32": "float",
    "float64": "double", "uint16": "i16", "uint32": "i32", "uint64": "i64",
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
_LOOP_PARAMETERS = ("ptr args", "ptr dims", "ptr steps", "ptr data")
LOOP_EXPORTS = ("loops", "rows", *SELECT.values(), *COPY.values(), *CONVERT.values(), *COUNT.values())


def loops_text() -> str:
    """LLVM text of ``loops``, ``rows`` and of its own loops."""
    m = ModuleBuilder({})
    _add_place(m)
    _add_guards(m)
    _add_loops(m)
    m.special(ByRows, "void rows", "ptr block", "i64 low", "i64 high", exported=True).build()
    for size, name in SELECT.items():
        _add_select(m, name, f"i{8 * size}")
    for size, name in COPY.items():
        _add_copy(m, name, f"i{8 * size}")
    for (source, target), name in CONVERT.items():
        _add_convert(m, name, source, target)
    for dtype, name in COUNT.items():
        _add_count(m, name, _TYPES[dtype])
    return m.text()


def _add_place(m: ModuleBuilder) -> None:
    """``place(block, scratch, bytes of a row, place)``: the address of an operand."""
    f = m.function("ptr place", "ptr block", "ptr scratch", "i64 row", "i64 at")
    block, scratch, row, at = f.parameters
    with f.when(f.compare("ult", at, SCRATCH)):
        f.ret(f.word_of(block, at, "ptr"))
    in_scratch = f.at(scratch, f.op("mul", f.op("sub", at, SCRATCH), row), "i8")
    f.ret(f.pick(f.compare("ult", at, ADDRESS), in_scratch, f.convert("inttoptr", at, "ptr"), "ptr"))


def _add_guards(m: ModuleBuilder) -> None:
    """``guards_hold(block, program)``: whether the numbers are those that the program was made for; else this stands in
    the flag.
    """
    f = m.function("i1 guards_hold", "ptr block", "ptr program", attributes="alwaysinline")
    block, program = f.parameters
    guards = f.word_of(program, 0)
    with f.loop(guards) as k:
        pair = f.at(program, f.op("add", f.op("shl", k, 1), 2))
        bits = f.load(f.word_of(block, f.word_of(pair, 0), "ptr"))
        with f.when(f.compare("ne", bits, f.word_of(pair, 1))):
            f.store(f.word_of(block, 0, "ptr"), NOT_SERVED, "i32")
            f.ret(FALSE)
    f.ret(TRUE)


def _add_loops(m: ModuleBuilder) -> None:
    """``loops(block, low, high)``: one loop after the other, each over all elements."""
    f = m.function("void loops", "ptr block", "i64 low", "i64 high", exported=True)
    block, _, high = f.parameters
    addresses, steps = f.slot(f"[{OPERANDS} x ptr]", 8), f.slot(f"[{OPERANDS} x i64]", 8)
    count = f.slot("i64", 8)
    program = f.word_of(block, PROGRAM, "ptr")
    f.return_unless(f.call("guards_hold", block, program))
    listed = f.at(program, f.op("add", f.op("shl", f.word_of(program, 0), 1), 2))
    row = f.op("mul", high, 8)
    scratch = f.array("i8", f.op("mul", row, f.word_of(program, 1)), 64)
    with f.loop(f.load(listed)) as k:
        step = f.at(f.at(listed, 1), f.op("mul", k, STEP))
        function, data = f.word_of(step, 0, "ptr"), f.word_of(step, 1, "ptr")
        is_single = f.compare("eq", f.word_of(step, 3), ONCE)
        f.store(count, f.pick(is_single, 1, high))
        with f.loop(f.word_of(step, 2)) as operand:
            pair = f.at(f.at(step, 4), f.op("shl", operand, 1))
            f.store(f.at(addresses, operand, "ptr"), f.call("place", block, scratch, row, f.word_of(pair, 0)))
            f.set_word(steps, operand, f.word_of(pair, 1))
        f.call_address(function, "void (ptr, ptr, ptr, ptr)", addresses, count, steps, data)
    f.ret()


# -- loops of its own -------------------------------------------------------------------------------------------------

Iteration = Callable[[FunctionBuilder, Sequence[Value]], None]
"""Builds one iteration of a loop from the addresses of its operands."""


def _add_loop(m: ModuleBuilder, name: str, operands: int, iteration: Iteration) -> None:
    f = m.function(f"void {name}", *_LOOP_PARAMETERS, exported=True)
    args, dims, steps, _ = f.parameters
    count = f.load(dims)
    starts = [(f.load(f.at(args, k, "ptr"), "ptr"), f.word_of(steps, k)) for k in range(operands)]
    with f.loop(count) as k:
        iteration(f, [f.at(start, f.op("mul", k, step), "i8") for start, step in starts])
    f.ret()


def _add_select(m: ModuleBuilder, name: str, kind: str) -> None:
    def iteration(f: FunctionBuilder, at: Sequence[Value]) -> None:
        condition, yes, no = f.load(at[0], "i8"), f.load(at[1], kind), f.load(at[2], kind)
        f.store(at[3], f.pick(f.compare("ne", condition, 0), yes, no, kind))

    _add_loop(m, name, 4, iteration)


def _add_copy(m: ModuleBuilder, name: str, kind: str) -> None:
    _add_loop(m, name, 2, lambda f, at: f.store(at[1], f.load(at[0], kind)))


def _add_convert(m: ModuleBuilder, name: str, source: str, target: str) -> None:
    conversion, kind = _conversion(source, target), _TYPES[target]
    _add_loop(m, name, 2, lambda f, at: f.store(at[1], f.convert(conversion, f.load(at[0], _TYPES[source]), kind)))


def _conversion(source: str, target: str) -> str:
    """The instruction that converts one dtype to another."""
    is_unsigned = source == "bool" or source.startswith("uint")
    if source in _FLOATS:
        return "fpext" if target == "float64" else "fptrunc"
    if target in _FLOATS:
        return "uitofp" if is_unsigned else "sitofp"
    bits, wanted = _BITS[_TYPES[source]], _BITS[_TYPES[target]]
    if bits == wanted:
        return "bitcast"
    return "trunc" if bits > wanted else "zext" if is_unsigned else "sext"


def _add_count(m: ModuleBuilder, name: str, kind: str) -> None:
    f = m.function(f"void {name}", *_LOOP_PARAMETERS, exported=True)
    args, dims, _, _ = f.parameters
    f.store(f.load(args, "ptr"), f.convert("sitofp", f.load(dims), kind))
    f.ret()
