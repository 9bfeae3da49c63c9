"""The way back of usual calls by one function and by kernels of formulas: the same bits as operator by operator."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau import Tensor
from flambeau.codegen import available
from flambeau.executor.eager import machine
from flambeau.schema import registry
from flambeau.tensor.tensor import wrap
from flambeau.util.made_objects import Maker, slot_offsets

pytestmark = pytest.mark.skipif(not available(), reason="needs llvmlite")
HOSTILE = [0.0, -0.0, 1.0, -1.0, 2.5, 1e-30, 1e30, float("inf"), float("-inf"), float("nan"), 0.3, -7.0]
UNARY: dict[str, Callable[[Tensor], Tensor]] = {
    "tanh": lambda x: x.tanh(), "sigmoid": lambda x: x.sigmoid(), "exp": lambda x: x.exp(), "log": lambda x: x.log(),
    "sqrt": lambda x: x.sqrt(), "sin": lambda x: x.sin(), "reciprocal": lambda x: x.reciprocal(),
    "square": lambda x: x.square(), "pow": lambda x: x**3, "silu": lambda x: flambeau.nn.functional.silu(x),
    "gelu": lambda x: flambeau.nn.functional.gelu(x), "relu": lambda x: x.relu(), "abs": lambda x: x.abs(),
    "leaky": lambda x: flambeau.nn.functional.leaky_relu(x, 0.1), "scaled": lambda x: x * 0.5, "neg": lambda x: -x,
    "clamp": lambda x: x.clamp(-1, 1), "softplus": lambda x: flambeau.nn.functional.softplus(x),
}  # fmt: skip
BINARY: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "add": lambda x, y: x + y, "sub": lambda x, y: flambeau.sub(x, y, alpha=3), "mul": lambda x, y: x * y,
    "div": lambda x, y: x / y, "maximum": lambda x, y: flambeau.maximum(x, y), "atan2": lambda x, y: x.atan2(y),
    "pow": lambda x, y: x**y, "where": lambda x, y: flambeau.where(x > 0, x, y),
}  # fmt: skip


@pytest.fixture(autouse=True)
def _loaded() -> None:
    assert machine.loops is not None or machine.load()


def _leaf(values: Any, dtype: flambeau.dtype) -> Tensor:
    return flambeau.tensor(values, dtype=dtype).requires_grad_()


def _bits(tensors: list[Tensor | None]) -> list[Any]:
    return [t if t is None else (t.dtype, t.shape, t.numpy().tobytes()) for t in tensors]


def _agrees(result: Tensor, gradient: Tensor) -> Any:
    node = result.grad_fn
    with flambeau.no_grad():
        expected = _bits(node.apply([gradient]))
        found = [_bits(node.apply_plainly([gradient])) for _ in range(3)]
    assert found == [expected] * 3
    return node


@pytest.mark.parametrize("dtype", [flambeau.float32, flambeau.float64])
@pytest.mark.parametrize("name", UNARY)
def test_bits_of_one_operand(name: str, dtype: flambeau.dtype) -> None:
    for values in (HOSTILE, [], [HOSTILE[:4]], 0.5):
        x = _leaf(values, dtype)
        result = UNARY[name](x)
        _agrees(result, flambeau.ones_like(result.detach()) * 1.5)


@pytest.mark.parametrize("dtype", [flambeau.float32, flambeau.float64])
@pytest.mark.parametrize("name", BINARY)
def test_bits_of_two_operands(name: str, dtype: flambeau.dtype) -> None:
    rows, columns = _leaf([HOSTILE] * len(HOSTILE), dtype), _leaf([[v] for v in HOSTILE], dtype)
    for x, y in ((rows, rows.detach().t().clone().requires_grad_()), (rows, columns), (columns, _leaf(2.0, dtype))):
        result = BINARY[name](x, y)
        _agrees(result, flambeau.ones_like(result.detach()) * 1.5)


def test_formulas_of_one_kind_are_one_kernel() -> None:
    x = _leaf(HOSTILE, flambeau.float32)
    quick = _agrees(x.tanh(), flambeau.ones(len(HOSTILE))).formulas.quick
    assert "k0(grad, v0)" in quick.__doc__
    kernel = quick.__globals__["k0"].slow.__self__
    assert kernel.entry is not None
    assert kernel.entry.served > 0


def test_what_was_written_or_packed_goes_the_long_way() -> None:
    x = _leaf([1.0, 2.0], flambeau.float32)
    y = x.exp()
    y.detach().add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()
    with flambeau.autograd.graph.saved_tensors_hooks(lambda t: t * 2, lambda t: t):
        z = x * x
    z.sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [4.0, 8.0]
    w = x * x
    assert w.grad_fn._saved_self is x  # kept as an object from now on
    assert flambeau.autograd.grad(w.sum(), x)[0].tolist() == [2.0, 4.0]


def test_gradients_of_gradients_are_recorded() -> None:
    x = _leaf([0.5, -1.0], flambeau.float64)
    [first] = flambeau.autograd.grad(x.tanh().sum(), x, create_graph=True)
    [second] = flambeau.autograd.grad(first.sum(), x)
    t = np.tanh([0.5, -1.0])
    np.testing.assert_allclose(second.numpy(), -2 * t * (1 - t * t), rtol=1e-12)


def _matrices(rows: int, columns: int, dtype: str, seed: int) -> list[np.ndarray]:
    random = np.random.default_rng(seed)
    whole = random.normal(size=(2 * rows, 3 * columns)).astype(dtype)
    return [whole[:rows, :columns].copy(), whole[:rows, :columns].T.copy().T, whole[::2, ::3], whole[rows:, :columns]]


@pytest.mark.parametrize("dtype", ["f", "d"])
def test_bits_of_products(dtype: str) -> None:
    for m, k, n in itertools.product((1, 2, 9), (1, 5, 16), (1, 3, 8)):
        for a, b in itertools.product(_matrices(m, k, dtype, 1), _matrices(k, n, dtype, 2)):
            x, y = wrap(a).requires_grad_(), wrap(b).requires_grad_()
            for result in (x @ y, flambeau.mm(x, y)):
                assert result.detach().numpy().tobytes() == np.matmul(a, b).tobytes()
                _agrees(result, wrap(np.ones((m, n), dtype) * 1.5))
    assert registry.get("aten::mm").kernel.entry.served == 0  # who counts calls by programs may ask any kernel


def test_products_of_other_ranks_and_sizes() -> None:
    shapes = [((3,), (3, 4)), ((2, 3), (3,)), ((5, 2, 3), (3, 4)), ((0, 3), (3, 4)), ((2, 0), (0, 4)), ((3,), (3,))]
    for one, other in shapes:
        x, y = flambeau.rand(*one).requires_grad_(), flambeau.rand(*other).requires_grad_()
        result = x @ y
        _agrees(result, flambeau.ones_like(result.detach()))
    with pytest.raises(RuntimeError, match="cannot be multiplied"):
        flambeau.rand(2, 3) @ flambeau.rand(2, 3)
    with pytest.raises(RuntimeError, match="same dtype"):
        flambeau.rand(2, 2) @ flambeau.rand(2, 2).double()


def test_makers() -> None:
    class Pair:
        __slots__ = ("first", "second", "third")

    make = Maker(Pair, ("second", "first"), {"third": None})
    pair = make([1], "x")
    assert (pair.first, pair.second, pair.third) == ("x", [1], None)
    assert len(set(slot_offsets(Pair).values())) == 3
    with pytest.raises(TypeError, match="Pair is made of second, first: got 1 values"):
        make(1)
