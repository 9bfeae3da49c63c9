"""One step as a function does what the step of the optimiser's class does, and changes the lists that it is given."""

from __future__ import annotations

from typing import Any

import pytest

import flambeau
from flambeau import Tensor, optim
from flambeau.optim import steps

COMMON = {"lr": 0.1, "weight_decay": 0.01}
BETAS = {**COMMON, "beta1": 0.9, "beta2": 0.99, "eps": 1e-8}
CASES: dict[str, tuple[str, list[str], dict[str, Any], dict[str, Any]]] = {
    # the class, the lists of states in order, what the function is told, what the class is told
    "sgd": ("SGD", ["momentum_buffer"], {**COMMON, "momentum": 0.9, "dampening": 0.5, "nesterov": False,
            "maximize": True}, {}),
    "adam": ("Adam", ["exp_avg", "exp_avg_sq", "max_exp_avg_sq", "step"], {**BETAS, "amsgrad": True, "maximize": False},
             {}),
    "adamw": ("AdamW", ["exp_avg", "exp_avg_sq", "", "step"], {**BETAS, "amsgrad": False, "maximize": True}, {}),
    "adamax": ("Adamax", ["exp_avg", "exp_inf", "step"], BETAS, {}),
    "nadam": ("NAdam", ["exp_avg", "exp_avg_sq", "mu_product", "step"], {**BETAS, "momentum_decay": 0.1}, {}),
    "radam": ("RAdam", ["exp_avg", "exp_avg_sq", "step"], {**BETAS, "decoupled_weight_decay": True}, {}),
    "adadelta": ("Adadelta", ["square_avg", "acc_delta", "step"], {**COMMON, "rho": 0.8, "eps": 1e-6,
                 "maximize": False}, {}),
    "adagrad": ("Adagrad", ["sum", "step"], {**COMMON, "lr_decay": 0.1, "eps": 1e-6, "maximize": True}, {}),
    "rmsprop": ("RMSprop", ["square_avg", "grad_avg", "momentum_buffer", "step"], {**COMMON, "alpha": 0.9, "eps": 1e-6,
                "momentum": 0.9, "centered": True}, {}),
    "rprop": ("Rprop", ["prev", "step_size", "step"], {"etaminus": 0.5, "etaplus": 1.5, "step_size_min": 0.01,
              "step_size_max": 2.0}, {"lr": 0.1, "etas": (0.5, 1.5), "step_sizes": (0.01, 2.0)}),
    "asgd": ("ASGD", ["ax", "mu", "eta", "step"], {**COMMON, "lambd": 0.1, "t0": 1.0, "alpha": 0.75}, {}),
}  # fmt: skip
FIRST = {"mu_product": 1.0, "mu": 1.0, "eta": 0.1, "step_size": 0.1}


def gradient(x: Tensor) -> Tensor:
    return x.detach() * 3 - 1


def start(name: str, x: Tensor) -> Tensor:
    if name in ("step", "mu_product", "mu", "eta"):
        return flambeau.tensor(FIRST.get(name, 0.0))
    return flambeau.full_like(x, FIRST.get(name, 0.0))


@pytest.mark.parametrize("name", CASES)
def test_steps_are_those_of_the_class(name: str) -> None:
    kind, states, settings, others = CASES[name]
    wanted = flambeau.tensor([1.0, -2.0], requires_grad=True)
    said = dict(others or settings)
    if "beta1" in said:
        said["betas"] = said.pop("beta1"), said.pop("beta2")
    optimizer = getattr(optim, kind)([wanted], **said)
    params = [wanted.detach().clone(), flambeau.ones(3)]
    lists: list[list[Any]] = [[start(state, x) for x in params] if state else [] for state in states]
    if name == "sgd":
        lists = [[None, None]]
    for _ in range(4):
        wanted.grad = gradient(wanted)
        optimizer.step()
        getattr(steps, name)(params, [gradient(x) for x in params], *lists, **settings)
    assert flambeau.equal(params[0], wanted.detach())
    assert not flambeau.equal(params[1], flambeau.ones(3))
    state = optimizer.state[wanted]
    assert all(flambeau.equal(values[0], state[key]) for key, values in zip(states, lists, strict=True) if key)


def test_without_momentum_there_is_no_buffer() -> None:
    x, buffers = flambeau.ones(1), [None]
    settings = {"weight_decay": 0.0, "momentum": 0.0, "lr": 0.5, "dampening": 0.0, "nesterov": False}
    steps.sgd([x], [x * 1], buffers, maximize=False, **settings)
    assert (x.item(), buffers) == (0.5, [None])


def test_recorded_steps() -> None:
    rate = flambeau.tensor(0.1, requires_grad=True)
    x = flambeau.ones(1, requires_grad=True) * 1
    count, first, second = flambeau.tensor(0.0), flambeau.zeros(1), flambeau.zeros(1)
    settings = {"beta1": 0.9, "beta2": 0.99, "eps": 1e-8, "weight_decay": 0.0, "maximize": False, "amsgrad": False}
    steps.adam([x], [x.detach() * 3], [first], [second], [], [count], differentiable=True, lr=rate, **settings)
    x.sum().backward()
    assert rate.grad is not None
    assert rate.grad.item() == pytest.approx(-1.0)


def test_wrong_lists_and_names() -> None:
    import flambeau.optim._functional as others

    x = flambeau.ones(1)
    assert others.rprop is steps.rprop
    with pytest.raises(ValueError, match="adagrad: sum has 0 entries for 1 parameters"):
        steps.adagrad([x], [x], [], [x], lr=0.1, weight_decay=0, lr_decay=0, eps=1e-6, maximize=False)
    with pytest.raises(NotImplementedError, match="divide the gradients before"):
        steps.adagrad(
            [x], [x], [x], [x], None, x, lr=0.1, weight_decay=0, lr_decay=0, eps=1e-6, maximize=False
        )  # fmt: skip
