"""Functions below decorators: programs call what the decorator made, as Python does."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau import Tensor, nn
from flambeau.frontend.source.decorated import hands_on
from flambeau.util.errors import CompileError

LOG: list[str] = []


def doubled(function: Any) -> Any:
    @functools.wraps(function)
    def inner(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs) * 2

    return inner


def plus(number: int) -> Callable[[Any], Any]:
    def decorate(function: Any) -> Any:
        @functools.wraps(function)
        def inner(x):  # type: ignore[no-untyped-def]
            return function(x) + number

        return inner

    return decorate


def timed(function: Any) -> Any:
    @functools.wraps(function)
    def inner(*args: Any, **kwargs: Any) -> Any:
        start = time.perf_counter()
        result = function(*args, **kwargs)
        LOG.append(f"{function.__name__}: {time.perf_counter() - start:.1f} s")
        return result

    return inner


def without_gradient(function: Any) -> Any:
    @functools.wraps(function)
    def inner(*args: Any) -> Any:
        with flambeau.no_grad():
            return function(*args)

    return inner


def through_a_socket(function: Any) -> Any:
    @functools.wraps(function)
    def inner(x: Tensor) -> Any:
        import socket

        return function(x) * socket.socket().fileno()

    return inner


def swapping(function: Any) -> Any:
    @functools.wraps(function)
    def inner(a: Tensor, b: Tensor) -> Any:
        return function(b, a)

    return inner


def rebinding(function: Any) -> Any:
    @functools.wraps(function)
    def inner(x: Tensor) -> Any:
        x = x * 10
        return function(x)

    return inner


def by_a_lambda(function: Any) -> Any:
    return functools.wraps(function)(lambda x: function(x) + 1)


class Counting:
    """A decorator that is a class."""

    def __init__(self, function: Any) -> None:
        self.function, self.calls = function, 0
        functools.update_wrapper(self, function)

    def __call__(self, x: Tensor) -> Tensor:
        self.calls += 1
        return self.function(x) * self.calls


@doubled
def scaled(x: Tensor, by: float = 3.0) -> Tensor:
    return x * by


@doubled
@plus(10)
def stacked(x: Tensor) -> Tensor:
    return x * x


@timed
def watched(x: Tensor) -> Tensor:
    return x + 1


@without_gradient
def detached(x: Tensor) -> Tensor:
    return x * x


@doubled
def factorial(n: int) -> int:
    return 1 if n == 0 else n * factorial(n - 1)


@doubled
def by_keyword(x: Tensor, *, shift: float = 1.0) -> Tensor:
    return x + shift


@doubled
def of_arrays(x: np.ndarray, n: int = 2) -> np.ndarray:
    for i in range(n):
        x = x + i
    return x


@through_a_socket
def remote(x: Tensor) -> Tensor:
    return x


@swapping
def difference(a: Tensor, b: Tensor) -> Tensor:
    return a - b


@rebinding
def same(x: Tensor) -> Tensor:
    return x


@by_a_lambda
def above(x: Tensor) -> Tensor:
    return x


@Counting
def counted(x: Tensor) -> Tensor:
    return x


@functools.lru_cache
def cached(x: Tensor) -> Tensor:
    return x * 5


X = flambeau.tensor([1.0, 2.0])


@pytest.mark.parametrize(
    ("function", "arguments", "keywords"),
    [
        (scaled, (X,), {}), (scaled, (X, 0.5), {}), (scaled, (X,), {"by": 4.0}), (stacked, (X,), {}),
        (factorial, (4,), {}), (by_keyword, (X,), {"shift": 2.0}), (by_keyword, (X,), {}), (cached, (X,), {}),
        (watched, (X,), {}), (difference, (X, X * X), {}), (same, (X,), {}),
        (of_arrays, (np.ones(2),), {}), (of_arrays, (np.ones(2),), {"n": 5}),
    ],
)  # fmt: skip
def test_scripted_is_what_python_calls(function: Any, arguments: Any, keywords: Any) -> None:
    want = function(*arguments, **keywords)
    got = flambeau.script(function)(*arguments, **keywords)
    assert type(got) is type(want)
    assert np.array_equal(np.asarray(got), np.asarray(want))


def calls_them(x: Tensor, n: int) -> Tensor:
    return scaled(x) + scaled(x, by=1.0) + stacked(x) * factorial(n) + by_keyword(x, shift=0.5)


def test_programs_call_what_the_decorator_made() -> None:
    assert flambeau.script(calls_them)(X, 3).tolist() == calls_them(X, 3).tolist()


class Decorated(nn.Module):
    """Methods below decorators."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(2, 2)

    @doubled
    def inner(self, x: Tensor) -> Tensor:
        return self.linear(x)

    @plus(1)
    def of_one(self, x: Tensor) -> Tensor:
        return x

    @doubled
    def forward(self, x: Tensor) -> Tensor:
        return self.inner(x)


def test_methods_too() -> None:
    module = Decorated()
    assert flambeau.script(module)(X).tolist() == pytest.approx(module(X).tolist())


def test_a_gradient_goes_through_what_the_decorator_does() -> None:
    def loss(x: Tensor) -> Tensor:
        return scaled(x).sum()

    assert flambeau.grad(flambeau.script(loss))(X).tolist() == [6.0, 6.0]
    x = X.clone().requires_grad_()
    assert not flambeau.script(detached)(x).requires_grad


def test_a_decorator_that_hands_on_is_no_part_of_the_program() -> None:
    LOG.clear()
    scripted = flambeau.script(watched)
    assert scripted(X).tolist() == [2.0, 3.0]
    assert not LOG
    assert hands_on(watched, watched.__wrapped__)  # type: ignore[attr-defined]
    assert not hands_on(scaled, scaled.__wrapped__)  # type: ignore[attr-defined]


def test_a_decorator_that_gives_a_lambda() -> None:
    assert flambeau.script(above)(X).tolist() == above(X).tolist()


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (remote, ("no objects of class 'socket'", "socket.socket().fileno()", "called from 'remote'")),
        (counted, ("cannot call a python value of type 'Counting'", "decorator_of_counted(x)")),
    ],
)
def test_what_a_decorator_does_is_refused_where_it_is_not_of_the_language(function: Any, words: Any) -> None:
    with pytest.raises(CompileError) as raised:
        flambeau.script(function)
    for text in words:
        assert text in str(raised.value)
