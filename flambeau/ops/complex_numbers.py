"""Complex numbers and their parts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from flambeau.ops.families.opaque import declare
from flambeau.ops.families.pointwise import binary, same, unary
from flambeau.ops.families.promotion import float_of
from flambeau.schema.dtype import DType, bool_, float16, float32, float64
from flambeau.schema.opdef import ErrorSample, Sample
from flambeau.schema.traits import Traits
from flambeau.tensor.array_library import np
from flambeau.tensor.tensor import Tensor, wrap


def _parts(common: DType, args: Sequence[Any] = ()) -> DType:
    return float_of(common.to_real())


def _float_or_complex(common: DType, args: Sequence[Any] = ()) -> DType:
    return float_of(common)


unary(
    "aten::angle(Tensor self) -> Tensor",
    scalar=lambda s, x: s.angle(x),
    result=_parts,
    compute=_float_or_complex,
    in_place=False,
    ulp=4,
    reference=lambda x: np.angle(x + 0),
    doc="The angle of x in the complex plane: 0 or pi for real numbers, nan for nan.",
)


def _check_parts(common: DType, a: Any, b: Any) -> None:
    if a.dtype not in (float16, float32, float64) or b.dtype not in (float16, float32, float64):
        raise RuntimeError(
            f"Expected both inputs to be Half, Float or Double tensors but got {a.dtype.display} and {b.dtype.display}"
        )
    if a.dtype is not b.dtype:
        raise RuntimeError(
            f"Expected object of scalar type {a.dtype.display} but got scalar type {b.dtype.display} "
            "for second argument"
        )


def _to_complex(common: DType, args: Sequence[Any] = ()) -> DType:
    return common.to_complex()


OTHER_DTYPE: Final = (
    "Expected object of scalar type {wanted.display} but got scalar type {got.display} for argument 'out'"
)


def _from_parts(name: str, schema: str, doc: str, reference: Any) -> None:
    binary(
        schema,
        scalar=lambda s, a, b: getattr(s, name)(a, b),
        result=_to_complex,
        compute=same,
        check=_check_parts,
        traits=Traits(out_dtype=OTHER_DTYPE),
        in_place=False,
        is_method=False,
        ulp=4,
        reference=reference,
        doc=doc,
    )


_from_parts(
    "complex",
    "aten::complex(Tensor real, Tensor imag) -> Tensor",
    "The complex numbers with these parts.",
    np.vectorize(complex, otypes=[np.complex128]),
)
_from_parts(
    "polar",
    "aten::polar(Tensor abs, Tensor angle) -> Tensor",
    "The complex numbers of these lengths and angles.",
    None,
)
unary(
    "aten::conj_physical(Tensor self) -> Tensor",
    scalar=lambda s, x: s.conj(x) if s.dtype_of(x).is_complex else x,
    reference=np.conj,
    doc="The numbers with their imaginary parts negated, in fresh memory; real numbers are copied.",
)


def _copied_part(name: str, of_real: Callable[[Any, Any], Any]) -> None:
    declare(
        f"flambeau::{name}_part(Tensor self) -> Tensor",
        kernel=lambda self: wrap(np.array(getattr(self._array, name))),
        on_tensors=True,
        family="pointwise",
        dtype=lambda self: None if self.dtype is None else self.dtype.to_real(),
        shape=lambda self: self.sizes,
        scalar=lambda s, x: getattr(s, name)(x) if s.dtype_of(x).is_complex else of_real(s, x),
        compute=lambda self: self.dtype,
        is_method=False,
        is_function=False,
        doc=f"A copy of what `{name}` shows: what plans have in its place where a kernel reads it.",
        samples=lambda: [Sample(args=(wrap(np.array([1 + 2j, 3 - 4j], np.complex64)),))],
    )


_copied_part("real", lambda s, x: x)
_copied_part("imag", lambda s, x: s.select(s.eq(x, x), *[s.const(0, s.dtype_of(x))] * 2))


def _positive(self: Tensor) -> Tensor:
    if self.dtype is bool_:
        raise RuntimeError("The `+` operator, on a bool tensor is not supported.")
    return self


declare(
    "aten::positive(Tensor(a) self) -> Tensor(a)",
    kernel=_positive,
    family="view",
    traits=Traits(may_be_operand=True),
    on_tensors=True,
    dtype=lambda self: self.dtype,
    shape=lambda self: self.sizes,
    samples=lambda: [Sample(args=(wrap(np.array([1.0, -2.0])),))],
    errors=lambda: [
        ErrorSample(
            args=(wrap(np.array([True])),),
            error=RuntimeError,
            message="The `+` operator, on a bool tensor is not supported.",
        )
    ],
    doc="The tensor itself. Raises RuntimeError for bools.",
)
