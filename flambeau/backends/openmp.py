"""OpenMP, which is not used."""

from __future__ import annotations


def is_available() -> bool:
    """Whether it is there: never."""
    return False
