"""`vjp` and `linearize` of scripted functions called outside of programs: compiled, with what the tape gives."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest

import flambeau
from flambeau import Tensor
from flambeau.func import compiled_products, grad, hessian, linearize, vjp, vmap
from flambeau.func.reverse import _taped


def one(x: Tensor) -> Tensor:
    return x.sin() * x.flip(0)


def two(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    return x @ y, (x * 2).sum()


def looped(x: Tensor) -> Tensor:
    for _ in range(3):
        x = x * x.sum() * 0.5
    return x


def by_default(x: Tensor, k: float = 3.0) -> Tensor:
    return x * k


def independent(x: Tensor, y: Tensor) -> Tensor:
    return y.exp()


def _drawn(*sizes: int) -> Tensor:
    return (flambeau.arange(float(flambeau.Size(sizes).numel()), dtype=flambeau.float64) * 0.7).cos().reshape(sizes)


SPECIAL = flambeau.tensor([float("nan"), float("inf"), -float("inf"), -0.0, 1e-310], dtype=flambeau.float64)
CALLS = [
    (one, (_drawn(4),)), (one, (SPECIAL,)), (one, (_drawn(0),)), (two, (_drawn(2, 3), _drawn(3))),
    (looped, (_drawn(3),)), (by_default, (_drawn(2),)), (independent, (_drawn(2), _drawn(3))), (one, (_drawn(2, 3).T,)),
]  # fmt: skip


def _same(actual: Any, expected: Any) -> None:
    flambeau.testing.assert_close(actual, expected, rtol=1e-10, atol=1e-12, equal_nan=True)


@pytest.mark.parametrize(("function", "primals"), CALLS)
def test_products_are_those_of_the_tape(function: Any, primals: Any) -> None:
    compiled = flambeau.script(function)
    for _ in range(2):
        value, pull = vjp(compiled, *primals)
        expected, taped = _taped(function, primals, False)
        _same(value, expected)
        for _ in range(2):
            _same(pull(value), taped(expected))
        if type(value) is tuple:
            _same(pull(*value), taped(*expected))
        value, along = linearize(compiled, *primals)
        expected, taped = linearize(function, *primals)
        _same(value, expected)
        _same(along(*primals), taped(*primals))


def test_what_asks_for_gradients_goes_by_the_tape() -> None:
    compiled, x = flambeau.script(one), _drawn(4)
    cotangent = _drawn(4).requires_grad_()
    results = []
    for function in (compiled, one):
        [slope] = vjp(function, x)[1](cotangent)
        results.append(flambeau.autograd.grad(slope.sum(), cotangent)[0])
        leaf = x.clone().requires_grad_()
        value, pull = vjp(function, leaf)
        results.append(flambeau.autograd.grad(pull(value)[0].sum(), leaf)[0])
    _same(results[:2], results[2:])


def test_within_transforms() -> None:
    compiled, x = flambeau.script(one), _drawn(3)
    xs = _drawn(2, 3)

    def pulled(f: Any) -> Any:
        return lambda x: (vjp(f, x)[1](x)[0] ** 2).sum()

    _same(grad(pulled(compiled))(x), grad(pulled(one))(x))
    _same(vmap(pulled(compiled))(xs), vmap(pulled(one))(xs))
    _same(hessian(pulled(compiled))(x), hessian(pulled(one))(x))
    _, pull = vjp(compiled, x)
    _same(vmap(pull)(flambeau.eye(3, dtype=x.dtype)), vmap(vjp(one, x)[1])(flambeau.eye(3, dtype=x.dtype)))


def test_arguments_that_were_written_since_are_refused() -> None:
    for product in (vjp, linearize):
        x = _drawn(3)
        _, function = product(flambeau.script(one), x)
        x.add_(1)
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            function(_drawn(3))


def noisy(x: Tensor) -> Tensor:
    return x * flambeau.rand(3, dtype=x.dtype)


def printing(x: Tensor) -> Tensor:
    print("once")
    return x * 2


def writing(x: Tensor) -> Tensor:
    y = x * 2
    y.add_(1)
    return y


def test_functions_that_do_more_run_once(capsys: pytest.CaptureFixture[str]) -> None:
    x = _drawn(3)
    value, pull = vjp(flambeau.script(noisy), x)
    _same(pull(flambeau.ones(3, dtype=x.dtype))[0], value / x)
    value, along = linearize(flambeau.script(noisy), x)
    _same(along(x), value)
    _, pull = vjp(flambeau.script(printing), x)
    capsys.readouterr()
    _same(pull(x)[0], x * 2)
    assert capsys.readouterr().out == ""
    _same(vjp(flambeau.script(writing), x)[1](x)[0], x * 2)


def test_cotangents_that_do_not_fit_are_refused_as_by_the_tape() -> None:
    x = _drawn(3)
    for function in (one, flambeau.script(one)):
        with pytest.raises(RuntimeError):
            vjp(function, x)[1](_drawn(4))
        with pytest.raises(RuntimeError):
            vjp(function, x)[1]((x, x))


class Layer(NamedTuple):
    w: Tensor
    b: Tensor


def of_dict(p: dict[str, Tensor], x: Tensor) -> Tensor:
    return flambeau.tanh(x @ p["w"] + p["b"])


def of_layers(layers: list[Layer], x):
    for layer in layers:
        x = flambeau.tanh(x @ layer.w + layer.b)
    return {"y": x, "norm": x.square().sum()}


def without_annotations(p, x):
    return (x @ p["w"]["inner"]).sum(), p["b"]["inner"] * 2


W, B, XS = _drawn(3, 3), _drawn(3), _drawn(2, 3)
OF_CONTAINERS = [
    (of_dict, ({"w": W, "b": B}, XS)),
    (of_layers, ([Layer(W, B), Layer(W * 2, B + 1)], XS)),
    (without_annotations, ({"w": {"inner": W}, "b": {"inner": B}}, XS)),
]


@pytest.mark.parametrize(("function", "primals"), OF_CONTAINERS)
def test_products_of_containers_are_those_of_the_tape(function: Any, primals: Any) -> None:
    compiled = flambeau.script(function)
    for _ in range(2):
        value, pull = vjp(compiled, *primals)
        expected, taped = _taped(function, primals, False)
        _same(value, expected)
        _same(pull(value), taped(expected))
        _same(linearize(compiled, *primals)[1](*primals), linearize(function, *primals)[1](*primals))
    assert compiled_products.opened("vjp", compiled, primals) is not None


def test_products_of_containers_with_cotangents_of_another_structure() -> None:
    primals: Any = ({"w": W, "b": B}, XS)
    _, pull = vjp(flambeau.script(of_dict), *primals)
    with pytest.raises(RuntimeError, match="Expected pytree structure of cotangents"):
        pull({"y": XS})
    asking = XS.clone().requires_grad_()
    slopes, _ = pull(asking)
    expected, _ = _taped(of_dict, primals, False)[1](asking)
    for one, other in zip(slopes.values(), expected.values(), strict=True):
        _same(*[flambeau.autograd.grad(s.sum(), asking, retain_graph=True) for s in (one, other)])
    primals[0]["w"].add_(1)
    with pytest.raises(RuntimeError, match="was written between the call and its product"):
        pull(XS)
