"""Objects that a program makes, links and lets go of are native, and what they are in CPython."""

from __future__ import annotations

import resource
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import pytest

import flambeau
from flambeau import Tensor
from tests.codegen.graph.one_meaning import assert_native


class Node:
    def __init__(self, key: int, next_: Node | None = None) -> None:
        self.key = key
        self.next = next_
        self.left: Node | None = None
        self.right: Node | None = None


def reversed_list(n: int) -> int:
    head: Node | None = None
    for k in range(n):
        head = Node(k, head)
    before: Node | None = None
    while head is not None:
        following = head.next
        head.next = before
        before = head
        head = following
    total, weight = 0, 1
    while before is not None:
        total += before.key * weight
        weight += 1
        before = before.next
    return total


def insert(root: Node | None, key: int) -> Node:
    if root is None:
        return Node(key)
    if key < root.key:
        root.left = insert(root.left, key)
    else:
        root.right = insert(root.right, key)
    return root


def search_tree(n: int) -> list[int]:
    root: Node | None = None
    key = n
    for _ in range(n):
        key = (key * 1103515245 + 12345) % 10007
        root = insert(root, key)
    keys: list[int] = []
    waiting: list[Node] = []
    node = root
    while node is not None or len(waiting) > 0:
        while node is not None:
            waiting.append(node)
            node = node.left
        last = waiting.pop()
        keys.append(last.key)
        node = last.right
    return keys


class Trie:
    def __init__(self) -> None:
        self.kids: dict[str, Trie] = {}
        self.slots: list[Trie | None] = [None, None]
        self.words: set[str] = set()

    def insert(self, word: str) -> None:
        node = self
        for letter in word:
            if letter not in node.kids:
                node.kids[letter] = Trie()
            node = node.kids[letter]
            node.words.add(word)
        node.slots[len(word) % 2] = self


def trie(n: int) -> list[int]:
    root = Trie()
    for k in range(n):
        root.insert(str(k * k))
    counts: list[int] = []
    for letter, kid in root.kids.items():
        counts.append(ord(letter) * 100 + len(kid.words))
        counts.append(1 if kid.slots[1] is root else 0)
        counts.append(1 if kid.slots[0] is None else 0)
    return counts


class Link:
    """One that refers to itself before it has all that it will have."""

    def __init__(self, value: int) -> None:
        self.before = self
        self.behind = self
        self.value = value


def ring(n: int) -> int:
    root = Link(-1)
    for k in range(n):
        new = Link(k)
        last = root.before
        last.behind = new
        new.before = last
        new.behind = root
        root.before = new
    total = 0
    link = root.behind
    while link is not root:
        total = total * 3 % 1000007 + link.value
        if link.value % 3 == 0:
            link.before.behind = link.behind
            link.behind.before = link.before
        link = link.behind
    return total


class Branch:
    def __init__(self, depth: int) -> None:
        self.kids: list[Branch] = []
        self.depth = depth
        if depth > 0:
            for _ in range(2):
                self.kids.append(Branch(depth - 1))

    def total(self) -> int:
        total = self.depth
        for kid in self.kids:
            total += kid.total()
        return total


def branches(n: int) -> int:
    return Branch(n % 5).total()


class Spot(NamedTuple):
    row: int
    weight: float


@dataclass
class Body:
    at: Spot
    name: str = "b"
    turns: complex = 1j
    marks: list[int] = field(default_factory=list)

    def __lt__(self, other: Body) -> bool:
        return self.at.row < other.at.row


def bodies(n: int) -> list[Body]:
    made = [Body(Spot(k * 7 % 11, k / 2.0), "n" + str(k)) for k in range(n)]
    for k in range(n):
        body = made[k]
        if body < made[(k + 3) % n]:
            body.at = Spot(body.at.row + n, body.at.weight * 1.5)
            body.turns *= 2j
        body.marks.append(len(body.name))
    made.sort(key=lambda b: b.at.row)
    return [*made[1:], made[0]] + made[:2]  # noqa: RUF005


