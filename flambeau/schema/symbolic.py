"""A marker for ints that stand for values of a program while it is being traced."""

from __future__ import annotations


class SymbolicInt:
    """An int whose origin is recorded: binding passes it on as it is, and whoever records operators replaces it.

    `jit.symbols.TracedInt` is what it is in practice.
    """

    __slots__ = ()
    number: int
    """What it is in the run being traced."""
