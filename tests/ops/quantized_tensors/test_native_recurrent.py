"""Steps of recurrent layers with quantised weights: natively and by NumPy, over batches that get smaller and larger."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau.codegen import available
from flambeau.executor.recurrent_kernels import kernels
from flambeau.ops.quantized_tensors.quantized_dynamic import chosen_quantizer
from flambeau.ops.quantized_tensors.quantized_recurrent import _direction, lstm_cell
from flambeau.util.inversions import RECURRENT_KERNELS

pytestmark = pytest.mark.skipif(not available(), reason="needs LLVM")
q = flambeau.ops.quantized


def by_numpy(monkeypatch: pytest.MonkeyPatch, run: Any) -> Any:
    with monkeypatch.context() as patch:
        patch.setattr(RECURRENT_KERNELS, "implementation", lambda *_: None)
        with np.errstate(all="ignore"):
            return run()


@pytest.mark.parametrize(("rows", "units"), [(1, 1), (3, 8), (8, 13), (5, 64)])
def test_steps(rows: int, units: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    for seed in range(2):
        of_input, of_state = rng.standard_normal((2, rows, 4 * units)).astype(np.float32) * (1 + 30 * seed)
        state = tuple(rng.standard_normal((2, rows, units)).astype(np.float32))
        before = state[1].copy()
        native = lstm_cell(of_input, of_state, state)
        np.testing.assert_array_equal(state[1], before)
        expected = by_numpy(monkeypatch, lambda: lstm_cell(of_input, of_state, state))  # noqa: B023
        for a, b in zip(native, expected, strict=True):
            assert a.dtype == b.dtype
            np.testing.assert_allclose(a, b, rtol=2e-6, atol=1e-6)


def test_steps_of_hostile_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    hostile = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1e38, -1e38, 1e-45], np.float32)
    gates = np.stack([np.roll(np.tile(hostile, 4), k) for k in range(32)])
    state = (np.zeros((32, 8), np.float32), np.tile(hostile, (32, 1)))
    with np.errstate(all="ignore"):
        native = lstm_cell(gates, np.zeros_like(gates), state)
    expected = by_numpy(monkeypatch, lambda: lstm_cell(gates, np.zeros_like(gates), state))
    for a, b in zip(native, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-6, atol=1e-6)


@pytest.mark.parametrize("is_reversed", [False, True])
def test_batches_of_several_lengths(is_reversed: bool) -> None:
    """Each sequence by itself gives what it gives among the others, as long as all have the same range."""
    rng, (features, units), lengths = np.random.default_rng(1), (6, 9), [5, 3, 3, 1]

    class Parameters:
        reduce_range = False

        def __init__(self) -> None:
            own = [
                flambeau.from_numpy(rng.standard_normal((4 * units, n)).astype(np.float16).astype(np.float32))
                for n in (features, units)
            ]  # fmt: skip
            bias = flambeau.from_numpy(rng.standard_normal(4 * units).astype(np.float32))
            self.input_layer, self.hidden_layer = (q.linear_prepack_fp16(w, bias) for w in own)

    parameters: Any = Parameters()
    sequences = [rng.standard_normal((n, features)).astype(np.float32) for n in lengths]
    sizes = [sum(n > t for n in lengths) for t in range(max(lengths))]
    steps = np.concatenate([np.stack([s[t] for s in sequences if len(s) > t]) for t in range(max(lengths))])
    start = tuple(rng.standard_normal((2, len(lengths), units)).astype(np.float32))
    kept = [part.copy() for part in start]
    outputs, last = _direction(steps, sizes, start, parameters, lstm_cell, is_reversed=is_reversed)
    for part, before in zip(start, kept, strict=True):
        np.testing.assert_array_equal(part, before)
    firsts = np.concatenate([[0], np.cumsum(sizes)])
    for k, sequence in enumerate(sequences):
        alone = tuple(part[k : k + 1] for part in start)
        own, end = _direction(sequence, [1] * len(sequence), alone, parameters, lstm_cell, is_reversed=is_reversed)
        together = np.stack([outputs[firsts[t] + k] for t in range(len(sequence))])
        np.testing.assert_allclose(together, own, rtol=1e-5, atol=1e-6)
        for a, b in zip(last, end, strict=True):
            np.testing.assert_allclose(a[k], b[0], rtol=1e-5, atol=1e-6)


def test_a_step_is_native() -> None:
    lstm = kernels("lstm", np.dtype(np.float32), 1 << 20)
    assert lstm is not None
    output, memory = lstm.step(np.zeros((2, 12), np.float32), np.ones((2, 3), np.float32))
    np.testing.assert_allclose(memory, np.full((2, 3), 0.5), rtol=1e-6)
    np.testing.assert_allclose(output, np.full((2, 3), 0.5 * np.tanh(0.5)), rtol=1e-6)


@pytest.mark.parametrize(
    ("numbers", "scale", "zero_point"),
    [
        ([0.0], np.float32(0.1), 0), ([-1.0, 3.0], np.float32(4 / 255), 64), ([2.0, 5.1], np.float32(5.1 / 255), 0),
        ([-5.1, -3.0], np.float32(5.1 / 255), 255), ([1e-6], np.float32(6.1e-5), 0), ([-1e-6], np.float32(6.1e-5), 255),
        ([-1e-6, 3e-6], np.float32(6.1e-5), 64),
    ],
)  # fmt: skip
def test_scales_and_zero_points(numbers: list[float], scale: np.float32, zero_point: int) -> None:
    quantizer = chosen_quantizer(np.array(numbers, np.float32))
    assert np.float32(quantizer.scale) == pytest.approx(scale, rel=1e-6)
    assert quantizer.zero_point == zero_point