def several_names(n: int) -> tuple[Body, Body, dict[int, Body], Body | None]:
    a, b = Body(Spot(1, 1.0)), Body(Spot(2, 2.0))
    by_row: dict[int, Body] = {}
    last: Body | None = None
    for k in range(n):
        a, b = b, a
        a.marks = b.marks
        a.marks.append(k)
        by_row[k % 4] = a
        if k % 3 == 2:
            last = by_row[k % 4]
    return a, a, by_row, last


def caught(n: int) -> int:
    nodes = [Node(k) for k in range(n)]
    total = 0
    for k in range(n + 2):
        try:
            total += nodes[k].key
            nodes[k].key = total
        except IndexError:
            total += 100
    return total


def known_classes(n: int) -> int:
    last: Node | None = None
    total = 0
    for k in range(n):
        if isinstance(last, Node):
            total += last.key
        last = Node(k) if k % 2 else None
    return total


PROGRAMS: tuple[Callable[[int], Any], ...] = (
    reversed_list, search_tree, trie, ring, branches, bodies, several_names, caught, known_classes
)  # fmt: skip


def shape(value: Any, seen: dict[int, int] | None = None, kept: list[Any] | None = None) -> Any:
    """A value with all objects in it, each that was met before by its number."""
    seen, kept = ({}, []) if seen is None or kept is None else (seen, kept)
    if isinstance(value, int | float | complex | str) or value is None:
        return type(value).__name__, repr(value)
    if id(value) in seen:
        return seen[id(value)]
    seen[id(value)] = len(seen)
    kept.append(value)
    inner = vars(value) if hasattr(value, "__dict__") else value
    if isinstance(inner, dict):
        return type(value).__name__, [(shape(k, seen, kept), shape(v, seen, kept)) for k, v in inner.items()]
    return type(value).__name__, [shape(item, seen, kept) for item in inner]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_o1_objects_that_a_program_makes_are_what_they_are_in_python(program: Callable[[int], Any]) -> None:
    scripted = flambeau.script(program)
    for n in (5, 12, 3, 12):
        assert shape(scripted(n)) == shape(program(n))
    assert_native(scripted)


def chain(n: int) -> Node | None:
    head: Node | None = None
    for k in range(n):
        head = Node(k, head)
    return head


def chain_in_lists(n: int) -> int:
    tree = Branch(0)
    for _ in range(n):
        above = Branch(0)
        above.kids.append(tree)
        tree = above
    return len(tree.kids)


def test_o2_chains_of_any_length_are_let_go_of_and_given_back() -> None:
    assert flambeau.script(reversed_list)(300_000) > 0
    assert flambeau.script(chain_in_lists)(300_000) == 1
    node, count = flambeau.script(chain)(20_000), 0
    while node is not None:
        assert node.key == 19_999 - count
        node, count = node.next, count + 1
    assert count == 20_000


def found_wrong(n: int) -> int:
    nodes = [Node(k) for k in range(n)]
    for node in nodes:
        if node.key == 3:
            raise ValueError(f"node {node.key} of {len(nodes)}")
    return nodes[5].key


def test_o3_errors_are_those_of_python() -> None:
    scripted = flambeau.script(found_wrong)
    with pytest.raises(ValueError, match="node 3 of 7") as raised:
        scripted(7)
    assert "raise ValueError" in str(raised.value)
    with pytest.raises(IndexError):
        scripted(2)
    assert_native(scripted)


def turned_over(n: int) -> int:
    total = 0
    for k in range(n):
        node = Node(k)
        node.left = Node(k, node)
        inner = node.left
        if inner is not None:
            total += inner.key
            inner.next = None
    return total


def test_o4_memory_does_not_grow() -> None:
    scripted = flambeau.script(turned_over)
    given_back = flambeau.script(several_names)
    scripted(100_000)
    given_back(3)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert scripted(1_000_000) == sum(range(1_000_000))
    for _ in range(10_000):
        scripted(3)
    for _ in range(1_000):
        given_back(3)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 20_000
    assert_native(scripted)


