"""Types of parameters without annotations from examples of calls: functions, modules, and all that these call."""

from __future__ import annotations

import io
import sys
from typing import Any

import pytest

import flambeau as fb
from flambeau import Tensor, nn
from flambeau.util.errors import CompileError


def times_length(a, b):  # type: ignore[no-untyped-def]
    return a * len(b)


def scaled(x, k, names):  # type: ignore[no-untyped-def]
    return times_length(x * k, names)  # type: ignore[no-untyped-call]


def is_int(a):  # type: ignore[no-untyped-def]
    return isinstance(a, int)


class Steps(nn.Module):
    def forward(self, x, n):  # type: ignore[no-untyped-def]
        for i in range(n):
            x = x + i
        return x


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.steps = Steps()
        self.body = nn.Sequential(nn.Identity(), nn.ReLU())

    def forward(self, x: Tensor, config, shift=None):  # type: ignore[no-untyped-def]
        y = self.body(x)
        if shift is not None:
            y = y + shift
        return self.steps(y, config["n"]), self.helped((1, "a"))  # type: ignore[no-untyped-call]

    def helped(self, pair):  # type: ignore[no-untyped-def]
        return pair[0] + len(pair[1])

    @fb.jit.export
    def other(self, q):  # type: ignore[no-untyped-def]
        return q + 1


def test_functions_and_what_they_call() -> None:
    fn = fb.script(scaled, example_inputs=[(fb.ones(2), 3, ["a"])])
    assert str(fn.schema) == "scaled(Tensor x, int k, str[] names) -> Tensor"
    for x, k, names in ((fb.ones(3), 2, ["a", "b"]), (fb.tensor([1.5]), -1, []), (fb.ones(0, 2), 4, ["q"])):
        assert fn(x, k, names).tolist() == scaled(x, k, names).tolist()  # type: ignore[no-untyped-call]
    with pytest.raises(RuntimeError, match="Expected a value of type 'int' for argument 'k'"):
        fn(fb.ones(2), "k", ["a"])


@pytest.mark.parametrize(
    ("calls", "shown"),
    [([(3,)], "int"), ([(3,), (None,)], "int?"), ([(3,), ("a",)], "Any"), ([([],)], "Tensor[]"),
     ([({"a": (1, 2.5)},)], "Dict(str, (int, float))")],
)  # fmt: skip
def test_what_several_calls_bring(calls: Any, shown: str) -> None:
    fn = fb.script(is_int, example_inputs=calls)
    assert str(fn.schema) == f"is_int({shown} a) -> bool"
    for (value,) in calls:
        assert fn(value) == is_int(value)  # type: ignore[no-untyped-call]


def test_modules_their_methods_and_submodules() -> None:
    model = Model()
    x, y = fb.ones(1, 2), fb.tensor([[-1.0, 2.0], [3.0, -4.0]])
    examples = {model: [(x, {"n": 2}), (x, {"n": 2}, 2.5)], model.other: [(3,)]}
    scripted = fb.script(model, example_inputs=examples)
    types = [str(a.type) for a in scripted._method("forward").schema.arguments[1:]]
    assert types == ["Tensor", "Dict(str, int)", "float?"]
    assert str(scripted.steps.forward.schema.arguments[2].type) == "int"
    assert (scripted.other(4), scripted.other(-7)) == (5, -6)
    buffer = io.BytesIO()
    fb.jit.save(scripted, buffer)
    buffer.seek(0)
    loaded = fb.jit.load(buffer)
    for arguments in ((y, {"n": 3}, None), (x, {"n": 0}, -0.5), (y, {"n": 1, "m": 2}, 4.0)):
        values, count = model(*arguments)
        for module in (scripted, loaded):
            got, number = module(*arguments)
            assert (got.tolist(), number) == (values.tolist(), count)


def test_examples_are_of_one_call_of_script() -> None:
    model = Model()
    fb.script(model, example_inputs=[(fb.ones(1), {"n": 1})])
    with pytest.raises(CompileError, match=r"Expected a default value of type Tensor .* on parameter .shift"):
        fb.script(model)
    assert str(fb.script(times_length, example_inputs=[(2, "ab")]).schema) == "times_length(int a, str b) -> int"
    assert str(fb.script(times_length, example_inputs=[(2.5, [1])]).schema) == "times_length(float a, int[] b) -> float"


def test_a_profiler_stays_and_errors_of_examples_come_through() -> None:
    def profiler(*event: Any) -> None: ...

    sys.setprofile(profiler)
    try:
        with pytest.raises(TypeError, match="object of type 'int' has no len"):
            fb.script(times_length, example_inputs=[(1, 2)])
        assert sys.getprofile() is profiler
    finally:
        sys.setprofile(None)


def test_as_a_decorator() -> None:
    @fb.script(example_inputs=[(3,)])
    def next_(n):  # type: ignore[no-untyped-def]
        return n + 1

    assert str(next_.schema) == "next_(int n) -> int"
    assert (next_(4), next_(-1)) == (5, 0)


@pytest.mark.parametrize("examples", [3, [3], (fb.ones(1),), {"a": 3}])
def test_examples_of_another_form(examples: Any) -> None:
    with pytest.raises(ValueError, match="a list of tuples, the arguments of each call, or a dict from what is called"):
        fb.script(scaled, example_inputs=examples)


def test_classes_have_annotations() -> None:
    class Point:
        def __init__(self, x: int):
            self.x = x

    with pytest.raises(TypeError, match="example_inputs are of functions and modules; a type is compiled by its"):
        fb.script(Point, example_inputs=[(1,)])
