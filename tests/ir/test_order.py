"""Nodes know their order, wherever and however often others are put between them."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest

from flambeau.ir.graph import Graph, Node


def in_order(graph: Graph) -> bool:
    nodes = list(graph.body)
    return all(a.is_before(b) and not b.is_before(a) for a, b in pairwise(nodes))


@pytest.mark.parametrize("where", ["before the first", "before the last", "after the first", "anywhere"])
def test_order_of_inserted_nodes(where: str) -> None:
    rng, graph = random.Random(where), Graph()
    nodes = [Node(graph, "prim::first"), Node(graph, "prim::last")]
    for node in nodes:
        graph.body.append(node)
    for _ in range(500):
        node = Node(graph, "prim::other")
        if where == "before the first":
            node.insert_before(graph.body.first or graph.body.return_node)
        elif where == "before the last":
            node.insert_before(nodes[1])
        elif where == "after the first":
            node.insert_after(nodes[0])
        else:
            (node.insert_before if rng.random() < 0.5 else node.insert_after)(rng.choice(nodes))
            nodes.append(node)
    assert in_order(graph)
    for node in list(graph.body)[::3]:
        node.erase()
    assert in_order(graph)
