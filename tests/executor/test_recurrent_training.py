"""Scripted recurrent layers in training: one native call there and one back, with the gradients that NumPy gives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau import Tensor, nn
from flambeau.util import inversions

Arrays = list[np.ndarray[Any, Any]]


def summed(layer: Any) -> nn.Module:
    """A layer, and a loss that all its results count in: a class of its own, with code of its own."""

    class Summed(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = layer

        def forward(self, x: Tensor) -> Tensor:
            output, last = self.layer(x)
            total = (output * output).sum()
            if isinstance(last, tuple):
                return total + (last[0] ** 3).sum() + last[1].cos().sum()
            return total + (last**3).sum()

    return Summed()


def packed(layer: Any) -> nn.Module:
    """The same over a packed batch."""

    class Packed(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = layer

        def forward(self, data: Tensor, sizes: Tensor) -> Tensor:
            output, _ = self.layer(nn.utils.rnn.PackedSequence(data, sizes, None, None))
            return (output.data**2).sum()

    return Packed()


def layer_of(kind: str, features: int, units: int, **options: Any) -> Any:
    """A layer whose parameters are the same in every test."""
    layer = getattr(nn, kind)(features, units, **options)
    draw = np.random.default_rng(3)
    with flambeau.no_grad():
        for p in layer.parameters():
            p.copy_(flambeau.from_numpy(draw.uniform(-0.7, 0.7, tuple(p.shape)) / max(1, p.shape[-1] / 8) ** 0.5))
    return layer


def derivatives(call: Any, module: nn.Module, *arguments: Any) -> Arrays:
    """The loss, and its gradients by the first argument and all parameters."""
    x, *rest = arguments
    x = x.clone().requires_grad_()
    loss = call(x, *rest)
    gradients = flambeau.autograd.grad(loss, [x, *module.parameters()])
    return [t.detach().numpy() for t in (loss, *gradients)]


def check(module: nn.Module, monkeypatch: pytest.MonkeyPatch, *arguments: Any) -> Any:
    """Compare a scripted module with itself by NumPy's operators; the scripted one."""
    scripted: Any = flambeau.script(module)
    for _ in range(3):
        natively = derivatives(scripted, module, *arguments)
    monkeypatch.setattr(inversions.RECURRENT_KERNELS, "implementation", lambda kind, dtype, elements: None)
    tolerance = 3e-4 if arguments[0].dtype is flambeau.float32 else 1e-11
    for got, want in zip(natively, derivatives(module, module, *arguments), strict=True):
        np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance * max([1.0, *np.abs(want).ravel()]))
    return scripted


def is_native(scripted: Any) -> bool:
    """Whether both ways are native functions, and the layer is no second run."""
    text = str(scripted.explain())
    return text.count("native from end to end") == 2 and "second run" not in text and "recurrent_layer" in text


