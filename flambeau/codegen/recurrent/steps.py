"""What layers need around their steps: copies and sums of arrays that lie anyhow."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from flambeau.codegen.llvm.builder import ModuleBuilder
from flambeau.codegen.llvm.emitter import Target, Value, float_constant
from flambeau.codegen.recurrent.panels import panel_function
from flambeau.codegen.recurrent.words import ARRANGE


def add_arrange(m: ModuleBuilder, dtype: str, target: Target) -> None:
    """``arrange(block)``: an array of three dimensions to another place, with an array added; zeros where there is
    none.
    """
    f = panel_function(m, "arrange", dtype, target)
    get = {name: f.word_of(f.parameters[0], k) for k, name in enumerate(ARRANGE)}
    source, added, result = (
        f.word_of(f.parameters[0], ARRANGE.index(name), "ptr") for name in ("source", "added", "result")
    )
    zero = float_constant(0.0, f.element, 1)
    is_copy = f.all_of(
        f.is_null(added), f.negated(f.is_null(source)), f.compare("eq", get["source_column"], f.size),
        f.compare("eq", get["result_column"], f.size),
    )  # fmt: skip
    with f.loop(get["planes"]) as plane, f.loop(get["rows"]) as row:
        from_, also, to = (
            f.offset(base, f.op("add", f.mul(plane, get[f"{name}_plane"]), f.mul(row, get[f"{name}_row"])))
            for base, name in ((source, "source"), (added, "added"), (result, "result"))
        )
        with f.when(is_copy):
            f.copy(to, from_, f.bytes_of(get["columns"]))
        with f.loop(f.pick(is_copy, 0, get["columns"])) as column:

            def read(address: Value, name: str, column: Value = column) -> Value:
                return f.read(f.offset(address, f.mul(column, get[f"{name}_column"])), f.element, align=f.size)

            value = f.choose(f.is_null(source), lambda: zero, partial(read, from_, "source"))

            def more(value: Value = value, read: Callable[..., Value] = read) -> Value:
                return f.fadd(value, read(also, "added"))

            total = f.choose(f.is_null(added), partial(_same, value), more)
            f.write(total, f.offset(to, f.mul(column, get["result_column"])), align=f.size)
    f.ret()


def _same(value: Value) -> Value:
    return value
