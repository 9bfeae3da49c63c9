"""cuDNN, which convolutions on CUDA devices go to where it is there, and its switches.

`allow_tf32` is off here, where PyTorch has it on: a convolution gives on a device what it gives on the host.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from flambeau.util.inversions import CUDNN_VERSION

enabled: bool = True
benchmark: bool = False
benchmark_limit: int = 10
deterministic: bool = False
allow_tf32: bool = False


def is_available() -> bool:
    """Whether it is there, and a device to run on."""
    return version() is not None


def version() -> int | None:
    """Its version, 91002 for 9.10.2; None without it or without a device."""
    return CUDNN_VERSION.implementation()


@contextmanager
def flags(
    enabled: bool = False, benchmark: bool = False, deterministic: bool = False, allow_tf32: bool = False
) -> Iterator[None]:
    """A block with these switches; they stand as before behind it.

    >>> from flambeau.backends import cudnn
    >>> with cudnn.flags(enabled=False):
    ...     cudnn.enabled
    False
    """
    switches = globals()
    before = {name: switches[name] for name in ("enabled", "benchmark", "deterministic", "allow_tf32")}
    wanted = (enabled, benchmark, deterministic, allow_tf32)
    switches.update(zip(before, wanted, strict=True))
    try:
        yield
    finally:
        switches.update(before)
