"""Tangents of every operator with a formula, beside its gradients: u . (J t) is (u J) . t."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau.func import jvp
from tests.autograd.operator_samples import calls, like, operators

m = flambeau
UNDEFINED = {
    "aten::cdist": "points that coincide: the distance has no derivative there",
    "aten::embedding": "a row that no gradient goes back to has tangents",
    "aten::mean": "of nothing, 0 / 0",
}
"""Operators of whose samples one has no derivative."""
NAMES = sorted(operators())


@pytest.mark.parametrize("chunk", range(8))
def test_tangents_agree_with_gradients(chunk: int) -> None:
    wrong = []
    for name in NAMES[chunk::8]:
        for number, call in enumerate(calls(name)):
            difference = _difference(call.function, call.values, number)
            if difference is not None and name not in UNDEFINED:
                wrong.append((name, call.label, difference))
    assert not wrong


def _difference(function: Any, values: Any, seed: int) -> Any:
    draw = np.random.default_rng(seed)
    primals = [value.clone().requires_grad_() for value in values]
    try:
        results = function(*primals)
        asked = [(n, r, like(draw, r)) for n, r in enumerate(results) if r.requires_grad]
        if not asked:
            return None
        gradients = m.autograd.grad([r for _, r, _ in asked], primals, [u for _, _, u in asked], allow_unused=True)
    except (NotImplementedError, RuntimeError):
        return None  # no formula, or none for these arguments
    tangents = [like(draw, value) for value in values]
    outputs, along = jvp(function, tuple(values), tuple(tangents))
    for output, tangent in zip(outputs, along, strict=True):
        assert (output.shape, output.dtype) == (tangent.shape, tangent.dtype)
    forward = sum(_inner(u, along[n]) for n, _, u in asked)
    reverse = sum(_inner(g, t) for g, t in zip(gradients, tangents, strict=True) if g is not None)
    return None if np.isclose(forward, reverse, rtol=1e-6, atol=1e-8, equal_nan=True) else (forward, reverse)


def _inner(left: Any, right: Any) -> float:
    return float(np.sum((left.detach().numpy().conj() * right.detach().numpy()).real))


def test_updates_in_place_and_views_have_tangents() -> None:
    def program(x: Any) -> Any:
        y = m.zeros(4, dtype=m.float64)
        first = y[:2]
        y[1] = x[0]
        first.mul_(x[1])
        y[2:] += x
        y.t_().unsqueeze_(0)
        return y, first

    (y, first), (along, along_first) = jvp(program, (m.tensor([3.0, 5.0]).double(),), (m.tensor([1.0, 10.0]).double(),))
    assert y.tolist() == [[0.0, 15.0, 3.0, 5.0]]
    assert along.tolist() == [[0.0, 35.0, 1.0, 10.0]]
    assert (first.tolist(), along_first.tolist()) == ([0.0, 15.0], [0.0, 35.0])


def test_what_was_written_within_is_plain_again_afterwards() -> None:
    kept = m.zeros(2)

    def program(x: Any) -> Any:
        kept.add_(x)
        return kept * 1

    jvp(program, (m.ones(2),), (m.ones(2),))
    assert type(kept) is m.Tensor
    assert (kept + 1).tolist() == [2.0, 2.0]


def test_a_tensor_that_escapes_says_so() -> None:
    kept: list[Any] = []
    jvp(lambda x: kept.append(x) or x * 1, (m.ones(2),), (m.ones(2),))
    with pytest.raises(RuntimeError, match="a tensor of jvp was used after jvp had ended"):
        kept[0] + 1


def test_without_a_formula_it_says_so() -> None:
    x = m.ones(3, 3, dtype=m.float64)
    with pytest.raises(NotImplementedError, match="Trying to use forward AD with aten::"):
        jvp(lambda x: m.geqrf(x)[0], (x,), (x,))


def test_results_that_are_no_floats_have_no_tangent() -> None:
    x = m.tensor([1.0, -2.0])
    assert jvp(lambda x: x * (x > 0), (x,), (m.ones(2),))[1].tolist() == [1.0, 0.0]
    assert jvp(lambda x: x.detach() * x, (x,), (m.ones(2),))[1].tolist() == [1.0, -2.0]


def test_an_operand_that_lends_its_sizes_lends_no_tangent() -> None:
    x, v = m.tensor([[3.0, 4.0]]), m.tensor([[1.0, 2.0]])
    assert jvp(lambda x: m.ones(1, 1).expand_as(x) * 2, (x,), (v,))[1].tolist() == [[0.0, 0.0]]
    assert jvp(lambda x: x / m.norm(x, 0.0, -1, True).expand_as(x), (x,), (v,))[1].tolist() == [[0.5, 1.0]]
    assert jvp(lambda x: m.arange(2.0).reshape_as(x) * x, (x,), (v,))[1].tolist() == [[0.0, 2.0]]


def test_of_two_elements_for_one_place_the_tangent_is_that_of_the_value() -> None:
    x, v, places = m.tensor([[[[1.0, 2.0]]]]), m.tensor([[[[3.0, 5.0]]]]), m.tensor([[[[1, 1]]]])
    value, tangent = jvp(lambda x: m.nn.functional.max_unpool2d(x, places, (1, 2), (1, 2)), (x,), (v,))
    assert (value.tolist(), tangent.tolist()) == ([[[[0.0, 2.0, 0.0, 0.0]]]], [[[[0.0, 5.0, 0.0, 0.0]]]])


def test_statistics_that_move_beside_the_results_have_no_tangent() -> None:
    x = m.tensor([[[1.0, 2.0, 4.0]]], dtype=m.float64)
    mean, var = m.zeros(1, dtype=m.float64), m.ones(1, dtype=m.float64)

    def normalised(x: Any) -> Any:
        return m._native_batch_norm_legit(x, None, None, mean, var, True, 0.5, 0.0)[0]

    assert np.allclose(jvp(normalised, (x,), (x,))[1].numpy(), 0.0, atol=1e-12)  # scaling changes nothing
    assert mean.item() == pytest.approx(7 / 6)


def test_rows_of_a_table_have_its_tangents_though_no_gradient_goes_back_to_one() -> None:
    rows, table = m.tensor([0, 1, 1]), m.tensor([[1.0], [2.0]])
    looked_up = lambda t: m.nn.functional.embedding(rows, t, padding_idx=1)  # noqa: E731
    assert jvp(looked_up, (table,), (table * 10,))[1].tolist() == [[10.0], [20.0], [20.0]]
    assert m.func.vjp(looked_up, table)[1](m.ones(3, 1))[0].tolist() == [[1.0], [0.0]]


def test_running_statistics_with_tangents_move_without_them() -> None:
    x = m.tensor([[[1.0, 2.0, 4.0]]], dtype=m.float64)
    mean, var = m.zeros(1, dtype=m.float64), m.ones(1, dtype=m.float64)

    def normalised(x: Any, mean: Any, var: Any) -> Any:
        return m.nn.functional.instance_norm(x, mean, var, None, None, True, 0.5, 0.0)

    assert np.allclose(jvp(normalised, (x, mean, var), (x, mean, var))[1].numpy(), 0.0, atol=1e-12)
    assert mean.item() == pytest.approx(7 / 6)
