"""Scripted functions with arguments that ask for gradients: native as for any tensors, with results that say so."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import flambeau
from flambeau import Tensor, nn
from flambeau.codegen import available


@flambeau.script
def folded(x: Tensor, n: int) -> Tensor:
    s = flambeau.zeros_like(x)
    for _ in range(n):
        s = s + x * 2.0
    return s


@flambeau.script
def total(x: Tensor) -> float:
    s = 0.0
    for i in range(x.shape[0]):
        s += float(x[i])
    return s


@flambeau.script
def several(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    return x * 2, y * 2, x.argmax(), x


@flambeau.script
def written(x: Tensor, y: Tensor) -> Tensor:
    y[0] = x[0]
    return y


@flambeau.script
def asked(x: Tensor) -> tuple[bool, bool, bool]:
    return x.requires_grad, (x * 2).requires_grad, x.detach().requires_grad


def _leaf() -> Tensor:
    return flambeau.ones(3).requires_grad_()


@pytest.mark.skipif(not available(), reason="native code needs llvmlite")
@pytest.mark.parametrize("is_recording", [False, True])
def test_c16_arguments_that_ask_run_natively(is_recording: bool) -> None:
    f = flambeau.script(total.__wrapped__)  # type: ignore[attr-defined]
    with flambeau.set_grad_enabled(is_recording):
        assert [f(_leaf()) for _ in range(4)] == [3.0] * 4
    (plan,) = f._executor.plans
    assert plan.compiled is not None
    assert not plan.compiled.reason
    assert plan.compiled.variants
    f(flambeau.ones(3))
    assert len(f._executor.plans) == 1, "the plan for plain tensors is the same"


@pytest.mark.parametrize("rounds", [1, 5])
def test_c16_results_say_what_eager_ones_say(rounds: int) -> None:
    x, y = _leaf(), flambeau.ones(3)
    for _ in range(rounds):
        results = several(x, y)
        assert [r.requires_grad for r in results] == [True, False, False, True]
        assert results[3] is x
        assert x.is_leaf
        assert not results[0].is_leaf
        assert folded(x, 3).requires_grad
        assert not folded(y, 3).requires_grad
        with flambeau.no_grad():
            results = several(x, y)
            assert [r.requires_grad for r in results] == [False, False, False, True]
            assert results[3] is x


def test_c16_lists_and_dicts_of_arguments() -> None:
    def f(xs: list[Tensor]) -> dict[str, Tensor]:
        return {"first": xs[0] * 2, "second": xs[1]}

    g = flambeau.script(f)
    xs = [_leaf(), flambeau.ones(3)]
    for _ in range(4):
        found = g(xs)
        assert found["first"].requires_grad
        assert found["second"] is xs[1]


def test_c08_programs_ask_for_the_truth() -> None:
    for _ in range(4):
        assert asked(_leaf()) == (True, True, False)
        assert asked(flambeau.ones(3)) == (False, False, False)
        with flambeau.no_grad():
            assert asked(_leaf()) == (True, False, False)


def test_c08_programs_do_not_write_leaves() -> None:
    x, y = flambeau.ones(3), _leaf()
    for _ in range(4):
        with pytest.raises(RuntimeError, match="a view of a leaf Variable that requires grad is being used"):
            written(x, y)
        assert y.tolist() == [1, 1, 1]
        with flambeau.no_grad():
            assert written(x, y) is y
    z = flambeau.zeros(3)
    assert written(_leaf(), z) is z
    assert z.requires_grad
    assert z.tolist() == [1, 0, 0]


class Layers(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(3, 4), nn.Linear(4, 2)
        self.register_buffer("calls", flambeau.zeros(1))

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        return self.second(flambeau.relu(self.first(x))), x * self.calls


class Counting(Layers):
    calls: Tensor

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        self.calls += 1
        return self.second(flambeau.relu(self.first(x))), self.calls


@pytest.mark.parametrize("kind", [Layers, Counting])
def test_c08_results_of_modules_say_that_parameters_ask(kind: Any) -> None:
    module = kind()
    scripted = flambeau.jit.script(module)
    x = flambeau.ones(5, 3)
    for _ in range(4):
        for m in (module, scripted):
            assert [r.requires_grad for r in m(x)] == [True, False]
            with flambeau.no_grad():
                assert [r.requires_grad for r in m(x)] == [False, False]
    module.requires_grad_(False)
    for m in (module, scripted):
        assert [r.requires_grad for r in m(x)] == [False, False]
    module.second.bias.requires_grad_()
    for m in (module, scripted):
        assert [r.requires_grad for r in m(x)] == [True, False]


def test_c16_calls_that_repeat_keep_their_meaning() -> None:
    """What is remembered of a call with arguments that ask holds for those that look so, and for no others."""

    @flambeau.script
    def f(x: flambeau.Tensor, y: flambeau.Tensor, n: float) -> tuple[flambeau.Tensor, flambeau.Tensor, flambeau.Tensor]:
        return x * n, y + 1, x

    asks, plain = flambeau.rand(10).requires_grad_(), flambeau.rand(10)
    for _ in range(4):
        for x, y in ((asks, plain), (plain, asks), (asks, asks), (plain, plain), (asks[:3], plain), (asks, asks[:1])):
            for n in (2.0, 3.0):
                a, b, c = f(x, y, n)
                assert (a.requires_grad, b.requires_grad, c.requires_grad) == (
                    x.requires_grad, y.requires_grad, x.requires_grad,
                )  # fmt: skip
                assert a.tolist() == (x.detach() * n).tolist()
                assert b.tolist() == (y.detach() + 1).tolist()
                assert c.tolist() == x.tolist()
            with flambeau.no_grad():
                assert not f(x, y, 2.0)[0].requires_grad
        assert f(asks, plain, 2.0)[2] is asks
        assert f(asks.double(), plain, 2.0)[0].dtype is flambeau.float64
        with pytest.raises(RuntimeError, match="n"):
            f(asks, plain, "a")


@flambeau.script
def asks_itself(x: Tensor, flag: bool) -> tuple[Tensor, Tensor, Tensor]:
    y = x.clone()
    y.requires_grad_(flag)
    for _ in range(2):
        y = y * 2
    with flambeau.no_grad():
        unrecorded = y * 3
    return y, unrecorded, flambeau.tensor([1.0, 2.0], requires_grad=flag) * x


@flambeau.script
def calls_who_asks(x: Tensor) -> Tensor:
    return asks_itself(x, True)[2] + 1


@pytest.mark.parametrize("flag", [True, False])
def test_programs_ask_for_gradients_themselves(flag: bool) -> None:
    x = flambeau.tensor([3.0, 4.0])
    for _ in range(3):
        doubled, unrecorded, product = asks_itself(x, flag)
        assert (doubled.requires_grad, unrecorded.requires_grad, product.requires_grad) == (flag, False, flag)
        assert doubled.tolist() == [12.0, 16.0]
        assert calls_who_asks(x).requires_grad
        with flambeau.no_grad():
            assert not any(y.requires_grad for y in asks_itself(x, flag))


def test_gradients_reach_arguments_of_programs_that_ask() -> None:
    x = flambeau.tensor([3.0, 4.0], requires_grad=True)
    calls_who_asks(x).sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [1.0, 2.0]


@pytest.mark.parametrize("rates", [(0.0,), (0.5, 0.5), (0.0, 0.5)])
def test_dropouts_that_give_back_what_they_are_given(rates: tuple[float, ...], tmp_path: Path) -> None:
    """Which of several calls that is, only the flag and the rate say: the result is then the argument itself."""
    path = tmp_path / "model.pt"
    flambeau.script(nn.Sequential(*map(nn.Dropout, rates))).save(path)
    model = flambeau.jit.load(path)
    for training in (True, False, True):
        model.train(training)
        for _ in range(4):
            x = flambeau.ones(2, 3, requires_grad=True)
            y = model(x)
            y.sum().backward()
            assert x.grad.tolist() == y.tolist()
