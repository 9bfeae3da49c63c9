"""How much of the C stack calls may take, and by which calls a failure came about.

A function that calls itself compares its frame with the context's ``floor``. That is near the first frame at first:
most recursion is shallow, and asking for the end of a thread's stack takes microseconds.
"""

from __future__ import annotations

import sys
from functools import cache

from flambeau.codegen.graph.entry.abi import NO_STACK
from flambeau.codegen.graph.runtime import BLOCKS
from flambeau.codegen.layouts import BLOCK_DATA, CONTEXT, WORD
from flambeau.codegen.llvm.builder import ModuleBuilder
from flambeau.codegen.llvm.lanes import PREFIX as C_PREFIX

SHALLOW = 1 << 14
"""Bytes of stack that recursion takes without asking how much there is."""
KEPT = 64
"""Calls, the innermost, that are told of a failure."""
RESERVE = 1 << 19
"""Bytes of stack, or a quarter of it if that is less, which are left for Python and for handlers of signals."""
OTHERWISE = 1 << 18
"""Bytes of stack that recursion may take where nothing says how much there is."""
ASKED = ("pthread_self", "pthread_getattr_np", "pthread_attr_getstack", "pthread_attr_destroy")
"""Functions of the C library that are asked."""
CAN_ASK = sys.platform.startswith("linux")

_C_LIBRARY = {
    "pthread_self": "i64 ()", "pthread_getattr_np": "i32 (i64, ptr)", "pthread_attr_getstack": "i32 (ptr, ptr, ptr)",
    "pthread_attr_destroy": "i32 (ptr)",
}  # fmt: skip


@cache
def call_stack_text() -> str:
    """``look_at_stack(context, frame)``, for calls below the floor; ``note_call(context, exit point)`` for failures."""
    m = ModuleBuilder(_C_LIBRARY, C_PREFIX, own={"new_block": "ptr (ptr, i64)"})
    m.access = ", " + BLOCKS
    m.declarations["declare ptr @llvm.frameaddress.p0(i32)"] = None
    _add_end_of_stack(m)
    _add_look_at_stack(m)
    _add_note_call(m)
    return m.text()


def _add_end_of_stack(m: ModuleBuilder) -> None:
    """``end_of_stack(frame)``: the address below which frames must not lie; a guess where nothing says so."""
    f = m.function("ptr end_of_stack", "ptr frame", attributes="noinline cold")
    guess = f.at(f.parameters[0], -OTHERWISE, "i8")
    if not CAN_ASK:
        f.ret(guess)
        return
    attributes, lowest_slot, size_slot = f.slot("[128 x i8]", 16), f.slot("ptr", 8), f.slot("i64", 8)
    code = f.call("pthread_getattr_np", f.call("pthread_self"), attributes)
    f.return_unless(f.compare("eq", code, 0), guess)
    f.call("pthread_attr_getstack", attributes, lowest_slot, size_slot)
    f.call("pthread_attr_destroy", attributes)
    quarter = f.op("lshr", f.load(size_slot), 2)
    reserve = f.pick(f.compare("ult", quarter, RESERVE), quarter, RESERVE)
    f.ret(f.at(f.load(lowest_slot, "ptr"), reserve, "i8"))


def _add_look_at_stack(m: ModuleBuilder) -> None:
    f = m.function("i64 look_at_stack", "ptr context", "ptr frame", attributes="noinline cold")
    context, frame = f.parameters
    f.return_unless(f.compare("eq", f.get(context, CONTEXT, "floor_known"), 0), NO_STACK)
    floor = f.call("end_of_stack", frame)
    f.put(context, CONTEXT, floor=floor, floor_known=1)
    f.return_if(f.compare("ult", frame, floor), NO_STACK)
    f.ret(0)


def _add_note_call(m: ModuleBuilder) -> None:
    f = m.function("void note_call", "ptr context", "i64 exit_point", attributes="noinline cold")
    context, exit_point = f.parameters
    with f.when(f.is_null(f.get(context, CONTEXT, "trace"))):
        block = f.call("new_block", context, WORD * (KEPT + 1))
        f.return_if(f.is_null(block))
        calls = f.at(block, BLOCK_DATA, "i8")
        f.store(calls, 0)
        f.put(context, CONTEXT, trace=calls)
    calls = f.get(context, CONTEXT, "trace")
    count = f.load(calls)
    following = f.op("add", count, 1)
    f.store(calls, following)
    with f.when(f.compare("slt", count, KEPT)):
        f.set_word(calls, following, exit_point)
    f.ret()
