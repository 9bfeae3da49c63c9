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

WHEN_NAMED: Final[list[Callable[[], None]]] = []
"""Called when somebody names a device other than the CPU: until then nobody looks for tensors that are elsewhere."""


@dataclass(frozen=True, slots=True)
class Device:
    """A device type and an optional index.

    Args:
        type: "cpu" or another device, perhaps with an index: "cuda:1".
        index: which one.

    >>> Device("cuda:1")
    device(type='cuda', index=1)
    >>> Device("cpu").index is None
    True

    Raises RuntimeError for an unknown type or a malformed index.
    """

    type: str
    index: int | None = None

    def __post_init__(self) -> None:
        kind, colon, index = self.type.partition(":")
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
