"""Finds the plan of a call, whoever calls: among plans for exactly its sizes, plans for any size, and patterns."""

from __future__ import annotations

from flambeau.codegen.layouts import CELL, PLAN
from flambeau.codegen.llvm.builder import NULL, FunctionBuilder, ModuleBuilder, Value
from flambeau.codegen.llvm.entry_geometry import SPREAD, WRITTEN, add_geometry
from flambeau.codegen.llvm.entry_patterns import add_patterns
from flambeau.codegen.llvm.plan_inputs import PlanInputs, add_same_numbers, input_of
from flambeau.codegen.llvm.plan_sizes import add_sizes


def add_search(m: ModuleBuilder, inputs: PlanInputs, *, by_rows: bool = False) -> None:
    """Add ``find_plan(cell, inputs, n, shape, count, frame)``: a plan that serves the call, or null.

    It leaves the call's number of elements in ``count`` and the address of its dimensions in ``shape``, where the plan
    is one for any size; else -1 and null. A plan that has to be completed for the call is in the frame. Only with
    ``by_rows`` it knows plans that go over arrays row by row (see ``entry_geometry``).
    """
    add_same_numbers(m)
    inputs.add_functions(m)
    add_sizes(m)
    add_patterns(m)
    if by_rows:
        add_geometry(m)
    f = m.function(
        "ptr find_plan", "ptr cell", "ptr inputs", "i64 n", "ptr shape", "ptr count", "ptr frame",
    )  # fmt: skip
    cell, values, n, shape, count, frame = f.parameters
    chain = f.follow(f.load_acquire(f.field(cell, CELL, "plans")), lambda plan: f.get(plan, PLAN, "next"))
    f.store(shape, NULL)
    f.store(count, -1)
    with chain as plan:
        records = f.get(plan, PLAN, "inputs")
        if inputs.checks_count:
            f.return_unless(f.compare("eq", n, f.get(plan, PLAN, "n_in")), NULL)
        with f.loop(n) as k:
            f.require(f.call("matches", *input_of(f, values, records, k)), chain.next)
        if by_rows:
            _try_by_rows(f, plan, values, frame, chain.next)
        f.return_if(f.compare("eq", f.get(plan, PLAN, "size_at"), 0), plan)
        common = f.call("common_size", plan, values, n, shape)
        f.require(f.compare("sge", common, 0), chain.next)
        f.store(count, common)
        f.ret(plan)
    looks = f.load_acquire(f.field(cell, CELL, "looks"))
    f.ret(f.call("pattern_plan", looks, values, n, frame))


def _try_by_rows(f: FunctionBuilder, plan: Value, inputs: Value, frame: Value, other: str) -> None:
    """Return the plan for this call, if it goes over its arrays row by row; go on if it does not."""
    flat, spread, rows = f.label("flat"), f.label("spread"), f.label("rows")
    f.switch(f.get(plan, PLAN, "geometry"), rows, {0: flat, SPREAD: spread, WRITTEN: spread})
    for label, function in ((spread, "broadcast"), (rows, "by_rows")):
        f.start(label, falls_through=False)
        f.require(f.call(function, plan, inputs, frame), other)
        f.ret(frame)
    f.start(flat, falls_through=False)
