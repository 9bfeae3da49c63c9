"""What PyTorch has around gradients and is missing here: said so, with what to write instead."""

from __future__ import annotations

from typing import Final

IN_PROGRAMS: Final = (
    "Programs compute gradients with autograd.grad and backward(), and know nothing else of the tape: look at it "
    "outside"
)
