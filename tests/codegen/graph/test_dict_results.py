"""Functions that return dicts with constant keys are native from end to end."""

from __future__ import annotations

from typing import Any

import pytest

import flambeau
from flambeau import Tensor
from flambeau.codegen import available

pytestmark = pytest.mark.skipif(not available(), reason="native code needs llvmlite")
X = flambeau.tensor([[1.0, -2.0, 3.0], [0.5, 0.0, -1.0]])


def named(x: Tensor, n: int) -> dict[str, Tensor]:
    y = (x * 2 + n).relu()
    return {"out": y, "aux": y.sum(), "same": y, "given": x}


def numbered(x: Tensor, n: int) -> dict[int, float]:
    total = 0.0
    for i in range(n):
        total = total + float(x[0, i % 3])
    out: dict[int, float] = {}
    out[3] = total
    out[1] = total * 2
    out[3] = total + 1
    return out


@pytest.mark.parametrize("function", [named, numbered])
def test_a_dict_is_made_of_what_native_code_gives(function: Any) -> None:
    scripted = flambeau.script(function)
    for n in (0, 3, 5, 4, 1):
        expected, found = function(X, n), scripted(X, n)
        assert type(found) is dict
        assert str(expected) == str(found), "values, and the order of keys"
    assert scripted.explain(measure=False).is_native


def test_what_is_one_tensor_is_one() -> None:
    scripted = flambeau.script(named)
    for _ in range(5):
        found = scripted(X, 1)
        assert found["given"] is X
        assert found["same"] is found["out"]
        found["mine"] = X
    assert "mine" not in scripted(X, 1)


def shared(x: Tensor) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    out = {"a": x + 1}
    return out, out


def test_a_dict_that_somebody_else_has_is_that_dict() -> None:
    scripted = flambeau.script(shared)
    for _ in range(4):
        first, second = scripted(X)
        assert first is second


def chosen(x: Tensor, key: str) -> dict[str, Tensor]:
    return {key: x + 1, "b": x - 1}


def twice(x: Tensor) -> dict[str, Tensor]:
    return {"a": x + 1, "b": x - 1, "a": x * 3}  # noqa: F601


def test_keys_that_a_call_tells_and_keys_that_come_twice() -> None:
    scripted, again = flambeau.script(chosen), flambeau.script(twice)
    for key in ("a", "b", "c", "a"):
        assert str(scripted(X, key)) == str(chosen(X, key))
        assert str(again(X)) == str(twice(X))


def failing(x: Tensor, n: int) -> dict[str, Tensor]:
    y = x + 1
    if n > 2:
        raise ValueError("too many")
    return {"out": y}


def test_errors_are_those_of_the_program() -> None:
    scripted = flambeau.script(failing)
    for n in (0, 3, 1, 4, 3):
        if n <= 2:
            assert str(scripted(X, n)) == str(failing(X, n))
            continue
        with pytest.raises(flambeau.jit.Error, match="too many") as caught:
            scripted(X, n)
        assert 'raise ValueError("too many")' in str(caught.value)


def within(x: Tensor, n: int) -> tuple[dict[str, Tensor], int, dict[str, int]]:
    return {"a": x + n, "b": x[0]}, n, {}


def test_dicts_in_tuples_and_empty_ones() -> None:
    scripted = flambeau.script(within)
    for n in (0, 3, 1, 2, 5):
        assert str(scripted(X, n)) == str(within(X, n))
    assert scripted.explain(measure=False).is_native


def test_a_dict_costs_no_way_through_python() -> None:
    scripted = flambeau.script(named)
    for _ in range(6):
        scripted(X, 1)
    before = scripted.explain(measure=False).compilations[0].calls
    for _ in range(10):
        scripted(X, 1)
    assert scripted.explain(measure=False).compilations[0].calls == before + 10
