"""How the gradient of a convolution's weight is computed for a launch: its memory is filled with zeros, added to, and
looked at. What is between rows is multiplied by zero, so where something is not finite the operator itself has to run.
"""

from __future__ import annotations

from collections.abc import Sequence

from flambeau.codegen.convolutions.launch_functions import launch_function
from flambeau.codegen.convolutions.vectors import VectorFunction, VectorModule
from flambeau.codegen.convolutions.words import PROBLEM, SLICE, SLOPES, SLOPES_AT
from flambeau.codegen.layouts import WORD
from flambeau.codegen.llvm.abi import REFUSED
from flambeau.codegen.llvm.emitter import Value, float_constant


def build_launch(m: VectorModule, symbol: str, one_slice: str) -> None:
    """``symbol(block, low, high)``: units from `low` to `high`, each some filters of a group, for all slices."""
    f = launch_function(m, symbol)
    block, low, high = f.parameters
    call = f.word_of(block, SLOPES_AT, "ptr")
    x, slope, w = (f.word_of(block, f.get(call, SLOPES, name), "ptr") for name in ("x", "slope", "w"))
    slices, own = f.get(call, SLOPES, "slices", "ptr"), f.slot(f"[{PROBLEM.words} x i64]", 16)
    first = f.get(slices, SLICE, "problem", "ptr")
    get = {name: f.get(first, PROBLEM, name) for name in ("filters", "filters_each", "w_group", "w_filter")}
    blocks = f.divided_up(get["filters"], get["filters_each"])
    f.declare("declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)")
    with f.loop(f.op("sub", high, low)) as k:
        number = f.op("add", low, k)
        group, part = f.op("udiv", number, blocks), f.op("urem", number, blocks)
        before = f.op("mul", part, get["filters_each"])
        count = f.least_of(get["filters_each"], f.op("sub", get["filters"], before))
        to = f.moved(w, f.op("mul", group, get["w_group"]), f.op("mul", before, get["w_filter"]))
        size = f.op("mul", count, get["w_filter"])
        f.raw(f"call void @llvm.memset.p0.i64(ptr {to}, i8 0, i64 {size}, i1 false)")
        with f.loop(f.get(call, SLOPES, "slice_count")) as n:
            one = f.at(slices, f.op("mul", n, SLICE.words * WORD), "i8")
            f.copy(own, f.get(one, SLICE, "problem"), PROBLEM.words * WORD, align=8)
            from_x, from_y = (f.get(one, SLICE, name) for name in ("from_x", "from_y"))
            f.put(own, PROBLEM, x=f.moved(x, from_x), w=w, y=f.moved(slope, from_y), error=f.word_of(block, 0, "ptr"))
            f.call(one_slice, own, number, f.op("add", number, 1))
        _refuse_what_is_not_finite(f, block, to, f.op("udiv", size, m.floats.itemsize))
    f.ret()


def _refuse_what_is_not_finite(f: VectorFunction, block: Value, base: Value, count: Value) -> None:
    """Set the flag where the sum of so many numbers is not finite, unless something else has set it."""
    lanes = f.floats.lanes
    whole = f.op("udiv", count, lanes)
    done = f.op("mul", whole, lanes)

    def add(k: Value, state: Sequence[Value]) -> list[Value]:
        return [f.fadd(state[0], f.vector(f.moved(base, f.bytes_of(f.op("mul", k, lanes)))))]

    def add_one(k: Value, state: Sequence[Value]) -> list[Value]:
        return [f.fadd(state[0], f.read(f.moved(base, f.bytes_of(f.op("add", done, k))), f.floats.type))]

    (vector,) = f.fold(whole, [f.zero], add)
    zero = float_constant(0.0, f.floats.type, 1)
    (rest,) = f.fold(f.op("sub", count, done), [zero], add_one)
    total = f.fadd(f.sum_of_lanes(vector), rest)
    off = f.fsub(total, total)
    flag = f.word_of(block, 0, "ptr")
    is_open = f.compare("eq", f.load(flag, "i32"), 0)
    with f.when(f.op("and", f.fcmp("uno", off, off), is_open)):
        f.store(flag, REFUSED, "i32")
