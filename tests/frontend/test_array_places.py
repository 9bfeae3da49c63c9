"""Where `np.ndarray` is written: functions have NumPy's meaning; other places are refused, with what to write."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import flambeau
from flambeau import Tensor, nn
from flambeau.util.errors import CompileError

NOT_HERE = "np.ndarray means NumPy's arrays in functions alone, not in {}"


class Layer(nn.Module):
    def forward(self, x: np.ndarray) -> Tensor:
        return x * 2


class Instead(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x * 2


class Held(nn.Module):
    w: np.ndarray

    def __init__(self) -> None:
        super().__init__()
        self.w = np.ones(3)

    def forward(self, x: Tensor) -> Tensor:
        return x * self.w


class Boxed:
    def __init__(self, x: np.ndarray):
        self.x = x


class Unsaid:
    def __init__(self, x):
        self.x = x


class Said:
    def __init__(self, x: Tensor):
        self.x = x


@pytest.mark.parametrize(
    ("make", "place"),
    [
        (lambda: flambeau.script(Layer()), "methods"), (lambda: flambeau.script(Held()), "attributes"),
        (lambda: flambeau.script(Boxed), "methods"),
        (lambda: flambeau.jit.CompilationUnit("def f(x: np.ndarray):\n    return x\n").f, "texts of CompilationUnit"),
        (lambda: flambeau.script(_variable), "variables of a program"),
    ],
)  # fmt: skip
def test_c07_other_places_are_refused(make: Callable[[], object], place: str) -> None:
    with pytest.raises(RuntimeError) as info:
        make()
    assert NOT_HERE.format(place) in str(info.value)
    assert "write Tensor, with the meaning of operators, or a function" in str(info.value)


def test_c07_what_to_write_instead_compiles() -> None:
    assert flambeau.script(Instead())(flambeau.ones(2)).tolist() == [2.0, 2.0]


def _variable(x: Tensor):
    y: np.ndarray = x * 2
    return y


def _in_method(x: np.ndarray):
    return Unsaid(x).x


def _in_method_instead(x: np.ndarray):
    return Said(x).x


def test_c07_arrays_that_methods_take_are_tensors_where_they_say_so() -> None:
    with pytest.raises(CompileError, match="annotate their parameter as x: Tensor"):
        flambeau.script(_in_method)(np.ones(2))
    assert isinstance(flambeau.script(_in_method_instead)(np.ones(2)), Tensor)


def _first(a: np.ndarray):
    return a[0]


def _of_tensors(x: Tensor):
    return _first(x)


def test_c07_programs_on_tensors_do_not_call_functions_of_arrays() -> None:
    with pytest.raises(CompileError, match="_first takes arrays of NumPy, and is given tensors here: annotate"):
        flambeau.script(_of_tensors)


def _listed(rows: list[np.ndarray], named: dict[str, np.ndarray], pair: tuple[np.ndarray, int]):
    s = rows[0][0]
    s += rows[1][0]
    return s, named["a"] * s, pair[0] * pair[1], rows


def _maybe(x: np.ndarray | None = None):
    return None if x is None else x * 2


def test_c07_arrays_in_lists_dicts_and_tuples() -> None:
    rows = [np.ones(2), np.ones(2)]
    for function in (_listed, flambeau.script(_listed)):
        s, named, scaled, same = function(rows, {"a": np.ones(2)}, (np.arange(2), 3))
        assert s == 2
        assert rows[0][0] == 1
        assert isinstance(named, np.ndarray)
        assert named.tolist() == [2, 2]
        assert scaled.tolist() == [0, 3]
        assert isinstance(same[0], np.ndarray)


def test_c07_arrays_that_may_be_none() -> None:
    scripted = flambeau.script(_maybe)
    assert scripted() is None
    assert scripted(np.ones(2)).tolist() == [2, 2]
    assert scripted(None) is None


def _swapped(n: int):
    a = np.arange(n)
    a[0], a[1] = a[1], a[0]
    return a


def test_c07_functions_of_numbers_that_make_arrays_mean_arrays() -> None:
    found = flambeau.script(_swapped)(3)
    assert isinstance(found, np.ndarray)
    assert found.tolist() == [1, 0, 2]
