"""Operators timed one by one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import flambeau


def recorded() -> flambeau.profiler.profile:
    @flambeau.script
    def program(x: flambeau.Tensor) -> flambeau.Tensor:
        return flambeau.nn.functional.relu(x * 2 + 1).sum()

    with flambeau.profiler.profile(record_shapes=True) as timed:
        program(flambeau.ones(3, 4))
        flambeau.ones(5).sum()
    return timed


def test_each_operator_is_counted() -> None:
    averages = {a.key: a for a in recorded().key_averages()}
    assert {key: a.count for key, a in averages.items()} == {
        "aten::ones": 2, "aten::mul": 1, "aten::add": 1, "aten::relu": 1, "aten::sum": 2
    }  # fmt: skip
    assert all(0 < a.self_cpu_time_total == a.cpu_time_total for a in averages.values())
    assert averages["aten::sum"].cpu_time == averages["aten::sum"].cpu_time_total / 2


def test_calls_are_told_apart_by_sizes() -> None:
    averages = recorded().key_averages(group_by_input_shape=True)
    assert {a.input_shapes for a in averages if a.key == "aten::sum"} == {((3, 4),), ((5,),)}
    assert averages[0].self_cpu_time_total == max(a.self_cpu_time_total for a in averages)


def test_the_table_is_sorted() -> None:
    averages = recorded().key_averages()
    lines = averages.table(sort_by="count", row_limit=2).splitlines()
    assert len(lines) == 4
    assert lines[0].split() == ["Name", "CPU", "total", "CPU", "%", "CPU", "time", "avg", "#", "of", "Calls"]
    assert lines[-1].startswith("CPU time total: ")
    with pytest.raises(ValueError, match="sorted by one of cpu_time_total"):
        averages.table(sort_by="name")


def test_the_trace_is_chromes(tmp_path: Path) -> None:
    recorded().export_chrome_trace(tmp_path / "trace.json")
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    assert [e["name"] for e in events][:2] == ["aten::ones", "aten::mul"]
    assert all(e["ph"] == "X" and e["dur"] > 0 for e in events)
    assert events[1]["args"] == {"Input Dims": [[3, 4]]}


def test_operators_that_raise_are_timed_too() -> None:
    timed = flambeau.profiler.profile()
    with timed, pytest.raises(RuntimeError):
        flambeau.ones(2) + flambeau.ones(3)
    assert timed.events()[-1].name == "aten::add"


def test_a_profile_is_asked_behind_its_block() -> None:
    with flambeau.profiler.profile() as timed, pytest.raises(RuntimeError, match="is not over"):
        timed.events()
    with pytest.raises(RuntimeError, match="make another one"):
        timed.__enter__()
    before = flambeau.profiler.profile()
    with before:
        pass
    flambeau.ones(2)
    assert before.events() == []


def test_activities_are_those_of_the_host() -> None:
    activity = flambeau.profiler.ProfilerActivity
    with flambeau.profiler.profile(activities=[activity.CPU]) as timed:
        flambeau.ones(2).relu()
    assert "aten::relu" in timed.key_averages().table()
    with pytest.raises(ValueError, match=r"on the host, not CUDA: write activities=\[ProfilerActivity.CPU\]"):
        flambeau.profiler.profile(activities=[activity.CPU, activity.CUDA])


def test_named_blocks_are_among_the_operators() -> None:
    @flambeau.profiler.record_function("named")
    def program(x: flambeau.Tensor) -> flambeau.Tensor:
        return x.exp() + 1

    with flambeau.profiler.profile() as timed:
        program(flambeau.ones(3))
        with flambeau.profiler.record_function("outer"):
            program(flambeau.ones(3))
    program(flambeau.ones(3))  # nobody asks
    averages = {a.key: a for a in timed.key_averages()}
    assert {key: a.count for key, a in averages.items()} == {
        "aten::ones": 2, "aten::exp": 2, "aten::add": 2, "named": 2, "outer": 1
    }  # fmt: skip
    of_operators = sum(averages[f"aten::{name}"].cpu_time_total for name in ("exp", "add"))
    assert averages["named"].within == pytest.approx(of_operators)
    assert 0 <= averages["named"].self_cpu_time_total < averages["named"].cpu_time_total
    assert "named" in timed.key_averages().table()
