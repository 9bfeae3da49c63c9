"""Functions of the package that are written in Python, and have other code while somebody wants to answer their calls.

A check in each of them would cost every call, however few need it. So there is none: the code of the functions is
exchanged for one that asks, while a thread has a function mode and from the first class of tensors on that answers
calls; the functions stay the objects that they are. Without either, calls run what is written and nothing else.

>>> def double(x):
...     return 2 * x
>>> functions = SwitchedFunctions()
>>> _ = functions.add(double, lambda plain: lambda *args, **kwargs: f"asked about {args}")
>>> with functions.asking():
...     double(3)
'asked about (3,)'
>>> functions.rest(double)
>>> double(3)
6
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import CodeType, FunctionType
from typing import Any, Final

from flambeau.util.locks import Lock

Function = Callable[..., Any]


def _asking_code(*args: Any, **kwargs: Any) -> Any:
    ask: Any = 0.5  # the constant is exchanged for what asks
    return ask(*args, **kwargs)


class SwitchedFunctions:
    """Functions with two codes each: what is written, and what asks before."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._codes: dict[FunctionType, tuple[CodeType, CodeType]] = {}
        self._resting: set[FunctionType] = set()
        self._asked_for = 0
        """How many modes and kinds of classes there are that want to be asked."""
        self.always = False
        """Whether there is a class of tensors that answers calls."""

    def add(self, function: FunctionType, asker: Callable[[FunctionType], Function]) -> FunctionType:
        """Have a function ask, until it is said to rest. `asker` gets a function of what is written, and gives what
        is called in its place. What is written stays in `__wrapped__`, where signatures and sources are read.
        """
        written = function.__code__
        name, defaults, closure = function.__name__, function.__defaults__, function.__closure__
        plain = FunctionType(written, function.__globals__, name, defaults, closure)
        plain.__kwdefaults__ = function.__kwdefaults__
        functools.update_wrapper(plain, function)
        del plain.__dict__["__wrapped__"]
        ask = asker(plain)
        constants = tuple(ask if c == 0.5 else c for c in _asking_code.__code__.co_consts)
        asking = _asking_code.__code__.replace(
            co_consts=constants, co_name=written.co_name, co_freevars=written.co_freevars
        )
        function.__wrapped__ = plain  # type: ignore[attr-defined]
        with self._lock:
            self._codes[function] = written, asking
            function.__code__ = asking
        return function

    def rest(self, function: FunctionType) -> None:
        """Have a function run what is written, unless somebody wants to be asked."""
        with self._lock:
            self._resting.add(function)
            if not self._asked_for:
                function.__code__ = self._codes[function][0]

    def ask_always(self) -> None:
        """From now on all functions ask."""
        with self._lock:
            if not self.always:
                self.always = True
                self._one_more()

    @contextmanager
    def asking(self) -> Iterator[None]:
        """Within the block, all functions ask."""
        with self._lock:
            self._one_more()
        try:
            yield
        finally:
            with self._lock:
                self._asked_for -= 1
                if not self._asked_for:
                    for function in self._resting:
                        function.__code__ = self._codes[function][0]

    def _one_more(self) -> None:
        self._asked_for += 1
        if self._asked_for == 1:
            for function in self._resting:
                function.__code__ = self._codes[function][1]


switched: Final = SwitchedFunctions()
"""The functions of the package."""
