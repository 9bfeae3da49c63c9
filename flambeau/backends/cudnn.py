"""cuDNN, which is not used: its switches keep what they are set to."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

enabled: bool = True
benchmark: bool = False
benchmark_limit: int = 10
deterministic: bool = False
allow_tf32: bool = True


def is_available() -> bool:
    """Whether it is there: never."""
    return False


def version() -> int | None:
    """Its version: None."""
    return None


@contextmanager
def flags(
    enabled: bool = False, benchmark: bool = False, deterministic: bool = False, allow_tf32: bool = True
) -> Iterator[None]:
    """A block with these switches; they stand as before behind it.

    >>> from flambeau.backends import cudnn
    >>> with cudnn.flags(enabled=False):
    ...     cudnn.enabled
    False
    """
    switches = globals()
    before = {name: switches[name] for name in ("enabled", "benchmark", "deterministic", "allow_tf32")}
    given = (enabled, benchmark, deterministic, allow_tf32)
    switches.update(zip(before, given, strict=True))
    try:
        yield
    finally:
        switches.update(before)
