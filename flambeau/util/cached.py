"""Properties that are computed once.

>>> class Word:
...     def __init__(self, text): self.text = text
...     @cached_property
...     def length(self): return len(self.text)
>>> word = Word("four")
>>> word.length, vars(word)
(4, {'text': 'four', 'length': 4})
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

T = TypeVar("T")


class cached_property(Generic[T]):  # noqa: N801  (as in functools)
    """A property that keeps its value in the instance. Threads that ask at once may all compute it; they get one value.

    That of `functools` takes a lock on Python 3.11, which a process forked meanwhile would never find free.
    """

    def __init__(self, compute: Callable[[Any], T]) -> None:
        self._compute = compute
        self.__doc__ = compute.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, instance: None, owner: type) -> cached_property[T]: ...
    @overload
    def __get__(self, instance: object, owner: type) -> T: ...
    def __get__(self, instance: object | None, owner: type) -> cached_property[T] | T:
        if instance is None:
            return self
        value: T = instance.__dict__.setdefault(self._name, self._compute(instance))
        return value
