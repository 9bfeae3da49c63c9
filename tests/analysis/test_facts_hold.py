"""What plans claim of their values is so when they run: examples, numerical loops, and random programs."""

from __future__ import annotations

import copy
import linecache
from typing import Any

import pytest

import flambeau
from flambeau import Tensor
from flambeau.interpreter.reference import evaluate
from flambeau.ir.graph import Graph
from flambeau.jit.function import ScriptFunction
from flambeau.util.errors import InternalError
from tests.analysis.corpus import corpus
from tests.random_programs import check
from tests.random_programs.generate import generate

CHUNK = 30


def fresh(value: Any) -> Any:
    return value.clone() if isinstance(value, Tensor) else copy.deepcopy(value)


def hold(graph: Graph, arguments: tuple[Any, ...]) -> None:
    """Run a plan's graph and check of every value that it has the dtype, the rank and the known sizes of its type."""
    evaluate(graph, [fresh(a) for a in arguments])


@pytest.mark.parametrize(("function", "arguments"), list(corpus()), ids=lambda v: getattr(v, "__name__", ""))
def test_facts_of_programs_hold(function: Any, arguments: tuple[Any, ...]) -> None:
    scripted = function if isinstance(function, ScriptFunction) else flambeau.script(function)
    hold(scripted.graph_for(*arguments), arguments)


@pytest.mark.parametrize("chunk", range(4))
def test_facts_of_random_programs_hold(chunk: int) -> None:
    for seed in range(chunk * CHUNK, (chunk + 1) * CHUNK):
        filename = f"<facts {seed}>"
        function = check.compile_source(generate(seed).source(), filename)["main"]
        arguments = check.arguments(seed)
        try:
            graph = flambeau.script(function).graph_for(*arguments)
            hold(graph, arguments)
        except InternalError as error:
            pytest.fail(f"seed {seed}: {error}")
        except (RuntimeError, ValueError, IndexError, ZeroDivisionError):
            continue
        finally:
            linecache.cache.pop(filename, None)
