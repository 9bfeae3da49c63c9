"""Kinds of devices that tensors are never on here, as programs ask for them: `xpu`, `mps`, `mtia`.

>>> absent_device("xpu").is_available()
False
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any, Final

NOT_HERE: Final = (
    "flambeau.{kind}.{name}: tensors are on the CPU or on CUDA devices; ask {kind}.is_available() first, which is False"
)


class AbsentDevice(ModuleType):
    """A module of a kind of device, of which there is none.

    >>> absent_device("mps").device_count()
    0
    """

    def __getattr__(self, name: str) -> Any:
        kind = self.__name__.rpartition(".")[2]
        raise AttributeError(NOT_HERE.format(kind=kind, name=name))

    def is_available(self) -> bool:
        """Never."""
        return False

    def device_count(self) -> int:
        """None."""
        return 0

    def manual_seed(self, seed: int) -> None:
        """There is no generator to seed."""

    manual_seed_all: Callable[[AbsentDevice, int], None] = manual_seed

    def empty_cache(self) -> None:
        """There is no memory to give back."""


def absent_device(kind: str) -> AbsentDevice:
    """The module `flambeau.kind`, which programs can import too."""
    path = f"flambeau.{kind}"
    module = sys.modules.get(path)
    if not isinstance(module, AbsentDevice):
        module = sys.modules[path] = AbsentDevice(path, f"Devices of the kind {kind}, of which there are none here.")
    return module
