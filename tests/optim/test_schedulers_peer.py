"""Every schedule goes PyTorch's way, step by step, and each goes on from the other's state."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import flambeau
from tests.optim.peer_runs import handed_over

torch = pytest.importorskip("torch", reason="torch is a peer, not a dependency")
Build = Callable[[Any, Any], Any]
METRICS = np.abs(np.random.default_rng(0).standard_normal(40))
TEXTS = [
    "StepLR(o, step_size=3)", "StepLR(o, 1, gamma=0.5)", "MultiStepLR(o, milestones=[2, 2, 5])",
    "ExponentialLR(o, gamma=0.9)", "CosineAnnealingLR(o, T_max=5)", "CosineAnnealingLR(o, T_max=7, eta_min=0.01)",
    "CosineAnnealingWarmRestarts(o, T_0=3)", "CosineAnnealingWarmRestarts(o, T_0=2, T_mult=2, eta_min=0.01)",
    "OneCycleLR(o, max_lr=0.5, total_steps=31)", "OneCycleLR(o, 0.5, total_steps=31, cycle_momentum=False)",
    "OneCycleLR(o, [0.1, 0.3], epochs=4, steps_per_epoch=9, three_phase=True, anneal_strategy='linear')",
    "CyclicLR(o, base_lr=0.1, max_lr=0.2, step_size_up=4)",
    "CyclicLR(o, [0.1, 0.05], 0.2, step_size_up=3, step_size_down=2, mode='triangular2')",
    "CyclicLR(o, 0.1, 0.2, step_size_up=3, mode='exp_range', gamma=0.9, cycle_momentum=False)",
    "CyclicLR(o, 0.1, 0.2, step_size_up=3, scale_fn=lambda x: 1 / (1 + x), scale_mode='iterations')",
    "LinearLR(o)", "LinearLR(o, start_factor=0.1, end_factor=0.5, total_iters=7)", "ConstantLR(o)",
    "ConstantLR(o, factor=0.2, total_iters=3)", "PolynomialLR(o)", "PolynomialLR(o, total_iters=9, power=2.0)",
    "LambdaLR(o, lambda e: 0.9**e)", "LambdaLR(o, [lambda e: 0.9**e, lambda e: 1 / (1 + e)])",
    "MultiplicativeLR(o, [lambda e: 0.9, lambda e: 0.5 + e * 0.1])", "SWALR(o, swa_lr=0.05, anneal_epochs=5)",
    "SWALR(o, [0.05, 0.1], anneal_epochs=4, anneal_strategy='linear')", "SWALR(o, 0.05, anneal_epochs=0)",
    "ReduceLROnPlateau(o, patience=2)",
    "ReduceLROnPlateau(o, 'max', 0.5, 1, cooldown=2, threshold=0.1, threshold_mode='abs', min_lr=[0.01, 0.02])",
    "SequentialLR(o, [LinearLR(o, 0.1, total_iters=4), CosineAnnealingLR(o, T_max=6), StepLR(o, 2)], [4, 10])",
    "SequentialLR(o, [SequentialLR(o, [ConstantLR(o), ExponentialLR(o, 0.9)], [2]), StepLR(o, 3)], [5])",
    "ChainedScheduler([ConstantLR(o, 0.1, 2), ExponentialLR(o, 0.9)])",
]  # fmt: skip


class Run:
    """A schedule of one library and its optimiser of two groups."""

    def __init__(self, library: Any, text: str, kind: str) -> None:
        self.library, self.text, self.kind, self.steps = library, text, kind, 0
        self.start()

    def start(self) -> None:
        ones = [self.library.ones(1, requires_grad=True) for _ in range(2)]
        groups = [{"params": ones[:1]}, {"params": ones[1:], "lr": 0.3}]
        settings = {"momentum": 0.9} if self.kind == "SGD" else {}
        self.optimizer = getattr(self.library.optim, self.kind)(groups, lr=0.1, **settings)
        self.scheduler = self.build()

    def build(self, **more: Any) -> Any:
        scope = {**vars(self.library.optim.lr_scheduler), **vars(self.library.optim.swa_utils), "o": self.optimizer}
        text = self.text[:-1] + "".join(f", {name}={value})" for name, value in more.items()) if more else self.text
        return eval(text, scope)

    def step(self, times: int) -> list[Any]:
        """Some steps; the settings after each."""
        rows = []
        for _ in range(times):
            self.optimizer.step()
            self.scheduler.step(*([METRICS[self.steps]] if "Plateau" in self.text else []))
            self.steps += 1
            rows.append(self.settings())
        return rows

    def settings(self) -> list[float]:
        groups = self.optimizer.param_groups
        momenta = [g.get("momentum", g.get("betas", (0.0,))[0] if "betas" in g else 0.0) for g in groups]
        return [*[float(g["lr"]) for g in groups], *momenta, *map(float, self.scheduler.get_last_lr())]

    def state(self) -> Any:
        return [self.scheduler.state_dict(), self.optimizer.state_dict()]

    def take(self, state: Any) -> None:
        self.start()
        self.scheduler.load_state_dict(state[0])
        self.optimizer.load_state_dict(state[1])


@pytest.mark.filterwarnings("ignore:Detected call of:UserWarning")  # PyTorch's, of schedules within schedules
@pytest.mark.parametrize(("text", "kind"), [*[(t, "SGD") for t in TEXTS], *[(t, "Adam") for t in TEXTS if "Cyc" in t]])
def test_thirty_steps_and_state_dicts_both_ways(text: str, kind: str) -> None:
    mine, theirs = Run(flambeau, text, kind), Run(torch, text, kind)
    assert mine.settings() == pytest.approx(theirs.settings(), abs=1e-15)
    np.testing.assert_allclose(mine.step(13), theirs.step(13), rtol=1e-14, atol=1e-16)
    ours, others = mine.state(), theirs.state()
    assert ours[0].keys() == others[0].keys()
    mine.take(handed_over(others, torch, flambeau))
    theirs.take(handed_over(ours, flambeau, torch))
    np.testing.assert_allclose(mine.step(17), theirs.step(17), rtol=1e-14, atol=1e-16)


@pytest.mark.parametrize("text", [t for t in TEXTS if not t.startswith(("Reduce", "Seq", "Chain"))])
def test_runs_that_go_on_and_steps_to_an_epoch(text: str) -> None:
    rows = []
    for library in (flambeau, torch):
        run = Run(library, text, "SGD")
        run.step(6)
        run.scheduler = run.build(last_epoch=5)
        settings = [run.settings(), *run.step(4)]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            run.scheduler.step(3)
        rows.append([*settings, run.settings(), *run.step(3)])
    np.testing.assert_allclose(*rows, rtol=1e-13, atol=1e-16)


REFUSED = [
    "StepLR(3, 1)", "LambdaLR(o, [lambda e: 1, lambda e: 2, lambda e: 3])", "LinearLR(o, start_factor=0)",
    "LinearLR(o, start_factor=2)", "LinearLR(o, end_factor=2)", "ConstantLR(o, factor=2)",
    "CosineAnnealingWarmRestarts(o, 0)", "CosineAnnealingWarmRestarts(o, 2, 0)",
    "CosineAnnealingWarmRestarts(o, 2).step(-1)", "OneCycleLR(o, 0.1)", "OneCycleLR(o, 0.1, total_steps=-1)",
    "OneCycleLR(o, 0.1, epochs=-1, steps_per_epoch=3)", "OneCycleLR(o, 0.1, epochs=1, steps_per_epoch=-3)",
    "OneCycleLR(o, 0.1, total_steps=3, pct_start=2)", "OneCycleLR(o, 0.1, total_steps=3, anneal_strategy='x')",
    "OneCycleLR(plain, 0.1, total_steps=3)", "OneCycleLR(o, [0.1], total_steps=3)",
    "CyclicLR(3, 0.1, 0.2)",
    "CyclicLR(o, 0.1, 0.2, mode='x')", "CyclicLR(plain, 0.1, 0.2)", "CyclicLR(o, [0.1], 0.2)",
    "ReduceLROnPlateau(o, factor=1.0)", "ReduceLROnPlateau(3)", "ReduceLROnPlateau(o, mode='x')",
    "ReduceLROnPlateau(o, threshold_mode='x')", "ReduceLROnPlateau(o, min_lr=[1.0])", "SequentialLR(o, [], [])",
    "SequentialLR(o, [StepLR(o, 1)], [2])", "SequentialLR(o, [ReduceLROnPlateau(o)], [])",
    "SequentialLR(o, [StepLR(o, 1), None], [2])", "ChainedScheduler([])", "SWALR(o, 0.05, anneal_strategy='x')",
    "SWALR(o, 0.05, anneal_epochs=-1)", "SWALR(o, [0.05])",
]  # fmt: skip


@pytest.mark.parametrize("call", REFUSED)
def test_refusals_have_the_class_and_text_that_users_know(call: str) -> None:
    errors = []
    for library in (flambeau, torch):
        run = Run(library, "StepLR(o, 1)", "SGD")
        plain = library.optim.Adagrad([library.ones(1, requires_grad=True)])
        scope = {**vars(library.optim.lr_scheduler), **vars(library.optim.swa_utils), "o": run.optimizer}
        with pytest.raises(Exception) as raised:  # noqa: PT011  (which one is what is compared)
            eval(call, scope | {"plain": plain})
        errors.append((type(raised.value).__name__, str(raised.value)))
    assert errors[0] == errors[1]
