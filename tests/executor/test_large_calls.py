"""Operators on large arrays by themselves: one loop, the answers of many small calls, errors of the operator's own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau.executor import eager, large_calls, large_gradients
from flambeau.nn import functional
from flambeau.schema import registry
from flambeau.schema.gradient import Formula
from flambeau.tensor import repeated_kernels
from flambeau.util.inversions import LARGE
from flambeau.util.record import replace

ROWS, COLUMNS = 280, 240
HOSTILE = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-40, -1e30]


def _array(dtype: Any = np.float32) -> Any:
    x = np.random.default_rng(0).standard_normal((ROWS, COLUMNS)) * 3
    x[0, : len(HOSTILE)] = HOSTILE
    return x.astype(dtype)


def _by_rows(function: Callable[..., Any], x: Any) -> Any:
    """The same from small calls."""
    parts = [function(flambeau.from_numpy(x[i : i + 28])).numpy() for i in range(0, ROWS, 28)]
    return np.concatenate(parts)


def _served(name: str) -> bool:
    calls = large_calls._calls.get(name)
    return calls is not None and any(isinstance(entry, large_calls.Served) for entry in calls.entries.values)


@pytest.mark.parametrize(("name", "operator"), [("gelu", "aten::gelu"), ("elu", "aten::elu"), ("silu", "aten::silu")])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_pointwise_operators_are_one_loop_with_the_same_answers(name: str, operator: str, dtype: Any) -> None:
    x = _array(dtype)
    assert x.size >= LARGE
    got = getattr(functional, name)(flambeau.from_numpy(x))
    rtol, atol = (1e-5, 5e-7) if dtype == np.float32 else (1e-12, 1e-14)
    np.testing.assert_allclose(got.numpy(), _by_rows(getattr(functional, name), x), rtol=rtol, atol=atol)
    assert got.numpy().dtype == dtype
    assert _served(operator)


def test_rows_are_one_loop_too() -> None:
    x = _array()
    got = flambeau.softmax(flambeau.from_numpy(x), -1).numpy()
    np.testing.assert_allclose(got, _by_rows(lambda t: flambeau.softmax(t, -1), x), rtol=1e-5, atol=1e-7)
    assert _served("aten::softmax.int")


def test_results_lie_in_memory_as_those_of_small_calls() -> None:
    for axes in ((0, 1, 2), (1, 0, 2), (2, 1, 0), (2, 0, 1)):
        large = functional.silu(flambeau.zeros(40, 60, 80).permute(*axes)[::2])
        small = functional.silu(flambeau.zeros(4, 6, 8).permute(*axes)[::2])
        order = np.argsort(large.stride(), kind="stable").tolist()
        assert order == np.argsort(small.stride(), kind="stable").tolist()


def test_errors_are_the_operators_own() -> None:
    table = flambeau.zeros(LARGE, 2)
    with pytest.raises((IndexError, RuntimeError), match="out of"):
        flambeau.gather(table, 1, flambeau.full((LARGE, 1), 7, dtype=flambeau.int64))


def test_tensors_that_ask_are_recorded() -> None:
    x = flambeau.from_numpy(_array()).requires_grad_()
    y = functional.gelu(x)
    assert y.grad_fn.name() == "GeluBackward0"


def _gradients(function: Callable[..., Any], arrays: list[Any]) -> list[Any]:
    tensors = [flambeau.from_numpy(a.copy()).requires_grad_() for a in arrays]
    result = function(*tensors)
    slope = flambeau.from_numpy(np.random.default_rng(1).standard_normal(result.shape).astype(arrays[0].dtype))
    return [g.numpy() for g in flambeau.autograd.grad(result, tensors, slope)]


def _watched(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What compiled ways back answer from now on."""
    answers: list[Any] = []
    run = large_gradients.LargeGradients.__call__

    def watched(self: Any, values: Any) -> Any:
        answers.append(run(self, values))
        return answers[-1]

    monkeypatch.setattr(large_gradients.LargeGradients, "__call__", watched)
    return answers


