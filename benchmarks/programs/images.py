"""Networks over images, each one function to compile. Where PyTorch runs them, `flambeau` means `torch`."""

from __future__ import annotations

import flambeau
from flambeau import Tensor


def residual_block(x: Tensor, first: Tensor, second: Tensor) -> Tensor:
    inner = flambeau.relu(flambeau.conv2d(x, first, padding=1))
    return flambeau.relu(flambeau.conv2d(inner, second, padding=1) + x)
