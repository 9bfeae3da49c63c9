"""CuPy's `Device`."""

from __future__ import annotations

from typing import Any

from tests.cuda.pretended import runtime
from tests.cuda.pretended.engine import engine

ATTRIBUTES = {
    "MaxThreadsPerBlock": 1024, "MaxBlockDimX": 1024, "MaxGridDimX": 2147483647, "WarpSize": 32,
    "MultiProcessorCount": 132, "MaxSharedMemoryPerBlock": 49152, "MaxSharedMemoryPerBlockOptin": 232448,
    "MaxSharedMemoryPerMultiprocessor": 233472, "MaxRegistersPerBlock": 65536, "MaxThreadsPerMultiProcessor": 2048,
    "L2CacheSize": 52428800, "ClockRate": 1785000, "MemoryClockRate": 2619000, "GlobalMemoryBusWidth": 5120,
}  # fmt: skip
CAPABILITY = ["90"]
"""What the devices say of themselves; tests may write another one."""


class Device:
    """A device by number; within `with`, the one in use."""

    def __init__(self, device: int | None = None) -> None:
        self.id = engine.device if device is None else int(device)
        self._before: list[int] = []

    def __int__(self) -> int:
        return self.id

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Device) and other.id == self.id

    def __hash__(self) -> int:
        return hash(self.id)

    def __enter__(self) -> Any:
        self._before.append(engine.device)
        engine.use(self.id)
        return self

    def __exit__(self, *_: object) -> None:
        engine.use(self._before.pop())

    def __repr__(self) -> str:
        return f"<CUDA Device {self.id}>"

    def use(self) -> None:
        engine.use(self.id)

    def synchronize(self) -> None:
        with Device(self.id):
            runtime.deviceSynchronize()

    @property
    def compute_capability(self) -> str:
        return CAPABILITY[0]

    @property
    def attributes(self) -> dict[str, int]:
        return dict(ATTRIBUTES)

    @property
    def mem_info(self) -> tuple[int, int]:
        with Device(self.id):
            return runtime.memGetInfo()

    @property
    def pci_bus_id(self) -> str:
        return f"0000:{self.id:02x}:00.0"
