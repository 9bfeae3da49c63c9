"""Timers and what they give."""

from __future__ import annotations

from typing import Any

import pytest

import flambeau
from flambeau.utils import benchmark
from flambeau.utils.benchmark import Compare, Measurement, TaskSpec, Timer


class Clock:
    """A clock that goes on where a statement says so."""

    def __init__(self) -> None:
        self.now = 0.0

    def look(self) -> float:
        return self.now

    def timer(self, seconds: float) -> Timer:
        """A timer of a statement that takes as long."""
        return Timer("clock.now += seconds", timer=self.look, globals={"clock": self, "seconds": seconds})


def test_a_number_of_executions_is_one_run() -> None:
    clock = Clock()
    measured = clock.timer(0.5).timeit(100)
    assert (measured.raw_times, measured.times, measured.number_per_run) == ([50.0], [0.5], 100)
    assert clock.now == 51.0


def test_setup_runs_before_each_run_and_threads_are_put_back() -> None:
    seen: list[int] = []
    before = flambeau.get_num_threads()
    names = {"seen": seen, "flambeau": flambeau, "setups": []}
    Timer("seen.append(flambeau.get_num_threads())", "setups.append(1)", globals=names, num_threads=2).timeit(3)
    assert set(seen) == {2}
    assert len(names["setups"]) == 2
    assert flambeau.get_num_threads() == before
    with pytest.raises(ZeroDivisionError):
        Timer("1 / 0", num_threads=2).timeit(3)
    assert flambeau.get_num_threads() == before


def test_runs_go_on_until_the_time_is_over() -> None:
    called: list[tuple[int, float]] = []
    measured = Clock().timer(0.25).blocked_autorange(lambda n, t: called.append((n, t)), min_run_time=1.0)
    assert len(measured.times) == 4 == len(called)
    assert {n for n, _ in called} == {measured.number_per_run}


def test_adaptive_runs_end_when_they_agree() -> None:
    assert len(Clock().timer(0.25).adaptive_autorange().times) == 4
    assert len(Clock().timer(0.25).adaptive_autorange(min_run_time=2.0).times) == 8
    assert len(Clock().timer(0.25).adaptive_autorange(threshold=0.0, max_run_time=2.5).times) == 10


def test_short_statements_are_executed_often() -> None:
    measured = Clock().timer(0.25e-6).blocked_autorange(min_run_time=1.0)
    assert measured.number_per_run == 10_000


@pytest.mark.parametrize(
    ("make", "error", "text"),
    [
        (lambda: Timer(lambda: 1), TypeError, "a statement is text, as in Timer"),  # type: ignore[arg-type]
        (lambda: Timer("x", language="c++"), ValueError, "a Timer measures Python, not c"),
        (lambda: Timer("x", num_threads=0), ValueError, "num_threads has to be positive, got 0"),
        (lambda: Timer("x").timeit(0), ValueError, "number has to be positive, got 0"),
        (lambda: Timer("x").repeat(), NotImplementedError, "blocked_autorange"),
        (lambda: Timer("x").autorange(), NotImplementedError, "blocked_autorange"),
        (lambda: Timer("x ="), SyntaxError, "invalid syntax"),
        (lambda: Measurement(1, [], TaskSpec("x", "pass")).median, ValueError, "a measurement of no runs"),
        (lambda: Measurement(1, [], TaskSpec("x", "pass")).nothing, AttributeError, "no attribute 'nothing'"),
        (lambda: Compare([1]), ValueError, "Compare takes measurements, which Timer gives, got int"),  # type: ignore
    ],
)
def test_refused(make: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        make()


def test_what_measurements_say() -> None:
    task = TaskSpec("x + 1", "x = 1", label="add", sub_label="int")
    steady, wild = Measurement(2, [2.0] * 5, task), Measurement(1, [1.0, 2.0, 3.0, 9.0], task)
    assert (steady.mean, steady.median, steady.iqr, steady.has_warnings) == (1.0, 1.0, 0.0, False)
    assert (wild.median, wild.has_warnings, wild.significant_figures) == (2.5, True, 1)
    assert steady.label == "add"
    assert steady.title == "add: int"
    text = repr(wild)
    assert "setup:\nx = 1" in text
    assert "Median: 2.50 s" in text
    assert "4 measurements, 1 runs per measurement, 1 thread" in text
    assert "WARNING: the quartiles are" in text
    (merged,) = Measurement.merge([steady, wild])
    assert sorted(merged.times) == [1.0] * 6 + [2.0, 3.0, 9.0]
    assert len(Measurement.merge([steady, Measurement(1, [1.0], TaskSpec("y", "pass"))])) == 2
    assert benchmark.select_unit(3.0) == ("s", 1.0)
    assert benchmark.select_unit(1e-12) == ("ns", 1e-9)


def test_tables() -> None:
    def measured(n: int, way: str, time: float, threads: int = 1) -> Measurement:
        task = TaskSpec("f", "pass", "", "sums", f"n = {n}", way, None, threads)
        return Measurement(1, [time] * 5, task)

    table = Compare([measured(1, "here", 1e-3), measured(1, "there", 2e-3), measured(2, "here", 3.33e-3, threads=4)])
    assert str(table).splitlines() == [
        "[---------- sums ----------]",
        "           |  here  |  there",
        "1 threads: -----------------",
        "    n = 1  |  1.0   |   2.0",
        "4 threads: -----------------",
        "    n = 2  |  3.3   |",
        "",
        "Times are in milliseconds (ms).",
    ]
    table.colorize()
    assert "\x1b[92m\x1b[1m1.0 \x1b[0m" in str(table)
    wild = Measurement(1, [1.0, 2.0, 3.0, 9.0], TaskSpec("f", "pass"))
    noted = Compare([wild])
    noted.highlight_warnings()
    noted.trim_significant_figures()
    assert "2.0 (! 110%)" in str(noted)
