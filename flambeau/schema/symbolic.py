"""Markers for what stands for values of a program while it is being traced."""

from __future__ import annotations

from typing import Any


class SymbolicNumber:
    """A number whose origin is recorded: binding passes it on as it is, and whoever records operators replaces it."""

    __slots__ = ()
    number: Any
    """What it is in the run being traced."""

    def __int__(self) -> int:
        return int(self.number)

    def __float__(self) -> float:
        return float(self.number)

    def as_float(self) -> SymbolicNumber:
        """The same as a float."""
        return self


class SymbolicInt(SymbolicNumber):
    """An int of this kind: a size, while a function is traced. `jit.tracing.symbols.TracedInt` is what it is there.

    >>> import flambeau
    >>> seen = []
    >>> _ = flambeau.trace(lambda x: seen.append(isinstance(x.shape[0], flambeau.SymInt)) or x * 2, flambeau.ones(3))
    >>> seen[0], isinstance(flambeau.ones(3).shape[0], flambeau.SymInt)
    (True, False)
    """

    __slots__ = ()
    number: int


class SymbolicFloat(SymbolicNumber):
    """A float of this kind: what a size is divided by, while a function is traced.

    >>> import flambeau
    >>> seen = []
    >>> _ = flambeau.trace(lambda x: seen.append(isinstance(x.shape[0] / 2, flambeau.SymFloat)) or x, flambeau.ones(3))
    >>> seen[0]
    True
    """

    __slots__ = ()
    number: float


class SymbolicTensor:
    """A tensor of a graph that is being built: operators on it are nodes that its builder inserts."""

    __slots__ = ()
    builder: Any
    """Has `operators` as methods, and `call` and `insert` of any of them (`autodiff.graph_operators.Builder`)."""
