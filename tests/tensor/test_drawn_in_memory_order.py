"""Random numbers lie in memory in the order in which they are drawn, whatever the order of a tensor's dimensions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import flambeau

FILLS: dict[str, tuple[Any, ...]] = {
    "uniform_": (-1.0, 2.0), "normal_": (1.0, 2.0), "exponential_": (0.5,), "cauchy_": (), "log_normal_": (),
    "geometric_": (0.3,), "random_": (0, 10), "bernoulli_": (0.4,),
}  # fmt: skip


def seeded(seed: int, f: Callable[[], Any]) -> Any:
    flambeau.manual_seed(seed)
    return f()


@pytest.mark.parametrize("name", FILLS)
@pytest.mark.parametrize("sizes", [(2, 3), (3, 2, 2), (0, 4)])
def test_a_turned_tensor_is_filled_as_its_memory_is(name: str, sizes: tuple[int, ...]) -> None:
    axes = tuple(range(len(sizes)))[::-1]
    for seed in (0, 5):
        flat = seeded(seed, lambda: getattr(flambeau.zeros(sizes), name)(*FILLS[name]))
        turned = seeded(seed, lambda: getattr(flambeau.zeros(sizes).permute(axes), name)(*FILLS[name]))
        assert flambeau.equal(turned.permute(axes), flat)


def test_chances_turn_with_the_tensor() -> None:
    sure = flambeau.tensor([[0.0, 1.0, 1.0], [1.0, 0.0, 0.0]])
    for chances in (sure, 1 - sure):
        assert flambeau.equal(flambeau.zeros(3, 2).t().bernoulli_(chances), chances)
        assert flambeau.equal(flambeau.zeros(2, 3).t().bernoulli_(chances.t()), chances.t())


def test_like_a_turned_tensor() -> None:
    likes: list[Callable[[Any], Any]] = [flambeau.rand_like, lambda t: flambeau.randint_like(t, 9)]
    for x in (flambeau.zeros(4, 9), flambeau.zeros(3, 5)):
        for like in likes:
            flambeau.manual_seed(2)
            flat = like(x)
            flambeau.manual_seed(2)
            turned = like(x.t())
            assert turned.stride() == x.t().stride()
            assert flambeau.equal(turned.t(), flat)


CASES: dict[str, Callable[[Any, Any], Any]] = {
    **{name: lambda m, x, name=name: getattr(x.clone(), name)(*FILLS[name]) for name in FILLS},
    "every second": lambda m, x: m.zeros(8, *x.shape[1:])[::2].normal_(),
    "randn_like": lambda m, x: m.randn_like(x),
    "rand_like": lambda m, x: m.rand_like(x),
    "double": lambda m, x: x.double().normal_(),
    "half": lambda m, x: x.half().normal_(),
    "complex": lambda m, x: x.to(m.complex64).normal_(),
    "truncated": lambda m, x: m.nn.init.trunc_normal_(x.clone()),
    "xavier": lambda m, x: m.nn.init.xavier_normal_(x.clone()),
    "weights": lambda m, x: m.multinomial(x.reshape(4, -1).t(), 2),
    "of means": lambda m, x: m.normal(x, 2.0),
    "gumbel": lambda m, x: m.nn.functional.gumbel_softmax(x),
    "slopes": lambda m, x: m.nn.functional.rrelu(x - 0.5, training=True),
    "beyond float32": lambda m, x: x.clone().random_(0, 1 << 40),
    "on both sides": lambda m, x: x.clone().random_(-(1 << 30) - 1, 1 << 31),
}


@pytest.mark.filterwarnings("ignore:.*out of bounds")
@pytest.mark.parametrize("name", CASES)
def test_the_numbers_are_those_of_torch(name: str) -> None:
    torch = pytest.importorskip("torch")
    for sizes, axes in (((20, 4), (1, 0)), ((3, 4), (1, 0)), ((2, 3, 4), (2, 0, 1)), ((4, 3, 2, 5), (0, 3, 1, 2))):
        results = []
        for m in (torch, flambeau):
            m.manual_seed(3)
            x = m.rand(sizes).permute(axes)
            y = CASES[name](m, x)
            results.append((y.stride(), y.double().tolist() if not y.is_complex() else m.view_as_real(y).tolist()))
            results[-1] += (m.rand(1).item(),)
        (strides, values, after), (ours, own_values, own_after) = results
        assert ours == strides
        assert own_after == after
        close(own_values, values)


def close(x: Any, y: Any) -> None:
    a, b = (flambeau.tensor(one, dtype=flambeau.float64) for one in (x, y))
    assert flambeau.allclose(a, b, rtol=2e-6)


def test_layers_follow() -> None:
    layer = flambeau.nn.Linear(3, 2)
    flat = seeded(1, lambda: flambeau.nn.init.uniform_(layer.weight).clone())
    turned = seeded(1, lambda: flambeau.nn.init.uniform_(flambeau.empty(2, 3).t()))
    assert flambeau.equal(turned.t(), flat)
