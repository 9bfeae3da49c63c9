"""What serves calls of programs on arrays that come again: native code, which does what it does in Python."""

from __future__ import annotations

import contextlib
import gc
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau.codegen import native_call
from flambeau.codegen.callable_type import MISSED, DispatchStub
from flambeau.jit.array_calls import Parameters, array_call, in_python
from flambeau.jit.array_results import conversion_to_arrays
from flambeau.schema.array_type import array_of
from flambeau.schema.dtype import float64
from flambeau.schema.types import FLOAT, ListType, TupleType, Type

ROW = np.arange(3.0)
CALLS = 6
ARRAY = array_of(float64, 1)


def both(
    target: Callable[..., Any], classes: Any, defaults: Any, type_: Type | None, positional: int | None = None
) -> list[Callable[..., Any]]:
    stub = DispatchStub()
    stub.target = target
    conversion = None if type_ is None else conversion_to_arrays(type_)
    names = tuple(map(sys.intern, "xyz"[: len(classes)]))
    parameters = Parameters(names, len(names) if positional is None else positional, defaults)
    native = array_call(stub, parameters, classes, (), type_)
    assert isinstance(native, native_call._callable_type())
    return [native, in_python(stub, parameters, classes, (), conversion)]


def test_missing_arguments_are_defaults_and_other_classes_are_missed() -> None:
    for serve in both(lambda *args: args, (None, int, float), (MISSED, 2, 0.5), None):
        assert serve(ROW)[1:] == (2, 0.5)
        assert serve(ROW, 3)[1:] == (3, 0.5)
        assert serve(ROW, 3, 1.5)[0] is ROW
        for wrong in ((), (ROW, 2.0), (ROW, True), (ROW, 2, 1), (ROW, 1, 0.5, 4)):
            assert serve(*wrong) is MISSED, wrong
        assert serve(ROW, z=1.5)[1:] == (2, 1.5)
        assert serve(z=1.5, x=ROW, y=4)[1:] == (4, 1.5)
        for named in ({"z": 1.5}, {"x": ROW, "n": 1}, {"x": ROW, "y": 2.0}):
            assert serve(**named) is MISSED, named
        assert serve(ROW, x=ROW) is MISSED
        assert serve(ROW, 2, y=2) is MISSED
    for serve in both(lambda *args: args, (None, None), (MISSED, 2), None, positional=1):
        assert serve(1) == (1, 2)
        assert serve(1, y=3) == (1, 3)
        assert serve(1, 3) is MISSED
    for serve in both(lambda: 7, (), (), None):
        assert serve() == 7


def test_scalars_become_arrays_without_dimensions() -> None:
    for serve in both(lambda *args: args, (None, np.int64, np.float64), (MISSED, MISSED, 0.5), None):
        x, n, y = serve(ROW, np.int64(7), np.float64(1.5))
        assert x is ROW
        assert [(type(a), a.dtype, a.shape, a[()]) for a in (n, y)] == [
            (np.ndarray, np.int64, (), 7), (np.ndarray, np.float64, (), 1.5)
        ]  # fmt: skip
        assert serve(ROW, y=np.int64(3), z=np.float64(2.0))[1] == 3
        for wrong in ((ROW, 7, np.float64(1)), (ROW, np.int32(7), np.float64(1)), (ROW, np.int64(7))):
            assert serve(*wrong) is MISSED, wrong


def test_arrays_of_scalars_are_dropped_behind_the_call() -> None:
    def fail(*args: Any) -> Any:
        raise ValueError(str(args[0]))

    scalar = np.float64(2.5)
    before = sys.getrefcount(scalar), sys.getrefcount(np.float64)
    for target in (fail, lambda *args: MISSED, lambda *args: 1.0):
        for serve in both(target, (np.float64,), (MISSED,), FLOAT):
            for _ in range(50):
                with pytest.raises(ValueError, match=r"2\.5") if target is fail else contextlib.nullcontext():
                    serve(scalar)
    gc.collect()
    after = sys.getrefcount(scalar), sys.getrefcount(np.float64)
    assert all(b - a < 20 for a, b in zip(before, after, strict=True))


