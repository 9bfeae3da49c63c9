"""Random tensors in programs are native, and are those that the operators draw one by one from the same stream."""

from __future__ import annotations

import re
import threading
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau.codegen import available

pytestmark = pytest.mark.skipif(not available(), reason="needs LLVM")

RNG = np.random.default_rng(0)
FLOATS = RNG.random((4, 6)).astype(np.float32)
DOUBLES = RNG.random((3, 2))
INTS = np.arange(6)
CALLS = [
    "flambeau.rand(3, 4)", "flambeau.randn(3, 4) * 2", "flambeau.rand(2, a.size(0), dtype=flambeau.float64)",
    "flambeau.rand(0, 3)", "flambeau.rand([])", "flambeau.rand_like(a)", "flambeau.randn_like(b) + b",
    "flambeau.randint(3, 10, [5])", "flambeau.randint(7, (2, 3), dtype=flambeau.float32)",
    "flambeau.randint(-(1 << 62), 1 << 62, [4])", "flambeau.randint_like(c, 4)", "flambeau.randint_like(a, 2, 9)",
    "flambeau.randperm(9)", "flambeau.randperm(0)", "flambeau.bernoulli(a)", "flambeau.bernoulli(b) * 2",
    "flambeau.bernoulli(a, 0.25)", "flambeau.normal(a, a)", "flambeau.normal(a, 2.0)", "flambeau.normal(1.5, a)",
    "flambeau.normal(1.5, 0.5, [3, 4])", "flambeau.nn.functional.dropout(a, 0.3, True)",
    "flambeau.nn.functional.dropout(b, 0.5, True) + 1", "flambeau.nn.functional.dropout2d(a, 0.3, True)",
    "flambeau.nn.functional.alpha_dropout(a, 0.3, True)", "flambeau.nn.functional.feature_alpha_dropout(b, 0.6, True)",
    "a.clone().uniform_(-1.0, 3.0)", "b.clone().uniform_()", "b.clone().normal_(1.0, 2.0)", "a.clone().bernoulli_(0.3)",
    "a.clone().exponential_(2.0)", "flambeau.zeros(3).exponential_(0.5) * 2", "flambeau.multinomial(a[0], 2)",
    "flambeau.multinomial(b, 2)",
]  # fmt: skip


def arguments() -> list[flambeau.Tensor]:
    return [flambeau.from_numpy(x.copy()) for x in (FLOATS, DOUBLES, INTS)]


def scripted(call: str) -> Any:
    return flambeau.jit.CompilationUnit(f"def f(a: Tensor, b: Tensor, c: Tensor):\n    return {call}\n").f


@pytest.mark.parametrize("call", CALLS)
def test_they_are_the_next_numbers_of_the_stream(call: str) -> None:
    function, given = scripted(call), arguments()
    flambeau.manual_seed(5)
    results = [function(*given) for _ in range(5)]
    after = flambeau.rand(1)
    flambeau.manual_seed(5)
    names = dict(zip("abc", given, strict=True))
    for result in results:
        wanted = eval(call, {"flambeau": flambeau, **names})
        np.testing.assert_array_equal(result.numpy(), wanted.numpy())
        assert (result.dtype, result.stride()) == (wanted.dtype, wanted.stride())
    assert bool((after == flambeau.rand(1)).all())
    assert function.explain(measure=False).is_native, str(function.explain(measure=False))


def test_argument_tensors_are_written_where_they_are() -> None:
    source = "def f(x: Tensor):\n    x[1].uniform_(2.0, 3.0)\n    x[0].exponential_(1.0)\n    x[2].normal_(0.0, 0.0)\n"
    function = flambeau.jit.CompilationUnit(source).f
    for _ in range(4):
        x = flambeau.full([3, 50], -1.0)
        version = x._version
        function(x)
        assert x._version > version
    values = x.numpy()
    assert (values[0] >= 0).all()
    assert ((values[1] >= 2) & (values[1] < 3)).all()
    assert (values[2] == 0).all()


def test_a_walk_in_a_loop() -> None:
    source = (
        "def walk(x: Tensor, n: int) -> Tensor:\n    for _ in range(n):\n"
        "        x = x + flambeau.randn_like(x) * 0.1\n        if bool(flambeau.rand(1) < 0.5):\n            x = -x\n"
        "    return x\n"
    )
    function = flambeau.jit.CompilationUnit(source).walk
    start = flambeau.zeros(3, dtype=flambeau.float64)
    for _ in range(3):
        flambeau.manual_seed(1)
        result = function(start, 40)
    flambeau.manual_seed(1)
    x = start
    for _ in range(40):
        x = x + flambeau.randn_like(x) * 0.1
        if bool(flambeau.rand(1) < 0.5):
            x = -x
    np.testing.assert_array_equal(result.numpy(), x.numpy())
    assert function.explain(measure=False).is_native


def test_a_generator_that_is_given_is_drawn_from() -> None:
    source = "def f(g: Generator, x: Tensor) -> Tensor:\n    return flambeau.rand([3], generator=g) + x\n"
    function = flambeau.jit.CompilationUnit(source).f
    results = [function(flambeau.Generator().manual_seed(4), flambeau.zeros(3)).numpy() for _ in range(4)]
    wanted = flambeau.rand([3], generator=flambeau.Generator().manual_seed(4)).numpy()
    for result in results:
        np.testing.assert_array_equal(result, wanted)


def test_threads_get_different_numbers() -> None:
    function = scripted("flambeau.rand(1000, dtype=flambeau.float64)")
    given, results = arguments(), []
    for _ in range(3):
        function(*given)
    threads = [threading.Thread(target=lambda: results.append(function(*given).numpy())) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert np.unique(np.concatenate(results)).size == 6000


REFUSED = {
    "flambeau.rand(c.size(0) - 7)": "Dimension size must be non-negative",
    "flambeau.randint(c.size(0), 6, [2])": "random_ expects 'from' to be less than 'to', but got from=6 >= to=6",
    "flambeau.bernoulli(a + 1)": "Expected p_in >= 0 && p_in <= 1",
    "flambeau.normal(a, -a)": "normal expects all elements of std >= 0.0",
    "flambeau.normal(a, -1.0)": "normal expects std >= 0.0, but found std -1",
    "a.uniform_(2.0, 1.0)": "uniform_ expects to return a [from, to) range",
    "a.exponential_(-1.0)": "exponential_ expects lambda > 0.0, but found lambda=-1",
    "flambeau.nn.functional.dropout(a, 1.5, True)": "dropout probability has to be between 0 and 1, but got 1.5",
    "flambeau.multinomial(a[0], 7)": "cannot sample n_sample > prob_dist.size(-1)",
    "flambeau.multinomial(a - 0.5, 2)": "probability tensor contains either",
    "flambeau.multinomial(a * 0.0, 2)": "sum of probabilities <= 0",
}


@pytest.mark.parametrize("call", REFUSED)
def test_what_the_operators_refuse_is_refused_in_their_words(call: str) -> None:
    function = scripted(call)
    for _ in range(4):
        with pytest.raises((RuntimeError, ValueError), match=re.escape(REFUSED[call])):
            function(*arguments())


def test_gradients_go_through_what_was_kept() -> None:
    function = flambeau.jit.CompilationUnit(
        "def f(x: Tensor) -> Tensor:\n    return flambeau.nn.functional.dropout(x, 0.5, True)\n"
    ).f
    for _ in range(4):
        x = flambeau.ones(40, requires_grad=True)
        y = function(x)
        y.sum().backward()
        assert x.grad is not None
        np.testing.assert_array_equal(x.grad.numpy(), y.detach().numpy())
