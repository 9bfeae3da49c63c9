"""The types of dtypes in programs of arrays: ints, the codes of the language, that NumPy's users see as dtypes.

>>> from flambeau.schema.dtype import float32
>>> from flambeau.schema.types import INT, ListType
>>> code = DtypeCode(float32)
>>> code == INT, ListType(code) == ListType(INT), str(code), code.dtype.name
(True, True, 'int', 'float32')

As types of elements do (`element_type`), they equal the plain type: operators, graphs and archives see ints. The
compiler asks for them where NumPy's dtypes are more than numbers, and so does who hands results to Python.
"""

from __future__ import annotations

from flambeau.schema.dtype import DType
from flambeau.schema.types import IntType, Type
from flambeau.util.record import dataclass


@dataclass(frozen=True)
class DtypeCode(IntType):
    """An int that is the code of a dtype: of this one, or of one that only the run tells."""

    dtype: DType | None = None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, IntType)

    def __hash__(self) -> int:
        return hash(IntType())


def is_code_of_dtype(type_: Type) -> bool:
    """Whether values of a type are dtypes."""
    return isinstance(type_, DtypeCode)