WEIGHT = np.random.default_rng(2).standard_normal(COLUMNS)
PROGRAMS: dict[str, Any] = {
    "gelu": (functional.gelu, []),
    "leaky_relu": (functional.leaky_relu, []),
    "quotient with a row": (lambda x, w: x * w / (1 + w * w), [WEIGHT]),
    "softmax": (lambda x: flambeau.softmax(x, 0), []),
    "variance of all": (lambda x: x.var(), []),
    "deviation of rows": (lambda x: x.std(1), []),
    "mse_loss": (lambda x, w: functional.mse_loss(x, w.repeat(ROWS, 1)), [WEIGHT]),
    "rms_norm": (lambda x, w: functional.rms_norm(x, (COLUMNS,), w), [WEIGHT]),
    "layer_norm": (lambda x, w, b: functional.layer_norm(x, (COLUMNS,), w, b), [WEIGHT, WEIGHT]),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_gradients_are_those_of_the_tape(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    function, more = PROGRAMS[name]
    arrays = [np.random.default_rng(0).standard_normal((ROWS, COLUMNS)), *more]
    served = _watched(monkeypatch)
    together = _gradients(function, arrays)
    monkeypatch.setattr(large_gradients.LargeGradients, "__call__", lambda self, values: None)
    one_by_one = _gradients(function, arrays)
    assert any(found is not None for found in served)
    for got, want in zip(together, one_by_one, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-10)


def test_gradients_of_gradients_are_recorded() -> None:
    x = flambeau.from_numpy(_array(np.float64)[1:]).requires_grad_()
    assert x.numel() >= LARGE
    (first,) = flambeau.autograd.grad(functional.silu(x).sum(), x, create_graph=True)
    (second,) = flambeau.autograd.grad(first.sum(), x)
    s = 1 / (1 + np.exp(-x.detach().numpy()))
    v = x.detach().numpy()
    np.testing.assert_allclose(second.numpy(), s * (1 - s) * (2 + v * (1 - 2 * s)), rtol=1e-8, atol=1e-10)


def test_ways_back_are_refused_for_what_only_a_run_tells_and_for_nothing_else() -> None:
    values = [flambeau.ones(LARGE), 3.0]

    def asks(f: Any, grad: Any, factor: Any) -> Any:
        return grad * [1.0, 2.0][int(grad.sum())]

    def is_wrong(f: Any, grad: Any, factor: Any) -> Any:
        return grad.mul(factor).mul(factor.no_such_thing)

    places = [("grad", 0), ("factor", 1)]
    ways_back = large_gradients.LargeGradients("scaled", [(Formula(asks), places)])
    assert ways_back(values) is None
    reasons = [getattr(refusal, "reason", None) for refusal in ways_back.runs.values]
    assert reasons == ["a formula asks for an element"] * 2  # with any factor, and with this one
    with pytest.raises(AttributeError, match="no_such_thing"):
        large_gradients.LargeGradients("scaled", [(Formula(is_wrong), places)])(values)


def test_kernels_are_bounded_and_made_once_for_a_pattern() -> None:
    x = flambeau.from_numpy(_array())
    for exponent in range(2, large_calls.MAX_PATTERNS + 6):
        assert flambeau.round(x[1:] * 100, decimals=-exponent % 3).shape == (ROWS - 1, COLUMNS)
        flambeau.nn.functional.threshold(x, exponent, 0)
    entries = large_calls._calls["aten::threshold"].entries
    assert len(entries) == large_calls.MAX_PATTERNS
    assert entries.statistics().misses == large_calls.MAX_PATTERNS
    assert len(large_calls._calls["aten::round.decimals"].entries) == 3


def test_a_meaning_that_is_wrong_says_so() -> None:
    definition = replace(registry.get("aten::silu"), scalar=lambda s, x: s.mul(x, x.no_such_thing))
    with pytest.raises(AttributeError, match="no_such_thing"):
        large_calls.LargeCalls(definition)([flambeau.ones(LARGE)])


@pytest.mark.parametrize(("mode", "served"), [(None, False), ("trunc", True), ("floor", True)])
def test_what_is_no_number_chooses_whether_it_pays(mode: str | None, served: bool) -> None:
    x, y = flambeau.from_numpy(_array()[1:]), flambeau.full((ROWS - 1, COLUMNS), 0.7)
    got = flambeau.div(x, y, rounding_mode=mode)
    rows = [flambeau.div(a, b, rounding_mode=mode).numpy() for a, b in zip(x, y, strict=True)]
    np.testing.assert_array_equal(got.numpy(), np.stack(rows))
    kernels = {key[2]: entry for key, entry in large_calls._calls["aten::div.Tensor_mode"].entries.items}
    assert isinstance(kernels[type(mode), mode], large_calls.Served) is served


def test_kernels_that_serve_calls_are_not_looked_for_again(monkeypatch: pytest.MonkeyPatch) -> None:
    looked_for: list[str] = []

    def counted(kernel: Any, arguments: Any) -> Any:
        looked_for.append(kernel.name)
        return large_calls.large_call(kernel, arguments)

    monkeypatch.setattr(eager, "large_call", counted)
    monkeypatch.setattr(large_calls, "_calls", {})  # of one that is full nothing more is made
    repeated_kernels._forget_all()
    weight, bias = flambeau.rand(24), flambeau.nn.Parameter(flambeau.rand(24))
    for rows in (6, 9):
        for number in range(8):
            x = np.random.default_rng(number).standard_normal((rows, 24)).astype(np.float32)
            with flambeau.no_grad():
                result = functional.layer_norm(flambeau.from_numpy(x), (24,), weight, bias, 1e-3)
            wide = x.astype(np.float64)
            expected = (wide - wide.mean(1, keepdims=True)) / np.sqrt(wide.var(1, keepdims=True) + 1e-3)
            np.testing.assert_allclose(
                result.numpy(), expected * weight.numpy() + bias.detach().numpy(), rtol=1e-4, atol=1e-5
            )
        assert looked_for.count("aten::layer_norm") <= repeated_kernels.FEW
        looked_for.clear()
    x = flambeau.rand(9, 24).requires_grad_()
    functional.layer_norm(x, (24,), weight, bias, 1e-3).sum().backward()
    assert x.grad is not None
    with pytest.raises(RuntimeError, match="normalized_shape"):
        functional.layer_norm(flambeau.rand(9, 23), (24,), weight, bias, 1e-3)
