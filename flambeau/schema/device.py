"""The device that a tensor's memory is on: `Device("cpu")`, `Device("cuda", 0)`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from flambeau.util.inversions import DEVICE_BLOCK
from flambeau.util.record import dataclass

KINDS = (
    "cpu", "cuda", "ipu", "xpu", "mkldnn", "opengl", "opencl", "ideep", "hip", "ve", "fpga", "maia", "xla", "lazy",
    "vulkan", "mps", "meta", "hpu", "mtia", "privateuseone",
)  # fmt: skip
"""The device types that programs may name; those without a backend here are refused when data is put on them."""

NO_DEVICE: Final = (
    "device() received an invalid combination of arguments - got ({got}), but expected a text such as 'cpu' or "
    "'cuda:1', a kind and an index, a device, or the number of a CUDA device"
)
WHEN_NAMED: Final[list[Callable[[], None]]] = []
"""Called when somebody names a device other than the CPU: until then nobody looks for tensors that are elsewhere."""


@dataclass(frozen=True, slots=True)
class Device:
    """A device type and an optional index.

    Args:
        type: "cpu" or another device, perhaps with an index: "cuda:1"; a device, or the number of a CUDA device.
        index: which one.

    >>> Device("cuda:1")
    device(type='cuda', index=1)
    >>> Device(Device("cpu")), Device(1)
    (device(type='cpu'), device(type='cuda', index=1))
    >>> Device("cpu").index is None
    True

    Raises RuntimeError for an unknown type or a malformed index, TypeError for what names no device.
    """

    type: str
    index: int | None = None

    def __post_init__(self) -> None:
        if self.type.__class__ is not str:
            self._take(self.type)
        kind, colon, index = self.type.partition(":")
        if not self.type:
            raise RuntimeError("Device string must not be empty")
        if kind not in KINDS:
            raise RuntimeError(f"Expected one of {', '.join(KINDS)} device type at start of device string: {kind}")
        if colon:
            if not index.isdigit() or self.index is not None:
                raise RuntimeError(f"Invalid device string: '{self.type}'")
            object.__setattr__(self, "type", kind)
            object.__setattr__(self, "index", int(index))

        if self.type in ("meta", "cuda"):
            for action in WHEN_NAMED:
                action()

    def _take(self, named: object) -> None:
        """Be what something other than a text names."""
        if isinstance(named, str):
            kind, index = str(named), self.index
        elif isinstance(named, Device) and self.index is None:
            kind, index = named.type, named.index
        elif type(named) is int and self.index is None:
            kind, index = "cuda", named
        else:
            raise TypeError(NO_DEVICE.format(got=type(named).__name__))
        if index is not None and index < 0:
            raise RuntimeError("Device index must not be negative")
        object.__setattr__(self, "type", kind)
        object.__setattr__(self, "index", index)

    def __enter__(self) -> Device:
        DEVICE_BLOCK.implementation[0](self)
        return self

    def __exit__(self, *_: object) -> None:
        DEVICE_BLOCK.implementation[1](self)

    def __str__(self) -> str:
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __repr__(self) -> str:
        return (
            f"device(type={self.type!r})" if self.index is None else f"device(type={self.type!r}, index={self.index})"
        )


CPU = Device("cpu")
META = Device("meta")
