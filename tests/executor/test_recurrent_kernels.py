"""Recurrent layers as native loops: what NumPy gives, there and back, in every size and direction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau.executor.recurrent_kernels import kernels
from flambeau.ops.recurrent_arrays import GATES
from flambeau.util import inversions

Sizes = tuple[int, int, int, int]


def _trained(kind: str, dtype: Any, sizes: Sizes, reverse: bool, packing: Sequence[int] | None = None) -> list[Any]:
    """Results and gradients of one direction of a layer."""
    time, batch, features, units = sizes
    draw, gates = np.random.default_rng(0).standard_normal, GATES[kind]
    xs = (time, batch, features) if packing is None else (sum(packing), features)
    memory = (batch, units) if kind == "lstm" else (0,)
    weights = [(gates * units, features), (gates * units, units), (gates * units,), (gates * units,)]
    operands = [
        flambeau.from_numpy((draw(shape) / max(2.0, units**0.5)).astype(dtype)).requires_grad_()
        for shape in (xs, (batch, units), memory, *weights)
    ]
    layer = flambeau.ops.flambeau.recurrent_layer
    results = layer(operands, kind, None if packing is None else flambeau.tensor(packing), reverse)[:3]
    loss = sum((r * r).sum() for r in results)
    return [t.detach().numpy() for t in (*results, *flambeau.autograd.grad(loss, operands))]


@pytest.mark.parametrize(("dtype", "reverse"), [(np.float32, False), (np.float64, True)])
@pytest.mark.parametrize(
    ("sizes", "packing"),
    [((3, 2, 1, 5), None), ((1, 1, 1, 1), None), ((2, 20, 3, 130), None), ((3, 7, 20, 33), (7, 7, 2)),
     ((40, 64, 4, 16), None)],
)  # fmt: skip
@pytest.mark.parametrize("kind", sorted(GATES))
def test_native_loops_give_what_numpy_gives(
    kind: str, dtype: Any, reverse: bool, sizes: Sizes, packing: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert kernels(kind, np.dtype(dtype), 1) is not None
    natively = _trained(kind, dtype, sizes, reverse, packing)
    monkeypatch.setattr(inversions.RECURRENT_KERNELS, "implementation", lambda kind, dtype, elements: None)
    tolerance = 2e-4 if dtype == np.float32 else 1e-11
    for got, want in zip(natively, _trained(kind, dtype, sizes, reverse, packing), strict=True):
        np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance * max([1.0, *np.abs(want).ravel()]))


@pytest.mark.parametrize("kind", sorted(GATES))
def test_an_empty_batch_has_gradients(kind: str) -> None:
    results = _trained(kind, np.float32, (2, 0, 1, 3), False)
    assert results[0].shape == (2, 0, 3)
    assert not results[-1].any()


def test_weights_changed_in_place_count_in_the_next_call() -> None:
    layer, x = flambeau.nn.LSTM(3, 20), flambeau.randn(4, 2, 3)
    with flambeau.no_grad():
        before = layer(x)[0].clone()
        layer.weight_hh_l0 *= 2.0
        after = layer(x)[0]
        layer.weight_hh_l0 *= 0.5
    assert not flambeau.equal(before, after)
    assert flambeau.equal(layer(x)[0], before)


@pytest.mark.parametrize("number", [float("nan"), float("inf"), -float("inf")])
@pytest.mark.parametrize("kind", sorted(GATES))
def test_what_is_not_finite_stays_in_its_sequence(kind: str, number: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """As by NumPy, and in no other row: lanes and rows behind the last hold nothing of it."""
    draw, units = np.random.default_rng(1).standard_normal, 5
    xs, gates = draw((2, 3, 4)).astype(np.float32), GATES[kind]
    xs[0, 1, 2] = number
    memory = draw((3, units)).astype(np.float32) if kind == "lstm" else np.zeros(0, np.float32)
    weights = [draw((gates * units, n)).astype(np.float32) for n in (4, units)]
    operands = [flambeau.from_numpy(a) for a in (xs, draw((3, units)).astype(np.float32), memory, *weights)]
    natively = flambeau.ops.flambeau.recurrent_layer(operands, kind)[0].numpy()
    assert np.isfinite(natively[:, [0, 2]]).all()
    monkeypatch.setattr(inversions.RECURRENT_KERNELS, "implementation", lambda kind, dtype, elements: None)
    with np.errstate(all="ignore"):
        want = flambeau.ops.flambeau.recurrent_layer(operands, kind)[0].numpy()
    np.testing.assert_allclose(natively, want, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("packing", [[1, 2], [2, 2], [4, -1], []])
def test_a_packed_batch_has_sizes_that_fit(packing: list[int]) -> None:
    operands = [flambeau.ones(3, 2), flambeau.ones(2, 4), flambeau.ones(0), flambeau.ones(4, 2), flambeau.ones(4, 4)]
    with pytest.raises(RuntimeError, match="numbers that do not increase and add up to the 3 rows of the batch, got"):
        flambeau.ops.flambeau.recurrent_layer(operands, "rnn_tanh", flambeau.tensor(packing, dtype=flambeau.int64))


def _operands(**changed: Any) -> list[Any]:
    sizes = {"xs": (2, 3, 4), "hidden": (3, 5), "memory": (3, 5), "w_ih": (20, 4), "w_hh": (20, 5), **changed}
    return [flambeau.ones(*size) for size in sizes.values()]


@pytest.mark.parametrize(
    "operands",
    [_operands(hidden=(2, 5)), _operands(memory=(3, 4)), _operands(w_ih=(20, 3)), _operands(w_hh=(16, 5)),
     _operands(xs=(2, 4)), [t.double() if t.ndim == 3 else t for t in _operands()]],
)  # fmt: skip
def test_operands_fit_each_other(operands: list[Any]) -> None:
    packing = flambeau.tensor([3, 1]) if operands[0].ndim == 2 else None
    with pytest.raises(RuntimeError, match=r"sizes fit each other|expected states of|add up to"):
        flambeau.ops.flambeau.recurrent_layer(operands, "lstm", packing)


def test_kinds_and_states_are_checked() -> None:
    layer = flambeau.ops.flambeau.recurrent_layer
    with pytest.raises(RuntimeError, match="expected one of lstm, gru"):
        layer(_operands(), "other")
    with pytest.raises(RuntimeError, match="expected states of 4 sequences, got 3"):
        layer(_operands(xs=(2, 4, 4)), "lstm")
    kept, grads = layer(_operands(), "lstm")[3], [flambeau.ones(2, 3, 5), flambeau.ones(3, 5), flambeau.ones(3, 5)]
    back = flambeau.ops.flambeau.recurrent_layer_backward
    with pytest.raises(RuntimeError, match="expected gradients and what was kept as recurrent_layer gives them"):
        back(grads, _operands(), kept[:2], "lstm", None, False)
