"""Eigenvalues of real matrices: complex to the program, real to NumPy if all are, which only the run tells.

np.argmax(np.linalg.eigvals(x))    →    if any(imag(%w) != 0): raise ValueError    aten::argmax(aten::real(%w))
"""

from __future__ import annotations

from typing import Final

from flambeau.frontend.emit.refusals import raise_when
from flambeau.frontend.emit.schema_matching import call_operator
from flambeau.frontend.emit.values.sugared import Emitter
from flambeau.ir.graph import Value
from flambeau.schema.array_type import ArrayType, SpectrumType, array_of, spectrum_of
from flambeau.schema.dtype import complex64, complex128
from flambeau.util.source import SourceRange

ORDERING: Final = frozenset({
    "sort", "argsort", "max", "min", "amax", "amin", "argmax", "argmin", "searchsorted", "clip", "median", "ptp",
})  # fmt: skip
"""Methods and functions that compare elements."""
NOT_REAL: Final = (
    "eigenvalues of this matrix are complex, which have no order here: take w.real, or np.abs(w), of the array"
)


def is_spectrum(value: Value) -> bool:
    """Whether a value may be real to NumPy."""
    return isinstance(value.static_type, SpectrumType)


def with_spectrum(value: Value, *parts: Value) -> Value:
    """What was picked or joined from arrays all of which may be real: it may be, too."""
    type_ = value.static_type
    if not isinstance(type_, ArrayType) or not parts or not all(map(is_spectrum, parts)):
        return value
    if type_.dtype in (complex64, complex128) and type_.dtype is not None and type_.rank:
        value.set_type(spectrum_of(type_.dtype, type_.rank))
    return value


def ordered(e: Emitter, where: SourceRange, value: Value) -> Value:
    """Real numbers, where elements are compared; other arrays as they are. The program raises ValueError for others."""
    type_ = value.static_type
    if not isinstance(type_, SpectrumType) or type_.dtype is None:
        return value
    real, imaginary = call_operator(e, where, "aten::real", [value]), call_operator(e, where, "aten::imag", [value])
    others = call_operator(e, where, "aten::any", [call_operator(e, where, "aten::ne", [imaginary, e.constant(0)])])
    raise_when(e, call_operator(e, where, "aten::Bool", [others]), NOT_REAL)
    real.set_type(array_of(type_.dtype.to_real(), type_.rank))
    return real