@pytest.mark.parametrize(
    ("value", "type_"),
    [
        (flambeau.tensor(ROW), ARRAY),
        (flambeau.tensor(2.0, dtype=flambeau.float64), ARRAY),
        ((flambeau.tensor(ROW), 2.0), TupleType((ARRAY, FLOAT))),
        ((flambeau.tensor(ROW), flambeau.tensor(1.0)), TupleType((ARRAY, ARRAY))),
        (([flambeau.tensor(ROW)], 2.0), TupleType((ListType(ARRAY), FLOAT))),
        ([flambeau.tensor(ROW)], ListType(ARRAY)),
        (3.0, FLOAT),
        (MISSED, ARRAY),
    ],
)
def test_results_have_arrays(value: Any, type_: Type) -> None:
    native, python = (serve() for serve in both(lambda: value, (), (), type_))
    assert type(native) is type(python)
    assert str(native) == str(python)
    for one, other in zip(native, python, strict=True) if isinstance(native, tuple) else [(native, python)]:
        assert type(one) is type(other)


def test_errors_are_those_of_arrays_with_where_they_came_from() -> None:
    def fail() -> None:
        raise KeyError("why")

    for serve in both(fail, (), (), ARRAY):
        with pytest.raises(KeyError, match="why") as caught:
            serve()
        assert "fail" in [entry.name for entry in caught.traceback]


def test_objects_are_given_back() -> None:
    def give(x: np.ndarray, n=2.0):
        return x, x[1:] * n, n

    scripted = flambeau.script(give)
    for _ in range(CALLS):
        scripted(ROW)
    gc.collect()
    before = sys.getrefcount(ROW), sys.getrefcount(MISSED)
    for _ in range(50):
        assert scripted(ROW)[0] is ROW
        with pytest.raises(TypeError):
            scripted(ROW, object())
    gc.collect()
    assert sys.getrefcount(ROW) - before[0] < 5
    assert sys.getrefcount(MISSED) - before[1] < 5


def test_functions_without_annotations_serve_numbers_and_tensors_in_turn() -> None:
    def times(x, n):
        return x * n + n

    scripted = flambeau.script(times)
    for _ in range(3):
        for _ in range(CALLS):
            assert type(scripted(2, 3)) is int
        for _ in range(CALLS):
            assert scripted(2.0, 3) == 9.0
        for _ in range(CALLS):
            assert isinstance(scripted(ROW, 3), np.ndarray)
        for _ in range(CALLS):
            assert isinstance(scripted(flambeau.tensor(ROW), flambeau.tensor(3.0)), flambeau.Tensor)


@pytest.mark.parametrize("annotated", [False, True])
def test_names_and_defaults(annotated: bool) -> None:
    def plain(x, a=2.0, *, n=3):
        return x * a + n

    def declared(x: np.ndarray, a: float = 2.0, *, n: int = 3):
        return x * a + n

    python = declared if annotated else plain
    scripted = flambeau.script(python)
    for x in (ROW, ROW + 1) if annotated else (2, 3.0):
        for _ in range(CALLS):
            for named in ({}, {"a": 0.5}, {"n": 4}, {"n": 4, "a": 0.5}, {"n": 2.5} if not annotated else {}):
                wanted, result = python(x, **named), scripted(x, **named)
                assert type(result) is type(wanted)
                assert np.array_equal(result, wanted)
            assert np.array_equal(scripted(x, 1.5), python(x, 1.5))
        for wrong, named in (((x, 1.0, 3), {}), ((x,), {"m": 1}), ((), {"a": 1.0}), ((x, 1.0), {"a": 1.0})):
            with pytest.raises(TypeError):
                scripted(*wrong, **named)


def test_what_is_shown_is_of_the_last_call() -> None:
    def roots(x):
        return np.sqrt(x) + x.std()

    scripted = flambeau.script(roots)
    for _ in range(3):
        for _ in range(CALLS):
            assert isinstance(scripted(ROW), np.ndarray)
        of_arrays = str(scripted.graph)
        for _ in range(CALLS):
            assert isinstance(scripted(flambeau.tensor(ROW)), flambeau.Tensor)
        assert str(scripted.graph) != of_arrays
        scripted(ROW)
        assert str(scripted.graph) == of_arrays


def test_sizes_that_do_not_go_together_are_told_in_quick_calls() -> None:
    def added(x: np.ndarray, y: np.ndarray):
        return x + y

    scripted = flambeau.script(added)
    for _ in range(CALLS):
        scripted(ROW, ROW)
    with pytest.raises(ValueError, match=r"could not be broadcast together with shapes \(3,\) \(2,\)"):
        scripted(ROW, ROW[:2])
    with pytest.raises(ValueError, match="broadcast"):
        scripted(ROW, y=ROW[:2])
    assert scripted(ROW, ROW).tolist() == [0.0, 2.0, 4.0]
