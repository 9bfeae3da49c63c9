"""LSTMs whose hidden state is projected, in native functions, beside PyTorch's in double precision and eager calls."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau.codegen import available
from flambeau.ops import recurrent_arrays
from flambeau.ops.recurrent_arrays import NumpyKernels, packed_table, padded_table
from tests.codegen.test_recurrent_routines import Case, called

torch = pytest.importorskip("torch", reason="torch is a peer, not a dependency")
pytestmark = [
    pytest.mark.skipif(not available(), reason="needs LLVM"),
    pytest.mark.filterwarnings("ignore:LSTM with projections:UserWarning"),  # how PyTorch runs them
]


class Projected(Case):
    """An LSTM that shows `shown` numbers of its units."""

    def __init__(self, shown: int, layers: int = 1, **options: Any) -> None:
        super().__init__("lstm", layers, **options)
        rng, dtype, each = np.random.default_rng(4), self.x.dtype, 4 if options.get("bias", True) else 2
        directions, projected = (2 if options.get("both") else 1), []
        for number in range(layers * directions):
            w_ih, w_hh, *biases = self.weights[number * each : (number + 1) * each]
            if number >= directions:
                w_ih = w_ih[:, : shown * directions]
            w_hr = (rng.standard_normal((shown, self.units)) / self.units).astype(dtype)
            projected += [np.ascontiguousarray(w) for w in (w_ih, w_hh[:, :shown])] + [*biases, w_hr]
        self.weights = projected
        self.states[0] = np.ascontiguousarray(self.states[0][..., :shown])


def compare(found: Any, eager: Any, exact: Any) -> None:
    for one, other, own in zip(found, exact, eager, strict=True):
        np.testing.assert_allclose(one.numpy(), other.numpy(), rtol=1e-4, atol=1e-5)
        np.testing.assert_array_equal(one.numpy(), own.numpy())
        assert one.stride() == own.stride()


CHOICES = list(product((1, 2), (False, True), (False, True), (False, True)))


@pytest.mark.parametrize("shown", [1, 3, 5])
def test_projected_layers_are_those_of_torch_and_of_eager_calls_bit_for_bit(shown: int) -> None:
    cases = [Projected(shown, n, both=both, bias=bias, batch_first=first) for n, both, bias, first in CHOICES]
    cases.append(Projected(shown + 20, sizes=(200, 2, 64, 40), dtype=np.float64))  # products of all steps together
    cases.append(Projected(shown + 30, 2, both=True, sizes=(7, 19, 33, 70)))
    for case in cases:
        x, rest = flambeau.from_numpy(case.x), case.arguments()
        found = called(case.program(), x, *rest)
        with flambeau.no_grad():
            eager = flambeau.lstm(x, rest[:2], rest[2:], *case.options, *case.last)
        compare(found, eager, case.exact(case.x))


@pytest.mark.parametrize("sizes", [[3, 3, 2, 1, 1], [3], [3, 1, 1]])
def test_packed_batches_are_projected_step_by_step(sizes: list[int]) -> None:
    for layers, both, bias, _ in CHOICES[::2]:
        case = Projected(2, layers, both=both, bias=bias)
        xs, rest = case.x.reshape(-1, 4)[: sum(sizes)], case.arguments()
        x, steps = flambeau.from_numpy(xs), flambeau.tensor(sizes, dtype=flambeau.int64)
        found = called(case.program("steps"), x, steps, *rest)
        eager = flambeau.lstm(x, steps, rest[:2], rest[2:], *case.options)
        compare(found, eager, case.exact(xs, torch.tensor(sizes)))


def test_nan_and_infinity_stay_in_their_sequence() -> None:
    case = Projected(3)
    case.x[1, 0, 2], case.x[2, 1, 0] = np.nan, np.inf
    found = called(case.program(), flambeau.from_numpy(case.x), *case.arguments())
    for one, exact in zip(found, case.exact(case.x), strict=True):
        np.testing.assert_allclose(one.numpy(), exact.numpy(), rtol=1e-4, atol=1e-5)


def test_what_does_not_fit_is_refused_in_the_operators_words() -> None:
    case = Projected(3)
    function, rest, x = case.program(), case.arguments(), flambeau.from_numpy(case.x)
    called(function, x, *rest)
    with pytest.raises(RuntimeError, match=r"Expected hidden\[1\] size \(1, 3, 6\), got \[1, 3, 5\]"):
        function(x, rest[0], rest[1][..., :5], *rest[2:])
    with pytest.raises(RuntimeError, match="incorrect number of RNN parameters: expected 4 for each"):
        function(x, rest[1], rest[1], *rest[2:])


@pytest.mark.parametrize("table", [padded_table(5, 3, True), packed_table([3, 2, 2, 1], False)])
def test_numpy_projects_as_native_code_does(table: Any) -> None:
    rows = int(table[:, 1].sum())
    case = Projected(3)
    *weights, projection = case.weights
    xs, states = case.x.reshape(-1, 4)[:rows], [s[0] for s in case.states]
    assert recurrent_arrays.fits(xs, states, weights, "lstm", projection)
    assert not recurrent_arrays.fits(xs, states, weights, "lstm", projection[:2])
    assert not recurrent_arrays.fits(xs, states, weights, "lstm")
    mine = NumpyKernels("lstm").forward(xs, states, weights, table, False, projection)
    native = recurrent_arrays.kernels("lstm", xs, 6, table).forward(xs, states, weights, table, False, projection)
    for a, b in zip(mine, native, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


def test_gradients_go_through_projections() -> None:
    case = Projected(3)
    weights = [flambeau.tensor(a, requires_grad=True) for a in case.weights]
    flambeau.lstm(
        flambeau.from_numpy(case.x), case.arguments()[:2], weights, *case.options, *case.last
    )[0].sum().backward()  # fmt: skip
    exact = [torch.tensor(a, requires_grad=True) for a in case.weights]
    torch.lstm(
        torch.tensor(case.x), [torch.tensor(s) for s in case.states], exact, *case.options, *case.last
    )[0].sum().backward()  # fmt: skip
    for weight, other in zip(weights, exact, strict=True):
        np.testing.assert_allclose(weight.grad.numpy(), other.grad.numpy(), rtol=1e-3, atol=1e-4)
