"""Truth values and bits."""

from __future__ import annotations

from typing import Any

from flambeau.ops.families.pointwise import BITS, binary, literal, to_bool, unary
from flambeau.schema.dtype import Category
from flambeau.schema.traits import Traits
from flambeau.tensor.array_library import np


def _truth(s: Any, x: Any) -> Any:
    return s.ne(x, literal(s, x, 0))


def _logical(name: str, doc: str, reference: Any) -> None:
    binary(
        f"aten::{name}(Tensor self, Tensor other) -> Tensor",
        scalar=lambda s, x, y: getattr(s, name)(_truth(s, x), _truth(s, y)),
        result=to_bool,
        reference=reference,
        doc=doc,
    )


_logical("logical_and", "Whether both are non-zero.", np.logical_and)
_logical("logical_or", "Whether one is non-zero.", np.logical_or)
_logical("logical_xor", "Whether exactly one is non-zero.", np.logical_xor)
unary(
    "aten::logical_not(Tensor self) -> Tensor",
    scalar=lambda s, x: s.eq(x, literal(s, x, 0)),
    result=to_bool,
    reference=np.logical_not,
    doc="Whether x is zero.",
)
unary(
    "aten::bitwise_not(Tensor self) -> Tensor",
    scalar=lambda s, x: s.bitnot(x),
    accepts=BITS,
    reference=np.invert,
    doc="All bits exchanged; of bools, `not`.",
)


def _bitwise(name: str, special: str, symbol: str, meaning: str, doc: str, reference: Any) -> None:
    fields: dict[str, Any] = {
        "scalar": lambda s, x, y: getattr(s, meaning)(x, y),
        "accepts": BITS,
        "refusal": f"\"{name}_cpu\" not implemented for '{{}}'",
        "reference": reference,
        "doc": doc,
    }
    binary(
        f"aten::{name}.Tensor(Tensor self, Tensor other) -> Tensor",
        f"aten::{name}.Scalar(Tensor self, Scalar other) -> Tensor",
        f"aten::{name}.Scalar_Tensor(Scalar self, Tensor other) -> Tensor",
        **fields,
    )
    binary(
        f"aten::{special}.Tensor(Tensor self, Tensor other) -> Tensor",
        f"aten::{special}.Scalar(Tensor self, Scalar other) -> Tensor",
        out=None,
        traits=Traits(spelling=symbol, spelling_in_place=f"{symbol}="),
        **fields,
    )


_bitwise("bitwise_and", "__and__", "&", "bitand", "Bits that are set in both; of bools, `and`.", np.bitwise_and)
_bitwise("bitwise_or", "__or__", "|", "bitor", "Bits that are set in one or both; of bools, `or`.", np.bitwise_or)
_bitwise("bitwise_xor", "__xor__", "^", "bitxor", "Bits that are set in exactly one; of bools, `!=`.", np.bitwise_xor)


def _shift(name: str, special: str, symbol: str, kernel: str, meaning: str, doc: str) -> None:
    fields: dict[str, Any] = {
        "scalar": lambda s, x, y: getattr(s, meaning)(x, y),
        "accepts": frozenset({Category.INTEGER}),
        "refusal": f"\"{kernel}_cpu\" not implemented for '{{}}'",
        "doc": doc,
    }
    binary(
        f"aten::{name}.Tensor(Tensor self, Tensor other) -> Tensor",
        f"aten::{name}.Tensor_Scalar(Tensor self, Scalar other) -> Tensor",
        f"aten::{name}.Scalar_Tensor(Scalar self, Tensor other) -> Tensor",
        **fields,
    )
    binary(
        f"aten::{special}.Tensor(Tensor self, Tensor other) -> Tensor",
        f"aten::{special}.Scalar(Tensor self, Scalar other) -> Tensor",
        traits=Traits(spelling=symbol, spelling_in_place=f"{symbol}="),
        **fields,
    )


_shift(
    "bitwise_left_shift", "__lshift__", "<<", "lshift", "shl",
    "x times 2 to the power of y; 0 if y is outside the width.",
)  # fmt: skip
_shift(
    "bitwise_right_shift",
    "__rshift__",
    ">>",
    "rshift",
    "shr",
    "x divided by 2 to the power of y, rounded down; the sign stays.",
)
