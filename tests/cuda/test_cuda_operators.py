"""Every operator's samples on a device give what they give on the host, and so do their gradients."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from flambeau.ops import large
from flambeau.schema.opdef import Effect
from tests.cuda import device_gradients, device_samples
from tests.together import together

REFUSED = frozenset(Path(__file__).with_name("refused.txt").read_text().split())
"""Operators that have no kernel for devices."""
LOSSES = [f"aten::{name}_loss" for name in ("mse", "l1", "smooth_l1", "huber", "soft_margin", "nll")]


@together("name", device_samples.names(), several=10)
def test_samples(name: str, cuda: Any) -> None:
    for call in device_samples.calls_of(name):
        found = device_samples.outcome(call)
        if found.name in REFUSED:
            assert found.state == "refused", f"{call}: {found}"
            assert f"{name} has no kernel for CUDA devices yet" in found.text or "CUDA" in found.text
        else:
            assert found.state in ("ok", "skipped"), f"{call}: {found}"


def test_samples_as_large_ones(cuda: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """What kernels of the host do from some size on, they do not do on devices."""
    monkeypatch.setattr(large, "least_large", lambda definition: 1)
    monkeypatch.setattr(large, "_least", {})
    for name in LOSSES:
        for call in device_samples.calls_of(name):
            found = device_samples.outcome(call)
            assert found.state in ("ok", "skipped"), f"{call}: {found}"


@together("name", device_samples.names(), several=10)
def test_gradients(name: str, cuda: Any) -> None:
    for call in device_samples.calls_of(name):
        if call.definition.effect is Effect.RANDOM and "dropout" not in name:
            continue
        found = device_samples.outcome(call, check=device_gradients.check)
        if found.name not in REFUSED:
            assert found.state in ("ok", "skipped"), f"{call}: {found}"
