"""Products in scripted functions: which operators join their groups, and that answers and errors stay the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau import Tensor
from flambeau.ir import parse_ir
from flambeau.ir.verify import verify
from flambeau.passes import fuse_products

SIZES = [0, 1, 2, 5, 16, 33]


def random(*shape: int, dtype: str = "float32", seed: int = 0) -> Tensor:
    return flambeau.from_numpy(np.random.default_rng(seed).standard_normal(shape).astype(dtype))


def groups(fn: Any, *args: Any) -> list[list[str]]:
    """The operators of each group that a call with these arguments runs."""
    fn(*args)
    return [
        [n.op.removeprefix("aten::") for n in group.attribute("Subgraph").nodes() if n.op != "prim::Constant"]
        for group in fn.graph_for(*args).find_all("prim::FusionGroup")
    ]


@flambeau.script
def layer(x: Tensor, w: Tensor, b: Tensor) -> Tensor:
    return flambeau.relu(x @ w + b)


@flambeau.script
def two_layers(x: Tensor, w: Tensor, b: Tensor) -> Tensor:
    return flambeau.tanh(x @ w + b) @ w + b


@flambeau.script
def residual(x: Tensor, w: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    z = x @ w
    return z, flambeau.sigmoid(z) * y + y


@flambeau.script
def reads_a_factor_again(x: Tensor, w: Tensor) -> Tensor:
    return flambeau.relu(x @ w + x)


@flambeau.script
def squared(x: Tensor) -> Tensor:
    return x @ x + 1.0


@flambeau.script
def compared(x: Tensor, w: Tensor) -> Tensor:
    return (x @ w) > 0.5


@flambeau.script
def folded(x: Tensor, w: Tensor) -> Tensor:
    return flambeau.softmax(x @ w * 2.0, 1)


def test_what_follows_joins() -> None:
    assert groups(layer, random(4, 5), random(5, 6), random(6)) == [["matmul", "add", "relu"]]
    assert "matmul add relu" in str(layer.explain())
    assert groups(two_layers, random(4, 5), random(5, 5), random(5)) == [["matmul", "add", "tanh"], ["matmul", "add"]]
    assert groups(residual, random(4, 5), random(5, 6), random(4, 6)) == [["matmul", "sigmoid", "mul", "add"]]


def test_what_reads_a_factor_again_or_folds_stays_outside() -> None:
    assert groups(reads_a_factor_again, random(5, 5), random(5, 5)) == [["matmul"], ["add", "relu"]]
    assert groups(folded, random(5, 5), random(5, 6)) == [["matmul"], ["mul", "softmax"]]
    assert groups(squared, random(5, 5)) == [["matmul"], ["add"]]


def test_what_is_larger_than_the_product_stays_outside() -> None:
    x, w, y = random(1, 5), random(5, 6), random(4, 6)
    assert groups(residual, x, w, y) == [["matmul", "sigmoid"], ["mul", "add"]]
    want = 1 / (1 + np.exp(-(x.numpy() @ w.numpy()))) * y.numpy() + y.numpy()
    np.testing.assert_allclose(residual(x, w, y)[1].numpy(), want, rtol=1e-4, atol=1e-5)


def test_operands_made_in_between_do_not_keep_it_out() -> None:
    graph = parse_ir("""graph(%x : Float(*, *), %w : Float(*, *), %y : Float(*, *)):
      %1 : int = prim::Constant[value=1]()
      %p : Float(*, *) = aten::mm(%x, %w)
      %e : Float(*, *) = aten::exp(%y)
      %r : Float(*, *) = aten::add(%p, %e, %1)
      return (%r)""")
    assert fuse_products.do(graph)
    verify(graph)
    group = graph.find("prim::FusionGroup")
    assert group is not None
    assert [n.op for n in group.attribute("Subgraph").nodes()] == ["prim::Constant", "aten::mm", "aten::add"]


def test_writes_are_not_crossed() -> None:
    graph = parse_ir("""graph(%x : Float(*, *), %w : Float(*, *), %y : Float(*, *)):
      %1 : int = prim::Constant[value=1]()
      %p : Float(*, *) = aten::mm(%x, %w)
      %e : Float(*, *) = aten::add_(%y, %1, %1)
      %r : Float(*, *) = aten::add(%p, %y, %1)
      %u : Float(*, *) = aten::mul_(%x, %1)
      return (%r, %u)""")
    fuse_products.do(graph)
    verify(graph)
    kinds = [n.op for n in graph.nodes() if n.op != "prim::Constant"]
    assert kinds == ["prim::FusionGroup", "aten::add_", "aten::add", "aten::mul_"], "what is written may be a factor"


@pytest.mark.parametrize("m", SIZES)
@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("k", SIZES)
def test_every_size_agrees(m: int, n: int, k: int) -> None:
    x, w, b = random(m, k), random(k, n, seed=1), random(n, seed=2)
    got = layer(x, w, b).numpy()
    want = np.maximum(x.numpy().astype(np.float64) @ w.numpy() + b.numpy(), 0)
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=2e-5)


@pytest.mark.parametrize("rows", [1, 4])
def test_broadcast_against_something_larger(rows: int) -> None:
    x, w, y = random(rows, 5), random(5, 6), random(3, 4, 6)
    z, got = residual(x, w, y)
    assert z.shape == (rows, 6)
    assert got.shape == (3, 4, 6)
    want = 1 / (1 + np.exp(-(x.numpy() @ w.numpy()))) * y.numpy() + y.numpy()
    np.testing.assert_allclose(got.numpy(), want, rtol=1e-4, atol=1e-5)


def test_results_of_another_dtype() -> None:
    x, w = random(9, 5), random(5, 37)
    got = compared(x, w)
    np.testing.assert_array_equal(got.numpy(), x.numpy() @ w.numpy() > 0.5)


def test_repeated_factors_and_residuals_agree() -> None:
    x, w = random(8, 8), random(8, 8, seed=3)
    np.testing.assert_allclose(squared(x).numpy(), x.numpy() @ x.numpy() + 1, rtol=1e-4, atol=1e-5)
    want = np.maximum(x.numpy() @ w.numpy() + x.numpy(), 0)
    np.testing.assert_allclose(reads_a_factor_again(x, w).numpy(), want, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("dtype", ["int32", "int64", "float64", "complex64", "float16"])
def test_every_dtype_agrees(dtype: str) -> None:
    x, w, b = (
        flambeau.from_numpy((4 * np.random.default_rng(k).standard_normal(s)).astype(dtype))
        for k, s in enumerate(((6, 5), (5, 7), (7,)))
    )
    got = two_products(x, w, b)
    want = (x.numpy() @ w.numpy() + b.numpy()).astype(dtype)
    np.testing.assert_allclose(got.numpy(), want, rtol=2e-2 if dtype == "float16" else 1e-4, atol=1e-3)


@flambeau.script
def two_products(x: Tensor, w: Tensor, b: Tensor) -> Tensor:
    return x @ w + b


@pytest.mark.parametrize(
    ("x", "w", "message"),
    [
        ((2, 3), (4, 5), r"mat1 and mat2 shapes cannot be multiplied \(2x3 and 4x5\)"),
        ((2, 1), (4, 5), r"mat1 and mat2 shapes cannot be multiplied \(2x1 and 4x5\)"),
        ((2, 3), (1, 5), r"mat1 and mat2 shapes cannot be multiplied \(2x3 and 1x5\)"),
    ],
)
def test_errors_are_the_operators_own(x: tuple[int, ...], w: tuple[int, ...], message: str) -> None:
    layer(random(2, 4), random(4, 5), random(5))
    with pytest.raises(RuntimeError, match=message):
        layer(random(*x), random(*w), random(5))


@flambeau.script
def scaled(b: Tensor, x: Tensor, w: Tensor) -> Tensor:
    return flambeau.addmm(b, x, w, beta=0, alpha=2) + flambeau.addmm(b, x, w, beta=0.5)


def test_scales_and_a_tensor_that_does_not_count() -> None:
    b, x, w = random(7), random(6, 5), random(5, 7)
    want = 3 * (x.numpy() @ w.numpy()) + 0.5 * b.numpy()
    np.testing.assert_allclose(scaled(b, x, w).numpy(), want, rtol=1e-4, atol=1e-5)
    spoiled = flambeau.from_numpy(np.full(7, np.nan, np.float32))
    assert np.isnan(scaled(spoiled, x, w).numpy()).all()


def test_gradients_cost_no_group() -> None:
    x, w, b = random(4, 5), random(5, 6), random(6)
    x.requires_grad_()
    assert groups(layer, x, w, b) == [["matmul", "add", "relu"]]
