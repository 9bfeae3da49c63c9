"""Compiled programs, run by the reference evaluator, give what CPython gives."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from flambeau.interpreter.reference import evaluate
from flambeau.ir.verify import verify
from tests.frontend.programs import CASES
from tests.frontend.support import compiled


def outcome(call: Any, arguments: tuple[Any, ...]) -> Any:
    """The result of a call, or the text of what it raises."""
    try:
        return call(*copy.deepcopy(arguments))
    except Exception as error:
        return f"raised {str(error).rpartition(': ')[2].strip()}"


@pytest.mark.parametrize(("fn", "calls"), CASES, ids=[fn.__name__ for fn, _ in CASES])
def test_program_means_what_python_means(fn: Any, calls: list[tuple[Any, ...]]) -> None:
    function = compiled(fn)
    verify(function.graph)
    assert all(node.range is not None for node in function.graph.all_nodes())
    # What nobody reads on a path has no value of its type there.
    is_checked = function.graph.find("prim::Uninitialized") is None
    for arguments in calls:
        given = list(arguments)
        for argument in function.schema.arguments[len(given) :]:
            given.append(argument.default)
        expected = outcome(fn, arguments)
        actual = outcome(lambda *a: evaluate(function.graph, a, check_types=is_checked)[0], tuple(given))
        assert actual == expected, (fn.__name__, arguments)
