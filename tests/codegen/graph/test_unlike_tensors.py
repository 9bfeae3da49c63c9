"""Tensors whose dtype or rank only the run tells, passed on and given; which arguments are one object."""

from __future__ import annotations

from typing import Any

import pytest

import flambeau
from flambeau import Tensor
from flambeau.codegen import available
from flambeau.codegen.graph.entry.entry_stub import Parameter, Signature, call_in_python
from flambeau.codegen.graph.representation import Array, Bool, Unlike
from flambeau.schema import dtype as dtypes
from tests.codegen.graph.one_meaning import agree

pytestmark = pytest.mark.skipif(not available(), reason="native code needs llvmlite")

RANKS = """
def f(x: Tensor, averaged: bool) -> Tensor:
    scores = x * 2.0 + 1.0
    return scores.mean(1) if averaged else scores
"""
PERHAPS = """
def f(x: Tensor, wanted: bool, averaged: bool) -> Tuple[Tensor, Optional[Tensor], int]:
    scores = x * 2.0 + 1.0
    out = flambeau.relu(scores)
    if wanted:
        if averaged:
            return out, scores.mean(1), 1
        return out, scores, 2
    return out, None, 3
"""
THREE = """
def f(x: Tensor, n: int) -> Tensor:
    y = x + 1
    if n == 0:
        z = y.sum()
    elif n == 1:
        z = y
    elif n == 2:
        z = y > 1.5
    else:
        z = x
    if n == 4:
        z = y.unsqueeze(0)
    return z
"""
CARRIED = """
def f(x: Tensor, n: int) -> Tensor:
    y = x
    for i in range(n):
        if i == 2:
            y = x.sum(0)
        elif i == 4:
            y = x.unsqueeze(0) * 2.0
    return y
"""


@pytest.mark.parametrize("averaged", [True, False])
def test_a_result_of_two_ranks(averaged: bool) -> None:
    agree(RANKS, lambda: (flambeau.arange(12.0).reshape(2, 3, 2), averaged))


@pytest.mark.parametrize(("wanted", "averaged"), [(False, False), (True, False), (True, True)])
def test_a_result_of_two_ranks_or_none(wanted: bool, averaged: bool) -> None:
    agree(PERHAPS, lambda: (flambeau.arange(12.0).reshape(2, 3, 2), wanted, averaged))


@pytest.mark.parametrize("n", range(5))
def test_results_of_several_dtypes_and_ranks_and_arguments_themselves(n: int) -> None:
    agree(THREE, lambda: (flambeau.arange(6.0).reshape(2, 3), n))


@pytest.mark.parametrize("n", [0, 3, 6])
def test_loops_carry_them(n: int) -> None:
    agree(CARRIED, lambda: (flambeau.arange(6.0).reshape(2, 3), n))


def test_they_are_held_as_long_as_they_are_needed() -> None:
    f = flambeau.CompilationUnit(PERHAPS).f
    x = flambeau.ones(40, 50, 60)
    results = [f(x, bool(k % 3), bool(k % 2)) for k in range(30)]
    for k, (_, scores, number) in enumerate(results):
        assert number == (3 if not k % 3 else 2 - k % 2)
        assert scores is None or scores.shape == ((40, 60) if k % 2 else (40, 50, 60))
        assert scores is None or abs(float(scores.sum()) - (7200 if k % 2 else 360000)) < 1.0


def test_the_entry_in_python_does_the_same() -> None:
    f = flambeau.CompilationUnit(RANKS).f
    x = flambeau.arange(12.0).reshape(2, 3, 2)
    for _ in range(4):
        f(x, True)
    [native] = [v for p in f._executor.plans if p.compiled is not None for v in p.compiled.variants]
    kinds = {Array(dtypes.float32, 2), Array(dtypes.float32, 3)}
    [result] = native.emitted.results
    assert isinstance(result, Unlike)
    assert set(result.kinds) == kinds
    parameters = tuple(Parameter(rep, False) for rep in native.parameters)
    assert native.parameters[1] == Bool()
    signature = Signature(parameters, native.emitted.results, native.emitted.record_words)
    for averaged in (True, False):
        answer = call_in_python(signature, native.address, native.fail, (x, averaged))
        assert answer.equal(f(x, averaged))


def test_operators_on_them_are_refused_as_before() -> None:
    source = """
def f(x: Tensor, n: int) -> Tensor:
    y = x
    for i in range(n):
        if i == 1:
            y = y.unsqueeze(0)
        y = y * 2.0
    return y
"""
    f = flambeau.CompilationUnit(source).f
    assert f(flambeau.ones(2), 3).shape == (1, 2)
    text = " ".join(str(f.explain(measure=False)).split())
    assert "a value is a flambeau.float32 tensor of rank 2 on one way" in text


IDENTITY = """
def f(q: Tensor, k: Tensor, v: Tensor) -> Tuple[Tensor, bool]:
    if k is v:
        if q is k:
            a = b = c = q.t()
        else:
            a, c = [x.t() for x in (q, k)]
            b = c
    else:
        a, b, c = [x.t() for x in (q, k, v)]
    if b is c:
        if a is b:
            return flambeau.matmul(a, a), a is not c
        return flambeau.matmul(a, b), a is not c
    return flambeau.matmul(a, b) + c, a is not c
"""


@pytest.mark.parametrize("same", ["aaa", "abb", "aab", "aba", "abc"])
def test_which_arguments_are_one_object(same: str) -> None:
    def arguments() -> tuple[Any, ...]:
        made = {name: flambeau.arange(4.0).reshape(2, 2) + k for k, name in enumerate("abc")}
        return tuple(made[name] for name in same)

    agree(IDENTITY, arguments)


def test_equal_memory_is_not_the_same_object() -> None:
    @flambeau.script
    def f(x: Tensor, y: Tensor) -> tuple[bool, bool]:
        return x is y, x is not y

    x = flambeau.ones(3)
    y = x.view(3)
    for _ in range(5):
        assert f(x, y) == (False, True)
        assert f(x, x) == (True, False)
    assert f.explain(measure=False).is_native
    asking = flambeau.ones(3, requires_grad=True)
    assert f(asking, asking) == (True, False)
    assert f(asking, x) == (False, True)
