"""Methods whose objects have dicts run without their objects: keys are known, tensors are given, writes are seen."""

from __future__ import annotations

import copy
from typing import Any

import pytest

import flambeau
from flambeau import Tensor, nn
from flambeau.codegen import available
from flambeau.util.errors import ScriptError
from tests.jit.modules.module_support import same

pytestmark = pytest.mark.skipif(not available(), reason="needs native code")
X = flambeau.tensor([[1.0, -2.0, 3.0], [0.5, 0.0, -1.0]])


class Cached(nn.Module):
    """Keeps what it computed by the name of a device, outside of training."""

    cache: dict[str, Tensor]

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(flambeau.tensor([1.0, 2.0, 3.0]))
        self.cache = {}

    def forward(self, x: Tensor) -> Tensor:
        if self.training:
            return x + self.weight * 2
        key = str(x.device)
        if key not in self.cache:
            self.cache[key] = self.weight * 2
        return x + self.cache[key]


class Names(nn.Module):
    """Takes steps that a dict names, and gives what it was after some of them."""

    wanted: dict[str, str]
    times: dict[str, int]

    def __init__(self) -> None:
        super().__init__()
        self.wanted = {"first": "low", "third": "high"}
        self.times = {"first": 2, "second": 3}

    def forward(self, x: Tensor) -> dict[str, Tensor]:
        out: dict[str, Tensor] = {}
        x = x * self.times["first"]
        if "first" in self.wanted:
            out[self.wanted["first"]] = x
        x = x + len(self.times)
        if "second" in self.wanted:
            out[self.wanted["second"]] = x
        x = x - 1
        if "third" in self.wanted:
            out[self.wanted["third"]] = x
        out["sum"] = x + len(out)
        return out


def pair(kind: Any) -> tuple[Any, Any]:
    eager = kind()
    return eager, flambeau.script(copy.deepcopy(eager), verify=True)


def test_a_cache_is_filled_and_then_read() -> None:
    eager, scripted = pair(Cached)
    with flambeau.no_grad():
        for module in (eager, scripted):
            module.train()
        assert same(eager(X), scripted(X))
        for module in (eager, scripted):
            module.eval()
        for _ in range(4):
            assert same(eager(X), scripted(X))
        assert list(scripted.cache) == ["cpu"], "what is put in is seen"
        assert same(scripted.cache["cpu"], eager.cache["cpu"])
        assert scripted.forward._seen.native is not None
        assert "Dict" not in str(scripted.graph_for(X))
        assert scripted.explain(measure=False).is_native


def test_what_is_done_to_a_dict_between_calls_is_seen() -> None:
    eager, scripted = pair(Cached)
    with flambeau.no_grad():
        for module in (eager, scripted):
            module.eval()
            module(X)
        for change in (
            lambda m: m.cache["cpu"].mul_(10),
            lambda m: m.cache.update(cpu=flambeau.ones(3)),
            lambda m: m.cache.update(other=flambeau.ones(3)),
            lambda m: m.cache.pop("cpu"),
            lambda m: m.cache.update(cpu=flambeau.ones(1)),
            lambda m: m.cache.clear(),
            lambda m: m.weight.mul_(3),
        ):
            change(eager)
            change(scripted)
            for _ in range(3):
                assert same(eager(X), scripted(X))
            assert list(eager.cache) == list(scripted.cache)


def test_gradients_of_what_a_dict_keeps() -> None:
    eager, scripted = pair(Cached)
    for module in (eager, scripted):
        module.eval()
        module(X)
        for _ in range(3):
            module.weight.grad = None
            module(X).sum().backward(retain_graph=True)
    assert same(eager.weight.grad, scripted.weight.grad)


def test_results_by_names_that_a_dict_gives() -> None:
    eager, scripted = pair(Names)
    for change in ({}, {"second": "middle"}, {"first": "high"}, {"third": "low"}):
        eager.wanted.update(change)
        scripted.wanted.update(change)
        for _ in range(4):
            expected, found = eager(X), scripted(X)
            assert list(expected) == list(found), "in the order in which they came"
            assert all(same(expected[k], found[k]) for k in expected)
        assert scripted.forward._seen.native is not None
        assert not scripted.graph_for(X).find_all("prim::If")


def test_two_results_are_two_dicts() -> None:
    _, scripted = pair(Names)
    first = scripted(X)
    first["mine"] = X
    assert "mine" not in scripted(X)


class Missing(nn.Module):
    times: dict[str, int]

    def __init__(self) -> None:
        super().__init__()
        self.times = {"first": 2}

    def forward(self, x: Tensor) -> Tensor:
        return x * self.times["second"]


def test_a_key_that_is_not_there_fails_where_it_is_asked_for() -> None:
    scripted = flambeau.script(Missing())
    for _ in range(4):
        with pytest.raises(RuntimeError, match="KeyError: second") as caught:
            scripted(X)
        assert 'return x * self.times["second"]' in str(caught.value)
    scripted.times["second"] = 5
    assert same(scripted(X), X * 5)


class Counts(nn.Module):
    """Draws before it writes: it may not be run a second time for the object's sake."""

    seen: dict[str, Tensor]

    def __init__(self) -> None:
        super().__init__()
        self.seen = {}

    def forward(self, x: Tensor, key: str) -> Tensor:
        y = x + flambeau.rand(3)
        if key not in self.seen:
            self.seen[key] = y
        return self.seen[key]


class GivesKept(nn.Module):
    kept: dict[str, Tensor]

    def __init__(self) -> None:
        super().__init__()
        self.kept = {"a": nn.Parameter(flambeau.ones(3))}

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        return x + 1, self.kept["a"]


def test_what_may_not_run_twice_keeps_its_object() -> None:
    scripted = flambeau.script(Counts())
    for key in ("a", "b", "a"):
        flambeau.manual_seed(ord(key))
        expected = X + flambeau.rand(3)
        flambeau.manual_seed(ord(key))
        assert same(scripted(X, key), expected)
    assert list(scripted.seen) == ["a", "b"]
    assert scripted.forward._seen.native is None


def test_what_is_given_away_is_what_the_dict_has() -> None:
    scripted = flambeau.script(GivesKept())
    for _ in range(4):
        assert scripted(X)[1] is scripted.kept["a"]


class Raises(nn.Module):
    cache: dict[str, int]

    def __init__(self) -> None:
        super().__init__()
        self.cache = {}

    def forward(self, x: Tensor, n: int) -> Tensor:
        if n not in [1, 2]:
            raise ValueError("one or two")
        if "n" not in self.cache:
            self.cache["n"] = n
        if n == 2:
            raise ValueError("behind the write")
        return x * self.cache["n"]


def test_errors_before_and_behind_a_write() -> None:
    scripted = flambeau.script(Raises())
    with pytest.raises(ScriptError, match="one or two"):
        scripted(X, 3)
    assert not scripted.cache
    with pytest.raises(ScriptError, match="behind the write"):
        scripted(X, 2)
    assert dict(scripted.cache) == {"n": 2}
    for _ in range(3):
        assert same(scripted(X, 1), X * 2)
