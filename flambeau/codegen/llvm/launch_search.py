"""Finds the launch of a call, whoever calls: among those for exactly its sizes, those for any size, and patterns."""

from __future__ import annotations

from flambeau.codegen.layouts import CELL, LAUNCH
from flambeau.codegen.llvm.builder import FunctionBuilder, ModuleBuilder
from flambeau.codegen.llvm.checked_emitter import NULL
from flambeau.codegen.llvm.emitter import Value
from flambeau.codegen.llvm.entry_geometry import FILLED, SPREAD, WRITTEN, add_geometry
from flambeau.codegen.llvm.entry_patterns import add_patterns
from flambeau.codegen.llvm.launch_inputs import LaunchInputs, add_same_numbers, input_of
from flambeau.codegen.llvm.launch_sizes import add_sizes


def add_search(m: ModuleBuilder, inputs: LaunchInputs, *, by_rows: bool = False) -> None:
    """Add ``find_launch(cell, inputs, n, shape, count, frame)``: a launch that serves the call, or null.

    It leaves the call's number of elements in ``count`` and the address of its dimensions in ``shape``, where the
    launch is one for any size; else -1 and null. A launch that has to be completed for the call is in the frame. Only
    with ``by_rows`` it knows launches that go over arrays row by row (see ``entry_geometry``).
    """
    add_same_numbers(m)
    inputs.add_functions(m)
    add_sizes(m)
    add_patterns(m)
    if by_rows:
        add_geometry(m)
    f = m.function(
        "ptr find_launch", "ptr cell", "ptr inputs", "i64 n", "ptr shape", "ptr count", "ptr frame",
    )  # fmt: skip
    cell, values, n, shape, count, frame = f.parameters
    chain = f.follow(f.load_acquire(f.field(cell, CELL, "launches")), lambda launch: f.get(launch, LAUNCH, "next"))
    f.store(shape, NULL)
    f.store(count, -1)
    with chain as launch:
        records = f.get(launch, LAUNCH, "inputs")
        if inputs.checks_count:
            count_of_launch = f.op("add", f.get(launch, LAUNCH, "n_in"), f.get(launch, LAUNCH, "fixed"))
            f.return_unless(f.compare("eq", n, count_of_launch), NULL)
        with f.loop(n) as k:
            f.require(f.call("matches", *input_of(f, values, records, k)), chain.next)
        if by_rows:
            _try_by_rows(f, launch, values, frame, chain.next)
        f.return_if(f.compare("eq", f.get(launch, LAUNCH, "size_at"), 0), launch)
        common = f.call("common_size", launch, values, n, shape)
        f.require(f.compare("sge", common, 0), chain.next)
        f.store(count, common)
        f.ret(launch)
    looks = f.load_acquire(f.field(cell, CELL, "looks"))
    f.ret(f.call("pattern_launch", looks, values, n, frame))


def _try_by_rows(f: FunctionBuilder, launch: Value, inputs: Value, frame: Value, other: str) -> None:
    """Return the launch for this call, if it goes over its arrays row by row; go on if it does not."""
    flat, spread, rows = f.label("flat"), f.label("spread"), f.label("rows")
    f.switch(f.get(launch, LAUNCH, "geometry"), rows, {0: flat, FILLED: flat, SPREAD: spread, WRITTEN: spread})
    for label, function in ((spread, "broadcast"), (rows, "by_rows")):
        f.start(label, falls_through=False)
        f.require(f.call(function, launch, inputs, frame), other)
        f.ret(frame)
    f.start(flat, falls_through=False)
