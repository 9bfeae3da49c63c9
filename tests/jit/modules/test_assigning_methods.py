"""Methods that assign attributes run natively without their object, and leave it as CPython would."""

from __future__ import annotations

import copy
from typing import Any

import pytest

import flambeau
from flambeau import Tensor, nn
from flambeau.codegen import available
from flambeau.executor.parameter_promotion import promotion_of
from tests.jit.modules.module_support import BACKENDS, same

X = flambeau.tensor([[1.0, -2.0, 3.0], [0.5, 0.0, -1.0]])


class Counts(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.n, self.scale, self.odd = 0, 0.5, False

    def forward(self, x: Tensor) -> Tensor:
        self.n += 1
        self.odd = not self.odd
        if self.odd:
            self.scale = self.scale * 2
        return x * self.scale + self.n


class Remembers(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(3, 3)
        self.register_buffer("mean", flambeau.zeros(3))
        self.h = flambeau.zeros(2, 3)

    def forward(self, x: Tensor) -> Tensor:
        self.mean = self.mean * 0.9 + x.mean(0) * 0.1
        self.h = flambeau.tanh(self.layer(x) + self.h)
        return self.h - self.mean


class Loops(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.state, self.steps = flambeau.zeros(3), 0

    def forward(self, x: Tensor) -> Tensor:
        for row in range(x.size(0)):
            if bool(x[row].sum() < 0):
                continue
            self.state = self.state + x[row]
            self.steps += 1
        return self.state


class Inner(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.calls = 0

    def forward(self, x: Tensor) -> Tensor:
        self.calls += 1
        return x * self.calls


class Outer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = Inner(), Inner()
        self.total = 0

    def forward(self, x: Tensor) -> Tensor:
        x = self.second(self.first(self.first(x)))
        self.total = self.first.calls + self.second.calls
        return x


class Shared(Outer):
    def __init__(self) -> None:
        super().__init__()
        self.second = self.first


class StartsEmpty(nn.Module):
    last: Tensor | None

    def __init__(self) -> None:
        super().__init__()
        self.last = None

    def forward(self, x: Tensor) -> Tensor:
        before = self.last
        self.last = x * 2
        return x if before is None else x + before


class GivesNothing(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.sum = flambeau.zeros(3)

    def forward(self, x: Tensor) -> None:
        self.sum = self.sum + x.sum(0)


class Keeps(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.last = flambeau.zeros(2, 3)

    def forward(self, x: Tensor) -> Tensor:
        self.last = x
        return x + 1


class Prints(Counts):
    def forward(self, x: Tensor) -> Tensor:
        self.n += 1
        print(self.n)
        return x * self.n


class Changes(Counts):
    def forward(self, x: Tensor) -> Tensor:
        self.n += 1
        x.add_(0)
        return x * self.n


def state(module: Any) -> dict[str, Any]:
    """What the attributes of a module and of those in it are."""
    return {
        f"{path}.{name}": getattr(one, name)
        for path, one in module.named_modules()
        for name in ("n", "scale", "odd", "h", "mean", "state", "steps", "calls", "total", "last", "sum")
        if hasattr(one, name)
    }


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    "kind", [Counts, Remembers, Loops, Outer, Shared, StartsEmpty, GivesNothing, Keeps, Prints, Changes]
)
def test_objects_are_left_as_in_python(kind: Any, backend: Any) -> None:
    flambeau.manual_seed(0)
    eager = kind()
    flambeau.manual_seed(0)
    scripted = flambeau.script(kind(), backend=backend, verify=True)
    with flambeau.no_grad():
        for _ in range(6):
            expected, found = eager(X), scripted(X)
            assert found is None if expected is None else same(expected, found)
            assert same(state(eager), state(scripted))


@pytest.mark.skipif(not available(), reason="needs native code")
@pytest.mark.parametrize(
    ("kind", "assigned"),
    [
        (Counts, 3), (Remembers, 2), (Loops, 2), (Outer, 3), (StartsEmpty, 1), (GivesNothing, 1), (Keeps, None),
        (Prints, None), (Changes, None),
    ],
)  # fmt: skip
def test_which_methods_do_without_their_object(kind: Any, assigned: int | None) -> None:
    scripted = flambeau.script(kind())
    lifting = promotion_of(scripted.forward.script_function)
    assert (None if lifting is None else lifting.assigned) == assigned


@pytest.mark.skipif(not available(), reason="needs native code")
def test_they_are_native() -> None:
    for kind in (Counts, Remembers):
        scripted = flambeau.script(kind())
        with flambeau.no_grad():
            for _ in range(4):
                scripted(X)
        assert "native from end to end" in str(scripted.explain())


def test_whatever_was_assigned_meanwhile_is_seen() -> None:
    eager, scripted = Counts(), flambeau.script(Counts())
    for n in range(8):
        if n % 3 == 2:
            eager.n = scripted.n = 10 * n
            eager.scale = scripted.scale = float(n)
        assert same(eager(X), scripted(X))
        assert same(state(eager), state(scripted))


def test_a_parameter_in_the_place_of_a_tensor_keeps_its_gradient() -> None:
    eager, scripted = Loops(), flambeau.script(Loops())
    for module in (eager, scripted):
        for _ in range(3):
            module(X)
        module.state = flambeau.ones(3, requires_grad=True)
    for _ in range(3):
        expected, found = eager(X), scripted(X)
        assert same(expected, found)
        assert expected.requires_grad == found.requires_grad


class Fails(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.n = 0

    def forward(self, x: Tensor, limit: int) -> Tensor:
        self.n += 1
        y = x + flambeau.ones(3)
        self.n += 10
        if self.n > limit:
            raise ValueError(f"{self.n} is too much")
        return y


@pytest.mark.parametrize("backend", BACKENDS)
def test_what_was_assigned_before_a_failure_stays(backend: Any) -> None:
    scripted = flambeau.script(Fails(), backend=backend)
    for _ in range(4):
        scripted(X, 1000)
    with pytest.raises(flambeau.jit.Error, match="55 is too much"):
        scripted(X, 50)
    assert scripted.n == 55
    with pytest.raises(RuntimeError, match="must match the size"):
        scripted(flambeau.ones(2), 1000)
    assert scripted.n == 56
    scripted(X, 1000)
    assert scripted.n == 67


def test_instances_and_copies_keep_their_own() -> None:
    first, second = flambeau.script(Counts()), flambeau.script(Counts())
    for _ in range(3):
        first(X)
    other = copy.deepcopy(first)
    other(X)
    second(X)
    assert (first.n, other.n, second.n) == (3, 4, 1)


def test_traces_and_wrong_arguments() -> None:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.counter = flambeau.script(Counts())

        def forward(self, x: Tensor) -> Tensor:
            return self.counter(x)

    net = Net()
    for _ in range(3):
        net(X)
    traced = flambeau.trace(net, X, check_trace=False)
    assert "prim::CallMethod" in str(traced.graph)
    before = net.counter.n
    with pytest.raises(RuntimeError, match="Expected a value of type 'Tensor'"):
        net.counter("text")
    assert net.counter.n == before


class Recurrent(nn.Module):
    """Keeps a state between calls, with a dropout, and takes parts of its input apart from gradients."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(flambeau.tensor([0.5, -1.0, 2.0]))
        self.dropout = nn.Dropout(0.5)
        self.state = flambeau.zeros(0)
        self.calls = 0

    def forward(self, x: Tensor) -> Tensor:
        if self.calls == 0 or len(self.state) != len(x):
            self.state = flambeau.zeros(len(x), 3)
        self.calls += 1
        y = self.dropout(x * self.weight) + self.state
        self.state = (y * 0.5).data
        if float(y.sum()) > 1000.0:
            raise ValueError("too much")
        return y


def test_a_state_beside_a_dropout_and_data() -> None:
    eager, scripted = Recurrent(), flambeau.script(Recurrent(), verify=True)
    for module in (eager, scripted):
        module.eval()
    with flambeau.no_grad():
        for rows in (2, 2, 2, 3, 3, 2):
            x = flambeau.ones(rows, 3) * rows
            assert same(eager(x), scripted(x))
            assert same(eager.state, scripted.state)
            assert eager.calls == scripted.calls
        assert scripted.forward._seen.native is not None
        for module in (eager, scripted):
            with pytest.raises(Exception, match="too much"):
                module(flambeau.ones(2, 3) * 1000)
        assert same(eager.state, scripted.state), "what was assigned before the error stays"
        assert eager.calls == scripted.calls
    for module in (eager, scripted):
        module.state = flambeau.ones(2, 3)
    for _ in range(3):
        results = [module(flambeau.ones(2, 3)) for module in (eager, scripted)]
        for module, result in zip((eager, scripted), results, strict=True):
            module.weight.grad = None
            result.sum().backward()
            assert not module.state.requires_grad
        assert same(*results)
        assert same(eager.weight.grad, scripted.weight.grad)


def test_a_dropout_in_training_draws_once() -> None:
    eager, scripted = Recurrent(), flambeau.script(Recurrent())
    for scale in (1.0, 2.0, 1000.0, 1.0):
        results = []
        for module in (eager, scripted):
            flambeau.manual_seed(5)
            try:
                results.append(module(flambeau.ones(2, 3) * scale).detach())
            except Exception as error:
                results.append(flambeau.tensor([float("too much" in str(error))]))
            results[-1] = flambeau.cat([results[-1].flatten(), flambeau.rand(1)])
        assert same(*results), "also the numbers drawn afterwards"
        assert eager.calls == scripted.calls
