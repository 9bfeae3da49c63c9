"""Batch norms, sums and products with constants go into weights: same numbers, no less careful with ranks."""

from __future__ import annotations

import numpy as np
import pytest

import flambeau
from flambeau import Tensor, nn
from flambeau.ir import parse_ir
from flambeau.ir.verify import verify
from flambeau.jit import freeze
from flambeau.passes import frozen_numerics, remove_dropout

X = np.random.default_rng(0)


def numbers(*sizes: int) -> Tensor:
    return flambeau.tensor(X.standard_normal(sizes).astype(np.float32))


class Conv(nn.Module):
    def __init__(self, spatial: int = 2, bias: bool = True) -> None:
        super().__init__()
        self.weight = nn.Parameter(numbers(4, 3, *(2,) * spatial))
        self.bias = nn.Parameter(numbers(4)) if bias else None

    def forward(self, x: Tensor) -> Tensor:
        if self.weight.dim() == 3:
            return flambeau.conv1d(x, self.weight, self.bias)
        if self.weight.dim() == 5:
            return flambeau.conv3d(x, self.weight, self.bias)
        return flambeau.conv2d(x, self.weight, self.bias, [1, 1], [1, 1])


class Norm(nn.Module):
    def __init__(self, affine: bool = True, channels: int = 4) -> None:
        super().__init__()
        self.weight = nn.Parameter(numbers(channels)) if affine else None
        self.bias = nn.Parameter(numbers(channels)) if affine else None
        self.register_buffer("mean", numbers(channels))
        self.register_buffer("var", numbers(channels).abs() + 0.5)

    def forward(self, x: Tensor) -> Tensor:
        return flambeau.batch_norm(x, self.weight, self.bias, self.mean, self.var, self.training, 0.1, 1e-5, False)


def check(module: nn.Module, x: Tensor, *gone: str, kept: tuple[str, ...] = ()) -> None:
    """Freezing gives the same numbers, without the operators of these kinds."""
    scripted = flambeau.script(module.eval())
    found = freeze(scripted)
    verify(found.graph)
    want, got = scripted(x).detach().numpy(), found(x).numpy()
    assert got.shape == want.shape
    assert got.dtype == want.dtype
    np.testing.assert_allclose(got, want, rtol=2e-4, atol=2e-5)
    kinds = {n.op for n in found.graph.all_nodes()}
    assert kinds.isdisjoint(gone), found.graph
    assert kinds.issuperset(kept), found.graph


@pytest.mark.parametrize("affine", [True, False])
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("spatial", [1, 2, 3])
def test_batch_norm_goes_into_convolutions(spatial: int, bias: bool, affine: bool) -> None:
    check(nn.Sequential(Conv(spatial, bias), Norm(affine)), numbers(2, 3, *(4,) * spatial), "aten::batch_norm")


def test_layers_that_ask_for_ranks() -> None:
    class Asking(Norm):
        def forward(self, x: Tensor) -> Tensor:
            if x.dim() != 4:
                raise ValueError("expected 4D input")
            return flambeau.batch_norm(x, self.weight, self.bias, self.mean, self.var, self.training, 0.1, 1e-5, False)

    check(nn.Sequential(Conv(), Asking()), numbers(2, 3, 4, 4), "aten::batch_norm")
    model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Linear(16, 2)).eval()
    x = numbers(2, 3, 4, 4)
    for source in (flambeau.script(model), flambeau.trace(model, x)):
        found = freeze(source)
        assert found.graph.find("aten::batch_norm") is None
        np.testing.assert_allclose(found(x).numpy(), model(x).detach().numpy(), rtol=1e-4, atol=1e-5)
    with pytest.raises(Exception, match="the number of dimensions"):
        found(numbers(3, 4, 4))


@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize("spatial", [1, 2, 3])
def test_batch_norm_goes_into_transposed_convolutions(spatial: int, groups: int) -> None:
    kind = (nn.ConvTranspose1d, nn.ConvTranspose2d, nn.ConvTranspose3d)[spatial - 1]
    layers = nn.Sequential(kind(6, 4, 2, stride=2, groups=groups, bias=groups == 1), Norm())
    check(layers, numbers(2, 6, *(3,) * spatial), "aten::batch_norm")


