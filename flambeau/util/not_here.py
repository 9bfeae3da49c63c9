"""What PyTorch has for gradients, and programs ask for: said to be missing, with what to write instead."""

from __future__ import annotations

from typing import Final

OF_TENSORS: Final = frozenset({"backward", "retain_grad", "register_hook"})
"""Methods of tensors that belong to gradients."""
OF_PACKAGE: Final = frozenset({"autograd", "optim"})
"""Modules that do."""
NO_GRADIENTS: Final = (
    "Nothing is differentiated yet: write the gradients with operators, and change parameters in place under no_grad()"
)
