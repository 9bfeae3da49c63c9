"""The device that new tensors are on where none is named: within `with flambeau.device("meta")`, or for a thread.

>>> import flambeau
>>> with flambeau.device("meta"):
...     flambeau.zeros(2)
tensor(..., device='meta', size=(2,))
"""

from __future__ import annotations

import functools
import threading
from typing import Any

from flambeau.schema import registry
from flambeau.schema.bind import positional_tensor
from flambeau.schema.device import CPU, Device
from flambeau.tensor.create import as_tensor, asarray, tensor
from flambeau.tensor.modes import FunctionMode
from flambeau.util.inversions import DEVICE_BLOCK


class DeviceMode(FunctionMode):
    """Gives functions that make tensors a device where the call names none."""

    def __init__(self, device: Device) -> None:
        self.device = device

    def __flambeau_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        named = kwargs or {}
        if named.get("device") is None and takes_device(func):
            named = {**named, "device": self.device}
        return func(*args, **named)


def takes_device(function: Any) -> bool:
    """Whether a function makes tensors of something else than tensors, on a device of choice.

    >>> import flambeau
    >>> takes_device(flambeau.zeros), takes_device(flambeau.zeros_like), takes_device(flambeau.tensor)
    (True, False, True)
    """
    if function in (tensor, as_tensor, asarray):
        return True
    name = getattr(function, "operator_name", None)
    return isinstance(name, str) and makes_tensors(name)


@functools.lru_cache(maxsize=4096)
def makes_tensors(name: str) -> bool:
    """Whether an operator makes tensors of numbers alone, on a device of choice.

    >>> makes_tensors("aten::arange"), makes_tensors("aten::full_like")
    (True, False)
    """
    overloads = [d for d in registry.overloads(name) if d.family != "out"]
    return any("device" in d.schema.index and not positional_tensor(d.schema) for d in overloads)


class _Entered(threading.local):
    def __init__(self) -> None:
        self.blocks: list[DeviceMode] = []
        self.default: DeviceMode | None = None


_entered = _Entered()


def _enter(device: Device) -> None:
    mode = DeviceMode(device)
    mode.__enter__()
    _entered.blocks.append(mode)


def _leave(device: Device) -> None:
    _entered.blocks.pop().__exit__(None, None, None)


DEVICE_BLOCK.provide((_enter, _leave))


def set_default_device(device: Any) -> None:
    """Have new tensors of this thread be on a device where none is named; on the CPU with None.

    Args:
        device: "cpu" or "meta", or None.

    >>> import flambeau
    >>> flambeau.set_default_device("meta")
    >>> flambeau.ones(2).device, flambeau.get_default_device()
    (device(type='meta'), device(type='meta'))
    >>> flambeau.set_default_device(None)
    """
    chosen = None if device is None else Device(device) if isinstance(device, str) else device
    if _entered.default is not None:
        _entered.default.__exit__(None, None, None)
        _entered.default = None
    if chosen is not None and chosen.type != "cpu":
        _entered.default = DeviceMode(chosen)
        _entered.default.__enter__()


def get_default_device() -> Device:
    """The device of new tensors where none is named.

    >>> import flambeau
    >>> flambeau.get_default_device()
    device(type='cpu')
    """
    if _entered.blocks:
        return _entered.blocks[-1].device
    return CPU if _entered.default is None else _entered.default.device
