"""Objects of native code as instances of their classes: each block as one instance, whatever refers to it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from flambeau.codegen.graph.class_fields import FIRST, python_fields
from flambeau.codegen.graph.object_arguments import ArgumentObjects
from flambeau.codegen.graph.representation import Object, Representation, word_count
from flambeau.codegen.graph.shown_tensors import words_at
from flambeau.codegen.layouts import WORD
from flambeau.program import instances

Read = Callable[[Representation, Iterator[int]], Any]
"""Gives the value of words, as an object of Python's."""


class SeenObjects:
    """The instances so far, by their blocks. New ones have no attributes until they are filled, since objects may refer
    to each other in circles, and in chains longer than Python's stack.
    """

    def __init__(self) -> None:
        self._instances: dict[int, Any] = {}
        self._unfilled: list[tuple[Object, int, Any]] = []

    def know(self, objects: ArgumentObjects) -> None:
        """Have blocks that stand for objects be these objects."""
        for one, _ in objects.stand_ins:
            self._instances[one.address] = one.value

    def instance(self, rep: Object, block: int) -> Any:
        """The instance of a block; None where a variable was never set."""
        if not block:
            return None
        if block not in self._instances:
            self._instances[block] = instances.create(rep.definition)
            self._unfilled.append((rep, block, self._instances[block]))
        return self._instances[block]

    def fill(self, read: Read) -> None:
        """Give new instances their attributes, and those that these refer to."""
        while self._unfilled:
            rep, block, instance = self._unfilled.pop()
            fields = python_fields(rep.definition)
            words = words_at(block + WORD * FIRST, sum(map(word_count, fields.values())))
            for name, field in fields.items():
                instances.writer(name)(instance, read(field, words))