def test_a_batch_norm_without_statistics_stays() -> None:
    class Without(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return flambeau.batch_norm(x, None, None, None, None, True, 0.1, 1e-5, False)

    check(nn.Sequential(Conv(), Without()), numbers(2, 3, 4, 4), kept=("aten::batch_norm",))


def test_batch_norm_goes_into_linears_of_rank_2_alone() -> None:
    model = nn.Sequential(nn.Linear(3, 4), Norm())
    check(model, numbers(5, 3), kept=("prim::If",))
    check(model, numbers(5, 4, 3), kept=("aten::batch_norm",))
    check(nn.Sequential(nn.Linear(3, 4), Norm(channels=1)), numbers(5, 1, 3), "aten::batch_norm", "prim::If")


class After(nn.Module):
    """A convolution, and something with its result."""

    def __init__(self, other: Tensor, what: str) -> None:
        super().__init__()
        self.conv = Conv()
        self.other = other
        self.what = what

    def forward(self, x: Tensor) -> Tensor:
        y = self.conv(x)
        if self.what == "add":
            return y + self.other
        if self.what == "radd":
            return flambeau.add(self.other, y, alpha=2)
        if self.what == "sub":
            return flambeau.sub(y, self.other, alpha=3)
        if self.what == "rsub":
            return self.other - y
        if self.what == "mul":
            return self.other * y
        if self.what == "add_":
            return y.add_(self.other)
        return y / self.other


OPERATORS = ("aten::add", "aten::sub", "aten::mul", "aten::div", "aten::add_")
KINDS = ("add", "radd", "sub", "rsub", "mul", "div", "add_")


@pytest.mark.parametrize("what", KINDS)
@pytest.mark.parametrize(
    "other", [numbers(4, 1, 1), numbers(1, 4, 1, 1), numbers(1), numbers(), flambeau.tensor(3), numbers(1, 1, 1, 1)]
)
def test_what_is_one_number_per_channel_goes_into_convolutions(other: Tensor, what: str) -> None:
    check(After(other, what), numbers(2, 3, 4, 4), *(OPERATORS if what != "add_" or other.dim() < 4 else ()))


@pytest.mark.parametrize("what", KINDS[:-1])
@pytest.mark.parametrize("other", [numbers(1, 4, 1, 1), numbers(4, 1, 1)])
def test_inputs_without_a_batch(other: Tensor, what: str) -> None:
    check(After(other, what), numbers(3, 4, 4), *OPERATORS)


@pytest.mark.parametrize(
    ("other", "what"),
    [
        (numbers(1, 1, 5, 1), "add"),
        (numbers(4), "mul"),
        (numbers(2, 4, 1, 1), "mul"),
        (numbers(1, 1, 4, 1, 1), "add"),
        (flambeau.tensor(0.0), "div"),
        (flambeau.tensor(float("inf")), "mul"),
        (numbers(4, 1, 1).double(), "mul"),
    ],
)
def test_what_is_not_stays(other: Tensor, what: str) -> None:
    class Same(After):
        pass

    module = flambeau.script(Same(other, what).eval())
    found = freeze(module)
    assert any(n.op in OPERATORS for n in found.graph.all_nodes())


def test_chains_of_them_go_one_after_another() -> None:
    class Chain(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.conv, self.norm, self.gain = Conv(), Norm(), numbers(4, 1, 1)

        def forward(self, x: Tensor) -> Tensor:
            return (self.norm(self.conv(x) * 2.0) - 1) * self.gain / 3

    check(Chain(), numbers(2, 3, 5, 5), "aten::batch_norm", *OPERATORS)


def test_a_result_that_is_needed_elsewhere_stays() -> None:
    class Twice(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.conv, self.norm = Conv(), Norm()

        def forward(self, x: Tensor) -> Tensor:
            y = self.conv(x)
            return self.norm(y) + y

    check(Twice(), numbers(2, 3, 5, 5), kept=("aten::batch_norm",))


@pytest.mark.parametrize("is_in_loop", [False, True])
def test_a_dropout_of_what_was_written_before(is_in_loop: bool) -> None:
    """A loop comes back to what stands above."""
    body = """%w : Tensor = aten::relu_(%x)
      %y : Tensor = aten::dropout(%x, %p, %train)
      """
    head = "graph(%x : Tensor, %p : float, %n : int):\n  %train : bool = prim::Constant[value=0]()\n"
    loop = """%t : bool = prim::Constant[value=1]()
      %r : Tensor = prim::Loop(%n, %t, %x)
        block0(%i : int, %q : Tensor):
      """
    graph = parse_ir(head + (loop + body + "-> (%t, %y)\n return (%r)" if is_in_loop else body + "return (%y)"))
    assert remove_dropout.do(graph) is not is_in_loop


def test_nothing_happens_to_weights_that_are_not_constant() -> None:
    graph = flambeau.script(nn.Sequential(Conv(), Norm()).eval()).inlined_graph
    before = str(graph)
    assert not frozen_numerics.do(graph)
    assert str(graph) == before


DROPOUT = """graph(%x : Tensor, %p : float):
  %train : bool = prim::Constant[value={train}]()
  %one : int = prim::Constant[value=1]()
  %a : Tensor = aten::relu(%x)
  %y : Tensor = aten::dropout{suffix}(%a, %p, %train)
  {after}
  return (%y, %a)"""


@pytest.mark.parametrize(
    ("suffix", "train", "after", "is_removed"),
    [
        ("", 0, "", True),
        ("", 1, "", False),
        ("_", 0, "", True),
        ("", 0, "%z : Tensor = aten::add_(%y, %one, %one)", False),
        ("_", 0, "%z : Tensor = aten::add_(%y, %one, %one)", True),
        ("", 0, "%z : Tensor = aten::add_(%a, %one, %one)", False),
        ("", 0, "%z : Tensor = aten::add_(%x, %one, %one)", True),
    ],
)
def test_dropouts(suffix: str, train: int, after: str, is_removed: bool) -> None:
    graph = parse_ir(DROPOUT.format(suffix=suffix, train=train, after=after))
    assert remove_dropout.do(graph) is is_removed
    assert (graph.find(f"aten::dropout{suffix}") is None) is is_removed
    verify(graph)
