"""Adafactor and Muon go PyTorch's way, load its state, and refuse what it refuses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import flambeau
from flambeau import optim
from tests.optim.peer_runs import handed_over

ADAFACTOR = (
    {}, {"lr": 0.1, "weight_decay": 0.1},
    {"lr": 0.1, "eps": (1e-8, 1e-2), "beta2_decay": -0.5, "d": 2.0, "maximize": True},
)  # fmt: skip
MUON = (
    {"lr": 0.1}, {"lr": 0.1, "nesterov": False, "weight_decay": 0.0, "momentum": 0.5},
    {"lr": 0.1, "adjust_lr_fn": "match_rms_adamw", "ns_steps": 3},
)  # fmt: skip
CASES = [
    *[("Adafactor", settings, ((3, 4), (7,), (), (2, 3, 5)), 2e-6) for settings in ADAFACTOR],
    *[("Muon", settings, ((3, 4), (6, 2), (5, 5)), 2e-2) for settings in MUON],  # in bfloat16
]


@pytest.mark.parametrize(("name", "settings", "shapes", "tolerance"), CASES)
def test_steps_are_pytorchs_and_states_are_handed_over(
    name: str, settings: dict[str, Any], shapes: tuple[tuple[int, ...], ...], tolerance: float
) -> None:
    torch = pytest.importorskip("torch", reason="torch is a peer, not a dependency")
    draw = np.random.default_rng(3)
    starts = [np.asarray(draw.standard_normal(s), np.float32) for s in shapes]
    sides = []
    for library in (flambeau, torch):
        parameters = [library.from_numpy(a.copy()).requires_grad_() for a in starts]
        sides.append((library, parameters, getattr(library.optim, name)(parameters, **settings)))
    for step in range(6):
        gradients = [np.asarray(draw.standard_normal(s), np.float32) for s in shapes]
        for library, parameters, optimizer in sides:
            for parameter, gradient in zip(parameters, gradients, strict=True):
                parameter.grad = library.from_numpy(gradient.copy())
            optimizer.step()
        if step == 2:
            ours, theirs = (optimizer.state_dict() for _, _, optimizer in sides)
            sides[0][2].load_state_dict(handed_over(theirs, torch, flambeau))
            sides[1][2].load_state_dict(handed_over(ours, flambeau, torch))
    for mine, other in zip(sides[0][1], sides[1][1], strict=True):
        np.testing.assert_allclose(mine.detach().numpy(), other.detach().numpy(), rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize(
    ("name", "settings", "text"),
    [
        ("Adafactor", {"lr": -1}, "Invalid learning rate: -1"),
        ("Adafactor", {"beta2_decay": 1}, "beta2_decay should be <= 0 but is: 1"),
        ("Adafactor", {"eps": (-1, 1)}, "epsilon1 should be >= 0 but is: -1"),
        ("Adafactor", {"eps": (None, -1)}, "epsilon2 should be >= 0 but is: -1"),
        ("Adafactor", {"d": 0.5}, "Clipping threshold d should be >= 1 but is: 0.5"),
        ("Muon", {"momentum": -1}, "Invalid momentum value: -1"),
        ("Muon", {"adjust_lr_fn": "x"}, "Adjust learning rate function x is not supported"),
        ("Muon", {"ns_steps": 100}, "Number of steps must be less than 100"),
        ("Muon", {"ns_coefficients": (1.0, 2.0)}, "Coefficients must be a tuple of exactly 3 values"),
    ],
)
def test_settings_out_of_their_range_are_refused(name: str, settings: dict[str, Any], text: str) -> None:
    with pytest.raises(ValueError, match=text):
        getattr(optim, name)([flambeau.ones(2, 2, requires_grad=True)], **settings)


def test_what_they_do_not_change() -> None:
    with pytest.raises(ValueError, match=r"Muon only supports 2D parameters .* size: \(2,\)"):
        optim.Muon([flambeau.ones(2, requires_grad=True)])
    for kind in (optim.Muon, optim.Adafactor):
        parameter = flambeau.ones(2, 2, dtype=flambeau.complex64, requires_grad=True)
        parameter.grad = flambeau.ones(2, 2, dtype=flambeau.complex64)
        with pytest.raises(RuntimeError, match=f"{kind.__name__} does not support complex parameters"):
            kind([parameter]).step()
