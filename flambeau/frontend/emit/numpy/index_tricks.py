"""`np.r_`, `np.c_`, `np.mgrid`, `np.ogrid`: subscripts that make arrays, refused with functions that do the same."""

from __future__ import annotations

from typing import Any, Final, NoReturn

import numpy as np

from flambeau.frontend.emit.values.sugared import Sugared
from flambeau.util.errors import CompileError
from flambeau.util.instead import instead
from flambeau.util.record import dataclass
from flambeau.util.source import SourceRange

_GRID: Final = instead(
    "{code}", "np.meshgrid(np.arange(2), np.arange(3), indexing=\"ij\")", given="x: np.ndarray",
    shown='np.meshgrid(np.arange(n), np.arange(m), indexing="ij")',
)  # fmt: skip
_ADVICE: Final = {
    type(np.r_): ("r_", instead("{code}", "np.concatenate((x, x))", of="np.r_[x, x]", given="x: np.ndarray")),
    type(np.c_): ("c_", instead("{code}", "np.column_stack((x, x))", of="np.c_[x, x]", given="x: np.ndarray")),
    type(np.mgrid): ("mgrid", _GRID), type(np.ogrid): ("ogrid", _GRID),
}  # fmt: skip
REFUSED: Final = "programs have no np.{name}: write {instead}"


@dataclass(slots=True)
class IndexTrick(Sugared):
    """One of them."""

    name: str
    instead: str

    @property
    def kind(self) -> str:
        """The name of this kind of value in error messages."""
        return f"np.{self.name}"

    def refuse(self, where: SourceRange) -> NoReturn:
        """Say what to write for a subscript of it."""
        raise CompileError(REFUSED.format(name=self.name, instead=self.instead), where)


def index_trick(value: Any) -> IndexTrick | None:
    """What such an object of NumPy is in a program; None for any other value."""
    trick = _ADVICE.get(type(value))
    return None if trick is None else IndexTrick(*trick)
