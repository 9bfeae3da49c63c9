"""What PyTorch has around gradients and is missing here: said so, with what to write instead."""

from __future__ import annotations

from typing import Final

IN_PROGRAMS: Final = (
    "Gradients are computed outside of programs: return the tensor, and call backward() on it there"
)
