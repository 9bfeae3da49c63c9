"""Named tuples as results of native code: of the class, with the fields and the values that the interpreter gives."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

import flambeau
from flambeau import Tensor
from flambeau.codegen import available

pytestmark = pytest.mark.skipif(not available(), reason="native code needs llvmlite")


class Pair(NamedTuple):
    total: Tensor
    rest: tuple[Tensor, int]


class Outer(NamedTuple):
    first: Pair
    n: float


def of_an_operator(x: Tensor):
    return x.topk(1)


def among_others(x: Tensor):
    return x.max(0), x.sum(), x.sort()


def of_a_class(x: Tensor) -> Pair:
    return Pair(x.sum(), (x + 1, 3))


def nested(x: Tensor) -> Outer:
    return Outer(Pair(x.sum(), (x, 3)), 0.5)


def perhaps(x: Tensor) -> Pair | None:
    if x.size(0) > 2:
        return Pair(x.sum(), (x + 1, 3))
    return None


def from_a_loop(x: Tensor) -> Pair:
    found = Pair(x, (x, 0))
    for k in range(3):
        found = Pair(found.total + k, (x, k))
    return found


FUNCTIONS = (of_an_operator, among_others, of_a_class, nested, perhaps, from_a_loop)
INPUTS = (flambeau.tensor([1.0, float("nan"), 3.0]), flambeau.ones(1), flambeau.arange(9.0)[::2])


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_they_are_what_the_interpreter_gives(function: Callable[..., Any]) -> None:
    native, interpreted = (flambeau.script(function, backend=b) for b in ("native", "interpreter"))
    for x in INPUTS:
        wanted = interpreted(x)
        for _ in range(5):
            found = native(x)
            assert type(found) is type(wanted)
            assert repr(found) == repr(wanted)
    assert native.explain(measure=False).is_native, str(native.explain(measure=False))


def test_their_class_is_the_users() -> None:
    scripted = flambeau.script(nested)
    for _ in range(5):
        found = scripted(INPUTS[0])
        assert (type(found), type(found.first)) == (Outer, Pair)
        assert found.first.rest[1] == 3


def test_in_a_list_they_are_interpreted() -> None:
    def listed(x: Tensor) -> list[Pair]:
        return [Pair(x.sum(), (x + 1, 3))]

    scripted = flambeau.script(listed)
    for _ in range(5):
        assert [type(one) for one in scripted(INPUTS[0])] == [Pair]
    assert "a tuple with names in a list or a dict" in " ".join(str(scripted.explain(measure=False)).split())


def test_gradients_go_through() -> None:
    scripted = flambeau.script(of_a_class)
    for _ in range(5):
        x = flambeau.ones(3, requires_grad=True)
        found = scripted(x)
        assert type(found) is Pair
        (found.total + found.rest[0].sum()).backward()
        assert x.grad is not None
        assert x.grad.tolist() == [2.0, 2.0, 2.0]


def test_nothing_is_kept_of_them() -> None:
    scripted = flambeau.script(of_an_operator)
    for _ in range(5):
        found = scripted(INPUTS[0])
    left = weakref.ref(found.values)
    del found
    gc.collect()
    assert left() is None
