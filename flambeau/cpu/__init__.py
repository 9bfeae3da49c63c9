"""The device that tensors are on, as programs ask for it."""

from __future__ import annotations

from flambeau.cpu import amp

__all__ = ["amp", "current_device", "device_count", "is_available", "synchronize"]


def is_available() -> bool:
    """Always.

    >>> is_available(), device_count(), current_device()
    (True, 1, 'cpu')
    """
    return True


def device_count() -> int:
    """One.

    >>> device_count()
    1
    """
    return 1


def current_device() -> str:
    """Its name.

    >>> current_device()
    'cpu'
    """
    return "cpu"


def synchronize() -> None:
    """Operators have finished when they return: there is nothing to wait for.

    >>> synchronize()
    """
