"""Comparisons and predicates: bools out."""

from __future__ import annotations

from flambeau.ops.families.pointwise import REAL, compare


def _declare(name: str, sign: str, alias: str, *, ordered: bool) -> None:
    compare(
        f"aten::{name}.Tensor(Tensor self, Tensor other) -> Tensor",
        f"aten::{name}.Scalar(Tensor self, Scalar other) -> Tensor",
        scalar=lambda s, x, y: getattr(s, name)(x, y),
        doc=f"Whether x {sign} y, element by element.",
        aliases=(alias,) if alias else (),
        **({"accepts": REAL} if ordered else {}),
    )


_declare("eq", "==", "", ordered=False)
_declare("ne", "!=", "not_equal", ordered=False)
_declare("lt", "<", "less", ordered=True)
_declare("le", "<=", "less_equal", ordered=True)
_declare("gt", ">", "greater", ordered=True)
_declare("ge", ">=", "greater_equal", ordered=True)
