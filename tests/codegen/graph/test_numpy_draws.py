"""Programs draw the numbers of NumPy's own generator: interpreted, native, as arrays, and on several threads."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau.util.errors import CompileError


def singles(seed: int, count: int):
    np.random.seed(seed)
    total, whole = 0.0, 0
    for i in range(count):
        total += np.random.random() + np.random.rand() * 2 + np.random.normal(1, 2) + np.random.uniform(-1, 1)
        total += np.random.randn() + np.random.exponential(2.0) + np.random.normal(scale=0.5)
        whole += np.random.randint(10) + np.random.randint(3, 7) + np.random.randint(0, 1 << 40)
        whole += np.random.randint(5, 6) + np.random.randint(-7, (1 << 32) - 7)
        if i % 7 == 0:
            total += np.random.standard_normal()
    return total, whole


def with_arrays_between(seed: int, count: int):
    np.random.seed(seed)
    total = 0.0
    for _ in range(count):
        total += np.random.normal()
        x = np.random.standard_normal(3)
        total += x[0] + x[2] + np.random.random() + np.random.poisson(2.0) + np.random.binomial(5, 0.5)
    return total


def own(x: float) -> float:
    return x + np.random.normal()


def through_calls(seed: int, count: int):
    np.random.seed(seed)
    total = np.random.normal()
    for _ in range(count):
        total = own(total) + np.random.random()
    return total


def arrays(seed: int, n: int):
    np.random.seed(seed)
    x = np.random.rand(n, 3)
    y = np.random.normal(size=n)
    order = np.arange(n)
    np.random.shuffle(order)
    return (
        x, y, order, np.random.randint(0, 5, n), np.random.uniform(0, 2, (n,)), np.random.permutation(n),
        np.random.permutation(x), np.random.choice(5, n), np.random.choice(y, (n, 2)),
        np.random.choice(n, 2, False), np.random.choice(3, n, p=np.array([0.2, 0.3, 0.5])),
        np.random.binomial(10, 0.3, size=n), np.random.gamma(2.0, 0.5, size=(2, n)), np.random.beta(1, 2, n),
    )  # fmt: skip


@pytest.mark.parametrize("program", [singles, with_arrays_between, through_calls])
@pytest.mark.parametrize("backend", ["native", "interpreter"])
def test_numbers_are_those_outside(program: Callable[..., Any], backend: str) -> None:
    fn = flambeau.script(program, backend=backend)
    for seed in range(4):
        assert fn(seed, 30) == program(seed, 30)
        ours = fn(seed, 3), np.random.normal(), np.random.random()
        assert (program(seed, 3), np.random.normal(), np.random.random()) == ours


def test_arrays_are_those_outside() -> None:
    fn = flambeau.script(arrays)
    for seed in range(4):
        for ours, theirs in zip(fn(seed, 6), arrays(seed, 6), strict=True):
            np.testing.assert_array_equal(ours, theirs)
            assert ours.dtype == theirs.dtype


def arrays_in_a_loop(seed: int, n: int):
    np.random.seed(seed)
    rows, line, total = np.arange(3 * n).reshape(n, 3), np.arange(n) * 1.0, 0.0
    turned = np.zeros((3, n)).T
    for _ in range(12):
        x = np.random.normal(1.0, 2.0, n)
        y = np.random.randn(n, 2) + np.random.rand(n, 1) + np.random.uniform(-1, 3, size=(n, 2))
        z = np.random.exponential(2.0, n) + np.random.standard_exponential(n)
        whole = np.random.randint(-5, 1 << 40, size=(n, 3)) + np.random.randint(7, size=3)
        np.random.shuffle(rows)
        np.random.shuffle(line)
        np.random.shuffle(turned)
        order = np.random.permutation(rows)
        total += np.random.normal() + np.random.choice(n) + np.random.choice(x, 2)[0]
    return x, y, z, whole, order, rows, line, turned, np.random.permutation(7), np.random.choice(n, 4), total


def test_arrays_are_native_in_loops() -> None:
    fn = flambeau.script(arrays_in_a_loop)
    for seed, n in ((0, 1), (1, 2), (2, 33)):
        ours, following = fn(seed, n), (np.random.normal(), np.random.random())
        for one, other in zip(ours, arrays_in_a_loop(seed, n), strict=True):
            np.testing.assert_array_equal(one, other)
            assert np.asarray(one).dtype == np.asarray(other).dtype
        assert following == (np.random.normal(), np.random.random())
    assert not fn.explain().interpreted


def seeded(seed: int, n: int):
    np.random.seed(seed)
    total = 0.0
    for _ in range(n):
        total += np.random.random()
    one = np.random.normal()
    np.random.seed(seed + 1)
    return total, one, np.random.normal(), np.random.randint(0, 1 << 40), np.random.randint(1000)


def test_seeds_begin_the_generator_anew() -> None:
    fn = flambeau.script(seeded)
    for seed in (0, 1, 2**31, 2**32 - 2):
        for n in (0, 3, 311, 700):  # more than the words of one round
            np.random.normal()  # one is kept that the seed drops
            ours, state = fn(seed, n), np.random.get_state()
            assert ours == seeded(seed, n)
            theirs = np.random.get_state()
            assert all(np.array_equal(a, b) for a, b in zip(state, theirs, strict=True))
    for seed in (-1, 2**32 - 1):
        with pytest.raises(ValueError, match="Seed must be between 0"):
            fn(seed, 1)


def test_other_generators_are_seeded_by_numpy() -> None:
    fn, before = flambeau.script(seeded), np.random.get_bit_generator()
    try:
        numbers = []
        for program in (fn, seeded):
            np.random.set_bit_generator(np.random.PCG64(5))
            numbers.append([program(3, 4) for _ in range(3)])
        assert numbers[0] == numbers[1]
    finally:
        np.random.set_bit_generator(before)
    assert fn(3, 4) == seeded(3, 4)


def lines(n: int):
    for _ in range(3):
        x = np.random.normal(1.0, 2.0, n)
    return x


def test_negative_sizes_are_refused() -> None:
    with pytest.raises(ValueError, match="negative dimensions"):
        flambeau.script(lines)(-1)


def exchanged(x: np.ndarray):
    np.random.seed(3)
    for _ in range(3):
        np.random.shuffle(x)
    return x[0, 0]


def test_rows_that_repeat_their_elements_are_shuffled_by_numpy() -> None:
    ours, theirs = (np.lib.stride_tricks.as_strided(np.arange(5.0), (5, 2), (8, 0)) for _ in range(2))
    assert flambeau.script(exchanged)(ours) == exchanged(theirs)
    np.testing.assert_array_equal(ours, theirs)


def heads(count: int) -> int:
    found = 0
    for _ in range(count):
        if np.random.random() < 0.5:
            found += 1
    return found


def test_single_numbers_are_native() -> None:
    fn = flambeau.script(heads)
    fn(10)
    assert "native from end to end" in str(fn.explain())


def test_threads_draw_different_numbers() -> None:
    fn = flambeau.script(heads)
    fn(10)
    fn(10)
    np.random.seed(0)
    found = list[int]()
    threads = [threading.Thread(target=lambda: found.append(fn(100_000))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    following = np.random.random()
    np.random.seed(0)
    assert sum(found) == int((np.random.random(400_000) < 0.5).sum())
    assert following == np.random.random()


def spread(count: int, scale: float):
    total = 0.0
    for _ in range(count):
        total += np.random.normal(0.0, scale)
    return total


def between(low: int, high: int):
    total = 0
    for _ in range(3):
        total += np.random.randint(low, high)
    return total


def span(low: float, high: float):
    total = 0.0
    for _ in range(3):
        total += np.random.uniform(low, high)
    return total


@pytest.mark.parametrize(
    ("program", "right", "wrong", "kind", "text"),
    [
        (spread, (3, 1.0), (3, -1.0), ValueError, "scale < 0"),
        (spread, (3, 1.0), (3, -0.0), ValueError, "scale < 0"),
        (between, (1, 3), (3, 3), ValueError, "low >= high"),
        (span, (0.0, 1.0), (0.0, float("inf")), OverflowError, "exceeds valid bounds"),
    ],
)
def test_refused_parameters_are_pythons_errors(
    program: Callable[..., Any], right: Any, wrong: Any, kind: type[Exception], text: str
) -> None:
    fn = flambeau.script(program)
    with pytest.raises(kind, match=text):
        program(*wrong)
    for _ in range(4):
        fn(*right)
        with pytest.raises(kind, match=text):
            fn(*wrong)
        np.random.random()  # nobody has the generator's lock any more


def of_an_array(x: np.ndarray):
    return np.random.normal(x, 1.0)



def keyword(n: int):
    return np.random.rand(n, dtype=1)


def without(n: int):
    return np.random.gamma()


@pytest.mark.parametrize(
    ("program", "argument", "text"),
    [
        (of_an_array, np.ones(3), "np.random.normal takes numbers for 'loc' here, not"),
        (keyword, 3, "np.random.rand has no 'dtype' in programs, where it takes size"),
        (without, 3, r"np.random.gamma\(\) is missing 'shape'"),
    ],
)
def test_refusals_say_what_to_write(program: Callable[..., Any], argument: Any, text: str) -> None:
    with pytest.raises(CompileError, match=text):
        flambeau.script(program)(argument)


def rounds(seed: int, n: int):
    np.random.seed(seed)
    total = 0
    for _ in range(n):
        total += np.random.randint(0, 1 << 31)
    return total


@pytest.mark.parametrize("n", [0, 1, 623, 624, 625, 3000])
def test_words_of_all_rounds_are_those_of_numpy(n: int) -> None:
    function = flambeau.script(rounds)
    for seed in (0, 1, 123456789, (1 << 32) - 1):
        found, state = function(seed, n), np.random.get_state(legacy=False)
        wanted, expected = rounds(seed, n), np.random.get_state(legacy=False)
        assert found == wanted
        assert np.array_equal(state["state"]["key"], expected["state"]["key"])
        assert state["state"]["pos"] == expected["state"]["pos"]
