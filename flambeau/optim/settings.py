"""Settings of optimisers, checked: the messages are those that PyTorch's users know."""

from __future__ import annotations

from typing import Any, Final

from flambeau.tensor.tensor import Tensor

NAMES: Final = {"lr": "learning rate", "eps": "epsilon value"}
"""What messages call settings that they do not call by their own name."""


def check_settings(lr: Any, **others: Any) -> None:
    """Refuse a negative rate and other negative settings. Raises ValueError."""
    if isinstance(lr, Tensor) and lr.numel() != 1:
        raise ValueError("Tensor lr must be 1-element")
    for name, value in {"lr": lr, **others}.items():
        if not value >= 0.0:
            raise ValueError(f"Invalid {NAMES.get(name, f'{name} value')}: {value}")


def check_betas(betas: tuple[Any, Any]) -> None:
    """Refuse factors of averages that are not in [0, 1). Raises ValueError."""
    for index, beta in enumerate(betas):
        if not 0.0 <= beta < 1.0:
            raise ValueError(f"Invalid beta parameter at index {index}: {beta}")


def check_ways(settings: dict[str, Any]) -> None:
    """Refuse ways to run that exclude each other: all updates here are fused, whichever is asked for.

    Raises RuntimeError and ValueError.
    """
    fused, foreach = settings.get("fused"), settings.get("foreach")
    if fused and settings.get("differentiable"):
        raise RuntimeError("`fused` does not support `differentiable`")
    if fused and foreach:
        raise RuntimeError("`fused` and `foreach` cannot be `True` together.")


def check_tensor_rate(lr: Any, foreach: bool | None, capturable: bool) -> None:
    """Refuse a rate that is a tensor where it may not be. Raises ValueError."""
    if isinstance(lr, Tensor) and foreach and not capturable:
        raise ValueError("lr as a Tensor is not supported for capturable=False and foreach=True")
