"""`cpu.amp.autocast`: see `flambeau.autocast`."""

from __future__ import annotations

from flambeau.tensor.autocast import CpuAutocast as autocast  # noqa: N813  (as programs write it)

__all__ = ["autocast"]
