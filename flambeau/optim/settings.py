"""Hyperparameters of optimisers, with the range of each; the messages are those that PyTorch's users know."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping
from typing import Any, Final

from flambeau.tensor.tensor import Tensor


def check_hyperparameters(values: Mapping[str, Any], unbounded: Container[str] = ()) -> None:
    """Refuse hyperparameters that are not in the range that the name has in `RANGES`, unless they are `unbounded`.

    Raises ValueError, for the first in the order of `RANGES`.
    """
    for name, check in RANGES.items():
        if name in values and name not in unbounded:
            check(name, values[name])


def _rate(name: str, value: Any) -> None:
    if isinstance(value, Tensor) and value.numel() != 1:
        raise ValueError("Tensor lr must be 1-element")
    if not value >= 0.0:
        raise ValueError(f"Invalid learning rate: {value}")


def _not_negative(name: str, value: Any) -> None:
    if not value >= 0.0:
        raise ValueError(f"Invalid {'epsilon' if name == 'eps' else name} value: {value}")


def _share(name: str, value: Any) -> None:
    if not 0.0 <= value <= 1.0:
        raise ValueError(f"Invalid {name} value: {value}")


def _factors_of_averages(name: str, value: Any) -> None:
    for index, beta in enumerate(value):
        if not 0.0 <= beta < 1.0:
            raise ValueError(f"Invalid beta parameter at index {index}: {beta}")


def _factors_of_steps(name: str, value: Any) -> None:
    shorter, longer = value
    if not 0.0 < shorter < 1.0 < longer:
        raise ValueError(f"Invalid eta values: {shorter}, {longer}")


RANGES: Final[Mapping[str, Callable[[str, Any], None]]] = {
    "lr": _rate,
    "rho": _share,
    "eps": _not_negative,
    "betas": _factors_of_averages,
    "etas": _factors_of_steps,
    "momentum": _not_negative,
    "lr_decay": _not_negative,
    "weight_decay": _not_negative,
    "initial_accumulator_value": _not_negative,
    "momentum_decay": _not_negative,
    "alpha": _not_negative,
}
"""By the name of a hyperparameter, what raises unless its value is one that it may have."""


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
