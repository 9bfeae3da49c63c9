"""Batches in memory that devices copy from while the host goes on (`DataLoader(pin_memory=True)`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from flambeau.cuda.devices import is_available
from flambeau.tensor.settled import is_readable
from flambeau.tensor.tensor import Tensor


def pinned(batch: Any) -> Any:
    """A batch whose tensors are pinned, in containers like its own; what has a method `pin_memory` says itself.

    Without a device it is the batch as it is.

    >>> pinned({"x": [1, "two"]})
    {'x': [1, 'two']}
    """
    return _pinned(batch) if is_available() else batch


def _pinned(value: Any) -> Any:
    if isinstance(value, Tensor):
        tensor: Any = value
        return tensor.pin_memory() if is_readable(value) else value
    if isinstance(value, str | bytes):
        return value
    if isinstance(value, Mapping):
        pinned_values = {key: _pinned(one) for key, one in value.items()}
        return pinned_values if type(value) is dict else type(value)(pinned_values)  # type: ignore[call-arg]
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*map(_pinned, value))
    if isinstance(value, list | tuple):
        return type(value)(map(_pinned, value))
    return value.pin_memory() if hasattr(value, "pin_memory") else value