class Layer:
    def __init__(self, weight: Tensor, bias: Tensor | None) -> None:
        self.weight = weight
        self.bias = bias
        self.below: Layer | None = None
        self.hits = 0


def layers(n: int) -> Tensor:
    top: Layer | None = None
    for k in range(n):
        layer = Layer(flambeau.ones(3, 3) * k, None if k % 2 == 0 else flambeau.ones(3))
        layer.below = top
        top = layer
    x = flambeau.ones(3)
    layer_or_none = top
    while layer_or_none is not None:
        bias = layer_or_none.bias
        x = x @ layer_or_none.weight
        if bias is not None:
            x = x + bias
        x = x / (1.0 + x.abs().max())
        layer_or_none.hits += 1
        layer_or_none.weight[0, 0] += 1.0
        layer_or_none = layer_or_none.below
    return x if top is None else x + top.weight.sum()


class Point:
    def __init__(self, n: int) -> None:
        self.position = np.zeros(n)
        self.speed = np.ones(n)
        self.peer: Point | None = None


def pulled(n: int) -> float:
    points: list[Point] = []
    for _ in range(n):
        points.append(Point(n))
    for k in range(n):
        points[k].peer = points[(k + 1) % n]
    for step in range(5):
        for point in points:
            point.position += point.speed * 0.1
            peer = point.peer
            if peer is not None:
                peer.speed[step % n] += point.position[0]
    total = 0.0
    for point in points:
        total += point.position.sum() + point.speed[0]
    return float(total)


@pytest.mark.parametrize("program", [layers, pulled], ids=lambda p: p.__name__)
def test_o6_tensors_and_arrays_are_attributes(program: Callable[[int], Any]) -> None:
    scripted = flambeau.script(program)
    for n in (3, 4, 1, 5):
        np.testing.assert_allclose(np.asarray(scripted(n)), np.asarray(program(n)), rtol=1e-5)
    assert_native(scripted)


def given_back(n: int) -> Layer:
    layer = Layer(flambeau.ones(2), None)
    for _ in range(n):
        above = Layer(layer.weight + 1.0, None)
        above.below = layer
        layer = above
    return layer


def test_o7_an_object_with_a_tensor_comes_back_from_the_machine() -> None:
    scripted = flambeau.script(given_back)
    layer = scripted(3)
    assert layer.weight.tolist() == [4.0, 4.0]
    assert layer.below is not None
    assert layer.below.weight.tolist() == [3.0, 3.0]
    assert "an object with a tensor in it leaves the function" in " ".join(str(scripted.explain()).split())


class Held:
    def __init__(self, x: Tensor) -> None:
        self.x = [x]


def held(n: int) -> float:
    items = [Held(flambeau.ones(2)) for _ in range(n)]
    last = items[0]
    for item in items:
        item.x = [last.x[0] + 1.0]
        last = item
    return float(last.x[0].sum())


def unfilled(n: int) -> int:
    nodes: list[Early] = []
    for k in range(n):
        nodes.append(Early(k, nodes))
    return len(nodes)


class Early:
    def __init__(self, key: int, seen: list[Early]) -> None:
        seen.append(self)
        self.key = key


REFUSED: dict[Callable[[int], Any], str] = {
    held: "attribute x of class Held is a List[Tensor], which objects in native code cannot have",
    unfilled: "key of an object is not assigned before the object is used as a whole",
}


@pytest.mark.parametrize("program", REFUSED, ids=lambda p: p.__name__)
def test_o5_what_has_no_native_form_says_so_and_is_right(program: Callable[[int], Any]) -> None:
    scripted = flambeau.script(program)
    for n in (3, 5):
        assert scripted(n) == program(n)
    assert REFUSED[program] in " ".join(str(scripted.explain()).split())
