"""What PyTorch has around gradients and is missing here: said so, with what to write instead."""

from __future__ import annotations

from typing import Final

OF_PACKAGE: Final = frozenset({"optim"})
"""Modules that are missing."""
NO_OPTIMISERS: Final = (
    "There are no optimisers yet: after backward(), change parameters in place under no_grad(), p -= rate * p.grad"
)
IN_PROGRAMS: Final = (
    "Gradients are computed outside of programs: return the tensor, and call backward() on it there"
)
