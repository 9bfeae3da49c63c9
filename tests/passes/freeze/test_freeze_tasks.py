"""Freezing of modules that fork their methods: what tasks only read becomes constant in them."""

from __future__ import annotations

from typing import Any

import pytest

import flambeau
from flambeau import Tensor, nn
from flambeau.jit import fork, freeze, wait

X = flambeau.ones(2)


class Scaled(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.scale = flambeau.ones(2) * 2
        self.times = [3]

    def forward(self, x: Tensor) -> Tensor:
        return x * self.scale * self.times[0]


class Forking(nn.Module):
    """Two tasks that read, and things that no task needs."""

    def __init__(self) -> None:
        super().__init__()
        self.scaled = Scaled()
        self.shift, self.unused, self.calls = flambeau.ones(2), flambeau.ones(2) * 7, 0

    def forward(self, x: Tensor) -> Tensor:
        a, b = fork(self.scaled, x), fork(self.shifted, x)
        return wait(a) + wait(b)

    def shifted(self, x: Tensor) -> Tensor:
        return wait(fork(self.scaled.forward, x)) + self.shift

    @flambeau.jit.export
    def count(self, x: Tensor) -> Tensor:
        self.calls += 1
        return wait(fork(self.scaled, x)) + self.calls


def left(module: Any) -> list[str]:
    return [name for name in ("scaled", "shift", "unused", "calls", "training") if hasattr(module, name)]


def test_what_tasks_read_is_constant() -> None:
    model = Forking().eval()
    frozen = freeze(flambeau.script(model))
    assert left(frozen) == []
    for _ in range(3):
        assert frozen(X).tolist() == model(X).tolist() == [13.0, 13.0]
    model.shift.add_(1)
    assert frozen(X).tolist() == model(X).tolist(), "tensors that nothing writes are shared"
    model.shift = flambeau.zeros(2)
    assert frozen(X).tolist() == [14.0, 14.0]


def test_methods_that_count_beside_tasks() -> None:
    frozen = freeze(flambeau.script(Forking().eval()), ["count"])
    assert left(frozen) == ["calls"]
    assert [frozen.count(X).tolist() for _ in range(2)] == [[7.0, 7.0], [8.0, 8.0]]
    assert frozen.calls == 2


def test_what_is_preserved_is_read_in_tasks() -> None:
    frozen = freeze(flambeau.script(Forking().eval()), ["shift"])
    frozen.shift = flambeau.ones(2) * 100
    assert frozen(X).tolist() == [112.0, 112.0]


@pytest.mark.parametrize("what", ["assigns", "writes", "appends", "returns it", "is written elsewhere"])
def test_tasks_that_change_what_they_are_given(what: str) -> None:
    class Changing(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.what = what
            self.n, self.t, self.l = 0, flambeau.zeros(2), [1]

        def task(self, x: Tensor) -> Tensor:
            if self.what == "assigns":
                self.n += 1
            if self.what == "writes":
                self.t.add_(1)
            if self.what == "appends":
                self.l.append(1)
            return self.t if self.what == "returns it" else x + self.n + self.t + len(self.l)

        def forward(self, x: Tensor) -> Tensor:
            y = wait(fork(self.task, x))
            if self.what == "is written elsewhere":
                self.t.add_(1)
            if self.what == "returns it":
                y.add_(1)
            return y * 1

    plain, scripted = Changing().eval(), flambeau.script(Changing().eval())
    frozen = freeze(scripted)
    for _ in range(3):
        assert frozen(X).tolist() == plain(X).tolist()
    assert scripted.t.tolist() == [0.0, 0.0]


def test_tasks_in_traces_and_awaitables() -> None:
    flambeau.manual_seed(0)

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = nn.Linear(2, 2)

        def forward(self, x: Tensor) -> Tensor:
            return wait(fork(self.linear, x)) + 1

    model = Net().eval()
    frozen = freeze(flambeau.trace(model, X))
    assert not hasattr(frozen, "linear")
    assert frozen.graph.find("prim::fork") is not None
    assert frozen(X).tolist() == pytest.approx(model(X).tolist())

    class Lazy(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = nn.Linear(2, 2)

        def forward(self, x: Tensor) -> Tensor:
            later = flambeau.jit._awaitable(self.linear, x)
            return flambeau.jit._awaitable_wait(later) + 1

    lazy = Lazy().eval()
    frozen = freeze(flambeau.script(lazy))
    assert not hasattr(frozen, "linear")
    assert frozen(X).tolist() == pytest.approx(lazy(X).tolist())
