"""Functions of `np.linalg` on arrays: NumPy's dtypes, keywords and classes of results.

w, v = np.linalg.eigh(x)    →    %w, %v = aten::linalg_eigh(%x, "L")    prim::TupleConstruct(%w, %v) : EighResult
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from flambeau.frontend.emit.implicit_conversions import pack_tuple, unpack_tuple
from flambeau.frontend.emit.numpy import array_promotion as arrays
from flambeau.frontend.emit.numpy.array_promotion import dtype_and_rank, is_array, promoted
from flambeau.frontend.emit.numpy.method_calls import constant_text
from flambeau.frontend.emit.schema_matching import call_operator
from flambeau.frontend.emit.values.sugared import Emitter, FormValue, Given
from flambeau.frontend.library import array_api, places
from flambeau.ir.graph import Value
from flambeau.program.named_tuples import register_class
from flambeau.schema.array_type import ArrayType, array_of, spectrum_of
from flambeau.schema.dtype import DType, float64
from flambeau.schema.types import TupleType
from flambeau.util.errors import CompileError
from flambeau.util.record import dataclass
from flambeau.util.source import SourceRange

NAMED: Final = {"axis": "dim", "axes": "dim", "keepdims": "keepdim", "a": "self"}
PARAMETERS: Final = {
    "svd": ("full_matrices", "compute_uv", "hermitian"), "qr": ("mode",), "eigh": ("UPLO",), "slogdet": (), "eig": (),
    "pinv": ("rcond", "hermitian", "rtol"),
}  # fmt: skip
"""What functions that are made of several results take behind the matrices."""
KEEPS_INTS: Final = ("fftshift", "ifftshift")
"""What moves elements, of whatever dtype they are."""
NOT_LITERAL: Final = "np.linalg.{name}: '{keyword}' has to be written out here, since what comes back depends on it"
MODES: Final = "np.linalg.qr takes the modes reduced, complete and r here"
NO_KEYWORD: Final = "np.linalg.{name}: the keyword '{keyword}' has no form for arrays in programs"
HERMITIAN: Final = "np.linalg.{name} of Hermitian matrices has no form of its own: leave out hermitian=True"
LEAST: Final = 1e-15
"""How small a singular value is to the largest that `np.linalg.pinv` takes for 0."""


def matrix_call(
    e: Emitter, where: SourceRange, name: str, operator: str, values: Sequence[Value], keywords: Sequence[Given]
) -> Value:
    """A call of `np.linalg.name`, or of `np.fft`'s. Raises CompileError for keywords that have no form."""
    if name == "matrix_power" and len(values) == 2 and not keywords and _is_whole(*values):
        return _in_language(e, where, places.whole_matrix_power, values, ())
    if name == "vecdot":
        return _in_language(e, where, array_api.vecdot, values, keywords)
    operands = list(values) if name in KEEPS_INTS else _floats(e, where, values)
    if operator == "aten::linalg_solve" and len(operands) == 2:
        operands = [operands[0], _columns(e, where, *operands)]
    if name in PARAMETERS and operator.startswith("aten::linalg"):
        call = _Decomposition(e, where, name, operands[0], _by_name(where, name, operands[1:], keywords))
        return _RESULTS[name](call)
    named = [Given(k.value, k.where, NAMED.get(k.name, k.name)) for k in keywords]
    result = call_operator(e, where, operator, operands, named)
    if name == "eigvals" and not dtype_and_rank(operands[0], where)[0].is_complex:
        result.set_type(spectrum_of(*dtype_and_rank(result, where)))
    return result


def _in_language(
    e: Emitter, where: SourceRange, python: Any, values: Sequence[Value], keywords: Sequence[Given]
) -> Value:
    function: Any = e.wrap(python, where)
    args = [Given(v, where) for v in values]
    return FormValue(function.kind, function.call_tree).call(e, where, args, keywords).as_value(e, where)


def _floats(e: Emitter, where: SourceRange, values: Sequence[Value]) -> list[Value]:
    """Operands with arrays in the dtype of floats in which they meet: that of ints is float64."""
    operands = [v for v in values if is_array(v)]
    if not operands:
        return list(values)
    wide = [v if _is_inexact(dtype_and_rank(v, where)[0]) else arrays.converted(e, v, float64) for v in operands]
    left = iter(promoted(e, where, wide))
    return [next(left) if is_array(v) else v for v in values]


def _is_whole(matrices: Value, exponent: Value) -> bool:
    """Whether a power is of matrices of integers, by an exponent that is not known to be below 0."""
    dtype = matrices.static_type.dtype if isinstance(matrices.static_type, ArrayType) else None
    number = arrays.constant_number(exponent)
    return dtype is not None and dtype.is_integral and not (isinstance(number, int) and number < 0)


def _is_inexact(dtype: DType) -> bool:
    return dtype.is_floating_point or dtype.is_complex


def _columns(e: Emitter, where: SourceRange, matrices: Value, right: Value) -> Value:
    """The right sides of `np.linalg.solve`: of more than one axis they are matrices, to the operator too."""
    ranks = [dtype_and_rank(v, where)[1] if is_array(v) else 1 for v in (matrices, right)]
    is_taken_for_vectors = ranks[1] > 1 and ranks[0] == ranks[1] + 1
    return call_operator(e, where, "aten::unsqueeze", [right, e.constant(0)]) if is_taken_for_vectors else right


