"""Equal seeds draw PyTorch's numbers: recorded ones, and those of PyTorch itself where it is installed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau.utils.data import DataLoader, RandomSampler, random_split

Draw = Callable[[Any], Any]

RECORDED: dict[str, tuple[Draw, list[float]]] = {
    "nothing for a dropout of all": (
        lambda lib: lib.cat([lib.nn.functional.dropout(lib.ones(2), 1.0), lib.rand(1)]), [0, 0, 0.5349225],
    ),
    "nothing for a dropout of all, recorded": (
        lambda lib: lib.cat(
            [lib.nn.functional.dropout(lib.ones(2, requires_grad=True), 1.0).detach(), lib.rand(1)]
        ), [0, 0, 0.5349225],
    ),
    "spectral norm in its older form": (
        lambda lib: lib.nn.utils.spectral_norm(lib.nn.Linear(3, 2)).weight_u.abs(), [0.8839, 0.4678],
    ),
    "rand": (lambda lib: lib.rand(3), [0.5349225, 0.1988032, 0.6592117]),
    "rand in float64": (lambda lib: lib.rand(2, dtype=lib.float64), [0.2793804, 0.2736937]),
    "randn, one by one": (lambda lib: lib.randn(5), [-0.1467951, 0.7861413, 0.9468216, -1.1143440, 1.6907902]),
    "randn, in blocks": (lambda lib: lib.randn(20)[[0, 1, 4, 19]], [-0.8201, 0.3956, 0.1984, -0.3567]),
    "randint": (lambda lib: lib.randint(-5, 5, (5,)), [0, -3, -4, 1, -2]),
    "randint of 64 bits": (lambda lib: lib.randint(0, 2**63 - 1, (1,)), [1407639518939636932]),
    "randperm": (lambda lib: lib.randperm(6), [3, 0, 1, 5, 2, 4]),
    "random_": (lambda lib: lib.empty(4, dtype=lib.uint8).random_(), [175, 196, 25, 246]),
    "exponential_": (lambda lib: lib.empty(3).exponential_(2.0), [0.1638220, 0.1598917, 0.9905877]),
    "cauchy_": (lambda lib: lib.empty(2).cauchy_(1, 2), [-0.6611115, -0.7224061]),
    "geometric_": (lambda lib: lib.empty(5).geometric_(0.3), [4, 4, 1, 2, 1]),
    "log_normal_": (lambda lib: lib.empty(3).log_normal_(), [2.026702, 13.095682, 18.058983]),
    "bernoulli_": (lambda lib: lib.empty(12).bernoulli_(0.3), [1, 1, 0, 0, 0, 0, 1, 0, 0, 0, 1, 1]),
    "bernoulli of float32s": (
        lambda lib: lib.bernoulli(lib.full((12,), 0.3)), [0, 1, 0, 0, 1, 0, 1, 0, 0, 0, 0, 0],
    ),
    "multinomial": (lambda lib: lib.multinomial(lib.tensor([0.1, 0.2, 0.7, 0.4]), 3), [1, 3, 2]),
    "multinomial with replacement": (
        lambda lib: lib.multinomial(lib.tensor([0.1, 0.2, 0.7]), 5, True), [1, 1, 2, 2, 2],
    ),
    "poisson": (lambda lib: lib.poisson(lib.tensor([0.0, 0.5, 3, 9, 12, 1000])), [0, 0, 5, 6, 14, 1047]),
    "binomial": (lambda lib: lib.binomial(lib.full((4,), 30.0), lib.tensor([0.1, 0.3, 0.5, 1])), [3, 8, 8, 30]),
    "standard gamma": (
        lambda lib: lib._standard_gamma(lib.tensor([0.1, 0.7, 1, 30])), [0.0202452, 0.1346396, 0.4164163, 36.898102],
    ),
    "dropout": (lambda lib: lib.nn.functional.dropout(lib.ones(9), 0.5), [2, 2, 0, 0, 0, 0, 2, 0, 0]),
    "trunc_normal_": (
        lambda lib: lib.nn.init.trunc_normal_(lib.empty(4), a=-0.5, b=0.5),
        [-0.1467951, 0.2405461, -0.3556250, 0.1328070],
    ),
}  # fmt: skip
DRAWS: list[Draw] = [
    lambda lib: lib.rand(1000),
    lambda lib: lib.rand(7, 5, dtype=lib.float64),
    lambda lib: lib.rand(3000, dtype=lib.float16),
    lambda lib: lib.rand(3000, dtype=lib.bfloat16),
    lambda lib: lib.view_as_real(lib.rand(5, dtype=lib.complex64)),
    lambda lib: lib.randn(1001),
    lambda lib: lib.randn(77, dtype=lib.float64),
    lambda lib: lib.randn(77, dtype=lib.float16),
    lambda lib: lib.randn(7, dtype=lib.bfloat16),
    lambda lib: lib.view_as_real(lib.randn(20, dtype=lib.complex128)),
    lambda lib: lib.cat([lib.randn(1), lib.rand(2), lib.randn(4), lib.randn(20), lib.randn(2)]),
    lambda lib: lib.randint(0, 2**28 - 1, (50,)),
    lambda lib: lib.randint(-(2**63), 2**63 - 1, (50,)),
    lambda lib: lib.randint_like(lib.zeros(3, 4), 5),
    lambda lib: lib.randperm(40_000),
    lambda lib: lib.randperm(30, dtype=lib.int32),
    lambda lib: lib.empty(3000, dtype=lib.bfloat16).uniform_(-2.5, 3.7),
    lambda lib: lib.empty(20, dtype=lib.float16).normal_(3, 2),
    *[
        lambda lib, name=name: lib.empty(20, dtype=getattr(lib, name)).random_()
        for name in ("bool", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64")
    ],
    lambda lib: lib.empty(20, dtype=lib.int64).random_(-5, None),
    lambda lib: lib.bernoulli(lib.full((30,), 0.3, dtype=lib.float64)),
    lambda lib: lib.multinomial(lib.tensor([[0.1, 0.2, 0.7, 0.3], [3, 2, 1, 0]]), 20, replacement=True),
    lambda lib: lib.normal(lib.arange(5.0), lib.arange(1.0, 6)),
    lambda lib: lib.nn.functional.rrelu(lib.tensor([1.0, -1, 2, -2, 3, -3]), training=True),
    lambda lib: lib.nn.Linear(30, 20).weight.detach(),
    lambda lib: lib.nn.Conv2d(3, 2, 3).bias.detach(),
    lambda lib: lib.nn.LSTM(3, 2, 2).weight_hh_l1.detach(),
    lambda lib: lib.nn.Embedding(30, 2, padding_idx=1).weight.detach(),
    lambda lib: lib.nn.TransformerEncoderLayer(4, 2, 8).linear2.weight.detach(),
    lambda lib: lib.nn.init.orthogonal_(lib.empty(3, 5)),
    lambda lib: lib.nn.init.orthogonal_(lib.empty(5, 3)),
    lambda lib: lib.nn.init.sparse_(lib.empty(10, 3), 0.3),
    lambda lib: lib.nn.init.trunc_normal_(lib.empty(50), mean=1, std=2, a=-0.5, b=0.5),
    lambda lib: lib.nn.init.trunc_normal_(lib.empty(50), mean=1, std=2, a=2, b=3),
    lambda lib: lib.distributions.Cauchy(0.0, 1.0).sample((5,)),
    lambda lib: lib.distributions.Geometric(lib.tensor([0.3])).sample((5,)),
    lambda lib: lib.distributions.Laplace(0.0, 1.0).sample((5,)),
    lambda lib: lib.distributions.Categorical(lib.tensor([0.2, 0.8])).sample((5,)),
    lambda lib: lib.poisson(lib.arange(0, 40, 0.1)),
    lambda lib: lib.poisson(lib.full((5000,), 12.5)),
    lambda lib: lib.poisson(lib.tensor([[0.0, 1e6], [3.5, 9.99]], dtype=lib.float64).t()),
    lambda lib: lib.binomial(lib.tensor([[0.0], [5], [100], [1000]]), lib.tensor([0.0, 0.01, 0.3, 0.5, 0.7, 1])),
    lambda lib: lib.binomial(lib.full((5000,), 40.0), lib.full((5000,), 0.6)),
    lambda lib: lib.binomial(lib.full((40,), 1e6).double(), lib.full((40,), 0.3).double()),
    lambda lib: lib._standard_gamma(lib.tensor([0.0, 0.1, 0.5, 1, 1.5, 20, 1e4] * 3)),
    lambda lib: lib._standard_gamma(lib.full((5000,), 0.6)),
    lambda lib: lib.cat([lib.randn(1), lib._standard_gamma(lib.full((3,), 2.0)), lib.randn(2)]),
    lambda lib: lib.distributions.Gamma(lib.arange(0.1, 5, 0.1), 2.0).sample((3,)),
    lambda lib: lib.distributions.Beta(lib.arange(0.1, 5, 0.1), 2.0).sample((3,)),
    lambda lib: lib.distributions.Dirichlet(lib.arange(0.1, 5, 0.1)).sample((3,)),
    lambda lib: lib.distributions.StudentT(lib.arange(0.5, 5, 0.1)).sample((3,)),
    lambda lib: lib.distributions.NegativeBinomial(lib.arange(0.5, 5, 0.1), 0.4).sample((3,)),
    lambda lib: lib.distributions.Multinomial(6, lib.tensor([0.2, 0.3, 0.5])).sample((3,)),
    lambda lib: lib.rand(2, generator=lib.Generator().manual_seed(-3)),
    lambda lib: lib.rand(2, generator=lib.Generator().manual_seed(2**40 + 7)),
]
DRAWS_OF_MKL: list[Draw] = [
    lambda lib: lib.bernoulli(lib.full((30,), 0.3), 0.6),
    lambda lib: lib.nn.functional.dropout(lib.ones(30, dtype=lib.float64), 0.3),
    lambda lib: lib.nn.functional.dropout2d(lib.ones(2, 4, 2, 2), 0.5, True),
    lambda lib: lib.nn.functional.alpha_dropout(lib.ones(10), 0.5, True),
    lambda lib: lib.native_dropout(lib.ones(30), 0.3, True)[0],
    lambda lib: lib.nn.functional.gumbel_softmax(lib.zeros(2, 5)),
    lambda lib: lib.distributions.Exponential(2.0).sample((5,)),
    lambda lib: lib.empty(30).bernoulli_(0.3),
    lambda lib: lib.empty(30, dtype=lib.float64).exponential_(3.0),
    lambda lib: lib.multinomial(lib.tensor([[0.1, 0.2, 0.7, 0.3], [3, 2, 1, 0]]), 2),
]
"""What PyTorch draws by other generators, of MKL, on processors of Intel."""


@pytest.mark.parametrize("name", RECORDED)
def test_recorded_numbers(name: str) -> None:
    draw, expected = RECORDED[name]
    flambeau.manual_seed(7)
    np.testing.assert_allclose(draw(flambeau).double().numpy(), expected, rtol=1e-4, atol=1e-4)


def torch_without_mkl() -> Any:
    """PyTorch, where it draws by its own generator only."""
    torch = pytest.importorskip("torch")
    cpuinfo = Path("/proc/cpuinfo")
    if torch.backends.mkl.is_available() and cpuinfo.exists() and "GenuineIntel" in cpuinfo.read_text("utf-8"):
        pytest.skip("PyTorch draws these by MKL's generators on processors of Intel")
    return torch


@pytest.mark.parametrize("number", range(len(DRAWS)))
def test_numbers_of_pytorch(number: int) -> None:
    compare(pytest.importorskip("torch"), number, DRAWS[number])


@pytest.mark.parametrize("number", range(len(DRAWS_OF_MKL)))
def test_numbers_of_pytorch_without_mkl(number: int) -> None:
    compare(torch_without_mkl(), number, DRAWS_OF_MKL[number])


def compare(torch: Any, seed: int, draw: Draw) -> None:
    results = []
    for lib in (torch, flambeau):
        lib.manual_seed(seed)
        numbers = draw(lib)
        wide = numbers.to(lib.float64).numpy() if numbers.is_floating_point() else numbers.numpy()
        results.append((wide, lib.rand(1).item()))
    (expected, then), (got, then_here) = results
    np.testing.assert_allclose(got, expected, rtol=1e-5, atol=2e-6)
    assert then_here == then, "another place of the stream"


def test_orders_of_data_are_those_of_pytorch() -> None:
    torch = pytest.importorskip("torch")
    orders = []
    for lib, data in ((torch, torch.utils.data), (flambeau, flambeau.utils.data)):
        lib.manual_seed(3)
        numbers = range(10)
        orders.append((
            [b.tolist() for _ in range(2) for b in data.DataLoader(lib.arange(10), batch_size=3, shuffle=True)],
            list(data.RandomSampler(numbers, num_samples=23)),
            list(data.RandomSampler(numbers, replacement=True, num_samples=40)),
            list(data.SubsetRandomSampler([3, 4, 5, 6])),
            list(data.WeightedRandomSampler([0.1, 0.9, 0.4], 5)),
            list(data.DistributedSampler(numbers, 3, 1, seed=5)),
            [list(part.indices) for part in data.random_split(numbers, [3, 7])],
            lib.rand(1).item(),
        ))  # fmt: skip
    assert orders[0] == orders[1]


def test_states_go_from_pytorch_to_here_and_back() -> None:
    torch = pytest.importorskip("torch")
    for seed, count in ((5, 0), (6, 3), (7, 624), (8, 700)):
        torch.manual_seed(seed)
        torch.rand(count)
        torch.randn(1)
        flambeau.set_rng_state(flambeau.from_numpy(torch.get_rng_state().numpy()))
        assert flambeau.randn(2).tolist() == pytest.approx(torch.randn(2).tolist())
        assert flambeau.initial_seed() == seed
        np.testing.assert_array_equal(flambeau.get_rng_state().numpy(), torch.get_rng_state().numpy())
        flambeau.rand(5)
        torch.set_rng_state(torch.from_numpy(flambeau.get_rng_state().numpy()))
        assert flambeau.rand(3).tolist() == torch.rand(3).tolist()


def _losses(lib: Any) -> list[float]:
    """Of a model with dropout, made and trained on drawn numbers in a drawn order."""
    lib.manual_seed(1)
    nn = lib.nn
    net = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Dropout(0.2), nn.Linear(32, 1))
    x, y = lib.randn(64, 8), lib.rand(64, 1)
    optimizer = lib.optim.SGD(net.parameters(), lr=0.05)
    losses = []
    for _ in range(3):
        for rows in lib.utils.data.DataLoader(lib.arange(64), batch_size=16, shuffle=True):
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(net(x[rows]), y[rows])
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    return losses


def test_training_takes_the_same_way() -> None:
    torch = torch_without_mkl()
    assert _losses(flambeau) == pytest.approx(_losses(torch), rel=1e-4)


def test_compiled_draws_are_those_of_operators() -> None:
    @flambeau.script
    def drawn(x: flambeau.Tensor) -> tuple[flambeau.Tensor, flambeau.Tensor, flambeau.Tensor, flambeau.Tensor]:
        masked = flambeau.nn.functional.dropout(x, 0.3, True)
        chosen = flambeau.bernoulli(flambeau.full([40], 0.3))
        return masked, chosen, flambeau.randn(33), flambeau.empty(40).uniform_(-1.0, 3.0)

    x = flambeau.ones(40)
    for seed in range(3):
        flambeau.manual_seed(seed)
        answers = drawn(x)
        flambeau.manual_seed(seed)
        eager = (
            flambeau.nn.functional.dropout(x, 0.3, True), flambeau.bernoulli(flambeau.full([40], 0.3)),
            flambeau.randn(33), flambeau.empty(40).uniform_(-1.0, 3.0),
        )  # fmt: skip
        for got, expected in zip(answers, eager, strict=True):
            np.testing.assert_array_equal(got.numpy(), expected.numpy())


def test_orders_and_parts_without_pytorch() -> None:
    flambeau.manual_seed(7)
    assert list(RandomSampler(range(10))) != list(RandomSampler(range(10)))
    flambeau.manual_seed(7)
    assert [part.indices for part in random_split(range(6), [2, 4])] == [[3, 0], [1, 5, 2, 4]]
    flambeau.manual_seed(7)
    loader = DataLoader(flambeau.arange(6), batch_size=2, shuffle=True)
    assert [batch.tolist() for batch in loader] == [[5, 1], [3, 0], [4, 2]]


def test_bounds_that_no_number_lies_between_are_refused() -> None:
    for a, b, std in ((1.0, -1.0, 1.0), (0.0, 1.0, 0.0), (0.0, float("nan"), 1.0)):
        with pytest.raises(ValueError, match=f"trunc_normal_ draws between a and b, but got a={a:g}, b={b:g}"):
            flambeau.nn.init.trunc_normal_(flambeau.empty(3), std=std, a=a, b=b)


def test_a_state_that_was_not_written_by_a_generator_is_refused() -> None:
    with pytest.raises(RuntimeError, match="Invalid mt19937 state"):
        flambeau.set_rng_state(flambeau.ones(5056, dtype=flambeau.uint8))


@pytest.mark.parametrize("replacement", [False, True])
def test_one_place_by_weights_is_drawn_alike(replacement: bool) -> None:
    """As PyTorch 2 draws it, whether places are put back or not."""
    flambeau.manual_seed(3)
    weights = flambeau.tensor([0.3, 0.7])
    drawn = [flambeau.multinomial(weights, 1, replacement).item() for _ in range(12)]
    assert drawn == [0, 1, 1, 0, 0, 0, 1, 1, 0, 1, 1, 0]


@pytest.mark.parametrize("asks", [False, True])
@pytest.mark.parametrize("name", ["dropout", "alpha_dropout"])
def test_dropout_draws_in_the_order_of_memory(name: str, asks: bool) -> None:
    flambeau.manual_seed(0)
    drop, x = getattr(flambeau, name), flambeau.randn(2, 3, 4, 5)
    flambeau.manual_seed(1)
    wanted = drop(x, 0.5, True).permute(0, 3, 1, 2)
    flambeau.manual_seed(1)
    dropped = drop(x.permute(0, 3, 1, 2).requires_grad_(asks), 0.5, True)
    assert dropped.stride() == wanted.stride()
    np.testing.assert_allclose(dropped.detach().numpy(), wanted.numpy(), rtol=1e-6, atol=1e-6)  # by another formula


def test_dropout_of_transposed_ones() -> None:
    """As PyTorch 2 draws it."""
    flambeau.manual_seed(1)
    dropped = flambeau.nn.functional.dropout(flambeau.ones(6, 4).t(), 0.5)
    assert dropped.tolist()[0] == [2.0, 0.0, 0.0, 0.0, 0.0, 0.0]
    assert dropped.tolist()[1] == [2.0, 2.0, 2.0, 2.0, 2.0, 0.0]
