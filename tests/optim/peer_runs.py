"""The same optimiser, or schedule, in Flambeau and in PyTorch, over the same gradients."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

import numpy as np

import flambeau

SETTINGS: dict[str, tuple[dict[str, Any], ...]] = {
    "SGD": (
        {"lr": 0.1}, {"lr": 0.1, "momentum": 0.9, "dampening": 0.3, "weight_decay": 0.01},
        {"lr": 0.1, "momentum": 0.9, "nesterov": True, "weight_decay": 0.1}, {"lr": 0.1, "maximize": True},
    ),
    "Adam": (
        {"lr": 0.1, "amsgrad": True}, {"weight_decay": 0.1},
        {"maximize": True, "amsgrad": True, "weight_decay": 0.1, "betas": (0.5, 0.6), "eps": 1e-3},
        {"weight_decay": 0.1, "decoupled_weight_decay": True},
    ),
    "AdamW": ({"lr": 0.1, "amsgrad": True}, {"weight_decay": 0.1, "maximize": True}),
    "Adamax": ({"lr": 0.1}, {"weight_decay": 0.1, "maximize": True}),
    "RMSprop": (
        {"lr": 0.1}, {"momentum": 0.9}, {"centered": True},
        {"lr": 1e-3, "centered": True, "momentum": 0.9, "weight_decay": 0.1, "maximize": True},
    ),
    "Adagrad": (
        {"lr": 0.1}, {"lr_decay": 0.1, "weight_decay": 0.1, "initial_accumulator_value": 0.5, "maximize": True},
    ),
    "Adadelta": ({}, {"rho": 0.5, "weight_decay": 0.1, "maximize": True, "eps": 1e-3}),
    "NAdam": (
        {"lr": 0.1, "weight_decay": 0.1},
        {"weight_decay": 0.1, "decoupled_weight_decay": True, "maximize": True, "momentum_decay": 0.1},
    ),
    "RAdam": (
        {"lr": 0.1, "weight_decay": 0.1},
        {"weight_decay": 0.1, "decoupled_weight_decay": True, "maximize": True, "betas": (0.8, 0.9)},
    ),
    "ASGD": (
        {"lr": 0.1}, {"lr": 0.1, "t0": 3, "lambd": 0.1, "alpha": 0.5, "weight_decay": 0.1},
        {"t0": 0, "maximize": True},
    ),
    "Rprop": ({"lr": 0.1}, {"lr": 0.01, "etas": (0.3, 1.5), "step_sizes": (1e-4, 0.05), "maximize": True}),
}  # fmt: skip
"""All options of every optimiser that is one formula per parameter."""
SHAPES = ((3, 4), (7,), (), (0,), (33, 5))


def normal(draw: np.random.Generator, shape: Sequence[int], dtype: str) -> np.ndarray:
    """Random numbers, complex ones too."""
    values = draw.standard_normal(shape)
    return np.asarray(values + 1j * draw.standard_normal(shape) if dtype == "complex64" else values, dtype)


def handed_over(value: Any, source: Any, target: Any) -> Any:
    """What the other library loads of what one saved."""
    file = io.BytesIO()
    source.save(value, file)
    file.seek(0)
    return target.load(file)


class Training:
    """An optimiser of one library, its parameters and gradients that do not depend on which one it is."""

    def __init__(self, library: Any, name: str, settings: dict[str, Any], dtype: str) -> None:
        self.library, self.name, self.settings, self.dtype = library, name, settings, dtype
        draw = np.random.default_rng(1)
        self.parameters = [library.tensor(normal(draw, s, dtype), requires_grad=True) for s in SHAPES]
        self.optimizer = self.fresh()
        self._draw = np.random.default_rng(2)
        self._steps = 0

    def fresh(self) -> Any:
        """Another optimiser of the same parameters."""
        return getattr(self.library.optim, self.name)(self.parameters, **self.settings)

    def step(self, times: int) -> None:
        """Some steps. One parameter has no gradient in each third of them, one gets zeros and a nan once."""
        for _ in range(times):
            for number, parameter in enumerate(self.parameters):
                gradient = normal(self._draw, SHAPES[number], self.dtype)
                if number == 0 and self._steps == 5:
                    gradient.flat[:2] = 0, np.nan
                parameter.grad = None
                if number != 1 or self._steps % 3:
                    parameter.grad = self.library.tensor(gradient)
            self.optimizer.step()
            self._steps += 1

    def take(self, state: dict[str, Any]) -> None:
        """Go on with another optimiser that loads a state dict."""
        self.optimizer = self.fresh()
        self.optimizer.load_state_dict(state)

    def tensors(self) -> dict[str, np.ndarray]:
        """The parameters and all of the state, by name."""
        result = {f"parameter {k}": p.detach().numpy() for k, p in enumerate(self.parameters)}
        for number, state in self.optimizer.state_dict()["state"].items():
            result |= {f"{name} of {number}": value.numpy() for name, value in state.items()}
        return result


def assert_same(mine: Training, theirs: Training) -> None:
    """The same parameters, state and settings."""
    ours, others = mine.tensors(), theirs.tensors()
    assert ours.keys() == others.keys()
    tolerance = 1e-13 if mine.dtype == "float64" else 5e-5
    for name, value in others.items():
        assert (ours[name].dtype, ours[name].shape) == (value.dtype, value.shape), name
        np.testing.assert_allclose(ours[name], value, rtol=tolerance, atol=tolerance, err_msg=name)
    groups = [t.optimizer.state_dict()["param_groups"] for t in (mine, theirs)]
    assert [list(g) for g in groups[0]] == [list(g) for g in groups[1]]


def both(torch: Any, name: str, settings: dict[str, Any], dtype: str) -> tuple[Training, Training]:
    """The same training twice."""
    return Training(flambeau, name, settings, dtype), Training(torch, name, settings, dtype)
