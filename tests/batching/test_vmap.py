"""What `vmap` takes, gives and refuses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau.func import grad, vmap

m = flambeau
X = m.arange(6.0).reshape(3, 2)


def test_dimensions_of_containers() -> None:
    def total(pair: Any, scale: Any) -> Any:
        return {"sum": pair["a"] + pair["b"] * scale, "first": pair["a"][0]}

    both = {"a": X, "b": X.t()}
    result = vmap(total, in_dims=({"a": 0, "b": 1}, None), out_dims={"sum": 1, "first": 0})(both, 2)
    assert result["sum"].tolist() == (X * 3).t().tolist()
    assert result["first"].tolist() == [0.0, 2.0, 4.0]


@pytest.mark.parametrize("size", [1, 2, 3, 7])
def test_chunks_give_the_same(size: int) -> None:
    whole = vmap(lambda x: (x * 2, x.sum()), out_dims=(1, 0))(X)
    parts = vmap(lambda x: (x * 2, x.sum()), out_dims=(1, 0), chunk_size=size)(X)
    assert [a.tolist() for a in whole] == [a.tolist() for a in parts]


def test_of_a_scripted_function() -> None:
    @m.script
    def program(x: m.Tensor, n: int) -> m.Tensor:
        for _ in range(n):
            x = x * 2 + x.sum()
        return x

    assert vmap(program, in_dims=(0, None))(X, 3).tolist() == [program(x, 3).tolist() for x in X]


def test_writes_in_place() -> None:
    def program(x: Any) -> Any:
        y = x.new_zeros(2)
        y[0] = x[1]
        y[1:].add_(x[:1])
        return y

    assert vmap(program)(X).tolist() == [[1.0, 0.0], [3.0, 2.0], [5.0, 4.0]]
    own = X.clone()
    vmap(lambda x: x.mul_(2))(own)
    assert own.tolist() == (X * 2).tolist()


def test_small_operands_give_way_in_promotion() -> None:
    x, y = m.ones(3, dtype=m.float64), m.ones(2)
    assert vmap(lambda a: a + y)(x).dtype is m.float32


def test_nothing_in_the_batch() -> None:
    assert vmap(lambda x: (x * 2).sum())(m.ones(0, 3)).shape == (0,)
    assert vmap(lambda x: m.linalg.svdvals(x @ x.t()))(m.ones(0, 3, 3)).shape == (0, 3)


def test_the_loop_warns() -> None:
    with pytest.warns(m.PerformanceWarning, match="no batching rule for aten::"):
        values = vmap(lambda x: m.histc(x, 2))(X)
    assert values.tolist() == [m.histc(x, 2).tolist() for x in X]


class TestRandomness:
    def test_error(self) -> None:
        with pytest.raises(RuntimeError, match="called random operation while in randomness error mode"):
            vmap(lambda x: x + m.randn(2))(X)

    def test_different(self) -> None:
        drawn = vmap(lambda x: m.rand(2) + 0 * x, randomness="different")(X)
        assert len({tuple(row) for row in drawn.tolist()}) == 3
        kept = vmap(lambda x: m.nn.functional.dropout(x, 0.5), randomness="different")(m.ones(4, 50))
        assert len({tuple(row) for row in kept.tolist()}) == 4

    def test_same(self) -> None:
        drawn = vmap(lambda x: m.rand(2) + 0 * x, randomness="same")(X)
        assert len({tuple(row) for row in drawn.tolist()}) == 1
        kept = vmap(lambda x: m.nn.functional.dropout(x, 0.5), randomness="same")(m.ones(4, 50))
        assert len({tuple(row) for row in kept.tolist()}) == 1


REFUSED = {
    "branch": (lambda: vmap(lambda x: x if x.sum() > 0 else -x)(X), RuntimeError, "data-dependent control flow"),
    "item": (lambda: vmap(lambda x: x.sum().item())(X), RuntimeError, r"calling .item\(\) on a Tensor"),
    "float": (lambda: vmap(lambda x: float(x.sum()))(X), RuntimeError, r"calling .item\(\) on a Tensor"),
    "numpy": (lambda: vmap(lambda x: x.numpy())(X), RuntimeError, "doesn't have storage"),
    "no tensor": (lambda: vmap(lambda x: x)(3), ValueError, "We cannot vmap over non-Tensor arguments"),
    "no arguments": (lambda: vmap(lambda: X)(), ValueError, "got no inputs"),
    "in_dims": (lambda: vmap(lambda x: x, in_dims="a")(X), ValueError, "expected `in_dims` to be int or a"),
    "in_dims None": (lambda: vmap(lambda x: x, in_dims=(None,))(X), ValueError, "Expected at least one Tensor"),
    "in_dims length": (lambda: vmap(m.add, in_dims=(0,))(X, X), ValueError, "in_dims is not compatible"),
    "in_dims range": (lambda: vmap(lambda x: x, in_dims=5)(X), ValueError, "satisfy -2 <= in_dim < 2"),
    "in_dims float": (lambda: vmap(lambda x: x, in_dims=(0.5,))(X), ValueError, "either an integer dimension or None"),
    "sizes": (lambda: vmap(m.add, in_dims=(0, 1))(X, X), ValueError, r"got sizes \[3, 2\]"),
    "result": (lambda: vmap(lambda x: 1)(X), ValueError, "must only return Tensors, got type <class 'int'>"),
    "out_dims": (lambda: vmap(lambda x: x, out_dims=4)(X), IndexError, r"expected to be in range of \[-2, 1\]"),
    "out_dims type": (lambda: vmap(lambda x: x, out_dims="a")(X), ValueError, "`out_dims` must be an int, None or"),
    "out_dims length": (lambda: vmap(lambda x: (x, x), out_dims=(0,))(X), ValueError, "out_dims is not compatible"),
    "out_dims None": (lambda: vmap(lambda x: x, out_dims=None)(X), ValueError, "can not return a BatchedTensor"),
    "randomness": (lambda: vmap(lambda x: x, randomness="no"), RuntimeError, "Only allowed values for randomness"),
    "chunk_size": (lambda: vmap(lambda x: x, chunk_size=0), ValueError, "chunk_size should be None or greater than 0"),
    "write": (lambda: vmap(lambda x: m.zeros(2).add_(x))(X), RuntimeError, "inplace arithmetic"),
    "nonzero": (
        lambda: vmap(lambda x: x.nonzero())(X),
        RuntimeError,
        "dynamic shape. Attempted to vmap over aten::non",
    ),
    "mask": (lambda: vmap(lambda x: x[x > 0])(X), RuntimeError, "indexing with a boolean mask"),
    "asks": (lambda: vmap(lambda x: x.requires_grad_())(X), RuntimeError, "inside of a function being transformed"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refusals(name: str) -> None:
    run, error, message = REFUSED[name]
    with pytest.raises(error, match=message):  # type: ignore[arg-type]
        run()  # type: ignore[operator]


def test_a_tensor_that_escapes_says_so() -> None:
    kept: list[Any] = []
    vmap(lambda x: kept.append(x) or x * 1)(X)
    with pytest.raises(RuntimeError, match="a tensor of vmap was used after vmap had ended"):
        kept[0] + 1


def test_gradients_per_example_of_captured_tensors() -> None:
    weight = m.tensor([1.0, 2.0])
    per_example = vmap(grad(lambda x: ((weight * x) ** 2).sum()))(X)
    np.testing.assert_allclose(per_example.numpy(), 2 * weight.numpy() ** 2 * X.numpy())


def test_indices_that_differ_by_element() -> None:
    """An index that is one number for each element of the batch picks another place in each."""
    rows = flambeau.tensor([[3.0, 1.0, 2.0], [6.0, 5.0, 4.0]])
    places = flambeau.tensor([0, 2])
    assert flambeau.vmap(lambda x, i: x[i])(rows, places).tolist() == [3.0, 4.0]
    assert flambeau.vmap(lambda i: rows[:, i])(places).tolist() == [[3.0, 6.0], [2.0, 4.0]]
    assert flambeau.vmap(lambda x, i: x[i, None])(rows, places).tolist() == [[3.0], [4.0]]
    slopes = flambeau.vmap(flambeau.func.grad(lambda x, i: x[i] ** 2))(rows, places)
    assert slopes.tolist() == [[6.0, 0.0, 0.0], [0.0, 0.0, 8.0]]


def test_slices_repeated_of_a_batch_that_lies_last() -> None:
    x = flambeau.arange(24.0).reshape(2, 3, 4)
    result = vmap(lambda v: flambeau.repeat_interleave(v, 2), in_dims=-1)(x)
    np.testing.assert_array_equal(result.numpy(), np.repeat(x.numpy().reshape(6, 4), 2, axis=0).T)


def test_ranks_and_modes_of_numbers() -> None:
    x = flambeau.tensor([3.0, 1.0, 2.0])
    for choose in (
        lambda v: flambeau.mode(v, 0), lambda v: flambeau.kthvalue(v, 1, 0), lambda v: flambeau.kthvalue(v, 1, 0, True),
    ):  # fmt: skip
        values, indices = vmap(choose)(x)
        assert (values.tolist(), indices.tolist()) == ([3, 1, 2], [0, 0, 0])


@pytest.mark.parametrize("in_dims", [(0, 0), (0, None), (None, 0)])
@pytest.mark.parametrize("is_vector", [True, False])
def test_least_squares_of_a_batch_run_at_once(in_dims: tuple[Any, Any], is_vector: bool, recwarn: Any) -> None:
    rng = np.random.default_rng(0)
    left, right = rng.standard_normal((4, 6, 3)), rng.standard_normal((4, 6) if is_vector else (4, 6, 2))
    operands = [
        flambeau.tensor(x if d == 0 else x[0]) for x, d in zip((left, right), in_dims, strict=True)
    ]  # fmt: skip
    singles = [[x[i] if d == 0 else x for x, d in zip(operands, in_dims, strict=True)] for i in range(4)]

    def size(a: Any, b: Any) -> Any:
        return (flambeau.linalg.lstsq(a, b).solution ** 2).sum()

    for function in (flambeau.linalg.lstsq, grad(size, argnums=(0, 1))):
        together = vmap(function, in_dims=in_dims)(*operands)
        apart = [function(*single) for single in singles]
        for number, result in enumerate(together):
            expected = flambeau.stack([one[number] for one in apart])
            np.testing.assert_allclose(result.numpy(), expected.numpy(), rtol=1e-8, atol=1e-10)
    assert not [w for w in recwarn if "batching rule" in str(w.message)]


def test_least_squares_by_drivers_with_residuals() -> None:
    rng = np.random.default_rng(0)
    left, right = flambeau.tensor(rng.standard_normal((4, 6, 3))), flambeau.tensor(rng.standard_normal((4, 6, 2)))
    with pytest.warns(UserWarning, match="no batching rule"):
        residuals = vmap(lambda a, b: flambeau.linalg.lstsq(a, b, driver="gelsd").residuals)(left, right)
    expected = ((left @ flambeau.linalg.lstsq(left, right).solution - right) ** 2).sum(1)
    np.testing.assert_allclose(residuals.numpy(), expected.numpy())


@pytest.mark.parametrize(
    "mask",
    [
        [True, False, True], [[True, False, True], [False, True, True]], True, False, [[True], [False]],
        [[[True]], [[False]]],
    ],
)  # fmt: skip
def test_elements_by_a_mask_that_all_examples_share(mask: object) -> None:
    x = flambeau.arange(12.0).reshape(2, 2, 3)
    chosen = flambeau.tensor(mask)
    expected = flambeau.stack([flambeau.masked_select(one, chosen) for one in x])
    assert flambeau.vmap(lambda one: flambeau.masked_select(one, chosen))(x).tolist() == expected.tolist()
    compiled = flambeau.vmap(flambeau.script(_masked), in_dims=(0, None))
    assert compiled(x, chosen).tolist() == expected.tolist()
    with pytest.raises(RuntimeError, match="dynamic shape"):
        flambeau.vmap(flambeau.masked_select)(x, x > 1)


def _masked(x: flambeau.Tensor, mask: flambeau.Tensor) -> flambeau.Tensor:
    return flambeau.masked_select(x, mask)
