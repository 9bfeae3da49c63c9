"""The benchmark harness on peers made up here: medians, ratios, checks of answers, missing peers, tables."""

from __future__ import annotations

import io
import itertools
import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from benchmarks import harness
from benchmarks.__main__ import SLOWING, THREADS
from benchmarks.harness import Row, Workload, as_array, as_json, markdown, measure, show
from benchmarks.workloads import workloads


class _Clock:
    """A clock that only the peers move."""

    def __init__(self) -> None:
        self.now = 0.0

    def perf_counter(self) -> float:
        return self.now

    def peer(self, *seconds: float, answer: Any = 1.0) -> Callable[[], Callable[[], Any]]:
        turns = itertools.chain(seconds, itertools.repeat(seconds[-1]))

        def run() -> Any:
            self.now += next(turns)
            return np.asarray(answer)

        return lambda: run


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> _Clock:
    found = _Clock()
    monkeypatch.setattr(harness, "time", found)
    return found


def _absent() -> Callable[[], Any]:
    raise ImportError("No module named 'other'", name="other")


def _broken() -> Callable[[], Any]:
    raise RuntimeError("no compiler\nand more")


def test_the_median_of_the_rounds_counts(clock: _Clock) -> None:
    workload = Workload(
        name="w", bytes_moved=8_000, goal=2.0,
        peers={"flambeau": clock.peer(5.0, 4.0, 1e-6), "slow": clock.peer(4e-6), "fast": clock.peer(2e-6)},
    )  # fmt: skip
    row = measure(workload, rounds=5, seconds=1e-3)
    assert {k: round(v, 6) for k, v in row.microseconds.items()} == {"flambeau": 1.0, "slow": 4.0, "fast": 2.0}
    assert row.best_peer == "fast"
    assert row.ratio == pytest.approx(2.0)
    assert row.bandwidth == pytest.approx(8.0)
    assert (row.missing, row.goal) == ({}, 2.0)


def test_peers_that_are_absent_broken_or_wrong_do_not_count(clock: _Clock) -> None:
    peers = {
        "flambeau": clock.peer(1e-6), "other": _absent, "broken": _broken, "wrong": clock.peer(1e-7, answer=2.0),
        "nan": clock.peer(1e-7, answer=np.nan), "right": clock.peer(3e-6, answer=1.00001),
    }  # fmt: skip
    row = measure(Workload(name="w", peers=peers, expected=lambda: np.float64(1.0)), rounds=3, seconds=1e-3)
    assert row.missing == {
        "other": "not installed (other)", "broken": "RuntimeError: no compiler", "wrong": "wrong by 5.0e-01",
        "nan": "wrong by nan",
    }  # fmt: skip
    assert row.best_peer == "right"
    assert row.ratio == pytest.approx(3.0)


def test_our_own_failure_is_an_error(clock: _Clock) -> None:
    with pytest.raises(RuntimeError, match="no compiler"):
        measure(Workload(name="w", peers={"flambeau": _broken}), rounds=1, seconds=1e-3)


def test_a_row_without_peers_has_no_ratio() -> None:
    row = Row(name="w", microseconds={"flambeau": 2.0})
    assert (row.best_peer, row.ratio, row.bandwidth) == (None, None, None)


def test_tables() -> None:
    rows = [
        Row(name="one", microseconds={"flambeau": 2.0, "a": 4.0, "b": 5.0}, bytes_moved=4_000),
        Row(name="two", microseconds={"flambeau": 1.0, "a": 0.5}, missing={"b": "not installed (b)"}, goal=2.0),
    ]
    out = io.StringIO()
    show(rows, ["flambeau", "a", "b"], out)
    head, one, two, mean = out.getvalue().splitlines()
    assert head.split() == ["workload", "flambeau", "a", "b", "best", "peer", "ratio", "goal", "GB/s"]
    assert one.split() == ["one", "2", "4", "5", "a", "2.00x", "1.0x", "2"]
    assert two.split() == ["two", "1", "0.5", "-", "a", "0.50x", "2.0x", "-"]
    assert mean == "geometric mean of the ratios: 1.00x over 2 rows"
    assert markdown(rows, ["flambeau", "a", "b"]).splitlines()[2] == "| one | 2 | **4** | 5 | 2.00x | 1x | 2 |"
    line = json.loads(as_json(rows[1], {"threads": 1}))
    assert (line["name"], line["ratio"], line["threads"], line["missing"]["b"]) == ("two", 0.5, 1, "not installed (b)")


def test_any_result_becomes_an_array() -> None:
    class Foreign:
        def detach(self) -> Foreign:
            return self

        def numpy(self) -> np.ndarray[Any, Any]:
            return np.ones(2)

    assert as_array(Foreign()).tolist() == as_array([1.0, 1.0]).tolist() == [1.0, 1.0]


def test_the_workloads_are_told_apart_and_all_have_our_entry() -> None:
    found = list(workloads())
    assert len({w.name for w in found}) == len(found)
    assert all("flambeau" in w.peers and "numpy" in w.peers and w.expected is not None for w in found)
    assert not set(SLOWING) & set(THREADS)
