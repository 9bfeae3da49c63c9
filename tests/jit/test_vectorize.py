"""`flambeau.vectorize`: ufuncs of scalar scripts do to arrays what the Python functions do to their elements."""

from __future__ import annotations

import gc
import itertools
import math
import pickle
import random
import threading

import numpy as np
import pytest

import flambeau
from flambeau import Tensor

SPECIAL = [0.0, -0.0, 1.0, -2.5, math.inf, -math.inf, math.nan, 5e-324, 1.7e308]


@flambeau.vectorize
def bent(x: float, y: float) -> float:
    """Bends at y."""
    if x > y:
        return x * 2.0 + y
    return x - y


@flambeau.vectorize
def floored(a: int, b: int) -> int:
    return a // b


@flambeau.vectorize
def plus(a: float, b: float) -> float:
    return a + b


@flambeau.vectorize
def steps(n: int) -> int:
    k = 0
    while n > 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        k += 1
    return k


@flambeau.vectorize
def several(x: float, n: int, up: bool) -> tuple[float, int, bool]:
    return (x + n if up else x - n), n * 2, not up


@flambeau.vectorize
def checked(x: float) -> float:
    if x < 0.0:
        raise ValueError("below zero")
    return math.sqrt(x)


@flambeau.vectorize
def ratio(x: float, y: float) -> float:
    return x / y if y != 0.0 else 0.0


@flambeau.vectorize
def listed(n: int) -> int:
    found = [k * k for k in range(n)]
    return sum(found)


def expected(fn, *arrays, dtype=None):
    return np.array([fn(*(v.item() for v in vs)) for vs in zip(*map(np.ravel, arrays), strict=True)], dtype).reshape(
        arrays[0].shape
    )


def python_bent(x: float, y: float) -> float:
    return x * 2.0 + y if x > y else x - y


def test_it_is_a_ufunc_with_name_and_docstring() -> None:
    assert isinstance(bent, np.ufunc)
    assert bent.__name__ == "bent"
    assert "Bends at y." in bent.__doc__
    assert bent.types == ["ff->f", "dd->d"]
    assert several.types[0].split("->")[0][0] == "f"
    assert (several.nin, several.nout) == (3, 3)


@pytest.mark.parametrize("size", [0, 1, 2, 255, 256, 257, 1000])
def test_sizes_strides_and_special_values(size: int) -> None:
    rng = np.random.default_rng(size)
    x, y = rng.normal(size=2 * size), rng.normal(size=2 * size)
    x[: len(SPECIAL)], y[1 : 1 + len(SPECIAL)] = SPECIAL[: 2 * size], SPECIAL[: max(0, 2 * size - 1)]
    for part in (np.s_[:], np.s_[::2], np.s_[::-1], np.s_[1:]):
        np.testing.assert_array_equal(bent(x[part], y[part]), expected(python_bent, x[part], y[part], dtype=float))
    np.testing.assert_array_equal(bent(x, 0.5), expected(python_bent, x, np.full_like(x, 0.5), dtype=float))


def test_special_values_meet_each_other() -> None:
    x, y = map(np.array, zip(*itertools.product(SPECIAL, SPECIAL), strict=True))
    got, want = bent(x, y), expected(python_bent, x, y, dtype=float)
    np.testing.assert_array_equal(got, want)
    np.testing.assert_array_equal(np.signbit(got[~np.isnan(got)]), np.signbit(want[~np.isnan(want)]))


def test_broadcasting_out_where_and_dtype() -> None:
    x, y = np.arange(4.0)[:, None], np.arange(3.0)
    want = expected(python_bent, *np.broadcast_arrays(x, y), dtype=float)
    np.testing.assert_array_equal(bent(x, y), want)
    out = np.full((4, 3), 7.0)
    assert bent(x, y, out=out, where=y > 1) is out
    np.testing.assert_array_equal(out, np.where(y > 1, want, 7.0))
    assert bent(x, y, dtype=np.float32).dtype == np.float32
    assert bent(3, 4) == -1.0
    assert bent.outer(np.arange(2), np.arange(3)).shape == (2, 3)


