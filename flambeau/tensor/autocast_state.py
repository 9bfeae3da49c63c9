"""Mixed precision of a thread: on which kinds of devices it is on, and in which dtype it computes there.

>>> with_devices({"cpu": bfloat16})
(('cpu', flambeau.bfloat16),)
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Final

from flambeau.schema.dtype import DType, bfloat16, float16
from flambeau.tensor.interceptors import set_stack, stack
from flambeau.tensor.observer import watchers

DEVICES: Final = ("cpu", "cuda", "xpu", "mps", "hpu", "mtia", "xla", "ipu", "maia")
DTYPES: Final[Mapping[str, tuple[DType, ...]]] = {"cpu": (bfloat16, float16), "cuda": (float16, bfloat16)}
"""What mixed precision can compute in, the usual one first."""
UNSUPPORTED: Final = "User specified an unsupported autocast device_type '{}'"

Precision = tuple[tuple[str, DType], ...]
"""The kinds of devices on which mixed precision is on, in order, each with its dtype; empty where it is on nowhere."""


class _Local(threading.local):
    def __init__(self) -> None:
        self.dtypes: dict[str, DType] = {}
        """What is set, where that is not the usual one."""
        self.caches: bool = True
        self.depth: int = 0
        """How many blocks are around."""
        self.watching: AbstractContextManager[None] | None = None
        """Has native code make calls the long way, while mixed precision is on."""
        self.cache: dict[Any, Any] = {}
        """Copies of parameters in fewer bits, until the outermost block ends."""


local: Final = _Local()
"""What holds on this thread."""


def with_devices(dtypes: Mapping[str, DType]) -> Precision:
    """Mixed precision on these kinds of devices."""
    return tuple(sorted(dtypes.items(), key=lambda pair: pair[0]))


def precision() -> Precision:
    """This thread's mixed precision."""
    now: Precision = stack().autocast
    return now


def set_precision(now: Precision) -> None:
    """Have this thread compute in this mixed precision from here on."""
    if now and local.watching is None:
        local.watching = watchers.one_more()
        local.watching.__enter__()
    set_stack(stack()._replace(autocast=now))
    if not now and local.watching is not None:
        local.watching.__exit__(None, None, None)
        local.watching = None


@contextmanager
def in_precision(wanted: Precision) -> Iterator[None]:
    """Within the block, this thread computes in the mixed precision that another one had."""
    before = precision()
    if wanted == before:
        yield
        return
    set_precision(wanted)
    try:
        yield
    finally:
        set_precision(before)


def check_device(device_type: Any) -> str:
    """The kind of a device. Raises ValueError for what is no text, RuntimeError for an unknown kind."""
    if not isinstance(device_type, str):
        raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
    if device_type not in DEVICES:
        raise RuntimeError(UNSUPPORTED.format(device_type))
    return device_type


def dtype_on(device_type: str) -> DType:
    """What mixed precision computes in on a kind of device, if nothing else is asked for."""
    usual = DTYPES.get(device_type, (float16,))[0]
    return local.dtypes.get(device_type, usual)


def end_block() -> int:
    """One block less is around; how many there are. Behind the outermost one no copies of parameters are kept."""
    local.depth -= 1
    if local.depth <= 0:
        local.cache.clear()
    return local.depth