OPTIONS: list[dict[str, Any]] = [
    {}, {"bias": False}, {"batch_first": True}, {"num_layers": 2, "bidirectional": True},
    {"bidirectional": True, "bias": False, "batch_first": True}, {"num_layers": 3, "dropout": 0.0},
]  # fmt: skip


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN"])
def test_layers_of_all_forms(kind: str, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    module = summed(layer_of(kind, 3, 5, **options)).double()
    x = flambeau.from_numpy(np.random.default_rng(0).standard_normal((4, 2, 3)))
    assert is_native(check(module, monkeypatch, x))


@pytest.mark.parametrize(
    ("sizes", "dtype"),
    [((1, 1, 1, 1), flambeau.float64), ((1, 3, 2, 4), flambeau.float32), ((7, 1, 33, 5), flambeau.float64),
     ((40, 20, 16, 36), flambeau.float64), ((3, 130, 70, 17), flambeau.float32)],
)  # fmt: skip
@pytest.mark.parametrize("kind", ["LSTM", "GRU"])
def test_sizes(kind: str, sizes: Sequence[int], dtype: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of one row and of several groups of steps, of few features, whose weights are summed along gates, and of many."""
    time, batch, features, units = sizes
    module = summed(layer_of(kind, features, units)).to(dtype)
    x = flambeau.from_numpy(np.random.default_rng(0).standard_normal((time, batch, features))).to(dtype)
    assert is_native(check(module, monkeypatch, x))


def test_relu_cells(monkeypatch: pytest.MonkeyPatch) -> None:
    module = summed(layer_of("RNN", 3, 5, nonlinearity="relu", bidirectional=True)).double()
    x = flambeau.from_numpy(np.random.default_rng(0).standard_normal((4, 2, 3)))
    assert is_native(check(module, monkeypatch, x))


def test_an_empty_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    """Is none for native loops, and has gradients all the same."""
    check(summed(layer_of("LSTM", 3, 5)).double(), monkeypatch, flambeau.zeros(4, 0, 3, dtype=flambeau.float64))


def test_operands_that_lie_anyhow(monkeypatch: pytest.MonkeyPatch) -> None:
    numbers = flambeau.from_numpy(np.random.default_rng(0).standard_normal((3, 4, 2)))
    for x in (numbers.permute(1, 2, 0), numbers.permute(1, 2, 0)[::2], numbers[0, :1, None, :].expand(4, 2, 2)):
        module = summed(layer_of("GRU", x.shape[-1], 5)).double()
        with monkeypatch.context() as within:
            check(module, within, x)


@pytest.mark.parametrize("packing", [[1], [3, 3, 1], [4, 2, 2, 1]], ids=str)
@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN"])
def test_packed_batches(kind: str, packing: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    module = packed(layer_of(kind, 3, 5, num_layers=2, bidirectional=True)).double()
    data = flambeau.from_numpy(np.random.default_rng(0).standard_normal((sum(packing), 3)))
    assert is_native(check(module, monkeypatch, data, flambeau.tensor(packing)))


@pytest.mark.parametrize("number", [float("nan"), float("inf"), 0.0, -0.0])
def test_what_is_not_finite(number: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Is so in the same elements of all gradients, and a zero is a zero."""
    x = np.random.default_rng(0).standard_normal((4, 3, 2))
    x[1, 2, 0] = number
    with np.errstate(all="ignore"):
        check(summed(layer_of("LSTM", 2, 5)).double(), monkeypatch, flambeau.from_numpy(x))


def test_dropout_between_layers_draws_what_it_draws_elsewhere() -> None:
    module = summed(layer_of("LSTM", 3, 8, num_layers=2, dropout=0.4))
    scripted: Any = flambeau.script(module)
    x = flambeau.from_numpy(np.random.default_rng(0).standard_normal((5, 2, 3)).astype(np.float32))
    results = []
    for call in (scripted, scripted, scripted, module):
        flambeau.manual_seed(5)
        results.append(derivatives(call, module, x))
    for got, want in zip(results[2], results[3], strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)
    assert "second run" not in str(scripted.explain())
    module.eval()
    scripted.eval()
    np.testing.assert_allclose(scripted(x).item(), module(x).item(), rtol=1e-5)


class Started(nn.Module):
    """A layer with states that the caller gives."""

    def __init__(self, layer: nn.Module) -> None:
        super().__init__()
        self.layer = layer

    def forward(self, x: Tensor, h: Tensor) -> Tensor:
        return self.layer(x, h)[0].sum()


def test_states_of_other_sizes_are_refused_as_elsewhere() -> None:
    """By the operator's own message, though another stands in its place."""
    layer = layer_of("GRU", 3, 5)
    scripted: Any = flambeau.script(Started(layer))
    x, h = flambeau.ones(4, 2, 3, requires_grad=True), flambeau.zeros(1, 2, 5, requires_grad=True)
    scripted(x, h).backward()
    for other in (flambeau.zeros(1, 3, 5), flambeau.zeros(2, 2, 5), flambeau.zeros(1, 2, 4)):
        with pytest.raises(RuntimeError, match=r"Expected hidden size \(1, 2, 5\), got \["):
            scripted(x, other.requires_grad_())
    with pytest.raises(RuntimeError, match=r"input.size\(-1\) must be equal to input_size. Expected 3, got 4"):
        scripted(flambeau.ones(4, 2, 4, requires_grad=True), h)
    with pytest.raises(RuntimeError, match="Expected sequence length to be larger than 0"):
        scripted(flambeau.ones(0, 2, 3, requires_grad=True), h)


@pytest.mark.parametrize("sizes", [[1, 2], [2, 2], [3], [2, 0, 1]])
def test_packings_that_do_not_fit(sizes: list[int]) -> None:
    module = packed(layer_of("GRU", 3, 5))
    scripted: Any = flambeau.script(module)
    data = flambeau.ones(3, 3, requires_grad=True)
    scripted(data, flambeau.tensor([2, 1])).backward()
    for call in (module, scripted):
        with pytest.raises(RuntimeError, match=r"add up to"):
            call(data, flambeau.tensor(sizes if sizes != [3] else [1, 1]))


def test_a_whole_step_is_one_native_function() -> None:
    """Gradients within a program are the same ones."""
    layer = layer_of("LSTM", 3, 5)
    w_ih, w_hh, b_ih, b_hh = (p.detach() for p in layer.parameters())

    def loss(w_ih: Tensor, w_hh: Tensor, b_ih: Tensor, b_hh: Tensor, x: Tensor) -> Tensor:
        start = flambeau.zeros([1, x.shape[1], w_hh.shape[1]])
        return flambeau.lstm(x, [start, start], [w_ih, w_hh, b_ih, b_hh], True, 1, 0.0, True, False, False)[0].sum()

    def step(w_ih: Tensor, w_hh: Tensor, b_ih: Tensor, b_hh: Tensor, x: Tensor) -> list[Tensor]:
        gradients = flambeau.grad(loss, (0, 1, 2, 3))(w_ih, w_hh, b_ih, b_hh, x)
        return [w - 0.1 * g for w, g in zip((w_ih, w_hh, b_ih, b_hh), gradients)]  # noqa: B905

    x = flambeau.from_numpy(np.random.default_rng(0).standard_normal((4, 2, 3)).astype(np.float32))
    scripted: Any = flambeau.script(step)
    layer(x)[0].sum().backward()
    for _ in range(2):
        scripted(w_ih, w_hh, b_ih, b_hh, x)
    for got, p in zip(scripted(w_ih, w_hh, b_ih, b_hh, x), layer.parameters(), strict=True):
        np.testing.assert_allclose(got.numpy(), (p - 0.1 * p.grad).detach().numpy(), rtol=1e-4, atol=1e-5)
    assert "native from end to end" in str(scripted.explain())