def test_results_over_operands() -> None:
    x, y = np.random.default_rng(0).normal(size=(2, 1000))
    want = expected(python_bent, x, y, dtype=float)
    same = x.copy()
    bent(same, y, out=same)
    np.testing.assert_array_equal(same, want)
    shifted = np.append(x, 0.0)
    bent(shifted[:-1], y, out=shifted[1:])
    np.testing.assert_array_equal(shifted[1:], want)


def test_reductions() -> None:
    x = np.random.default_rng(1).normal(size=(30, 40))
    np.testing.assert_allclose(plus.reduce(x, axis=0), x.sum(0))
    np.testing.assert_allclose(plus.reduce(x, axis=1), x.sum(1))
    assert plus.reduce(x[0]) == sum(x[0].tolist()[1:], x[0, 0])
    np.testing.assert_allclose(plus.accumulate(x[0]), np.cumsum(x[0]))
    with pytest.raises(ValueError, match="no identity"):
        plus.reduce(np.zeros(0))


def test_float32_is_computed_in_double_precision() -> None:
    x, y = np.random.default_rng(2).normal(size=(2, 300)).astype(np.float32)
    got = bent(x, y)
    assert got.dtype == np.float32
    np.testing.assert_array_equal(got, expected(python_bent, x, y, dtype=float).astype(np.float32))


def test_several_results_of_several_types() -> None:
    x, n, up = np.array([0.5, 1.5, 2.5]), np.array([1, 2, 3]), np.array([True, False, True])
    a, b, c = several(x, n, up)
    assert (a.tolist(), b.tolist(), c.tolist()) == ([1.5, -0.5, 5.5], [2, 4, 6], [False, True, False])
    assert (b.dtype, c.dtype) == (np.int64, np.bool_)


