"""How the gradient of a convolution's weight is computed for a launch: its memory is filled with zeros, added to, and
looked at. What is between rows is multiplied by zero, so where something is not finite each element is computed again,
as the sum over its windows alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack

from flambeau.codegen.convolutions.launch_functions import launch_function
from flambeau.codegen.convolutions.vectors import VectorFunction, VectorModule
from flambeau.codegen.convolutions.words import PROBLEM, SLICE, SLOPES, SLOPES_AT
from flambeau.codegen.layouts import WORD
from flambeau.codegen.llvm.emitter import Value, float_constant


def build_launch(m: VectorModule, symbol: str, one_slice: str) -> None:
    """``symbol(block, low, high)``: units from `low` to `high`, each some filters of a group, for all slices."""
    build_sums_of_windows(m)
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
        with f.when(f.negated(_is_finite(f, to, f.op("udiv", size, m.floats.itemsize)))):
            f.call("sums_of_windows", call, x, slope, w, group, f.op("mul", group, get["filters"]), before, count)
    f.ret()


def _is_finite(f: VectorFunction, base: Value, count: Value) -> Value:
    """Whether the sum of so many numbers is."""
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
    return f.fcmp("ord", off, off)


def build_sums_of_windows(m: VectorModule) -> None:
    """``sums_of_windows``: the gradients of some filters of a group, an element at a time. What is in front of and
    behind the input counts as zeros.
    """
    f = m.function(
        "void sums_of_windows", "ptr call", "ptr x", "ptr slope", "ptr w", "i64 group", "i64 first", "i64 before",
        "i64 count",
    )  # fmt: skip
    call, x, slope, w, group, first, before, count = f.parameters
    get = {name: f.get(call, SLOPES, name) for name in SLOPES.fields if name not in ("slices", "slice_count")}
    zero, total = float_constant(0.0, f.floats.type, 1), f.slot(f"[1 x {f.floats.type}]")
    with ExitStack() as loops:

        def loop(number: Value) -> Value:
            return loops.enter_context(f.loop(number))

        number = f.op("add", f.op("add", first, before), loop(count))
        channel = loop(get["inner"])
        at = f.op("add", f.op("mul", number, get["inner"]), channel)
        taps = []
        for axis in range(3):
            taps.append(loop(get[f"kernel_{axis}"]))
            at = f.op("add", f.op("mul", at, get[f"kernel_{axis}"]), taps[-1])
        f.write(zero, total)
        near = f.moved(x, f.op("mul", f.op("add", f.op("mul", group, get["inner"]), channel), get["x_channel"]))
        far = f.moved(slope, f.op("mul", number, get["slope_filter"]))
        with ExitStack() as inner:
            image = inner.enter_context(f.loop(get["images"]))
            near, far = (
                f.moved(near, f.op("mul", image, get["x_image"])), f.moved(far, f.op("mul", image, get["slope_image"])),
            )  # fmt: skip
            is_inside = None
            for axis, tap in enumerate(taps):
                window = inner.enter_context(f.loop(get[f"places_{axis}"]))
                start = f.op("sub", f.op("mul", window, get[f"stride_{axis}"]), get[f"before_{axis}"])
                element = f.op("add", start, f.op("mul", tap, get[f"dilation_{axis}"]))
                fits = f.compare("ult", element, get[f"size_{axis}"])
                is_inside = fits if is_inside is None else f.op("and", is_inside, fits)
                near = f.moved(near, f.op("mul", element, get[f"x_{axis}"]))
                far = f.moved(far, f.op("mul", window, get[f"slope_{axis}"]))
            assert is_inside is not None
            here = near
            value = f.choose(is_inside, lambda: f.read(here, f.floats.type), lambda: zero)
            product = f.fmul(value, f.read(far, f.floats.type))
            f.write(f.fadd(f.read(total, f.floats.type), product), total)
        f.write(f.read(total, f.floats.type), f.moved(w, f.bytes_of(at)))
    f.ret()
