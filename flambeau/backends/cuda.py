"""Switches of CUDA's libraries: what products on devices are computed in."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Final

matmul: Final = SimpleNamespace(allow_tf32=False, allow_fp16_reduced_precision_reduction=True)
"""The switches of matrix products."""


def is_built() -> bool:
    """Whether it is there: never."""
    return False