def test_loops_and_integers() -> None:
    n = np.arange(1, 2000)

    def python_steps(n: int) -> int:
        k = 0
        while n > 1:
            n, k = (n // 2 if n % 2 == 0 else 3 * n + 1), k + 1
        return k

    np.testing.assert_array_equal(steps(n), expected(python_steps, n))
    np.testing.assert_array_equal(floored(np.arange(-9, 9, dtype=np.int8), 4), np.arange(-9, 9) // 4)


def test_an_element_that_fails_raises_the_script_s_error() -> None:
    a = np.arange(1000)
    b = np.ones(1000, int)
    b[600] = 0
    out = np.full(1000, -1)
    with pytest.raises(RuntimeError, match="division by 0"):
        floored(a, b, out=out)
    np.testing.assert_array_equal(out[:600], a[:600])
    same = b.copy()
    with pytest.raises(RuntimeError, match="division by 0"):
        floored(a, same, out=same)
    assert same[600] == 0
    with pytest.raises(Exception, match="below zero"):
        checked(np.array([1.0, -1.0]))
    with pytest.raises(Exception, match="below zero"):
        checked(-1.0)
    with pytest.raises(RuntimeError, match="division by 0"):
        floored.reduce(np.array([4, 2, 0, 1]))
    assert checked(np.array([4.0, 9.0])).tolist() == [2.0, 3.0]


def test_ways_not_taken_do_not_warn() -> None:
    y = np.array([0.0, 2.0] * 300)
    np.testing.assert_array_equal(ratio(1.0, y), np.where(y == 0, 0.0, 0.5))


def test_what_has_no_native_form_runs_in_python() -> None:
    assert listed(np.arange(6)).tolist() == [0, 0, 1, 5, 14, 30]
    slow = flambeau.vectorize(lambda_free, backend="interpreter")
    assert slow(np.arange(3.0)).tolist() == [1.0, 2.0, 3.0]


def lambda_free(x: float) -> float:
    return x + 1.0


def test_scripts_and_options() -> None:
    script = flambeau.script(lambda_free)
    assert flambeau.vectorize(script)(1.0) == 2.0

    @flambeau.vectorize(verify=True)
    def twice(n: int) -> int:
        return n * 2

    assert twice([1, 2]).tolist() == [2, 4]


def test_it_is_pickled_by_reference() -> None:
    assert pickle.loads(pickle.dumps(bent)) is bent


def test_code_lives_as_long_as_the_ufunc() -> None:
    made = flambeau.vectorize(lambda_free)
    gc.collect()
    assert made(np.ones(3)).tolist() == [2.0] * 3
    del made
    gc.collect()


def test_threads() -> None:
    x = np.linspace(-1, 1, 100_000)
    want, wrong = bent(x, 0.1), []

    def work() -> None:
        for _ in range(20):
            if not np.array_equal(bent(x, 0.1), want) or steps(27) != 111:
                wrong.append(1)
            try:
                floored(x.astype(int), 0)
                wrong.append(2)
            except RuntimeError:
                pass

    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


def test_refusals() -> None:
    def of_tensor(x: Tensor) -> Tensor:
        return x

    def of_list(x: list[int]) -> int:
        return x[0]

    def gives_text(x: int) -> str:
        return "a"

    def nothing() -> int:
        return 1

    with pytest.raises(TypeError, match="parameter 'x' of 'of_tensor' is Tensor; call the scripted function itself"):
        flambeau.vectorize(of_tensor)
    with pytest.raises(TypeError, match=r"parameter 'x' of 'of_list' is List\[int\]"):
        flambeau.vectorize(of_list)
    with pytest.raises(TypeError, match="a result of 'gives_text' is str"):
        flambeau.vectorize(gives_text)
    with pytest.raises(TypeError, match="a function with parameters and results"):
        flambeau.vectorize(nothing)


@flambeau.vectorize
def mixed(a: float, b: float, n: int) -> float:
    c = math.exp(-a * a) + abs(b)
    if n % 3 == 0 and a < b:
        c = c - float(n)
    return max(min(c, 3.0), -3.0) * (1.0 if b > a else -1.0)


def python_mixed(a: float, b: float, n: int) -> float:
    c = math.exp(-a * a) + abs(b)
    if n % 3 == 0 and a < b:
        c = c - float(n)
    return max(min(c, 3.0), -3.0) * (1.0 if b > a else -1.0)


FINITE = [0.0, -0.0, 1.0, -1.0, 0.5, 3.0, -3.0, 1e3, -1e3, 999.9999999999999, 5e-324, -2.2250738585072014e-308, 1e-9]


@pytest.mark.parametrize("seed", range(40))
def test_random_elements(seed: int) -> None:
    draw = random.Random(seed)
    kinds = (
        lambda: draw.choice(FINITE), lambda: draw.uniform(-1e3, 1e3), lambda: float(draw.randint(-9, 9)),
        lambda: draw.choice((1, -1)) * 10.0 ** draw.uniform(-320, 3),
    )  # fmt: skip
    count = draw.randint(1, 40)
    rows = [(draw.choice(kinds)(), draw.choice(kinds)(), draw.randint(-9, 9)) for _ in range(count)]
    rows.append((rows[0][0], rows[0][0], rows[0][2]))  # equal operands
    a, b, n = (np.array(c) for c in zip(*rows, strict=True))
    np.testing.assert_array_equal(mixed(a, b, n), expected(python_mixed, a, b, n, dtype=float))


def test_the_loop_is_made_of_vectors() -> None:
    from flambeau.codegen.graph import result_types
    from flambeau.codegen.graph.entry import ufunc
    from flambeau.codegen.llvm.engine import engine
    from flambeau.schema.types import FloatType

    script = flambeau.script(python_bent)
    rep = result_types.of_type(FloatType())
    text = ufunc.screening_text(script._executor.plan_for((0.0, 0.0)).graph, [rep, rep])
    code = ufunc.link([(["double"] * 2, ["double"])], text, print)
    assert " x double> " in engine().optimised_ir(code.text)
