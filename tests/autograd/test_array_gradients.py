"""Gradients from functions over arrays are those of the formulas beside them: of views, hostile values, other values of
the same sizes, and where hooks packed what was kept."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
import pytest

import flambeau
from flambeau import Tensor

F = flambeau.nn.functional
INDEX = flambeau.tensor([2, 0, 2])
COLUMNS = flambeau.tensor([[1, 0, 1], [0, 1, 1]])
MASK = flambeau.tensor([[True, False, True], [False, False, True]])

CASES: dict[str, tuple[list[tuple[int, ...]], Callable[..., Any]]] = {
    "unsqueeze": ([(2, 3)], lambda x: x.unsqueeze(1)),
    "view of a transposed one": ([(2, 3)], lambda x: x.t().reshape(6)),
    "flatten nothing": ([(0, 3)], lambda x: x.flatten()),
    "transpose": ([(2, 3, 4)], lambda x: x.transpose(-1, 0)),
    "transpose of no axes": ([()], lambda x: x.transpose(0, -1)),
    "t of a vector": ([(3,)], lambda x: x.t()),
    "mT": ([(2, 3, 4)], lambda x: x.mT),
    "permute": ([(2, 3, 4)], lambda x: x.permute(-1, 0, 1)),
    "select": ([(2, 3)], lambda x: x[:, -1]),
    "slice": ([(2, 5)], lambda x: x[:, 1:-1:2]),
    "slice beyond": ([(2, 5)], lambda x: x[:, -9:9]),
    "narrow": ([(2, 5)], lambda x: x.narrow(1, -3, 2)),
    "cat": ([(2, 3), (2, 1)], lambda x, y: flambeau.cat([x, y, x], dim=-1)),
    "cat with an empty one": ([(2, 3), (0,)], lambda x, y: flambeau.cat([x, y], dim=0)),
    "stack": ([(2, 3), (2, 3)], lambda x, y: flambeau.stack([x, y], dim=-1)),
    "stack of matrices": ([(2, 3), (2, 3)], lambda x, y: flambeau.stack([x, y], dim=1)),
    "split": ([(2, 5)], lambda x: x.split([2, 3], dim=1)[1]),
    "chunk": ([(5, 2)], lambda x: x.chunk(3)[2] * x.chunk(3)[2]),
    "unbind": ([(3, 2)], lambda x: x.unbind(0)[1]),
    "repeat": ([(2, 3)], lambda x: x.repeat(2, 1, 3)),
    "repeat once": ([(2, 3)], lambda x: x.repeat(1, 1)),
    "expand": ([(2, 1, 3)], lambda x: x.expand(4, 2, 5, 3)),
    "roll": ([(2, 3)], lambda x: x.roll(2, -1)),
    "roll all": ([(2, 3)], lambda x: x.roll(1)),
    "sum": ([(2, 3, 4)], lambda x: x.sum((0, -1))),
    "sum that stays": ([(2, 3)], lambda x: x.sum(1, keepdim=True)),
    "sum in another dtype": ([(2, 3)], lambda x: x.sum(0, dtype=flambeau.float64)),
    "mean": ([(2, 3)], lambda x: x.mean(dim=-1)),
    "mean of nothing": ([(2, 0)], lambda x: x.mean(dim=0)),
    "cumsum": ([(2, 3)], lambda x: x.cumsum(-1)),
    "gather": ([(2, 3)], lambda x: x.gather(1, COLUMNS)),
    "max": ([(2, 3)], lambda x: x.max(1)[0]),
    "max that stays": ([(2, 3)], lambda x: x.max(0, keepdim=True).values),
    "sort": ([(2, 3)], lambda x: x.sort(dim=1, descending=True)[0]),
    "topk": ([(2, 3)], lambda x: x.topk(2)[0]),
    "index": ([(4, 3)], lambda x: x[INDEX]),
    "index of two": ([(4, 3)], lambda x: x[INDEX, flambeau.tensor([-1, 0, -1])]),
    "index behind": ([(2, 4)], lambda x: x[:, INDEX]),
    "index by a mask": ([(2, 3)], lambda x: x[MASK]),
    "embedding": ([(4, 3)], lambda x: F.embedding(INDEX, x, padding_idx=0)),
    "masked_fill": ([(4, 2, 3)], lambda x: x.masked_fill(MASK, -2.0)),
    "masked_fill of less": ([(3,)], lambda x: x.masked_fill(MASK, -2.0)),
    "index_add": ([(4, 3), (3, 3)], lambda x, y: x.index_add(0, INDEX, y)),
    "index_add, scaled": ([(4, 3), (3, 3)], lambda x, y: x.index_add(0, INDEX, y, alpha=2)),
    "mm": ([(2, 3), (3, 4)], lambda x, y: flambeau.mm(x, y)),
    "mm, transposed": ([(3, 2), (4, 3)], lambda x, y: flambeau.mm(x.t(), y.t())),
    "bmm": ([(2, 3, 4), (2, 4, 5)], lambda x, y: flambeau.bmm(x, y)),
    "matmul, broadcast": ([(5, 1, 2, 3), (4, 3, 2)], lambda x, y: x @ y),
    "matmul by a vector": ([(2, 3, 4), (4,)], lambda x, y: x @ y),
    "matmul of a vector": ([(4,), (2, 4, 3)], lambda x, y: x @ y),
    "dot": ([(4,), (4,)], lambda x, y: x @ y),
    "linear": ([(2, 5, 3), (4, 3), (4,)], F.linear),
    "linear of a vector": ([(3,), (4, 3), (4,)], F.linear),
    "linear to a number": ([(2, 3), (3,)], F.linear),
    "linear of nothing": ([(0, 3), (4, 3), (4,)], F.linear),
    "linear of no batch": ([(2, 0, 3), (4, 3), (4,)], F.linear),
    "linear of no features": ([(2, 0), (4, 0), (4,)], F.linear),
    "linear of nothing to numbers": ([(0, 3), (3,)], F.linear),
    "bmm of nothing": ([(0, 3, 4), (0, 4, 5)], lambda x, y: flambeau.bmm(x, y)),
    "bmm of no sum": ([(2, 3, 0), (2, 0, 5)], lambda x, y: flambeau.bmm(x, y)),
    "matmul of nothing": ([(0, 2, 3), (3, 2)], lambda x, y: x @ y),
    "matmul of nothing by a vector": ([(0, 3), (3,)], lambda x, y: x @ y),
    "mm of nothing": ([(0, 3), (3, 2)], lambda x, y: x.mm(y)),
    "embedding of nothing": ([(4, 3)], lambda x: F.embedding(INDEX[:0], x)),
    "index of nothing": ([(4, 3)], lambda x: x[INDEX[:0]]),
    "repeat of nothing": ([(0, 3)], lambda x: x.repeat(2, 2)),
    "stack of nothing": ([(0, 3), (0, 3)], lambda x, y: flambeau.stack([x, y], dim=1)),
    "expand of nothing": ([(1, 3)], lambda x: x.expand(0, 3)),
    "cumsum of nothing": ([(0, 3)], lambda x: x.cumsum(0)),
    "masked_fill of nothing": ([(0, 2, 3)], lambda x: x.masked_fill(MASK, -2.0)),
    "cross entropy": ([(2, 3)], lambda x: F.cross_entropy(x, flambeau.tensor([2, 0]))),
    "cross entropy, ignoring": ([(3, 3)], lambda x: F.cross_entropy(x, flambeau.tensor([2, 1, 0]), ignore_index=1)),
    "cross entropy, added": ([(2, 3)], lambda x: F.cross_entropy(x, flambeau.tensor([2, 0]), reduction="sum")),
}  # fmt: skip


def _gradients(call: Callable[..., Tensor], arrays: list[Any], seed: int, *, by_formula: bool) -> list[Any]:
    operands = [flambeau.tensor(array, requires_grad=True) for array in arrays]
    result = call(*operands)
    arriving = np.asarray(_numbers(tuple(result.shape), seed), result.detach().numpy().dtype)
    turned = flambeau.tensor(np.asarray(arriving).T.copy()).permute([*reversed(range(arriving.ndim))])
    given = flambeau.autograd.grad(result, operands, turned, create_graph=by_formula, allow_unused=True)
    return [None if g is None else g.detach().numpy() for g in given]


def _numbers(shape: tuple[int, ...], seed: int) -> Any:
    return np.random.default_rng(seed).standard_normal(shape)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", CASES)
def test_gradients_are_those_of_the_formula(name: str, dtype: Any) -> None:
    shapes, call = CASES[name]
    for seed in (0, 7):  # other values of the same sizes
        arrays = [_numbers(shape, seed + k).astype(dtype) for k, shape in enumerate(shapes)]
        by_arrays = _gradients(call, arrays, seed, by_formula=False)
        by_formula = _gradients(call, arrays, seed, by_formula=True)
        for own, wanted, array in zip(by_arrays, by_formula, arrays, strict=True):
            if wanted is None:
                assert own is None
                continue
            assert own.dtype == array.dtype
            assert own.shape == array.shape
            np.testing.assert_allclose(own, wanted, rtol=2e-6 if dtype is np.float32 else 1e-14, atol=1e-6)


@pytest.mark.parametrize("name", ["bmm", "linear", "masked_fill", "sum", "repeat", "cross entropy", "gather"])
def test_infinities_and_nan_pass_without_a_warning(name: str, recwarn: pytest.WarningsRecorder) -> None:
    shapes, call = CASES[name]
    arrays = [_numbers(shape, k) for k, shape in enumerate(shapes)]
    arrays[0].flat[0], arrays[0].flat[1] = np.inf, np.nan
    own, wanted = (_gradients(call, arrays, 3, by_formula=by_formula) for by_formula in (False, True))
    for one, other in zip(own, wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)
    assert not recwarn.list


def test_gradients_of_views_are_views_and_leaves_have_memory_of_their_own() -> None:
    x = flambeau.ones(2, 3).requires_grad_()
    y = flambeau.ones(3, 2).requires_grad_()
    (x.t() + y).backward(flambeau.ones(3, 2))
    assert x.grad is not None
    assert y.grad is not None
    x.grad.add_(1)
    assert y.grad.tolist() == [[1.0, 1.0]] * 3


def test_packed_tensors_are_unpacked() -> None:
    unpacked = []

    def unpack(tensor: Tensor) -> Tensor:
        unpacked.append(tuple(tensor.shape))
        return tensor * 2

    x, y = flambeau.ones(1, 2, 3).requires_grad_(), flambeau.ones(1, 3, 2).requires_grad_()
    with flambeau.autograd.graph.saved_tensors_hooks(lambda t: t, unpack):
        product = flambeau.bmm(x, y)
    product.sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [[[4.0] * 3] * 2]
    assert sorted(unpacked) == [(1, 2, 3), (1, 3, 2)]


@pytest.mark.parametrize("call", [lambda x, y: flambeau.bmm(x, y), lambda x, y: x @ y])
def test_what_was_written_since_is_refused(call: Callable[..., Tensor]) -> None:
    x, y = flambeau.ones(1, 2, 3).requires_grad_(), flambeau.ones(1, 3, 2)
    product = call(x, y)
    y.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        product.sum().backward()


def test_the_chosen_of_several_results_is_refused_if_written() -> None:
    x = flambeau.ones(2, 3).requires_grad_()
    values, places = x.max(1)
    places.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        values.sum().backward()


def test_a_subclass_that_is_asked_is_asked() -> None:
    class Loud(Tensor):
        asked: ClassVar[list[str]] = []

        @classmethod
        def __flambeau_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            cls.asked.append(func.__name__)
            return super().__flambeau_function__(func, types, args, kwargs)

    x = flambeau.ones(1, 2, 3).as_subclass(Loud).requires_grad_()
    flambeau.bmm(x, flambeau.ones(1, 3, 2)).sum().backward()
    assert "bmm" in Loud.asked
    assert x.grad.tolist() == [[[2.0] * 3] * 2]


def test_losses_of_no_class_have_gradients_of_zero() -> None:
    for name in ("cross_entropy", "nll_loss"):
        for weight in (None, flambeau.ones(3)):
            x = flambeau.ones(2, 3).requires_grad_()
            loss = getattr(F, name)(x, flambeau.tensor([1, 1]), weight=weight, ignore_index=1)
            recorded: Any
            (recorded,) = flambeau.autograd.grad(loss, x, create_graph=True)
            loss.backward()
            assert np.isnan(loss.item())
            assert x.grad is not None
            assert x.grad.tolist() == recorded.tolist() == [[0.0] * 3] * 2


def test_cross_entropy_of_a_class_that_is_not_there() -> None:
    x = flambeau.ones(2, 3).requires_grad_()
    with pytest.raises(IndexError, match="Target 3 is out of bounds"):
        F.cross_entropy(x, flambeau.tensor([1, 3]))


def test_cross_entropy_is_one_node_and_differentiable_twice() -> None:
    x = flambeau.tensor(_numbers((4, 3), 1), requires_grad=True)
    target = flambeau.tensor([0, 2, 1, 2])
    assert F.cross_entropy(x, target).grad_fn.name() == "NllLossBackward0"
    assert flambeau.autograd.gradgradcheck(lambda x: F.cross_entropy(x, target, ignore_index=1), (x,))


def test_rows_that_do_not_count_pass_nan_on() -> None:
    x = flambeau.tensor([[1.0, 2.0], [float("nan"), 0.0]]).requires_grad_()
    loss = F.cross_entropy(x, flambeau.tensor([0, 1]), ignore_index=1)
    own: Any
    wanted: Any
    own, wanted = (flambeau.autograd.grad(loss, x, create_graph=kind, retain_graph=True)[0] for kind in (False, True))
    np.testing.assert_allclose(own.numpy(), wanted.detach().numpy(), rtol=1e-6)


def test_dropout_is_differentiable_twice() -> None:
    x = flambeau.tensor(_numbers((3, 4), 1), requires_grad=True)
    y = F.dropout(x, 0.5)
    first: Any
    second: Any
    (first,) = flambeau.autograd.grad((y**3).sum(), x, create_graph=True)
    (second,) = flambeau.autograd.grad(first.sum(), x)
    kept = y.detach().numpy() != 0
    np.testing.assert_allclose(second.numpy(), 6 * 8 * x.detach().numpy() * kept, rtol=1e-12)
