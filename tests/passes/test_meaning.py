"""No pass changes what a program does: results, aliasing of results, and what it did to its arguments."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import flambeau.ops  # noqa: F401
from flambeau.analysis import shapes
from flambeau.interpreter.reference import evaluate
from flambeau.ir import Graph, parse_ir
from flambeau.ir.clone import clone_graph
from flambeau.ir.verify import verify
from flambeau.passes import (
    canonicalize,
    constant_pooling,
    constant_propagation,
    cse,
    dce,
    fuse,
    licm,
    loop_unrolling,
    lower_tuples,
    peephole,
    pipeline,
    remove_mutation,
)
from flambeau.schema.device import CPU
from flambeau.schema.dtype import float32
from flambeau.schema.types import TensorType
from flambeau.tensor.tensor import Tensor, wrap
from tests.passes.random_graphs import Builder

FACTS = TensorType(dtype=float32, sizes=(None, None), device=CPU, requires_grad=False)


def specialised(run: Callable[[Graph], bool]) -> Callable[[Graph], bool]:
    """A pass on a graph that knows what its arguments are."""

    def wrapped(graph: Graph) -> bool:
        for value in graph.parameters:
            if isinstance(value.static_type, TensorType):
                value.set_type(FACTS)
        shapes.propagate(graph)
        return run(graph)

    return wrapped


PASSES: dict[str, Callable[[Graph], bool]] = {
    "dce": dce.do,
    "cse": cse.do,
    "constant_propagation": constant_propagation.do,
    "constant_pooling": constant_pooling.do,
    "peephole": peephole.do,
    "licm": licm.do,
    "loop_unrolling": loop_unrolling.do,
    "lower_tuples": lower_tuples.do,
    "canonicalize": canonicalize.do,
    "licm with facts": specialised(licm.do),
    "fuse": specialised(fuse.do),
    "peephole with facts": specialised(peephole.do),
    "remove_mutation with facts": specialised(remove_mutation.do),
    "pipeline with facts": specialised(lambda graph: pipeline.optimise(graph, check=True)),
    "pipeline": lambda graph: pipeline.optimise(graph, check=True),
}
MAY_DROP_FAILURES = frozenset({"dce", "cse", "pipeline", "pipeline with facts"})
PROGRAMS = 40


def arguments() -> list[Any]:
    a = wrap(np.array([[1.5, -2.0], [0.0, -0.0]], np.float32))
    b = wrap(np.array([[np.nan, 1.0], [-1.0, 4.0]], np.float32))
    return [a, b, 3, -2, True, [5, 6], [a]]


def shown(value: Any, seen: dict[int, int]) -> Any:
    """A value with the identity of every object in it."""
    if isinstance(value, Tensor):
        storage = seen.setdefault(id(value.untyped_storage()), len(seen))
        return ("tensor", seen.setdefault(id(value), len(seen)), storage, repr(value._array.tolist()), str(value.dtype))
    if isinstance(value, list):
        return ("list", seen.setdefault(id(value), len(seen)), [shown(v, seen) for v in value])
    return tuple(shown(v, seen) for v in value) if isinstance(value, tuple) else repr(value)


def outcome(graph: Graph) -> tuple[Any, Any]:
    """What two calls do. Between them the caller writes to what the first returned: the second must not notice."""
    first, results = one_call(graph)
    for value in results:
        if isinstance(value, list) and value:
            value.append(value[0])
        elif isinstance(value, Tensor):
            value._array[...] = 7
    return first, one_call(graph)[0]


def one_call(graph: Graph) -> tuple[Any, Any]:
    given = arguments()
    held = list(given)
    printed = io.StringIO()
    results: Any = ()
    try:
        with np.errstate(all="ignore"), contextlib.redirect_stdout(printed):
            results = evaluate(graph, given, check_types=False)
    except (RuntimeError, ArithmeticError, LookupError) as error:
        return (type(error).__name__, str(error), printed.getvalue(), shown(held, {})), ()
    return ("ok", shown((held, results, printed.getvalue()), {})), results


@pytest.mark.parametrize("name", PASSES)
def test_random_programs_do_the_same_after_a_pass(name: str) -> None:
    changed = 0
    for seed in range(PROGRAMS):
        graph = Builder(seed).program(8)
        verify(graph)
        before = outcome(graph)
        after_graph = clone_graph(graph)
        changed += PASSES[name](after_graph)
        verify(after_graph)
        if before[0][0] != "ok" and name in MAY_DROP_FAILURES:
            continue
        after = outcome(after_graph)
        assert after == before, f"seed {seed}\n{graph}\n{after_graph}\n{before}\n{after}"
    assert changed


def test_random_programs_print_and_parse() -> None:
    for seed in range(PROGRAMS):
        text = str(Builder(seed).program(10))
        assert str(parse_ir(text)) == text
