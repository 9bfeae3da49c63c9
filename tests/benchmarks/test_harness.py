"""The benchmark harness on peers made up here: medians, ratios, goals, checks of answers, peers that are not there."""

from __future__ import annotations

import time
from collections.abc import Callable
from itertools import chain, repeat
from typing import Any

import numpy as np
import pytest

from benchmarks import harness
from benchmarks.harness import Call, Cost, Goal, Row, Workload, as_arrays, at_most, measure


class _Clock:
    """A clock that only the peers move."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now

    def peer(self, *seconds: float, answer: Any = 1.0, many: int = 1) -> Callable[[], Call]:
        turns = chain(seconds, repeat(seconds[-1]))

        def run() -> Any:
            self.now += next(turns)
            return answer

        return lambda: Call(run, (), many=many)


@pytest.fixture
def clock() -> _Clock:
    return _Clock()


def _absent() -> Call:
    raise ImportError("No module named 'other'", name="other")


def _broken() -> Call:
    raise RuntimeError("no compiler\nand more")


def _workload(peers: dict[str, Callable[[], Call]], **options: Any) -> Workload:
    return Workload(name="w", kind="k", peers=peers, **{"expected": lambda: np.float64(1.0), **options})


def test_the_median_of_the_rounds_counts(clock: _Clock) -> None:
    peers = {
        "flambeau": clock.peer(5.0, 1.5, 1e-6), "slow": clock.peer(4e-6), "fast": clock.peer(8e-6),
        "fast/variant": clock.peer(2e-6), "both": clock.peer(3e-5, many=10),
    }  # fmt: skip
    row = measure(_workload(peers), rounds=5, seconds=1e-3, clock=clock)
    assert {k: round(v, 6) for k, v in row.microseconds.items()} == {
        "flambeau": 1.0, "slow": 4.0, "fast": 8.0, "fast/variant": 2.0, "both": 3.0,
    }  # fmt: skip
    assert row.families()["fast"][0] == "variant"
    assert row.best_peer == "fast"
    assert row.ratio() == pytest.approx(2.0)
    assert row.ratio("slow") == pytest.approx(4.0)
    assert row.ratio("absent") is None


def test_a_call_of_seconds_counts_once(clock: _Clock) -> None:
    calls: list[None] = []

    def slow() -> float:
        calls.append(None)
        clock.now += 3.0
        return 1.0

    peers = {"flambeau": clock.peer(1e-3), "slow": lambda: Call(slow, ())}
    row = measure(_workload(peers), rounds=5, seconds=1e-3, clock=clock)
    assert row.microseconds["slow"] == pytest.approx(3e6)
    assert len(calls) == 2  # one for the answer, one for the clock


def test_a_call_is_timed_with_its_arguments_and_what_waits() -> None:
    seen: list[int] = []
    call = Call(lambda a, b: a + b, (2, 3), seen.append)
    assert call() is None
    call.timer(time.perf_counter).timeit(2)
    assert seen == [5, 5, 5]


def test_peers_that_are_absent_broken_or_wrong_do_not_count(clock: _Clock) -> None:
    peers = {
        "flambeau": clock.peer(1e-6), "other": _absent, "broken": _broken, "wrong": clock.peer(1e-7, answer=2.0),
        "nan": clock.peer(1e-7, answer=np.nan), "shape": clock.peer(1e-7, answer=[1.0, 1.0]),
        "right": clock.peer(3e-6, answer=1.00001),
    }  # fmt: skip
    row = measure(_workload(peers, left_out={"x": "not for this"}), rounds=3, seconds=1e-3, clock=clock)
    assert row.missing == {
        "x": "not for this", "other": "not installed (other)", "broken": "RuntimeError: no compiler",
        "wrong": "wrong by 5.0e-01", "nan": "wrong by nan", "shape": "wrong: shape [(), ()] for [()]",
    }  # fmt: skip
    assert row.best_peer == "right"
    assert row.ratio() == pytest.approx(3.0)


def test_some_elements_may_stray(clock: _Clock) -> None:
    peers = {"flambeau": clock.peer(1e-6, answer=np.array([1, 2, 3, 4]))}
    options: dict[str, Any] = {"expected": lambda: np.array([1, 2, 3, 5]), "tolerance": 0.0}
    assert measure(_workload(peers, strays=0.25, **options), rounds=1, seconds=1e-3, clock=clock).missing == {}
    row = measure(_workload(peers, strays=0.2, **options), rounds=1, seconds=1e-3, clock=clock)
    assert row.missing == {"flambeau": "wrong by 1.7e-01"}


def test_our_own_failure_is_told_unless_it_took_too_long(clock: _Clock) -> None:
    row = measure(_workload({"flambeau": _broken}), rounds=1, seconds=1e-3, clock=clock)
    assert (row.failure, row.microseconds) == ("RuntimeError: no compiler", {})
    assert measure(_workload({"flambeau": clock.peer(1.0)}), rounds=1, seconds=1e-3, clock=clock).failure is None

    def long() -> Call:
        clock.now += 21.0
        raise TimeoutError

    row = measure(_workload({"flambeau": long}), rounds=1, seconds=1e-3, clock=clock)
    assert (row.missing, row.ours, row.met) == ({"flambeau": "took over 20 s"}, None, None)
    assert row.failure is None


def test_what_runs_too_long_is_stopped() -> None:
    def forever() -> None:
        while True:
            pass

    with pytest.raises(TimeoutError, match="took over 0 s"), at_most(0.01):
        forever()
    with at_most(None):
        pass


@pytest.mark.parametrize(
    ("goal", "text", "met"),
    [
        (Goal(times=2.0), "2x", True),
        (Goal(times=2.5), "2.5x", False),
        (Goal(times=4.0, against="b"), "4x b", True),
        (Goal(against="absent"), "1x absent", None),
        (Goal(nanoseconds=1500.0), "<= 1500 ns", True),
        (Goal(nanoseconds=100.0), "<= 100 ns", False),
    ],
)
def test_goals(goal: Goal, text: str, met: bool | None) -> None:
    row = Row(name="r", kind="k", goal=goal, cost=Cost(), microseconds={"flambeau": 1.0, "a": 2.0, "b": 4.0})
    assert (str(goal), row.met) == (text, met)


def test_a_row_without_peers_has_no_ratio() -> None:
    row = Row(name="w", kind="k", goal=Goal(), cost=Cost(), microseconds={"flambeau": 2.0, "flambeau alone": 3.0})
    assert (row.best_peer, row.ratio(), row.met) == (None, None, None)
    assert row.ratio("flambeau alone") == 1.5


def test_any_result_becomes_arrays() -> None:
    class Foreign:
        def detach(self) -> Foreign:
            return self

        def numpy(self) -> np.ndarray[Any, Any]:
            return np.ones(2)

    assert [a.tolist() for a in as_arrays((Foreign(), [1.0], 2))] == [[1.0, 1.0], 1.0, 2]
    assert harness.disagreement((1.0, 2.0), (1.0, 2.0), _workload({})) is None


def test_what_is_no_number_agrees_with_itself_alone() -> None:
    want = np.array([np.nan, np.inf, -np.inf, 1.0])
    assert harness.disagreement(want.copy(), want, _workload({})) is None
    for i, wrong in enumerate((0.0, -np.inf, np.nan, np.inf)):
        got = want.copy()
        got[i] = wrong
        assert harness.disagreement(got, want, _workload({}))
