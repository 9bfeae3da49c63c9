"""How gradients flow through a function and back, from the cache on disk if an earlier process found that out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flambeau.analysis.gradients import Flow
from flambeau.autodiff.graph_gradient import Gradient
from flambeau.executor.compiled_gradients import Attach, GradientPlan, Refusal, Stacks, WayThere
from flambeau.executor.gradients import Asking
from flambeau.executor.options import Options
from flambeau.executor.records import RecordError, dumps, loads
from flambeau.executor.stored import CacheEntry, entry_of
from flambeau.ir.graph import Graph
from flambeau.program.function import Function
from flambeau.program.origin import Names, Provenance
from flambeau.schema.function import Argument, FunctionSchema
from flambeau.specialise.spec import Spec, describe


def flow_of(function: Function, spec: Spec, asks: Asking, make: Callable[[], Flow]) -> Flow:
    """How gradients flow through a function for arguments of a spec; `make` finds it out."""
    entry = entry_of(function, "flow", describe(spec), repr(asks))
    known = None if entry is None else entry.read()
    if isinstance(known, Flow):
        return known
    flow = make()
    if entry is not None:
        entry.keep(flow)
    return flow


def plan_of(
    function: Function,
    spec: Spec,
    asks: Asking,
    options: Options,
    make: Callable[[Provenance | None], GradientPlan | Refusal],
    attach: Attach,
) -> GradientPlan | Refusal:
    """How gradients go back through a function; `make` derives it, `attach` gives a function what runs it."""
    what = ("gradients", describe(spec), repr(asks))
    entry = None if options.verify else entry_of(function, *what)
    if entry is None or function.provenance is None:
        return make(None)
    provenance = function.provenance.part(*what)
    known = entry.read()
    if known is not None:
        return _read(known, function, entry, provenance, attach)
    plan = make(provenance)
    try:
        record = _record(plan, entry.origin.names)
    except RecordError as error:
        entry.say_why_not(error)
    else:
        entry.keep(record)
    return plan


def _record(plan: GradientPlan | Refusal, names: Names) -> Any:
    if isinstance(plan, Refusal):
        return plan.reason
    there = plan.way_there
    schema = there.function.schema
    signature = tuple((a.name, a.type) for a in schema.arguments), tuple(r.type for r in schema.returns)
    graph, gradient = dumps(there.function.graph, names), dumps(plan.gradient, names)
    return schema.name, signature, there.results, there.parameters, there.stacks.name, graph, gradient


def _read(
    record: Any, function: Function, entry: CacheEntry, provenance: Provenance, attach: Attach
) -> GradientPlan | Refusal:
    if isinstance(record, str):
        return Refusal(record)
    name, (taken, returned), results, parameters, stacks, graph, gradient = record
    names = entry.origin.names
    arguments = tuple(Argument(argument, type_) for argument, type_ in taken)
    schema = FunctionSchema(name, "", arguments, tuple(Argument("", type_) for type_ in returned))
    forward = Function(name, lambda: _loaded(graph, names, Graph), schema)
    way_there = WayThere(forward, results, parameters, Stacks[stacks])
    return GradientPlan(
        function.name, way_there, lambda: _loaded(gradient, names, Gradient), attach, provenance
    )


def _loaded(content: bytes, names: Names, kind: type[Any]) -> Any:
    value = loads(content, names)
    assert isinstance(value, kind)
    return value
