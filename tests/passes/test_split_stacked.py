"""Loops whose state is stacked of parts carry the parts; where the state has others, they are what they were."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau import Tensor
from flambeau.func import grad, jacfwd, jacrev, vmap
from flambeau.ir import parse_ir
from flambeau.ir.verify import verify
from flambeau.passes import split_stacked

BEFORE = """graph(%y : Double(*, 2), %n : int):
  %zero : int = prim::Constant[value=0]()
  %one : int = prim::Constant[value=1]()
  %true : bool = prim::Constant[value=1]()
  %r : Double(*, 2) = prim::Loop(%n, %true, %y)
    block0(%i : int, %c : Double(*, 2)):
      %a : Double(*) = aten::select(%c, %one, %zero)
      %b : Double(*) = aten::select(%c, %one, %one)
      %l : Double(*)[] = prim::ListConstruct(%b, %a)
      %s : Double(*, 2) = aten::stack(%l, %one)
      %z : Double(*, 2) = aten::add(%c, %s, %one)
      -> (%true, %z)
  return (%r)"""


def test_parts_are_carried() -> None:
    graph = parse_ir(BEFORE)
    assert split_stacked.do(graph)
    verify(graph)
    loop = graph.find("prim::Loop")
    assert loop is not None
    assert [str(value.static_type) for value in loop.results] == ["Double(*)", "Double(*)"]
    assert [node.op for node in loop.nested_blocks[0]] == ["aten::add", "aten::add"]
    assert graph.returns[0].defining_node.op == "aten::stack"  # type: ignore[union-attr]
    assert not split_stacked.do(graph)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("%z : Double(*, 2) = aten::add(%c, %s, %one)", "%z : Double(*, 2) = aten::cumsum(%s, %one, %none)"),
        ("%b : Double(*) = aten::select(%c, %one, %one)", "%b : Double(*) = aten::select(%c, %one, %i)"),
        ("%l : Double(*)[] =", "%w : Double(*) = aten::sin_(%a)\n      %l : Double(*)[] ="),
    ],
)
def test_what_is_more_than_parts_stays(old: str, new: str) -> None:
    none = "%one : int = prim::Constant[value=1]()"
    graph = parse_ir(BEFORE.replace(old, new).replace(none, none + "\n  %none : NoneType = prim::Constant()"))
    text = str(graph)
    assert not split_stacked.do(graph)
    assert str(graph) == text


def test_a_size_that_is_not_known_is_looked_at() -> None:
    graph = parse_ir(BEFORE.replace("%y : Double(*, 2)", "%y : Double(*, *)"))
    assert split_stacked.do(graph)
    verify(graph)
    branch = graph.find("prim::If")
    assert branch is not None
    assert [len(node.results) for node in graph.find_all("prim::Loop")] == [2, 1]


@flambeau.script
def swung(y: Tensor, p: Tensor, steps: int) -> Tensor:
    for _ in range(steps):
        slope = flambeau.stack([y[1], -p[0] * flambeau.sin(y[0]) - p[1] * y[1]])
        middle = y + 0.05 * slope
        y = y + 0.1 * flambeau.stack([middle[1], -p[0] * flambeau.sin(middle[0]) - p[1] * middle[1]])
    return y


def swung_in_numpy(y: Any, p: Any, steps: int) -> Any:
    for _ in range(steps):
        middle = y + 0.05 * np.stack([y[1], -p[0] * np.sin(y[0]) - p[1] * y[1]])
        y = y + 0.1 * np.stack([middle[1], -p[0] * np.sin(middle[0]) - p[1] * middle[1]])
    return y


STARTS, CONSTANTS = np.random.default_rng(2).normal(size=(7, 2)), np.array([1.3, 0.2])


@pytest.mark.parametrize("steps", [0, 1, 12])
def test_batches_of_states(steps: int) -> None:
    batch = vmap(swung, in_dims=(0, None, None))
    for _ in range(3):
        ends = batch(flambeau.from_numpy(STARTS), flambeau.from_numpy(CONSTANTS), steps)
        np.testing.assert_allclose(ends.numpy(), swung_in_numpy(STARTS.T, CONSTANTS, steps).T, rtol=1e-13)
    strided = flambeau.from_numpy(np.ascontiguousarray(STARTS.T)).T
    assert flambeau.equal(batch(strided, flambeau.from_numpy(CONSTANTS), steps), ends)


def test_jacobians_of_batches() -> None:
    y, p = flambeau.from_numpy(STARTS), flambeau.from_numpy(CONSTANTS)
    forward = vmap(jacfwd(swung, argnums=(0, 1)), in_dims=(0, None, None))
    backward = vmap(jacrev(swung, argnums=(0, 1)), in_dims=(0, None, None))
    for _ in range(3):
        for one, other in zip(forward(y, p, 12), backward(y, p, 12), strict=True):
            np.testing.assert_allclose(one.numpy(), other.numpy(), rtol=1e-11, atol=1e-13)
    for k in range(2):
        step = np.eye(2)[k] * 1e-6
        slope = swung_in_numpy((STARTS + step).T, CONSTANTS, 12) - swung_in_numpy((STARTS - step).T, CONSTANTS, 12)
        np.testing.assert_allclose(forward(y, p, 12)[0].numpy()[:, :, k], slope.T / 2e-6, rtol=1e-6, atol=1e-8)


def test_batches_within_that_have_no_such_order() -> None:
    """Those of the examples first, then: Jacobians backwards of what has norms and cross products."""

    @flambeau.script
    def turned(axis: Tensor, point: Tensor) -> Tensor:
        angle = flambeau.linalg.norm(axis)
        unit = axis / angle
        return point * flambeau.cos(angle) + flambeau.linalg.cross(unit, point) * flambeau.sin(angle)

    axes, points = (flambeau.from_numpy(np.random.default_rng(k).normal(size=(6, 3))) for k in range(2))
    jacobians = vmap(jacrev(turned, argnums=(0, 1)))
    for _ in range(3):
        for k, jacobian in enumerate(jacobians(axes, points)):
            rows = [jacrev(turned, argnums=(0, 1))(a, p)[k] for a, p in zip(axes, points, strict=True)]
            np.testing.assert_allclose(jacobian.numpy(), flambeau.stack(rows).numpy(), rtol=1e-12)
    assert jacobians.explain().is_native


def test_gradients_of_batches() -> None:
    @flambeau.script
    def total(y: Tensor, p: Tensor) -> Tensor:
        return (vmap(swung, in_dims=(0, None, None))(y, p, 12) ** 2).sum()

    y, p = flambeau.from_numpy(STARTS), flambeau.from_numpy(CONSTANTS)
    one_by_one = sum(grad(lambda q, row=row: (swung(row, q, 12) ** 2).sum())(p) for row in y)
    for _ in range(3):
        np.testing.assert_allclose(grad(total, argnums=1)(y, p).numpy(), one_by_one.numpy(), rtol=1e-11)


@pytest.mark.parametrize(
    ("count", "message"), [(1, "index 1 is out of bounds|out of range"), (3, r"The size of tensor a \(3\) must match")]
)
def test_states_of_other_sizes_are_refused_as_ever(count: int, message: str) -> None:
    def stacked(y, n: int):
        for _ in range(n):
            y = y + flambeau.stack([y[:, 0], -y[:, 1]], 1)
        return y

    compiled = flambeau.script(stacked)
    good, bad = flambeau.ones(5, 2), flambeau.ones(5, count)
    for _ in range(3):
        assert flambeau.equal(compiled(good, 2), stacked(good, 2))
        assert flambeau.equal(compiled(bad, 0), bad)
        with pytest.raises((RuntimeError, IndexError), match=message):
            compiled(bad, 2)


def test_zeros_with_signs_and_nan() -> None:
    def turned(y):
        for _ in range(3):
            y = flambeau.stack([y[:, 1], -y[:, 0]], 1) * 1.0
        return y

    values = flambeau.tensor([[0.0, -0.0], [float("nan"), float("inf")], [-float("inf"), 1.0]])
    for _ in range(3):
        np.testing.assert_array_equal(flambeau.script(turned)(values).numpy(), turned(values).numpy())
        assert flambeau.equal(flambeau.signbit(flambeau.script(turned)(values)), flambeau.signbit(turned(values)))
    assert flambeau.script(turned)(flambeau.ones(0, 2)).shape == (0, 2)
