"""Complex numbers and their parts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from flambeau.ops.families.pointwise import binary, same, unary
from flambeau.ops.families.promotion import float_of
from flambeau.schema import registry
from flambeau.schema.dtype import DType, bool_, float16, float32, float64
from flambeau.schema.function import parse_schema
from flambeau.schema.opdef import OpDef
from flambeau.tensor.tensor import Tensor, share, wrap


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
    reference=np.angle,
    doc="The angle of x in the complex plane: 0 or pi for real numbers, nan for nan.",
)
unary(
    "aten::conj_physical(Tensor self) -> Tensor",
    scalar=lambda s, x: s.conj(x) if s.dtype_of(x).is_complex else x,
    reference=np.conj,
    doc="The number with its imaginary part negated; real numbers stay.",
)


def _check_parts(common: DType, a: Any, b: Any) -> None:
    if a.dtype not in (float16, float32, float64) or b.dtype not in (float16, float32, float64):
        raise RuntimeError(
            f"Expected both inputs to be Half, Float or Double tensors but got {a.dtype.display} and {b.dtype.display}"
        )
    if a.dtype is not b.dtype:
        raise RuntimeError(
            f"Expected object of scalar type {a.dtype.display} but got scalar type {b.dtype.display} for second argument"
        )


def _to_complex(common: DType, args: Sequence[Any] = ()) -> DType:
    return common.to_complex()


for _name, _reference, _doc in (
    ("complex(Tensor real, Tensor imag)", lambda a, b: a + 1j * b, "The complex numbers with these parts."),
    ("polar(Tensor abs, Tensor angle)", lambda r, a: r * np.exp(1j * a), "The complex numbers of these lengths and angles."),
):
    binary(
        f"aten::{_name} -> Tensor",
        scalar=lambda s, a, b, _operation=_name.partition("(")[0]: getattr(s, _operation)(a, b),
        result=_to_complex,
        compute=same,
        check=_check_parts,
        in_place=False,
        is_method=False,
        ulp=4,
        reference=_reference,
        doc=_doc,
    )


def _real(x: Tensor) -> Tensor:
    return share(x, x._array.real) if x.dtype.is_complex else x


def _imag(x: Tensor) -> Tensor:
    if not x.dtype.is_complex:
        raise RuntimeError("imag is not implemented for tensors with non-complex dtypes.")
    return share(x, x._array.imag)


def _conj(x: Tensor) -> Tensor:
    return wrap(np.conj(x._array)) if x.dtype.is_complex else x


def _itself(x: Tensor) -> Tensor:
    return x


def _positive(x: Tensor) -> Tensor:
    if x.dtype is bool_:
        raise RuntimeError("The `+` operator, on a bool tensor is not supported.")
    return x


def _part(name: str, kernel: Callable[[Tensor], Tensor], doc: str, reference: Any, *, is_real: bool = False) -> None:
    registry.register(
        OpDef(
            schema=parse_schema(f"aten::{name}(Tensor(a) self) -> Tensor(a)"),
            family="view",
            kernel=kernel,
            doc=doc,
            dtype=lambda x: x.dtype if x.dtype is None or not is_real else x.dtype.to_real(),
            shape=lambda x: x.sizes,
            reference=reference,
            is_method=not is_real,
        )
    )


_part("real", _real, "A view of the real parts; a real tensor is returned itself.", np.real, is_real=True)
_part("imag", _imag, "A view of the imaginary parts. Raises RuntimeError for real tensors.", np.imag, is_real=True)
_part("conj", _conj, "The complex conjugates; a real tensor is returned itself.", np.conj)
_part("_conj", _conj, "As `conj`.", np.conj)
_part("positive", _positive, "The tensor itself. Raises RuntimeError for bools.", np.positive)
_part("resolve_conj", _itself, "The tensor itself: conjugates are never pending here.", None)
_part("resolve_neg", _itself, "The tensor itself: negations are never pending here.", None)
