"""Gradients within `dual_level`: of dual tensors, with tangents of their own."""

from __future__ import annotations

import flambeau
from flambeau import Tensor, nn
from flambeau.autograd import forward_ad
from flambeau.autograd.forward_ad import dual_level, make_dual, unpack_dual


def pair() -> tuple[Tensor, Tensor]:
    return flambeau.tensor([1.0, 2.0], requires_grad=True), flambeau.tensor([1.0, 0.5])


def test_gradients_of_dual_tensors_have_tangents() -> None:
    x, direction = pair()
    with dual_level():
        dual = make_dual(x, direction)
        y = (dual**3).sum()
        for of in (x, dual):
            (gradient,) = flambeau.autograd.grad(y, of, create_graph=True)
            value, tangent = unpack_dual(gradient)
            assert value.tolist() == [3.0, 12.0]
            assert tangent is not None
            assert tangent.tolist() == [6.0, 6.0]
        (second,) = flambeau.autograd.grad(gradient.sum(), x)
        tangent = unpack_dual(second).tangent
        assert tangent is not None
        assert tangent.tolist() == [6.0, 3.0]
        assert (dual.requires_grad, dual.is_leaf) == (True, False)


def test_what_has_no_tangent_gets_gradients_with_tangents_too() -> None:
    x, direction = pair()
    w = flambeau.tensor([3.0, 4.0], requires_grad=True)
    with dual_level():
        y = make_dual(x.detach(), direction) * w
        (y * y).sum().backward()
        tangent = unpack_dual(w.grad).tangent
        assert tangent is not None
        assert tangent.tolist() == [12.0, 16.0]
    assert (type(w.grad), w.grad.tolist()) == (Tensor, [6.0, 32.0])


def test_a_tangent_is_differentiated() -> None:
    x, direction = pair()
    with dual_level():
        tangent = unpack_dual(make_dual(x, direction) ** 2).tangent
        assert tangent is not None
        tangent.sum().backward()
    assert x.grad.tolist() == [2.0, 1.0]


def test_writes_give_what_asks_a_tangent() -> None:
    x, direction = pair()
    factor = flambeau.tensor([2.0, 3.0])
    with dual_level():
        copied = x * 1
        copied.mul_(make_dual(factor, direction))
        tangent = unpack_dual(copied).tangent
        assert tangent is not None
        assert tangent.tolist() == [1.0, 1.0]
        copied.sum().backward()
        tangent = unpack_dual(x.grad).tangent
        assert tangent is not None
        assert tangent.tolist() == direction.tolist()
    assert copied.tolist() == [2.0, 6.0]


def test_a_hessian_product_through_a_module() -> None:
    flambeau.manual_seed(0)
    network = nn.Sequential(nn.Linear(2, 3), nn.Tanh(), nn.Linear(3, 1)).double()
    inputs = flambeau.rand(4, 2, dtype=flambeau.float64)
    direction = flambeau.ones(4, 2, dtype=flambeau.float64)
    with forward_ad.dual_level():
        network(make_dual(inputs, direction)).sum().backward()
        tangents = [unpack_dual(p.grad).tangent for p in network.parameters()]

    def gradients(at: Tensor) -> list[Tensor]:
        return list(flambeau.autograd.grad(network(at).sum(), list(network.parameters())))

    ends = [gradients(inputs + step * direction) for step in (1e-6, -1e-6)]
    for tangent, high, low in zip(tangents, *ends, strict=True):
        slope = (high - low) / 2e-6
        assert flambeau.allclose(flambeau.zeros_like(slope) if tangent is None else tangent, slope, atol=1e-7)
