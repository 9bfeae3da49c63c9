"""CUDA's libraries, which are not used: their switches keep what they are set to."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Final

matmul: Final = SimpleNamespace(allow_tf32=False, allow_fp16_reduced_precision_reduction=True)
"""The switches of matrix products."""


def is_built() -> bool:
    """Whether it is there: never."""
    return False
