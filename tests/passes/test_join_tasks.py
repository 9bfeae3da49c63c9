"""Tasks as calls: which graphs can be had without futures."""

from __future__ import annotations

import pytest

from flambeau import jit
from flambeau.ir.verify import verify
from flambeau.passes.join_tasks import joined

UNIT = """
def doubled(n: int) -> int:
    return n * 2

def in_lists(n: int) -> int:
    tasks: List[Future[int]] = []
    for i in range(n):
        tasks.append(fork(doubled, i))
    total = 0
    for task in tasks:
        total += wait(task)
    return total

def chosen(n: int) -> int:
    if n > 2:
        task = fork(doubled, n)
    else:
        task = fork(doubled, -n)
    return wait(task) + wait(task)

def paired(n: int) -> int:
    pair = (fork(doubled, n), n)
    return wait(pair[0]) + pair[1]

def given(task: Future[int]) -> int:
    return wait(task)

def gives(n: int) -> Future[int]:
    return fork(doubled, n)

def printed(n: int) -> int:
    task = fork(doubled, n)
    print(task)
    return wait(task)
"""


@pytest.mark.parametrize("name", ["in_lists", "chosen", "paired"])
def test_c14_graphs_without_futures(name: str) -> None:
    unit = jit.CompilationUnit(UNIT.replace("fork(", "jit.fork(").replace("wait(", "jit.wait("))
    graph = joined(getattr(unit, name).inlined_graph)
    assert graph is not None
    verify(graph, stage="the test")
    text = str(graph)
    assert "Future" not in text
    assert "fork" not in text
    assert "wait" not in text


@pytest.mark.parametrize("name", ["given", "gives", "printed"])
def test_c14_futures_that_are_more_than_waited_for(name: str) -> None:
    unit = jit.CompilationUnit(UNIT.replace("fork(", "jit.fork(").replace("wait(", "jit.wait("))
    assert joined(getattr(unit, name).inlined_graph) is None
