"""What the callers of a whole-graph function know of it: how arguments must look, and what comes back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flambeau.codegen.graph.representation import Array, Optional, Representation, Tupled
from flambeau.util.record import dataclass


@dataclass(frozen=True, slots=True)
class Parameter:
    """How an argument must look.

    >>> from flambeau.codegen.graph.representation import Array, Int, Tupled
    >>> from flambeau.schema.dtype import float32
    >>> Parameter(Tupled((Int(), Array(float32, 1))), ones=(None, (False,))).item(1)
    Parameter(representation=Array(dtype=flambeau.float32, rank=1, dense=0), is_written=False, ones=(False,))
    """

    representation: Representation
    is_written: bool = False
    """Whether the function writes to it, or to tensors in it: read-only memory does not do, and versions count up."""
    ones: Any = None
    """For a tensor, which of its sizes are 1 (a tuple of bools), if that must be as it says; for a tuple the same of
    each item."""

    def item(self, index: int) -> Parameter:
        """The parameter that an item of a tuple would be."""
        assert isinstance(self.representation, Tupled)
        ones = None if self.ones is None else self.ones[index]
        return Parameter(self.representation.items[index], self.is_written, ones)

    def inner(self) -> Parameter:
        """The parameter that an optional value is when it is there."""
        assert isinstance(self.representation, Optional)
        return Parameter(self.representation.inner, self.is_written, self.ones)


@dataclass(frozen=True, slots=True)
class Signature:
    """Parameters and results of a function, as values of their representations.

    >>> from flambeau.codegen.graph.representation import Float, Int
    >>> Signature((Parameter(Int()),), (Float(),)).results
    (Float(),)
    """

    parameters: tuple[Parameter, ...]
    results: tuple[Representation, ...]
    """One is the result, several are a tuple, none is None."""
    record_words: int = 0
    """Words that a failed exit point stores into the context's record."""
    takes_asking: bool = False
    """Whether tensors that ask for gradients, and parameters, are tensors like others: who calls looks after these."""

    def described(self) -> str:
        """All of it as a text, another one for each signature. What several parameters share is written once.

        >>> from flambeau.codegen.graph.representation import Int
        >>> Signature((Parameter(Int()), Parameter(Int(), True)), ()).described()
        "['Int() False None', 'Int() True None'] () 0 False"
        """
        texts: dict[int, str] = {}
        for one in self.parameters:
            if id(one.representation) not in texts:
                texts[id(one.representation)] = repr(one.representation)
        listed = [f"{texts[id(one.representation)]} {one.is_written} {one.ones}" for one in self.parameters]
        return f"{listed} {self.results} {self.record_words} {self.takes_asking}"


def ones_of(representation: Representation, value: Any) -> Any:
    """`Parameter.ones` for arguments that are to look like a value, an example of them.

    >>> import flambeau
    >>> from flambeau.codegen.graph.representation import Array, Int, Tupled
    >>> matrix = Array(flambeau.float32, 2)
    >>> ones_of(Tupled((Int(), matrix)), (3, flambeau.zeros(1, 5)))
    (None, (True, False))
    """
    match representation:
        case Array():
            sizes: Sequence[int] = value._array.shape
            return tuple([n == 1 for n in sizes])
        case Tupled():
            return tuple([ones_of(r, v) for r, v in zip(representation.items, value, strict=True)])
        case Optional() if value is not None:
            return ones_of(representation.inner, value)
        case _:
            return None
