"""Functions of the C library that code for devices calls, written out: a device has no C library.

The vector code of a function falls back on the C library where an argument is beyond its own method's reach; here each
such function is defined for every argument.
"""

from __future__ import annotations

from dataclasses import dataclass

from flambeau.codegen.lower.values import LoweringError


@dataclass(frozen=True, slots=True)
class Library:
    """LLVM text of some functions."""

    declarations: tuple[str, ...] = ()
    functions: tuple[str, ...] = ()
    replaced: tuple[str, ...] = ()
    """Declarations that the definitions make superfluous."""


def device_functions(names: tuple[str, ...]) -> Library:
    """Definitions of C functions by name. Raises ``LoweringError`` for one that has none here."""
    for name in names:
        raise LoweringError(f"{name}: has no device code")
    return Library()
