"""The overload that fitted a call decides later calls whose operands' types have the same classes, and no others."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau import Tensor
from flambeau.frontend.emit import overload_memory, schema_matching
from flambeau.frontend.emit.overload_memory import fit_of, key_of, remember
from flambeau.frontend.emit.values.sugared import Given
from flambeau.ir.graph import Graph
from flambeau.library import Library
from flambeau.schema import registry
from flambeau.schema.array_type import array_of, scalar_of
from flambeau.schema.dtype import float32, float64, int8, int32, int64, uint64
from flambeau.schema.element_type import element_of
from flambeau.schema.types import (
    BOOL,
    COMPLEX,
    FLOAT,
    INT,
    NONE,
    NUMBER,
    STRING,
    TENSOR,
    ListType,
    TensorType,
    Type,
)
from flambeau.util.errors import CompileError
from flambeau.util.source import Source

WHERE = Source("f(x)", "t.py", 1).range(0, 4)
ALIKE: list[list[Type]] = [
    [INT], [FLOAT], [BOOL], [COMPLEX], [STRING], [NONE],
    [TENSOR, TensorType(dtype=float32), TensorType(sizes=(2, None), inferred=True)],
    [element_of(INT, int32), element_of(INT, int8, int64), element_of(INT, uint64)],
    [element_of(FLOAT, float32), element_of(FLOAT, float64)],
    [array_of(float64, 2), array_of(int8, 0), array_of(None, None)],
    [scalar_of(float32), scalar_of(int64)],
]  # fmt: skip


def _given(types: list[Type]) -> list[Given]:
    graph = Graph()
    return [Given(graph.add_parameter(type_), WHERE) for type_ in types]


def _fit(name: str, types: list[Type]) -> tuple[str, bool] | None:
    schemas = [definition.schema for definition in registry.overloads(name)]
    try:
        match = schema_matching.match_schemas(schemas, _given(types), (), WHERE)
    except CompileError:
        return None
    return str(match.schema), match.implicit


def test_classes_of_types_decide_which_overload_fits() -> None:
    choose = random.Random(5)
    names = sorted(name for name in registry.names() if name.startswith("aten::"))
    found = 0
    for _ in range(1500):
        name = choose.choice(names)
        most = max(len(d.schema.arguments) for d in registry.overloads(name))
        rows = [choose.choice(ALIKE) for _ in range(choose.randint(0, min(3, most)))]
        one, other = ([choose.choice(row) for row in rows] for _ in range(2))
        assert key_of(name, _given(one), ()) == key_of(name, _given(other), ()) is not None
        first = _fit(name, one)
        assert first == _fit(name, other), (name, one, other)
        found += first is not None
    assert found > 100


@pytest.mark.parametrize("type_", [ListType(INT), NUMBER])
def test_what_classes_do_not_tell_is_not_remembered(type_: Type) -> None:
    assert key_of("aten::add", _given([INT, type_]), ()) is None
    remember(None, registry.overloads("aten::add")[0].schema, implicit=False)
    assert fit_of(None) is None


def test_a_new_operator_begins_anew() -> None:
    before = key_of("aten::add", _given([INT, INT]), ())
    library = Library("overload_memory", "DEF")
    library.define("one(int a) -> int")
    assert key_of("aten::add", _given([INT, INT]), ()) != before
    library._destroy()


def test_keywords_and_their_places_are_part_of_a_call() -> None:
    x, dim = _given([TENSOR, INT])
    named = Given(dim.value, WHERE, "dim")
    keys = {
        key_of("aten::sum", [x, dim], ()), key_of("aten::sum", [x], [named]),
        key_of("aten::sum", [x], [Given(dim.value, WHERE, "axis")]),
    }  # fmt: skip
    assert len(keys) == 3


def test_no_more_are_kept_than_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(overload_memory, "MOST", 2)
    monkeypatch.setattr(overload_memory, "_fits", {})
    schema = registry.overloads("aten::add")[0].schema
    for number in range(3):
        remember((number,), schema, implicit=False)
    assert fit_of((0,)) is None
    assert fit_of((2,)) == (schema, False)


def _mixed(x: Tensor, n: int, f: float, b: bool, s: str) -> Tensor:
    y = x + n
    y = y * f + n * 2 - f / 2.5 + max(n, 3) + (n + b)
    y[0] = n
    y[1] = f
    if s + "a" == "aa" and n < f:
        y = y.sum(0, keepdim=True) + x.max() + y.clamp(min=n).clamp(f, 1e9)
    return y + len(s) + n**2 + f**n + int(x.sum()) + float(n)


def _arrays(x, n):  # type: ignore[no-untyped-def]  # as users write it
    total = 0.0
    for i in range(x.shape[0]):
        total += x[i] * n + x[i] / 3 - n // 2
        x[i] = n + x[i] * x[i]
    return total + np.sum(x) + np.maximum(x, n).max()


def test_programs_are_the_same_with_and_without_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    def compiled(fit: Callable[[Any], Any]) -> str:
        with monkeypatch.context() as patch:
            patch.setattr(schema_matching, "fit_of", fit)
            return str(flambeau.CompilationUnit(SOURCE).f.graph)

    assert compiled(fit_of) == compiled(lambda key: None) == compiled(fit_of)
    mixed = flambeau.script(_mixed)
    for values in ([1.0, 2.0, 3.0], [0.5, -4.0, 1.0, 9.0]):
        for n, f, b, s in ((2, 3.5, True, "a"), (-1, 0.25, False, "bc")):
            x = flambeau.tensor(values)
            assert flambeau.equal(mixed(x, n, f, b, s), _mixed(x, n, f, b, s))


def test_functions_of_arrays_of_several_dtypes_in_turn() -> None:
    written: Any = _arrays
    compiled = flambeau.script(written)
    for dtype, n in ((np.float64, 2), (np.float32, 3), (np.int32, 2), (np.float64, 1.5), (np.int64, 5)):
        for size in (1, 4):
            ours, theirs = (np.arange(1, size + 1).astype(dtype) for _ in range(2))
            assert np.allclose(compiled(ours, n), written(theirs, n))
            assert np.array_equal(ours, theirs)


SOURCE = """
def f(x: Tensor, n: int, g: float, b: bool):
    y = x + n
    y = y * g + n * 2 - g / 2.5 + max(n, 3) + (n + b) + x.item()
    y[0] = n
    for i in range(n):
        y[i] = y[i] + i * g
    return y.sum(0, keepdim=True), n ** 2, g ** n, int(x), float(n), y.clamp(min=n)
"""
