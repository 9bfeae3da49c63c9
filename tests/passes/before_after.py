"""Before and after: two graphs and a pass."""

from __future__ import annotations

from collections.abc import Callable

import flambeau.ops  # noqa: F401
from flambeau.ir import Graph, parse_ir
from flambeau.ir.clone import clone_graph
from flambeau.ir.equal import first_difference
from flambeau.ir.verify import verify

Pass = Callable[[Graph], bool]


def expect(run: Pass, before: str, after: str) -> Graph:
    """`run` turns one graph into the other, says so, leaves a valid graph, and does nothing the second time."""
    graph, wanted = parse_ir(before), parse_ir(after)
    verify(graph)
    changed = run(graph)
    verify(graph)
    found = first_difference(graph, wanted)
    assert found is None, f"{found}\n--- got\n{graph}--- wanted\n{wanted}"
    assert changed == (first_difference(parse_ir(before), graph) is not None)
    copy = clone_graph(graph)
    assert not run(copy), f"a second run changed the graph to\n{copy}"
    return graph


def expect_same(run: Pass, text: str) -> None:
    """`run` leaves the graph alone, and says so."""
    expect(run, text, text)
