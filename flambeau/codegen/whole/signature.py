"""What the callers of a whole-graph function know of it: how arguments must look, and what comes back."""

from __future__ import annotations

from dataclasses import dataclass

from flambeau.codegen.whole.representation import Representation


@dataclass(frozen=True, slots=True)
class Parameter:
    """How an argument must look."""

    representation: Representation
    is_written: bool = False
    """Whether the function writes to it, or to tensors in it: read-only memory does not do, and versions count up."""
    ones: tuple[bool, ...] | None = None
    """For a tensor, which sizes are 1, if that must be as it says."""


@dataclass(frozen=True, slots=True)
class Signature:
    """Parameters and results of a function, as values of their representations."""

    parameters: tuple[Parameter, ...]
    results: tuple[Representation, ...]
    """One is the result, several are a tuple, none is None."""
    record_words: int = 0
    """Words that a failed site stores into the context's record."""
