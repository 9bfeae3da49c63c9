"""Layers of networks whose way back is a graph: the gradients of PyTorch in double precision, without a step through
the tape.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau import Tensor, nn
from flambeau.codegen import available

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.skipif(not available(), reason="needs LLVM")


def numbers(seed: int, *sizes: int) -> np.ndarray[Any, Any]:
    return np.random.default_rng(seed).standard_normal(sizes)




def steps_of(library: Any, base: Any, kind: str) -> Any:
    layers = library.nn

    class Steps(base):  # type: ignore[misc]  # a module of either library
        def __init__(self) -> None:
            super().__init__()
            self.cell = layers.RNNCell(3, 4, nonlinearity="relu") if kind == "relu" else getattr(layers, kind)(3, 4)

    class States(Steps):
        def forward(self, xs, h):  # type: ignore[no-untyped-def]
            total = h.sum()
            for t in range(xs.size(0)):
                h = self.cell(xs[t], h)
                total = total + (h * h).sum()
            return total

    class Memories(Steps):
        def forward(self, xs, h):  # type: ignore[no-untyped-def]
            c = h * 0.5
            total = h.sum()
            for t in range(xs.size(0)):
                h, c = self.cell(xs[t], (h, c))
                total = total + (h * c).sum()
            return total

    return Memories() if kind == "LSTMCell" else States()


@pytest.mark.parametrize("kind", ["GRUCell", "RNNCell", "relu", "LSTMCell"])
def test_steps_of_recurrent_networks(kind: str) -> None:
    theirs = steps_of(torch, torch.nn.Module, kind).double()
    plain = steps_of(flambeau, nn.Module, kind).double()
    plain.load_state_dict({k: flambeau.tensor(v.numpy().copy()) for k, v in theirs.state_dict().items()})
    ours = flambeau.script(plain)
    for length in (5, 3, 5, 4, 2):
        arrays = numbers(length, length, 2, 3), numbers(9, 2, 4)
        exact, mine = ([make(a, requires_grad=True) for a in arrays] for make in (torch.tensor, flambeau.tensor))
        theirs.zero_grad()
        ours.zero_grad()
        theirs(*exact).backward()
        ours(*mine).backward()
        pairs = [*zip(mine, exact, strict=True), *zip(ours.parameters(), theirs.parameters(), strict=True)]
        for one, other in pairs:
            np.testing.assert_allclose(one.grad.numpy(), other.grad.numpy(), rtol=1e-9, atol=1e-10)
    report = ours.explain()
    assert not any("GradOf" in kind for kind, *_ in report.interpreted), str(report)


def test_a_cell_that_does_not_fit_is_refused_in_the_operators_words() -> None:
    ours = flambeau.script(nn.GRUCell(3, 4))
    for _ in range(4):
        with pytest.raises(RuntimeError, match="input has inconsistent input_size: got 5, expected 3"):
            ours(flambeau.ones(2, 5, requires_grad=True), flambeau.ones(2, 4))
        with pytest.raises(RuntimeError, match="Input batch size 2 doesn't match hidden0 batch size 3"):
            ours(flambeau.ones(2, 3, requires_grad=True), flambeau.ones(3, 4))


@pytest.mark.parametrize("count", [1, 3])
def test_slopes_that_are_learned(count: int) -> None:
    theirs = torch.nn.PReLU(count).double()
    ours = flambeau.script(nn.PReLU(count).double())
    for seed in range(5):
        x = numbers(seed, 2, 3, 4)
        exact, mine = torch.tensor(x, requires_grad=True), flambeau.tensor(x, requires_grad=True)
        theirs.zero_grad()
        ours.zero_grad()
        (theirs(exact) ** 2).sum().backward()
        (ours(mine) ** 2).sum().backward()
        np.testing.assert_allclose(mine.grad.numpy(), exact.grad.numpy(), rtol=1e-12)
        np.testing.assert_allclose(ours.weight.grad.numpy(), theirs.weight.grad.numpy(), rtol=1e-12)
    assert not ours.explain().interpreted, str(ours.explain())


class Masked(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.attention = nn.MultiheadAttention(8, 2, batch_first=True)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        return self.attention(x, x, x, attn_mask=mask, need_weights=False)[0] + x


def test_attention_with_a_mask() -> None:
    theirs = torch.nn.MultiheadAttention(8, 2, batch_first=True).double()
    plain = Masked().double()
    state = {f"attention.{k}": flambeau.tensor(v.numpy().copy()) for k, v in theirs.state_dict().items()}
    plain.load_state_dict(state)
    ours = flambeau.script(plain)
    mask = np.triu(np.full((5, 5), -np.inf), 1)
    for seed in range(6):
        x = numbers(seed, 2, 5, 8)
        exact, mine = torch.tensor(x, requires_grad=True), flambeau.tensor(x, requires_grad=True)
        theirs.zero_grad()
        ours.zero_grad()
        found = theirs(exact, exact, exact, attn_mask=torch.tensor(mask), need_weights=False)[0] + exact
        (found**2).sum().backward()
        (ours(mine, flambeau.tensor(mask)) ** 2).sum().backward()
        np.testing.assert_allclose(mine.grad.numpy(), exact.grad.numpy(), rtol=1e-9, atol=1e-10)
        for one, other in zip(ours.parameters(), theirs.parameters(), strict=True):
            np.testing.assert_allclose(one.grad.numpy(), other.grad.numpy(), rtol=1e-8, atol=1e-9)
    assert not any("GradOf" in kind for kind, *_ in ours.explain().interpreted), str(ours.explain())


def test_bags_whose_gradients_are_divided_by_how_often_rows_come() -> None:
    """By the definition: PyTorch divides by the number of another row where bags share rows."""
    weight, rows = numbers(0, 5, 3), np.array([1, 3, 3, 0, 3, 1])
    ours = flambeau.script(nn.EmbeddingBag(5, 3, mode="sum", scale_grad_by_freq=True).double())
    ours.load_state_dict({"weight": flambeau.tensor(weight)})
    slope = numbers(1, 2, 3)
    for _ in range(4):
        ours.zero_grad()
        (ours(flambeau.tensor(rows), flambeau.tensor([0, 2])) * flambeau.tensor(slope)).sum().backward()
    expected = np.zeros((5, 3))
    np.add.at(expected, rows, slope[[0, 0, 1, 1, 1, 1]] / np.bincount(rows)[rows][:, None])
    np.testing.assert_allclose(ours.weight.grad.numpy(), expected, rtol=1e-12)


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
@pytest.mark.parametrize("options", [{}, {"padding_idx": 3}])
def test_bags(mode: str, options: dict[str, Any]) -> None:
    theirs = torch.nn.EmbeddingBag(9, 4, mode=mode, **options).double()
    plain = nn.EmbeddingBag(9, 4, mode=mode, **options).double()
    plain.load_state_dict({"weight": flambeau.tensor(theirs.weight.detach().numpy().copy())})
    ours = flambeau.script(plain)
    for seed in range(5):
        rows, starts = np.random.default_rng(seed).integers(0, 9, 11), np.array([0, 2, 2, 7])
        theirs.zero_grad()
        ours.zero_grad()
        (theirs(torch.tensor(rows), torch.tensor(starts)) ** 2).sum().backward()
        (ours(flambeau.tensor(rows), flambeau.tensor(starts)) ** 2).sum().backward()
        np.testing.assert_allclose(ours.weight.grad.numpy(), theirs.weight.grad.numpy(), rtol=1e-10, atol=1e-12)
    assert not any("GradOf" in kind for kind, *_ in ours.explain().interpreted), str(ours.explain())
