"""Generators that are kept while a program runs: each is a `Running` body that goes on when it is asked for an item.

it = g(3)          →    %it : Any = ^generator(%three)      a Running, which has not begun
a = next(it)       →    %next : (bool, Any) = ^next(%it)    to the next `^yield` in the body, or to its end
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from typing import Any

from flambeau.program.function import Function
from flambeau.program.protected import class_of
from flambeau.util.inversions import GENERATOR_STEPS

ENDED = "generator raised StopIteration"
GOES_ON = "generator ignored GeneratorExit"


class Closed(BaseException):
    """Raised at the `yield` where a generator stands that is ended early, as GeneratorExit is in Python.

    (That one cannot be handled within `yield from`.)
    """


class Running:
    """What goes on item by item: the body of a generator, or an iterator over a container."""

    __slots__ = ("items",)

    def __init__(self, items: Iterator[Any]) -> None:
        self.items = items

    def __del__(self) -> None:
        close(self)


class Suspended:
    """What a `^generator` node calls: the body, which is run from `^yield` to `^yield`."""

    def __init__(self) -> None:
        self.body: Function | None = None
        self.__name__ = "generator"

    def __call__(self, *values: Any) -> Running:
        """A generator that has not begun."""
        assert self.body is not None
        return Running(GENERATOR_STEPS.implementation(self.body, values))


def step(running: Running) -> tuple[bool, Any]:
    """Whether there is another item, and the item.

    >>> it = Running(iter([1]))
    >>> step(it), step(it)
    ((True, 1), (False, None))
    """
    try:
        for item in running.items:
            return True, item
    except Exception as error:
        if class_of(error) is StopIteration:
            raise RuntimeError(ENDED) from error
        raise
    return False, None


def rest(running: Running) -> list[Any]:
    """The items that are left.

    >>> rest(Running(iter((1, 2))))
    [1, 2]
    """
    items: list[Any] = []
    while True:
        there, item = step(running)
        if not there:
            return items
        items.append(item)


def over(items: Any) -> Running:
    """An iterator over a list, a text, a dict or a tuple."""
    return Running(iter(items))


def close(running: Running) -> None:
    """End a generator where it stands: what its `finally` and `with` do, is done."""
    items, running.items = running.items, iter(())
    if isinstance(items, Generator):
        try:
            items.throw(Closed())
        except (Closed, StopIteration):
            return
        raise RuntimeError(GOES_ON)


def hand_over(item: Any) -> None:
    """What a `^yield` node calls where nothing takes the item."""
    raise RuntimeError("yield outside of a generator that runs")
