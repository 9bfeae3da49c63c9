"""The training examples in small settings: each reaches something."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

import flambeau
from examples.training import gaussian_process, heat, maml, neural_ode, ode_fit, pictures, smoothing, sonnets


def mean(values: list[float]) -> float:
    return sum(values) / len(values)


def test_digits_are_recognised() -> None:
    pytest.importorskip("sklearn", reason="the pictures are scikit-learn's")
    from examples.training import digits

    _, losses, share = digits.train(epochs=4, width=12)
    assert share > 0.97
    assert losses[-1] < 0.1 * losses[0]


def test_sonnets_become_less_surprising() -> None:
    model, losses = sonnets.train(steps=25, width=32, reach=32)
    assert losses[0] > math.log(len(sonnets.LETTERS)) - 0.2
    assert mean(losses[-5:]) < 3.1
    assert sonnets.write(model, "Shall", 5).startswith("Shall")


def test_parameters_of_an_equation_are_fitted_through_a_while() -> None:
    rates, losses = ode_fit.train(steps=12, count=5)
    assert losses[-1] < 0.4 * losses[0]
    assert (rates - flambeau.tensor(ode_fit.TRUE)).abs().max() < 0.3


def test_the_solver_chooses_its_steps() -> None:
    start, rates = flambeau.tensor([10.0, 10.0]), flambeau.tensor(ode_fit.TRUE)
    coarse, fine = (ode_fit.solve(start, rates, [1.0, 2.0], tolerance) for tolerance in (0.1, 0.001))
    assert coarse[1] < fine[1]
    assert (coarse[0] - fine[0]).abs().max() < 0.3


def test_a_network_learns_an_equation() -> None:
    _, losses = neural_ode.train(steps=40)
    assert mean(losses[-8:]) < 0.8 * mean(losses[:4])


def test_a_rod_s_conductivity_is_found_from_its_heat() -> None:
    found, losses = heat.train(steps=2, n=10, times=5)
    assert losses[-1] < 2e-3 * losses[0] or losses[-1] < 1e-4
    assert (found - heat.truth(10)).abs().mean() < 0.05


def test_heat_stays_where_nothing_conducts() -> None:
    start = heat.starts(10)[0]
    assert flambeau.equal(heat.spread(start, flambeau.zeros(9, dtype=flambeau.float64), 5), start)


def test_springs_are_weak_where_signals_jump() -> None:
    stiffness, losses = smoothing.train(steps=30, rows=16)
    assert mean(losses[-5:]) < 0.5 * losses[0]
    assert set(stiffness.topk(2, largest=False).indices.tolist()) == set(smoothing.JUMPS)


def test_a_derivative_that_is_written_by_hand_is_that_of_differences() -> None:
    stiffness = (flambeau.rand(4, dtype=flambeau.float64) + 0.5).requires_grad_()
    signals = flambeau.randn(2, 5, dtype=flambeau.float64).requires_grad_()
    assert flambeau.autograd.gradcheck(smoothing.Smooth.apply, (signals, stiffness))
    differences = flambeau.eye(5, dtype=flambeau.float64).diff(dim=0)
    matrix = flambeau.eye(5, dtype=flambeau.float64) + differences.T @ flambeau.diag(stiffness) @ differences
    expected = flambeau.linalg.solve(matrix, signals.T).T
    assert flambeau.allclose(smoothing.solve(signals.detach(), stiffness.detach()), expected)


def test_one_step_suffices_after_learning_to_learn() -> None:
    _, losses = maml.train(steps=30, tasks=4)
    assert mean(losses[-8:]) < 0.7 * mean(losses[:3])


@pytest.mark.filterwarnings("ignore::flambeau.PerformanceWarning")  # of a Hessian: no batching rule for one operator
def test_a_gaussian_process_is_as_sure_as_it_may_be() -> None:
    logs, deviations, losses = gaussian_process.train()
    slope = flambeau.func.grad(gaussian_process.surprise)(logs, *gaussian_process.points(40))
    assert slope.abs().max() < 1e-6
    assert losses[-1] < losses[0]
    assert abs(logs[2].exp() - 0.1) < 0.05  # the noise of the samples
    assert bool((deviations > 0).all())
    assert bool((deviations < 1).all())


def test_pictures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("matplotlib", reason="of the extra `viz`")
    monkeypatch.setattr(pictures, "FOLDER", pictures.ROOT / "build" / "pictures" / tmp_path.name)
    path = pictures.curve("losses", [3.0, 2.0, 1.0], "loss")
    assert path is not None
    assert "<svg" in path.read_text(encoding="utf-8")
