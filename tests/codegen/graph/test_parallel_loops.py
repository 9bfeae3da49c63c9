"""Loops over `prange` mean what the same loop over `range` does, on any number of threads, and where they fail too."""

from __future__ import annotations

import os
import signal
import threading
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau import Tensor, prange
from flambeau.codegen.layouts import MOST_PIECES


@pytest.fixture(autouse=True)
def _two_threads() -> Iterator[None]:
    before = flambeau.get_num_threads()
    flambeau.set_num_threads(2)
    yield
    flambeau.set_num_threads(before)


def parallel_loops(function: Any) -> int:
    """How many loops of a function that was called run in pieces."""
    (compilation,) = function.explain().compilations[-1:]
    return sum(native.parallel for native in compilation.natives)


@contextmanager
def alarm() -> Iterator[None]:
    """A signal after a tenth of a second, whose handler raises."""

    def raise_timeout(*_: object) -> None:
        raise TimeoutError("the alarm")

    before = signal.signal(signal.SIGALRM, raise_timeout)
    signal.setitimer(signal.ITIMER_REAL, 0.1)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def mandelbrot(counts: np.ndarray, most: int) -> int:
    total = 0
    for r in prange(counts.shape[0]):
        for c in range(counts.shape[1]):
            x0 = 3.0 * c / counts.shape[1] - 2.0
            y0 = 2.0 * r / counts.shape[0] - 1.0
            x = 0.0
            y = 0.0
            k = 0
            while x * x + y * y <= 4.0 and k < most:
                x, y = x * x - y * y + x0, 2.0 * x * y + y0
                k += 1
            counts[r, c] = k
            total += k
    return total


def kinds(x: np.ndarray, k: np.ndarray, n: int):
    product = 1.0
    least = 1e9
    most = -1e9
    every = -1
    some = 0
    odd = 0
    fewer = 1000
    last = -1
    has_large = False
    all_small = True
    for i in prange(2, n, 3):
        product *= x[i]
        least = min(least, x[i])
        most = max(most, x[i])
        every &= k[i] | 1
        some |= k[i]
        odd = k[i] ^ odd
        fewer -= 2
        last = i
        has_large |= x[i] > 1.45
        all_small = all_small & bool(x[i] < 1.49)
    return product, least, most, every, some, odd, fewer, last, has_large, all_small


