"""Objects that refer to each other, given to programs; and classes whose methods have names that tensors' have."""

from __future__ import annotations

import pytest

import flambeau
from flambeau.jit.arguments import ArgumentError


class Node:
    def __init__(self, key: int):
        self.key = key
        self.left: Node | None = None
        self.right: Node | None = None


class Words:
    def __init__(self) -> None:
        self.kids: dict[str, int] = {}

    def add(self, word: str) -> None:
        self.kids[word] = self.kids.get(word, 0) + 1


def walk(root: Node, wanted: Node | None) -> tuple[int, int]:
    total, same = 0, 0
    stack = [root]
    while len(stack) > 0:
        node = stack.pop()
        total += node.key
        if node is wanted:
            same += 1
        left, right = node.left, node.right
        if left is not None:
            stack.append(left)
        if right is not None:
            stack.append(right)
    return total, same


def tree(n: int) -> list[Node]:
    nodes = [Node(k) for k in range(n)]
    for k, node in enumerate(nodes):
        node.left = nodes[2 * k + 1] if 2 * k + 1 < n else None
        node.right = nodes[2 * k + 2] if 2 * k + 2 < n else None
    return nodes


def test_identity_of_objects_and_none_is_pythons_on_every_path() -> None:
    for scripted in (flambeau.script(walk), flambeau.script(walk, backend="interpreter")):
        for n in (1, 2, 30, 200):
            nodes = tree(n)
            for wanted in (None, nodes[0], nodes[-1], Node(0)):
                for _ in range(3):
                    assert scripted(nodes[0], wanted) == walk(nodes[0], wanted)


def test_a_link_of_another_class_is_refused() -> None:
    nodes = tree(3)
    scripted = flambeau.script(walk)
    assert scripted(nodes[0], None) == (3, 0)
    nodes[0].left = Words()  # type: ignore[assignment]
    with pytest.raises(ArgumentError, match="left"):
        scripted(nodes[0], None)


def counted(words):
    known = Words()
    for word in words:
        known.add(word)
    return len(known.kids)


def test_a_method_that_has_the_name_of_a_tensors_does_not_say_tensor() -> None:
    scripted = flambeau.script(counted)
    for words in (["a"], ["a", "b", "a"], ["c", "c"]):
        assert scripted(words) == counted(words)