def _by_name(where: SourceRange, name: str, values: Sequence[Value], keywords: Sequence[Given]) -> dict[str, Value]:
    names = PARAMETERS[name]
    if len(values) > len(names):
        raise CompileError(f"np.linalg.{name} takes at most {len(names) + 1} argument(s) here", where)
    by_name = dict(zip(names, values, strict=False))
    for keyword in keywords:
        if keyword.name not in names:
            raise CompileError(NO_KEYWORD.format(name=name, keyword=keyword.name), keyword.where)
        by_name[keyword.name] = keyword.value
    return by_name


@dataclass(slots=True)
class _Decomposition:
    """A call of a function with several results."""

    e: Emitter
    where: SourceRange
    name: str
    matrices: Value
    arguments: dict[str, Value]

    def op(self, name: str, *operands: Any) -> Value:
        """An operator on the matrices."""
        values = [o if isinstance(o, Value) else self.e.constant(o) for o in operands]
        return call_operator(self.e, self.where, f"aten::linalg_{name}", [self.matrices, *values])

    def parts(self, name: str, *operands: Any) -> list[Value]:
        """The results of an operator that has several."""
        return unpack_tuple(self.e, self.op(name, *operands))

    def truth(self, name: str, default: bool) -> bool:
        """An argument that has to be True or False, written out."""
        value = self.arguments.get(name)
        node = None if value is None else value.defining_node
        constant = default if value is None else None if node is None else node.attributes.get("value")
        if not isinstance(constant, int):
            raise CompileError(NOT_LITERAL.format(name=self.name, keyword=name), self.where)
        return bool(constant)

    def refuse_hermitian(self) -> None:
        """Raise CompileError for `hermitian=True`."""
        if self.truth("hermitian", False):
            raise CompileError(HERMITIAN.format(name=self.name), self.where)

    def result(self, cls: Any, parts: Sequence[Value], ranks: Sequence[int], dtypes: Sequence[DType]) -> Value:
        """An object of NumPy's own class of results, of arrays with so many axes less or more than the matrices."""
        rank = dtype_and_rank(self.matrices, self.where)[1]
        for part, more, dtype in zip(parts, ranks, dtypes, strict=True):
            may_be_real = self.name == "eig" and not self.dtype.is_complex
            part.set_type((spectrum_of if may_be_real else array_of)(dtype, rank + more))
        numbers = [arrays.as_number(self.e, part) for part in parts]
        type_ = TupleType(tuple(n.static_type for n in numbers), f"numpy.linalg.{cls.__name__}", cls._fields)
        register_class(type_, cls)
        return pack_tuple(self.e, numbers, type_)

    @property
    def dtype(self) -> DType:
        """The dtype of the matrices."""
        return dtype_and_rank(self.matrices, self.where)[0]


def _svd(c: _Decomposition) -> Value:
    c.refuse_hermitian()
    if not c.truth("compute_uv", True):
        return c.op("svdvals")
    parts = c.parts("svd", c.truth("full_matrices", True))
    return c.result(type(np.linalg.svd(_ONE)), parts, (0, -1, 0), (c.dtype, c.dtype.to_real(), c.dtype))


def _pinv(c: _Decomposition) -> Value:
    """The factors of singular values, the other way round; values that are too small have no part in it."""
    c.refuse_hermitian()
    cutoff = c.arguments.get("rcond") or c.arguments.get("rtol") or c.e.constant(LEAST)

    def op(name: str, *operands: Any) -> Value:
        values = [o if isinstance(o, Value) else c.e.constant(o) for o in operands]
        return call_operator(c.e, c.where, f"aten::{name}", values)

    rank = dtype_and_rank(c.matrices, c.where)[1]
    factors = c.parts("svd", False)
    for part, less, dtype in zip(factors, (0, 1, 0), (c.dtype, c.dtype.to_real(), c.dtype), strict=True):
        part.set_type(array_of(dtype, rank - less))
    left, values, right = factors
    small = op("le", values, op("mul", op("slice", values, -1, 0, 1, 1), cutoff))
    inverses = op("masked_fill", op("reciprocal", values), small, 0.0)
    if c.dtype.is_complex:
        left, right = op("conj_physical", left), op("conj_physical", right)
        inverses = arrays.converted(c.e, inverses, c.dtype)
    scaled = op("mul", op("unsqueeze", inverses, -1), op("transpose", left, -2, -1))
    return op("matmul", op("transpose", right, -2, -1), scaled)


def _qr(c: _Decomposition) -> Value:
    argument = c.arguments.get("mode")
    mode = "reduced" if argument is None else constant_text(argument)
    if mode not in ("reduced", "complete", "r"):
        raise CompileError(MODES, c.where)
    parts = c.parts("qr", mode)
    if mode == "r":
        parts[1].set_type(array_of(*dtype_and_rank(c.matrices, c.where)))
        return parts[1]
    return c.result(type(np.linalg.qr(_ONE)), parts, (0, 0), (c.dtype, c.dtype))


_ONE: Final = np.ones((1, 1))
_RESULTS: Final[dict[str, Callable[[_Decomposition], Value]]] = {
    "svd": _svd, "qr": _qr, "pinv": _pinv,
    "eigh": lambda c: c.result(
        type(np.linalg.eigh(_ONE)), c.parts("eigh", c.arguments.get("UPLO", "L")), (-1, 0), (c.dtype.to_real(), c.dtype)
    ),
    "eig": lambda c: c.result(type(np.linalg.eig(_ONE)), c.parts("eig"), (-1, 0), (c.dtype.to_complex(),) * 2),
    "slogdet": lambda c: c.result(
        type(np.linalg.slogdet(_ONE)), c.parts("slogdet"), (-2, -2), (c.dtype, c.dtype.to_real())
    ),
}  # fmt: skip
"""What each function with several results gives."""
