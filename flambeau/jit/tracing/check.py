"""Is a trace right? It is run beside the Python function, and the function is traced again."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from flambeau.ir.constants import CONSTANT
from flambeau.ir.equal import first_difference
from flambeau.ir.graph import Graph, Node
from flambeau.ir.literals import is_tensor
from flambeau.jit.tracing.inputs_and_outputs import flat
from flambeau.jit.tracing.run import Call, Recorded, Run, state_restored
from flambeau.passes.freeze_objects import objects_below
from flambeau.program.object import ScriptObject
from flambeau.tensor.settled import readable
from flambeau.util.errors import GuardError, TracerWarning, TracingCheckError

NONDETERMINISTIC = (
    "Trace had nondeterministic nodes. Did you forget call .eval() on your model? Nodes: {nodes}. "
    "Its results are not compared"
)
GRAPHS_DIFFER = "Graphs differed across invocations!\n{difference}"
CONSTANTS_DIFFER = (
    "Tensor-valued Constant nodes differed in value across invocations. This often indicates that the tracer has "
    "encountered untraceable code.\n{where}"
)
OUTPUTS_DIFFER = (
    "Output nr {number}. of the traced function does not match the corresponding output of the Python function. "
    "Detailed error:\nexpected\n{want}\ngot\n{got}"
)
STRUCTURES_DIFFER = "The traced function gives {got} tensors and the Python function {want} for the same inputs"
LEVEL = 3
"""How many frames there are up to the user."""


def check(run: Run, traced: Any, recorded: Recorded, call: Call, tolerance: float) -> None:
    """Compare a trace with its function on some inputs.

    Raises TracingCheckError if another run gives another graph; warns of results that differ or cannot be compared.
    """
    _compare_graphs(recorded.flat, run.record(call, warn=False).flat)
    if recorded.random:
        nodes = ", ".join(sorted(set(recorded.random)))
        warnings.warn(NONDETERMINISTIC.format(nodes=nodes), TracerWarning, stacklevel=LEVEL)
        return
    _compare_results(run, traced, call, tolerance)


def _compare_graphs(first: Graph, again: Graph) -> None:
    problems = []
    difference = first_difference(first, again, types=False)
    if difference is not None:
        problems.append(GRAPHS_DIFFER.format(difference=difference))
    for one, other in zip(_tensors(first), _tensors(again), strict=False):
        a, b = (n.attributes["value"].detach().numpy() for n in (one, other))
        if a.shape != b.shape or not np.array_equal(a, b, equal_nan=a.dtype.kind in "fc"):
            problems.append(CONSTANTS_DIFFER.format(where=one.range or one))
            break
    if problems:
        raise TracingCheckError("\n".join(("Tracing failed sanity checks!", *problems)))


@contextmanager
def _objects_restored(traced: Any) -> Iterator[None]:
    """Within the block, a traced module may assign its attributes; afterwards they are what they were."""
    owner = getattr(traced, "script_object", getattr(traced, "owner", None))
    below = objects_below([owner]) if isinstance(owner, ScriptObject) else []
    before = [(instance, list(instance.values)) for instance in below if isinstance(instance, ScriptObject)]
    try:
        yield
    finally:
        for instance, values in before:
            instance.values[:] = values


def _tensors(graph: Graph) -> list[Node]:
    return [n for n in graph.find_all(CONSTANT) if is_tensor(n.attributes.get("value"))]


def _compare_results(run: Run, traced: Any, call: Call, tolerance: float) -> None:
    for_python, for_trace = call.fresh(), call.fresh()
    with state_restored(run.module):
        want = list(flat(run.func(*for_python.args, **for_python.keywords)))
    try:
        with state_restored(run.module), _objects_restored(traced):
            got = list(flat(traced(*for_trace.args, **for_trace.keywords)))
    except GuardError as error:
        raise TracingCheckError(f"The trace does not serve these inputs: {error}") from error
    if len(want) != len(got):
        raise TracingCheckError(STRUCTURES_DIFFER.format(want=len(want), got=len(got)))
    for number, (a, b) in enumerate(zip(want, got, strict=True), 1):
        x, y = readable(a).detach().numpy(), readable(b).detach().numpy()
        if x.shape != y.shape or not np.allclose(x, y, rtol=tolerance, atol=tolerance, equal_nan=True):
            warnings.warn(OUTPUTS_DIFFER.format(number=number, want=x, got=y), TracerWarning, stacklevel=LEVEL + 1)
            return
