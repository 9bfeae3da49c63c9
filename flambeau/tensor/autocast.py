"""`autocast`, as programs written for PyTorch have it: operators here compute in the dtype of their tensors.

A block without mixed precision is entered as any other, so that `autocast(..., enabled=False)` around code that needs
full precision is understood. One that asks for it on the CPU is refused, because its numbers would be others; on
devices that are not here it does nothing, with a warning.

>>> with autocast("cpu", enabled=False):
...     is_autocast_enabled()
False
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, Final, Self, TypeVar

from flambeau.schema.dtype import DType, bfloat16, float16

F = TypeVar("F", bound=Callable[..., Any])

DEVICES: Final = ("cpu", "cuda", "xpu", "mps", "hpu", "mtia", "xla", "ipu", "maia")
REFUSED: Final = (
    "autocast('cpu') is not offered: operators compute in the dtype of their tensors. Convert where less precision is "
    "wanted, x.to(flambeau.bfloat16), or say autocast('cpu', enabled=False)"
)
NOT_HERE: Final = "User provided device_type of '{}', but it is not available. Disabling"


def refusal(device_type: str, enabled: bool) -> str:
    """Why such a block cannot be entered; empty if it can. Raises RuntimeError for an unknown kind of device."""
    if device_type not in DEVICES:
        raise RuntimeError(f"User specified an unsupported autocast device_type '{device_type}'")
    return REFUSED if enabled and device_type == "cpu" else ""


class autocast:  # noqa: N801  (as programs write it)
    """A block or a function in mixed precision: with `enabled=False` an ordinary one. Others are refused on the CPU.

    Raises RuntimeError when it is entered, or decorates a function, with mixed precision on the CPU.

    Args:
        device_type: "cpu".
        dtype: what would be computed in.
        enabled: has to be False.
        cache_enabled: accepted, without effect.

    >>> import flambeau
    >>> with flambeau.autocast("cpu", enabled=False):
    ...     total = flambeau.ones(2).sum()
    >>> total.dtype
    flambeau.float32
    """

    def __init__(
        self, device_type: str, dtype: DType | None = None, enabled: bool = True, cache_enabled: bool | None = None
    ) -> None:
        self._refusal = refusal(device_type, enabled)
        self._warning = NOT_HERE.format(device_type) if enabled and device_type != "cpu" else ""

    def _check(self) -> None:
        if self._refusal:
            raise RuntimeError(self._refusal)
        if self._warning:
            warnings.warn(self._warning, stacklevel=3)

    def __enter__(self) -> Self:
        self._check()
        return self

    def __exit__(self, *error: object) -> None:
        """Nothing was changed."""

    def __call__(self, function: F) -> F:
        self._check()
        return function


class CudaAutocast(autocast):
    """`cuda.amp.autocast`: the device goes without saying."""

    def __init__(self, enabled: bool = True, dtype: DType | None = None, cache_enabled: bool = True) -> None:
        super().__init__("cuda", dtype, enabled)


class CpuAutocast(autocast):
    """`cpu.amp.autocast`: the device goes without saying."""

    def __init__(self, enabled: bool = True, dtype: DType | None = None, cache_enabled: bool = True) -> None:
        super().__init__("cpu", dtype, enabled)


def is_autocast_enabled(device_type: str = "cuda") -> bool:
    """Whether operators compute in mixed precision: never.

    Args:
        device_type: "cpu" or another device.

    >>> import flambeau
    >>> flambeau.is_autocast_enabled()
    False
    """
    return False


def is_autocast_cpu_enabled() -> bool:
    """Whether operators on the CPU compute in mixed precision: never.

    >>> import flambeau
    >>> flambeau.is_autocast_cpu_enabled()
    False
    """
    return False


def is_autocast_available(device_type: str) -> bool:
    """Whether there is mixed precision for a kind of device: for none."""
    return False


def get_autocast_dtype(device_type: str) -> DType:
    """What mixed precision would compute in: bfloat16 on the CPU, float16 on other devices.

    Args:
        device_type: "cpu" or another device.

    >>> import flambeau
    >>> flambeau.get_autocast_dtype("cpu")
    flambeau.bfloat16
    """
    return bfloat16 if device_type == "cpu" else float16
