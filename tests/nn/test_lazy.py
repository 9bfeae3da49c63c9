"""Layers that learn sizes from their first input."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest

import flambeau
from flambeau import Tensor, nn

LAZY = [name for name in nn.__all__ if name.startswith("Lazy")]


def made(name: str) -> tuple[Any, Tensor]:
    """A lazy layer and an input for it."""
    dims = int(name[-2]) if name[-1] == "d" else 0
    arguments = (4, 2) if "Conv" in name else (4,) if name == "LazyLinear" else ()
    return getattr(nn, name)(*arguments), flambeau.randn([2, 3] + [5] * dims)


@pytest.mark.parametrize("name", LAZY)
def test_they_become_the_layers_they_stand_for(name: str) -> None:
    layer, x = made(name)
    assert repr(layer).startswith(f"{name}(")
    assert layer.has_uninitialized_params()
    first = layer(x)
    assert type(layer) is getattr(nn, name.removeprefix("Lazy"))
    assert all(isinstance(p, nn.Parameter) and p.requires_grad for p in layer.parameters())
    layer.eval()
    assert flambeau.script(layer)(x).shape == first.shape
    assert flambeau.trace(layer, x)(x).shape == first.shape


@pytest.mark.parametrize("name", LAZY)
def test_same_as_torch(name: str) -> None:
    torch = pytest.importorskip("torch", reason="torch is a peer, not a dependency")
    mine, x = made(name)
    dims = x.dim() - 2
    arguments = (4, 2) if "Conv" in name else (4,) if name == "LazyLinear" else ()
    theirs = getattr(torch.nn, name)(*arguments)
    assert repr(mine) == repr(theirs)
    assert list(mine.state_dict()) == list(theirs.state_dict())
    mine(x)
    theirs(torch.zeros([2, 3] + [5] * dims))
    assert repr(mine) == repr(theirs)
    assert {n: tuple(v.shape) for n, v in mine.state_dict().items()} == {
        n: tuple(v.shape) for n, v in theirs.state_dict().items()
    }


def test_whole_models() -> None:
    model = nn.Sequential(nn.LazyConv2d(4, 3), nn.LazyBatchNorm2d(), nn.ReLU(), nn.Flatten(), nn.LazyLinear(5))
    with pytest.raises(RuntimeError, match=r"'LazyConv2d' has uninitialized parameters weight.*forward pass"):
        flambeau.script(model)
    with pytest.raises(RuntimeError, match="'LazyConv2d' has uninitialized parameters weight, bias"):
        flambeau.trace(model, flambeau.ones(2, 3, 5, 5))
    model.double()
    model(flambeau.ones(2, 3, 5, 5).double())
    assert model[4].in_features == 36
    assert {p.dtype for p in model.parameters()} == {flambeau.float64}


def test_states() -> None:
    layer = nn.LazyLinear(3)
    with pytest.raises(RuntimeError, match="weight has no sizes yet in the state"):
        nn.Linear(2, 3).load_state_dict(layer.state_dict())
    other = nn.Linear(2, 3)
    layer.load_state_dict(nn.LazyLinear(3).state_dict())
    layer.load_state_dict(other.state_dict())
    assert not layer.has_uninitialized_params()
    x = flambeau.ones(1, 2)
    assert flambeau.equal(layer(x), other(x))
    assert layer.in_features == 2


def test_nothing_is_known_before() -> None:
    layer = nn.LazyLinear(3)
    with pytest.raises(RuntimeError, match="Can't access the shape of an uninitialized parameter"):
        _ = layer.weight.shape
    with pytest.raises(ValueError, match="Attempted to use an uninitialized parameter"):
        layer.weight + 1
    assert (repr(layer.weight), repr(nn.UninitializedBuffer())) == ("<UninitializedParameter>", "<UninitializedBuffer>")
    for again in (copy.deepcopy(layer), pickle.loads(pickle.dumps(layer))):
        assert again.weight is not layer.weight
        assert again(flambeau.ones(1, 2)).shape == (1, 3)
    held = nn.UninitializedBuffer(dtype=flambeau.float64)
    held.materialize([2])
    assert (type(held), held.shape, held.dtype) == (Tensor, (2,), flambeau.float64)
    assert nn.modules.lazy.is_lazy(nn.LazyLinear(1).bias)


@pytest.mark.parametrize(
    ("layer", "x", "error", "text"),
    [
        (lambda: nn.LazyConv2d(3, 2), (1, 3), RuntimeError, r"Expected 3D \(unbatched\) or 4D \(batched\) input"),
        (lambda: nn.LazyConv2d(4, 2, groups=2), (1, 3, 4, 4), ValueError, "in_channels must be divisible by groups"),
        (lambda: nn.LazyConv1d(3, 2, groups=2), (1, 2, 4), ValueError, "out_channels must be divisible by groups"),
        (nn.LazyBatchNorm1d, (4,), ValueError, "expected 2D or 3D input"),
        (nn.LazyInstanceNorm2d, (2, 3), ValueError, "expected 3D or 4D input"),
    ],
)
def test_refusals(layer: Any, x: tuple[int, ...], error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        layer()(flambeau.ones(*x))


class Scaled(nn.modules.lazy.LazyModuleMixin, nn.Module):
    """A lazy module of one's own, that stays what it is."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = nn.UninitializedParameter()
        self.times = 0

    def initialize_parameters(self, x: Tensor) -> None:
        self.times += 1
        self.scale.materialize([x.size(-1)])
        nn.init.ones_(self.scale)

    def forward(self, x: Tensor) -> Tensor:
        return x * self.scale


def test_lazy_modules_of_ones_own() -> None:
    module = Scaled()
    for _ in range(2):
        assert module(flambeau.ones(2, 3)).shape == (2, 3)
    assert module.times == 1
    assert flambeau.script(module)(flambeau.ones(3)).tolist() == [1.0, 1.0, 1.0]

    class Forgets(Scaled):
        def initialize_parameters(self, x: Tensor) -> None:
            pass

    with pytest.raises(RuntimeError, match=r"Forgets has not been fully initialized: .* left scale without sizes"):
        Forgets()(flambeau.ones(1))

    class Bare(nn.modules.lazy.LazyModuleMixin, nn.Module):
        pass

    with pytest.raises(NotImplementedError, match="initialize_parameters is not implemented for Bare"):
        Bare()(1)
