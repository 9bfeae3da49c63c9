"""Operators from Python: in plain calls and in programs on every backend, what they may write, what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau import Tensor
from flambeau.jit.library import custom_op

CALLS: list[str] = []


@custom_op("test_library::clipped")
def clipped(x: Tensor, low: float, high: float = 1.0, *, twice: bool = False) -> Tensor:
    """Within bounds.

    By NumPy.
    """
    found = np.clip(x.numpy(), low, high)
    return flambeau.from_numpy(found * 2 if twice else found)


@custom_op("test_library::extremes")
def extremes(xs: list[Tensor], start: int | None = None) -> tuple[float, int]:
    values = [float(x.max()) for x in xs]
    return max(values), len(values) + (start or 0)


@custom_op("test_library::fill_up", mutates_args=("x",))
def fill_up(x: Tensor, value: float) -> None:
    x.fill_(value)


@custom_op("test_library::note", has_effects=True)
def note(text: str) -> None:
    CALLS.append(text)


@custom_op("test_library::seen")
def seen(x: Tensor) -> Tensor:
    CALLS.append("seen")
    return x + 1


@custom_op("test_library::scaled(Tensor x, *, float by=2.0) -> Tensor")
def scaled(x, by):  # type: ignore[no-untyped-def]
    return x * by


def test_with_a_schema() -> None:
    def f(x: Tensor) -> Tensor:
        return scaled(scaled(x), by=3.0)

    assert flambeau.script(f)(flambeau.ones(2)).tolist() == [6.0, 6.0]


def program(x: Tensor, n: int) -> tuple[Tensor, float, int]:
    y = x * 2
    total = 0
    best = 0.0
    for i in range(n):
        y = clipped(y + i, -1.0, twice=i % 2 == 0)
        best, count = extremes([x, y], start=i)
        total += count
        if best > 1.5:
            note("large")
    fill_up(x, 3.0)
    return y + x, best, total


@pytest.mark.parametrize("backend", ["reference", "interpreter", "native"])
@pytest.mark.parametrize("n", [0, 1, 4])
def test_programs_call_them(backend: str, n: int) -> None:
    function: Any = flambeau.script(program, backend=backend)  # type: ignore[call-overload]
    for _ in range(3):
        a, b = flambeau.tensor([0.25, -2.0]), flambeau.tensor([0.25, -2.0])
        CALLS.clear()
        want = program(a, n)
        noted = CALLS.copy()
        CALLS.clear()
        got = function(b, n)
        assert (got[0].tolist(), got[1], got[2]) == (want[0].tolist(), want[1], want[2])
        assert (noted, b.tolist()) == (CALLS, [3.0, 3.0])
    assert "test_library::clipped" in str(function.graph)


def test_by_their_namespace() -> None:
    x = flambeau.tensor([2.0, -3.0])
    assert flambeau.ops.test_library.clipped(x, -1.0).tolist() == [1.0, -1.0]
    assert flambeau.ops.aten.relu(x).tolist() == [2.0, 0.0]
    assert "clipped" in dir(flambeau.ops.test_library)

    def f(x: Tensor) -> Tensor:
        return flambeau.ops.aten.relu(flambeau.ops.test_library.clipped(x, -1.0, 5.0))

    assert flambeau.script(f)(x).tolist() == [2.0, 0.0]
    with pytest.raises(AttributeError, match=r"there is no operator test_library::cliped; similar: .*clipped"):
        _ = flambeau.ops.test_library.cliped
    with pytest.raises(AttributeError, match=r"no operator is named nowhere::\.\.\.: declare one with"):
        _ = flambeau.ops.nowhere


def test_what_is_not_used_is_left_out_and_equal_calls_are_made_once() -> None:
    def f(x: Tensor) -> Tensor:
        seen(x)
        return seen(x) * seen(x)

    function = flambeau.script(f)
    for _ in range(2):
        CALLS.clear()
        assert function(flambeau.ones(1)).tolist() == [4.0]
        assert CALLS == ["seen"]


def test_traces_record_them() -> None:
    traced = flambeau.trace(lambda x: clipped(x * 3, 0.0), flambeau.ones(2))
    assert "test_library::clipped" in str(traced.graph)
    assert traced(flambeau.tensor([0.1, -1.0])).tolist() == pytest.approx([0.3, 0.0])


def test_help_and_schema() -> None:
    [definition] = flambeau.schema.registry.overloads("test_library::clipped")
    wanted = "test_library::clipped(Tensor x, float low, float high=1.0, *, bool twice=False) -> Tensor"
    assert str(definition.schema) == wanted
    assert (clipped.__doc__ or "").startswith("Within bounds.")
    assert str(flambeau.schema.registry.overloads("test_library::fill_up")[0].schema) == (
        "test_library::fill_up(Tensor(a0!) x, float value) -> ()"
    )


def no_annotation(x, y: int) -> Tensor:  # type: ignore[no-untyped-def]
    return x


def nothing_said(x: Tensor):  # type: ignore[no-untyped-def]
    return x


def starred(*x: Tensor) -> Tensor:
    return x[0]


def of_sets(x: set[int]) -> int:
    return len(x)


def odd_default(x: Tensor, y: Any = ()) -> Tensor:
    return x


def plain(x: Tensor, n: int) -> Tensor:
    return x


REFUSED = {
    "namespace": ("blur", plain, (), ValueError, r"an operator's name has a namespace, for example .* got 'blur'"),
    "ours": ("aten::relu", plain, (), ValueError, "the namespace 'aten' belongs to the package"),
    "taken": ("test_library::seen", plain, (), ValueError, "there is an operator test_library::seen already"),
    "parameter": ("q::a", no_annotation, (), ValueError, "Parameter x must have a type annotation: write x: Tensor"),
    "result": ("q::b", nothing_said, (), ValueError, "No return type annotation was provided.*: nothing_said"),
    "starred": ("q::c", starred, (), ValueError, r"parameter \*x: .* takes any number of arguments"),
    "type": ("q::d", of_sets, (), ValueError, "Parameter x has unsupported type set"),
    "any": ("q::e", odd_default, (), ValueError, "Parameter y has unsupported type Any"),
    "mutates": ("q::f", plain, ("z",), ValueError, "it names 'z', which is no parameter of plain"),
    "mutates a number": ("q::g", plain, ("n",), ValueError, "Parameter n is in mutable_args but only Tensors"),
}


@pytest.mark.parametrize(("name", "fn", "mutates", "error", "message"), REFUSED.values(), ids=REFUSED)
def test_refusals(name: str, fn: Any, mutates: tuple[str, ...], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        custom_op(name, fn, mutates_args=mutates)


@custom_op("test_library::wrong")
def wrong(x: Tensor, how: int) -> Tensor:
    results: list[Any] = [3, x, x[0], (x, x)]
    return results[how]  # type: ignore[no-any-return]


WRONG = (
    "declared to return Tensor but returned int", "shares memory with an argument", "shares memory with an argument",
    "declared to return Tensor but returned",
)  # fmt: skip


@pytest.mark.parametrize("how", range(4))
def test_results_that_were_not_declared(how: int) -> None:
    with pytest.raises((TypeError, RuntimeError), match=WRONG[how]):
        wrong(flambeau.ones(2), how)

    def f(x: Tensor, how: int) -> Tensor:
        return wrong(x, how)

    with pytest.raises(RuntimeError, match=WRONG[how]):
        flambeau.script(f)(flambeau.ones(2), how)


def test_wrong_calls() -> None:
    with pytest.raises(TypeError, match="missing"):
        clipped(flambeau.ones(1))
    with pytest.raises((TypeError, RuntimeError), match="nope"):
        clipped(flambeau.ones(1), 0.0, nope=3)
