"""What a program raises can be caught as in Python, native and interpreted, and says the line."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import pytest

import flambeau
from flambeau import Tensor
from flambeau.util.errors import ExecutionError, ScriptError, also


class OwnError(Exception):
    pass


class OwnValueError(ValueError):
    pass


class CodedError(Exception):
    def __init__(self, code: int, text: str) -> None:
        super().__init__(text)
        self.code = code


def item(x: list[int], i: int) -> int:
    return x[i]


def item_in_loop(x: list[int], i: int) -> int:
    total = 0
    for k in range(i):
        total += x[k]
    return total


def element(x: Tensor, i: int) -> float:
    total = 0.0
    for k in range(i):
        total += float(x[k])
    return total


def key(d: dict[str, int]) -> int:
    return d["b"]


def refused(x: int) -> int:
    if x > 0:
        raise ValueError("too large")
    return x


def own(x: int) -> int:
    if x > 0:
        raise OwnError("mine")
    return x


def own_value(x: int) -> int:
    if x > 0:
        raise OwnValueError("mine")
    return x


def missing(x: int) -> int:
    raise NotImplementedError("later")


def asserted(x: int) -> int:
    assert x < 0, "negative ones only"
    return x


def quotient(x: int, y: int) -> int:
    total = 0
    for _ in range(3):
        total += x // y
    return total


def whole(x: float) -> int:
    return int(x)


def number(text: str) -> int:
    return int(text)


def last(x: list[int]) -> int:
    return x.pop()


def place(x: list[int]) -> int:
    return x.index(7)


def pair(x: list[int]) -> int:
    a, b = x
    return a + b


def letter(text: str) -> str:
    return text[9]


def too_long(n: int) -> Tensor:
    return flambeau.zeros(n)


def too_long_in_loop(n: int) -> Tensor:
    total = flambeau.zeros(1)
    for k in range(2):
        total = total + flambeau.ones(n)[0] * k
    return total


CASES: list[tuple[Callable[..., Any], tuple[Any, ...], type[Exception]]] = [
    (item, ([1, 2], 5), IndexError),
    (item, ([1, 2], -3), IndexError),
    (item_in_loop, ([1, 2], 5), IndexError),
    (element, (flambeau.ones(3), 5), IndexError),
    (key, ({"a": 1},), KeyError),
    (refused, (1,), ValueError),
    (own, (1,), OwnError),
    (own_value, (1,), OwnValueError),
    (missing, (1,), NotImplementedError),
    (asserted, (1,), AssertionError),
    (quotient, (1, 0), ZeroDivisionError),
    (whole, (float("inf"),), OverflowError),
    (whole, (float("nan"),), ValueError),
    (number, ("x",), ValueError),
    (last, ([],), IndexError),
    (place, ([1],), ValueError),
    (pair, ([1],), ValueError),
    (letter, ("abc",), IndexError),
    (too_long, (2**45,), MemoryError),
    (too_long_in_loop, (2**45,), MemoryError),
]


@pytest.mark.parametrize("backend", ["native", "interpreter"])
@pytest.mark.parametrize(("function", "arguments", "kind"), CASES, ids=lambda c: getattr(c, "__name__", ""))
def test_c21_errors_are_of_the_class_that_python_raises(
    function: Callable[..., Any], arguments: tuple[Any, ...], kind: type[Exception], backend: str
) -> None:
    with pytest.raises(kind):
        function(*arguments)
    scripted = flambeau.script(function, backend=backend)
    for _ in range(4):  # the machine first, then native code
        with pytest.raises(kind) as caught:
            scripted(*arguments)
        error = caught.value
        assert isinstance(error, ScriptError | ExecutionError)
        assert f"in {function.__name__}" in str(error)
        assert "<--- HERE" in str(error)
        again = pickle.loads(pickle.dumps(error))
        assert (type(again).__mro__[1:], str(again)) == (type(error).__mro__[1:], str(error))


def test_c21_they_stay_errors_of_scripts() -> None:
    scripted = flambeau.script(refused)
    with pytest.raises(flambeau.jit.Error, match="ValueError: too large"):
        scripted(1)
    with pytest.raises(RuntimeError, match="list index out of range"):
        flambeau.script(item)([1], 4)


def test_c21_classes_of_python_functions_that_programs_call() -> None:
    @flambeau.jit.ignore
    def outside(x: int) -> int:
        raise LookupError("not there")

    @flambeau.script
    def program(x: int) -> int:
        return outside(x)  # type: ignore[no-any-return]

    with pytest.raises(LookupError, match="not there"):
        program(1)


def test_classes_that_cannot_be_both_stay_what_they_are() -> None:
    assert also(ExecutionError, RuntimeError) is ExecutionError
    assert also(ScriptError, StopIteration) is ScriptError
    assert also(ScriptError, KeyboardInterrupt) is ScriptError
    assert issubclass(also(ScriptError, OSError), OSError)
    assert str(also(ScriptError, CodedError)("their.CodedError: 3")) == "their.CodedError: 3"


def test_what_catches_them_inside_programs_is_as_before() -> None:
    @flambeau.script
    def program(x: list[int], i: int) -> int:
        try:
            return x[i]
        except IndexError:
            return -1

    assert (program([5], 0), program([5], 3)) == (5, -1)