def plain(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function as CPython runs it, over `range`."""
    assert isinstance(function, types.FunctionType)
    return types.FunctionType(function.__code__, {"prange": range, "np": np})


def test_a_loop_in_pieces_gives_what_the_loop_gives() -> None:
    compiled = flambeau.script(mandelbrot)
    ours, theirs = np.zeros((30, 40), np.int64), np.zeros((30, 40), np.int64)
    assert compiled(ours, 50) == plain(mandelbrot)(theirs, 50)
    np.testing.assert_array_equal(ours, theirs)
    assert parallel_loops(compiled) == 1
    assert "1 parallel loop(s)" in " ".join(str(compiled.explain()).split())


@pytest.mark.parametrize("n", [0, 2, 3, 5, 64 * 3 + 2, 64 * 3 + 3, 400])
def test_every_kind_of_total(n: int) -> None:
    numbers = np.random.default_rng(n)
    x, k = numbers.random(400) + 0.5, numbers.integers(0, 1 << 40, 400)
    compiled = flambeau.script(kinds)
    ours, theirs = compiled(x, k, n), plain(kinds)(x, k, n)
    assert ours[0] == pytest.approx(theirs[0], rel=1e-13)
    assert ours[1:] == tuple(t.item() if isinstance(t, np.generic) else t for t in theirs[1:])
    assert parallel_loops(compiled) == 1


def total(x: np.ndarray) -> float:
    s = 0.0
    for i in prange(x.shape[0]):
        s += x[i]
    return s


def test_sums_do_not_depend_on_the_number_of_threads() -> None:
    compiled = flambeau.script(total)
    x = np.random.default_rng(0).standard_normal(10_001)
    sums = set()
    for threads in (1, 2, 3, 5):
        flambeau.set_num_threads(threads)
        sums.add(compiled(x))
    assert len(sums) == 1
    step = -(-len(x) // MOST_PIECES)
    in_order = 0.0
    for first in range(0, len(x), step):
        piece = -0.0
        for value in x[first : first + step]:
            piece += value
        in_order += piece
    assert sums == {in_order}


def test_pieces_run_at_the_same_time() -> None:
    """Each of two threads waits for what the other one writes."""

    def meet(flags: np.ndarray) -> int:
        total = 0
        for i in prange(64):
            if i == 0 or i == 63:
                other = 63 - i
                flags[i] = 1
                k = 0
                while flags[other] == 0 and k < 4_000_000_000:
                    k += 1
                total += k
        return total

    if flambeau.codegen.threads.is_supported() and (os.cpu_count() or 1) > 1:
        assert flambeau.script(meet)(np.zeros(64, np.int64)) < 4_000_000_000


@flambeau.script
def looked_up(x: np.ndarray, indexes: np.ndarray) -> float:
    s = 0.0
    for i in prange(indexes.shape[0]):
        for _ in range(3):
            s += x[indexes[i]]
    return s


def test_the_first_failing_piece_is_the_one_that_is_told_of() -> None:
    x, indexes = np.arange(10.0), np.zeros(1000, np.int64)
    assert looked_up(x, indexes) == 0.0
    indexes[500], indexes[900] = 77, 88
    for _ in range(20):
        with pytest.raises(IndexError, match="index 77 is out of bounds for axis 0") as caught:
            looked_up(x, indexes)
    assert "s += x[indexes[i]]\n                 ~~~~~~~~~~~~~ <--- HERE" in str(caught.value)


def test_what_a_program_raises_comes_out() -> None:
    @flambeau.script
    def asserting(x: np.ndarray) -> float:
        s = 0.0
        for i in prange(x.shape[0]):
            if x[i] > 100:
                raise ValueError("row " + str(i))
            s += x[i]
        return s

    x = np.zeros(2000)
    assert asserting(x) == 0.0
    x[[700, 1500]] = 200
    with pytest.raises(ValueError, match="row 700"):
        asserting(x)


def test_groups_calls_and_loops_within() -> None:
    @flambeau.script
    def fib(n: int) -> int:
        return n if n < 2 else fib(n - 1) + fib(n - 2)

    @flambeau.script
    def busy(x: Tensor, out: Tensor) -> int:
        s = 0
        for i in prange(x.size(0)):
            out[i] = flambeau.softmax(x[i], 0) * 2
            for j in prange(x.size(1)):
                s += fib(j)
        return s

    x = flambeau.randn(100, 7)
    for _ in range(3):
        out = flambeau.zeros(100, 7)
        assert busy(x, out) == 100 * sum((0, 1, 1, 2, 3, 5, 8))
        np.testing.assert_allclose(out.numpy(), (flambeau.softmax(x, 1) * 2).numpy(), rtol=1e-6)
    assert parallel_loops(busy) == 1


def test_views_and_what_is_made_for_an_iteration_are_let_go() -> None:
    @flambeau.script
    def tails(x: Tensor) -> float:
        s = 0.0
        for i in prange(x.size(0)):
            tail = x[i:].sum(0)
            s += float((tail * tail).sum())
        return s

    x = flambeau.randn(70, 5, dtype=flambeau.float64)
    expected = sum(float((x[i:].sum(0) ** 2).sum()) for i in range(70))
    found = []

    def call() -> None:
        found.extend(tails(x) for _ in range(200))

    threads = [threading.Thread(target=call) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 800
    assert set(found) == {found[0]}
    assert found[0] == pytest.approx(expected, rel=1e-12)


@flambeau.script
def tree(x: np.ndarray, depth: int) -> float:
    if depth == 0:
        if x[0] < 0:
            raise ValueError("a leaf")
        return x[0]
    s = 0.0
    for _ in prange(x.shape[0]):
        s += tree(x, depth - 1)
    return s


def test_loops_within_pieces_of_a_function_that_calls_itself() -> None:
    x = np.ones(3)
    assert [tree(x, depth) for depth in (0, 1, 4, 6)] == [1.0, 3.0, 81.0, 729.0]
    x[0] = -1
    for depth in (1, 5):
        with pytest.raises(ValueError, match="a leaf"):
            tree(x, depth)
    assert parallel_loops(tree) == 2  # in the function as it is called from outside, and by itself


@flambeau.script
def endless_tree(x: np.ndarray, depth: int) -> int:
    s = 0
    if depth == 0:
        while x[0] > 0:
            s += 1
        return s
    for _ in prange(x.shape[0]):
        s += endless_tree(x, depth - 1)
    return s


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="there are no timers here")
def test_an_alarm_stops_loops_within_pieces() -> None:
    assert endless_tree(np.zeros(3), 3) == 0
    with alarm(), pytest.raises(TimeoutError, match="the alarm"):
        endless_tree(np.ones(3), 3)
    assert parallel_loops(endless_tree) == 2


def test_the_least_beside_nan() -> None:
    @flambeau.script
    def least(x: np.ndarray, start: float) -> float:
        for i in prange(x.shape[0]):
            start = min(start, x[i])
        return start

    x = np.random.default_rng(1).standard_normal(300)
    x[[3, 70, 299]] = np.nan
    assert least(x, 9.0) == np.nanmin(x)
    assert np.isnan(least(x, np.nan))
    assert parallel_loops(least) == 1


def test_lists_of_numbers_are_shared() -> None:
    @flambeau.script
    def squares(n: int) -> list[int]:
        out = [0] * n
        for i in prange(0, n, 3):
            out[i] = i * i
        return out

    assert squares(10) == [0, 0, 0, 9, 0, 0, 36, 0, 0, 81]


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="there are no timers here")
@pytest.mark.parametrize("threads", [1, 2])
def test_an_alarm_stops_all_pieces(threads: int) -> None:
    @flambeau.script
    def endless(n: int) -> int:
        s = 0
        for i in prange(n):
            k = i
            while k >= 0:
                k = (k * 3 + 1) % 1000003
                s += k % 2
        return s

    flambeau.set_num_threads(threads)
    with alarm(), pytest.raises(TimeoutError, match="the alarm"):
        endless(4)


def test_a_forked_process_has_threads_of_its_own() -> None:
    compiled = flambeau.script(total)
    x = np.ones(50_000)
    assert compiled(x) == 50_000.0
    child = os.fork()
    if child == 0:
        os._exit(0 if compiled(x) == 50_000.0 else 1)
    assert os.waitpid(child, 0)[1] == 0


def test_random_numbers_are_drawn_in_order() -> None:
    @flambeau.script
    def noise(out: Tensor) -> None:
        for i in prange(out.size(0)):
            out[i] = flambeau.rand(())

    first, second = flambeau.zeros(200), flambeau.zeros(200)
    for out in (first, second):
        flambeau.manual_seed(3)
        noise(out)
    flambeau.manual_seed(3)
    np.testing.assert_array_equal(first.numpy(), flambeau.rand(200).numpy())
    np.testing.assert_array_equal(first.numpy(), second.numpy())


def test_gradients_archives_and_traces_go_in_order() -> None:
    @flambeau.script
    def norms(x: Tensor) -> Tensor:
        out = flambeau.zeros(x.size(0), dtype=flambeau.float64)
        for i in prange(x.size(0)):
            out[i] = (x[i] * x[i]).sum()
        return out

    x = flambeau.randn(30, 4, dtype=flambeau.float64, requires_grad=True)
    norms(x).sum().backward()
    assert x.grad is not None
    np.testing.assert_array_equal(x.grad.numpy(), 2 * x.detach().numpy())
    assert "for i in range" in norms.code
    assert "prim::Loop[parallel=1]" in str(norms.graph)
    plain_x = x.detach()
    traced = flambeau.trace(lambda a: norms(a), (plain_x,))
    np.testing.assert_array_equal(traced(plain_x).numpy(), norms(plain_x).numpy())
