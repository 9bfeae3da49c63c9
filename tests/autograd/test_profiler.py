"""Operators timed one by one."""

from __future__ import annotations

import gzip
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


def test_a_schedule_chooses_steps() -> None:
    seen: list[tuple[int, dict[str, int]]] = []

    def keep(timed: flambeau.profiler.profile) -> None:
        seen.append((timed.step_num, {a.key: a.count for a in timed.key_averages()}))

    plan = flambeau.profiler.schedule(skip_first=1, wait=1, warmup=1, active=2, repeat=2)
    with flambeau.profiler.profile(schedule=plan, on_trace_ready=keep) as timed:
        for step in range(12):
            for _ in range(step):
                flambeau.ones(1)
            timed.step()
    first = {"aten::ones": 3 + 4, "ProfilerStep#3": 1, "ProfilerStep#4": 1}
    second = {"aten::ones": 7 + 8, "ProfilerStep#7": 1, "ProfilerStep#8": 1}
    assert seen == [(5, first), (9, second)]
    assert {a.key: a.count for a in timed.key_averages()} == second


def test_a_block_that_ends_within_a_trace_completes_it() -> None:
    seen: list[int] = []
    plan = flambeau.profiler.schedule(wait=0, warmup=0, active=3)
    timed = flambeau.profiler.profile(schedule=plan, on_trace_ready=lambda timed: seen.append(len(timed.events())))
    with timed:
        for _ in range(4):
            flambeau.ones(1)
            timed.step()
        with pytest.raises(RuntimeError, match="is not over"):
            timed.events()
    assert seen == [6, 3]  # each step is an event of its own, the fifth has no operator
    plan = flambeau.profiler.schedule(wait=2, warmup=0, active=1)
    with flambeau.profiler.profile(schedule=plan, on_trace_ready=lambda timed: seen.append(0)):
        flambeau.ones(1)
    assert len(seen) == 2


def test_a_profile_is_started_and_stopped(tmp_path: Path) -> None:
    handler = flambeau.profiler.tensorboard_trace_handler(tmp_path / "log", "worker", use_gzip=True)
    timed = flambeau.profiler.profile(activities=list(flambeau.profiler.supported_activities()), on_trace_ready=handler)
    timed.start()
    flambeau.ones(1)
    timed.stop()
    flambeau.ones(1)
    assert [a.key for a in timed.key_averages()] == ["aten::ones"]
    (file,) = (tmp_path / "log").iterdir()
    assert file.name.startswith("worker.")
    assert json.loads(gzip.decompress(file.read_bytes()))["traceEvents"][0]["name"] == "aten::ones"


def test_schedules_are_checked() -> None:
    with pytest.raises(ValueError, match="records at least one step: got wait=1, warmup=0, active=0"):
        flambeau.profiler.schedule(wait=1, warmup=0, active=0)
    with pytest.raises(ValueError, match="no negative counts"):
        flambeau.profiler.schedule(wait=-1, warmup=0, active=1)
    plan = flambeau.profiler.schedule(wait=2, warmup=1, active=1, skip_first=1, skip_first_wait=1)
    assert [plan(n).value for n in range(8)] == [0, 1, 3, 0, 0, 1, 3, 0]


def test_a_profile_that_is_off_records_nothing() -> None:
    with flambeau.autograd.profiler.profile(False) as recorded:
        flambeau.ones(2) + 1
    assert list(recorded.key_averages()) == []


def test_what_is_not_kept_is_warned_of() -> None:
    with (
        pytest.warns(UserWarning, match="profile: profile_memory, with_stack asks for what is not kept here"),
        flambeau.profiler.profile(with_stack=True, profile_memory=True, with_flops=False, use_kineto=True) as recorded,
    ):
        flambeau.ones(2) + 1
    assert {average.key for average in recorded.key_averages()} == {"aten::ones", "aten::add"}
    with pytest.raises(TypeError, match="unexpected keyword argument 'shapes'"):
        flambeau.profiler.profile(shapes=True)


def test_calls_have_the_names_of_averages() -> None:
    (total,) = (e for e in recorded().function_events if e.name == "aten::sum" and e.input_shapes == [[5]])
    assert (total.key, total.count) == ("aten::sum", 1)
    assert 0 < total.cpu_time_total == total.self_cpu_time_total
