"""Every optimiser with every option goes PyTorch's way, and each loads the other's state."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import flambeau
from tests.optim.peer_runs import SETTINGS, assert_same, both, handed_over

torch = pytest.importorskip("torch", reason="torch is a peer, not a dependency")
CASES = [
    pytest.param(name, settings, dtype, id=f"{name}-{k}-{dtype}")
    for name, all_ in SETTINGS.items()
    for k, settings in enumerate(all_)
    for dtype in ("float32", "float64", "complex64")
    if dtype != "complex64" or settings is all_[-1]
]


@pytest.mark.parametrize(("name", "settings", "dtype"), CASES)
def test_twenty_steps_and_state_dicts_both_ways(name: str, settings: dict[str, Any], dtype: str) -> None:
    mine, theirs = both(torch, name, settings, dtype)
    mine.step(10)
    theirs.step(10)
    assert_same(mine, theirs)
    ours = mine.optimizer.state_dict()
    mine.take(handed_over(theirs.optimizer.state_dict(), torch, flambeau))
    theirs.take(handed_over(ours, flambeau, torch))
    mine.step(10)
    theirs.step(10)
    assert_same(mine, theirs)


@pytest.mark.parametrize("name", SETTINGS)
def test_differentiable_steps_are_the_same_steps(name: str) -> None:
    """The formula as Python, recorded, and as a kernel."""
    settings = {k: v for k, v in SETTINGS[name][-1].items() if k != "fused"}
    results = []
    for differentiable in (False, True):
        start = flambeau.arange(5.0, dtype=flambeau.float64).requires_grad_()
        parameter = start * 1.0 if differentiable else start
        optimizer = getattr(flambeau.optim, name)([parameter], differentiable=differentiable, **settings)
        for _ in range(3):
            parameter.grad = flambeau.cos(parameter.detach())
            optimizer.step()
        assert parameter.requires_grad
        assert (parameter.grad_fn is not None) == differentiable
        results.append(parameter.detach().numpy())
    np.testing.assert_allclose(*results, rtol=1e-13)


@pytest.mark.parametrize("line_search", [None, "strong_wolfe"])
@pytest.mark.parametrize("settings", [{}, {"max_iter": 5, "history_size": 3}])
def test_lbfgs(line_search: str | None, settings: dict[str, Any]) -> None:
    rate = 1e-3 if line_search is None else 0.5
    runs = []
    for library in (flambeau, torch):
        x = library.tensor([-1.2, 1.0, 0.7], dtype=library.float64, requires_grad=True)
        w = library.tensor([[0.3, -0.2]], dtype=library.float64, requires_grad=True)
        optimizer = library.optim.LBFGS([x, w], lr=rate, line_search_fn=line_search, **settings)
        calls = [0]

        def closure(optimizer: Any = optimizer, x: Any = x, w: Any = w, calls: list[int] = calls) -> Any:
            calls[0] += 1
            optimizer.zero_grad()
            loss = (1 - x[0]) ** 2 + 100 * (x[1] - x[0] ** 2) ** 2 + ((w @ x[:2] - x[2:]) ** 2).sum() + (w**4).sum()
            loss.backward()
            return loss

        losses = []
        for step in range(4):
            losses.append(optimizer.step(closure).item())
            if step == 1:
                again = library.optim.LBFGS([x, w], lr=rate, line_search_fn=line_search, **settings)
                again.load_state_dict(handed_over(optimizer.state_dict(), library, library))
                optimizer = again
        runs.append((calls, losses, x.detach().numpy()))
    assert runs[0][0] == runs[1][0]
    np.testing.assert_allclose(runs[0][1], runs[1][1], rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(runs[0][2], runs[1][2], rtol=1e-3)


REFUSED = [
    "SGD(p, lr=-1.0)", "SGD(p, momentum=-1.0)", "SGD(p, weight_decay=-1.0)", "SGD(p, nesterov=True)", "SGD([])",
    "SGD(x)",
    "SGD([1.0])", "SGD(3)", "SGD([x * 2])", "SGD([{'params': p}, {'params': p}])", "SGD([{'params': {x}}])",
    "SGD([{'x': p}])", "SGD([('a', x), x])", "SGD([('a', x)]).add_param_group({'params': [y]})",
    "SGD(p).add_param_group([y])", "SGD(p).load_state_dict({'state': {}, 'param_groups': []})",
    "SGD(p).load_state_dict({'state': {}, 'param_groups': [{'params': [0, 1]}]})",
    "SGD(p).load_state_dict({'state': {}})",
    "SGD(p, fused=True, foreach=True)", "SGD(p, fused=True, differentiable=True)", "Adam(p, lr=two)",
    "Adam(p, betas=(1.5, 0.9))", "Adam(p, betas=(0.5, 1.9))", "Adam(p, eps=-1.0)", "Adam(p, lr=one, foreach=True)",
    "AdamW(p, weight_decay=-1.0)", "Adamax(p, eps=-1.0)", "NAdam(p, momentum_decay=-1.0)", "RAdam(p, lr=-1.0)",
    "RMSprop(p, alpha=-1.0)", "RMSprop(p, momentum=-1.0)", "Adagrad(p, lr_decay=-1.0)",
    "Adagrad(p, initial_accumulator_value=-1.0)", "Adadelta(p, rho=-1.0)", "Rprop(p, etas=(1.5, 0.9))",
    "LBFGS([{'params': p}, {'params': [y]}])",
]  # fmt: skip


@pytest.mark.parametrize("call", REFUSED)
def test_refusals_have_the_class_and_text_that_users_know(call: str) -> None:
    errors = []
    for library in (flambeau, torch):
        x, y = library.ones(2, requires_grad=True), library.ones(2, requires_grad=True)
        scope = vars(library.optim) | {
            "x": x, "y": y, "p": [x], "one": library.tensor(0.1), "two": library.tensor([0.1, 0.2]),
        }  # fmt: skip
        with pytest.raises(Exception) as raised:  # noqa: PT011  (which one is what is compared)
            eval(call, scope)
        errors.append((type(raised.value).__name__, str(raised.value).replace("torch.FloatTensor", "Tensor")))
    assert errors[0] == errors[1]


def test_an_optimizer_without_a_step_says_what_to_define() -> None:
    for library, text in ((flambeau, r"define `step\(self, closure=None\)`"), (torch, "^$")):
        with pytest.raises(NotImplementedError, match=text):
            library.optim.Optimizer([library.ones(2, requires_grad=True)], {}).step()
