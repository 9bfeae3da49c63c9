"""`cuda.amp.autocast`: without a CUDA device it does nothing, with a warning where it is enabled."""

from __future__ import annotations

from flambeau.tensor.autocast import CudaAutocast as autocast  # noqa: N813  (as programs write it)

__all__ = ["autocast"]
