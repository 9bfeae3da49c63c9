"""`fn.tune`: alternatives of kernels are measured, and those that are faster are kept for calls of their pattern."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

import flambeau
from flambeau import Tensor, nn
from flambeau.codegen import tuned_choices
from flambeau.codegen.alternatives import alternatives
from flambeau.codegen.products import Tiling
from flambeau.executor.tune import Measure, TuningReport, alternately, chosen, tune
from flambeau.tools import cli


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLAMBEAU_CACHE_DIR", str(tmp_path / "cache"))


def layer(x: Tensor, w: Tensor) -> Tensor:
    return flambeau.relu(x @ w)


X, W = flambeau.linspace(-1.0, 1.0, 24 * 48).reshape(24, 48), flambeau.linspace(-1.0, 2.0, 48 * 64).reshape(48, 64)


def the_last_is_fastest(functions: Sequence[Callable[[], object]]) -> list[list[float]]:
    return [[1.0 / (1 + place)] * 3 for place in range(len(functions))]


def all_are_equal(functions: Sequence[Callable[[], object]]) -> list[list[float]]:
    return [[1.0] * 3 for _ in functions]


def tuned(measure: Measure, *arguments: Any) -> tuple[Any, TuningReport]:
    function: Any = flambeau.script(layer)
    return function, tune(function._executor, arguments, measure)


def schedule_of(function: Any) -> Tiling:
    [kernel] = [k for group in function._executor.plans[-1].kernels for k in group.kernels]
    schedule = kernel.variants[-1].schedule
    assert isinstance(schedule, Tiling)
    return schedule


def test_a_winner_serves_calls_of_its_classes_of_sizes() -> None:
    before: Any = flambeau.script(layer)
    expected = before(X, W)
    usual = schedule_of(before)
    function, report = tuned(the_last_is_fastest, X, W)
    [kernel] = report.kernels
    assert kernel.tried > 1
    assert kernel.winner
    assert kernel.gain > 1.05
    assert kernel.winner in str(report)
    assert "1 of 1 kernels have another schedule now" in str(report)
    assert flambeau.allclose(function(X, W), expected, atol=1e-5)
    assert schedule_of(function).key() != usual.key()
    longer = flambeau.cat([X, X[:5]])
    another: Any = flambeau.script(layer)
    assert flambeau.allclose(another(longer, W), before(longer, W), atol=1e-5)
    assert schedule_of(another).key() == schedule_of(function).key()


def test_without_a_gain_the_default_holds() -> None:
    function, report = tuned(all_are_equal, X, W)
    [kernel] = report.kernels
    assert (kernel.winner, kernel.gain) == ("", 1.0)
    assert "0 of 1 kernels have another schedule now: 0.0 us less a call" in str(report)
    assert not tuned_choices.stamp()
    function(X, W)
    fresh: Any = flambeau.script(layer)
    fresh(X, W)
    assert schedule_of(function).key() == schedule_of(fresh).key()


def test_a_winner_has_to_win_again() -> None:
    rounds: list[int] = []

    def once(functions: Sequence[Callable[[], object]]) -> list[list[float]]:
        rounds.append(len(functions))
        return the_last_is_fastest(functions) if len(rounds) == 1 else all_are_equal(functions)

    report = tuned(once, X, W)[1]
    assert not report.kernels[0].winner
    assert rounds[1:] == [2]


def test_a_later_measurement_takes_a_choice_back() -> None:
    tuned(the_last_is_fastest, X, W)
    assert tuned_choices.stamp()
    tuned(all_are_equal, X, W)
    assert not tuned_choices.stamp()


@pytest.mark.parametrize(
    ("seconds", "winner"),
    [
        ({"": [1.0, 1.0, 1.0]}, ""),
        ({"": [1.0, 1.0, 1.0], "b": [0.5, 0.5, 0.5], "a": [0.5, 0.5, 0.5]}, "a"),
        ({"": [1.0, 1.0, 1.0], "a": [0.97, 0.97, 0.97]}, ""),
        ({"": [1.0, 1.3, 0.7], "a": [0.8, 0.5, 1.1]}, ""),
        ({"": [1.0, 1.01, 0.99], "a": [0.8, 0.81, 0.79]}, "a"),
    ],
)
def test_ties_and_noise(seconds: dict[str, list[float]], winner: str) -> None:
    assert chosen(seconds)[0] == winner


def test_functions_take_turns() -> None:
    order: list[str] = []
    taken = alternately([lambda: order.append("a"), lambda: order.append("b")])
    assert [len(times) for times in taken] == [7, 7]
    turns = [name for k, name in enumerate(order[2:]) if k == 0 or order[2:][k - 1] != name]
    assert turns == ["a", "b"] * 7


def test_plans_of_archives_are_made_under_the_choices() -> None:
    stream = io.BytesIO()
    flambeau.jit.save(flambeau.script(nn.Sequential(nn.Linear(48, 64), nn.ReLU(), nn.Linear(64, 8))), stream)

    def called() -> Any:
        module = flambeau.jit.load(io.BytesIO(stream.getvalue()))
        with flambeau.no_grad():
            module.forward.compile(X)  # a first call alone would be answered as the program is written
            module(X)
        return module

    called()
    first = called()
    assert "read from the cache" in str(first.forward.explain())
    with flambeau.no_grad():
        report = tune(first.forward._executor, first.forward._full((X,), {}), the_last_is_fastest)
    assert any(kernel.winner for kernel in report.kernels)
    assert "read from the cache" not in str(called().forward.explain())
    assert "read from the cache" in str(called().forward.explain())


def test_a_damaged_table_is_no_table(tmp_path: Path) -> None:
    tuned_choices.keep({"k": "blas"})
    assert tuned_choices.choice("k") == "blas"
    [entry] = [path for path in (tmp_path / "cache").rglob("*.object") if b'"blas"' in path.read_bytes()]
    entry.write_bytes(entry.read_bytes()[:-4])
    tuned_choices._known.clear()
    assert tuned_choices.choice("k") == ""


def test_a_name_that_is_no_alternative_leaves_the_default() -> None:
    before: Any = flambeau.script(layer)
    before(X, W)
    [kernel] = [k for group in before._executor.plans[-1].kernels for k in group.kernels]
    kept = next(iter(kernel.schedules.kept.values()))
    found = alternatives(kept.schedule, kept.typical, kept.typical, kept.typical, kernel_target(), 1)
    assert found
    assert all(not isinstance(s, Tiling) or s.key() != kept.schedule.key() for s in found.values())
    assert found.get("tiles of gold", kept.schedule) is kept.schedule


def kernel_target() -> Any:
    from flambeau.codegen.llvm.engine import engine

    return engine().target


def writes(x: Tensor) -> Tensor:
    return x.add_(1.0)


def test_what_cannot_be_tuned_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(RuntimeError, match="cannot be run for measuring: it writes to its arguments"):
        flambeau.script(writes).tune(flambeau.ones(3))
    with pytest.raises(RuntimeError, match="expected the backend 'native' with llvmlite installed, got 'interpreter'"):
        flambeau.script(layer, backend="interpreter").tune(X, W)
    monkeypatch.setenv("FLAMBEAU_CACHE", "off")
    with pytest.raises(RuntimeError, match="FLAMBEAU_CACHE turns off"):
        flambeau.script(layer).tune(X, W)


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "tuned_program.py"
    path.write_text("import flambeau\ndef f(x: flambeau.Tensor):\n    return flambeau.tanh(x) * 2\n", encoding="utf-8")
    assert cli.main(["tune", f"{path}:f", "--args", "flambeau.ones(64, 64)"]) == 0
    printed = capsys.readouterr().out
    assert "group" in printed
    assert "of 1 kernels have another schedule now" in printed
    assert cli.main(["tune", f"{path}:f", "--args", "'text'"]) == 1
    assert "cannot be tuned" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        cli.main(["tune", f"{path}:f"])
