"""Products of arrays that add up: `x @ y`, `np.dot`, `np.inner`; of bools, whether any pair holds.

a @ b    with bools in both    →    aten::ne(aten::matmul(%a, %b), 0), in int64s
"""

from __future__ import annotations

from collections.abc import Sequence

from flambeau.frontend.emit.numpy.array_promotion import converted, dtype_and_rank, promoted
from flambeau.frontend.emit.schema_matching import call_operator
from flambeau.frontend.emit.values.sugared import Emitter
from flambeau.ir.graph import Value
from flambeau.schema.array_type import ArrayType
from flambeau.schema.dtype import bool_, int64
from flambeau.util.source import SourceRange


def product(e: Emitter, where: SourceRange, name: str, arrays: Sequence[Value], *more: Value) -> Value:
    """An operator of two arrays in the dtype in which they meet, given what it takes besides."""
    left, right = promoted(e, where, arrays)
    is_logical = isinstance(left.static_type, ArrayType) and dtype_and_rank(left, where)[0] is bool_
    if not is_logical:
        return call_operator(e, where, f"aten::{name}", [left, right, *more])
    counts = [converted(e, operand, int64) for operand in (left, right)]
    total = call_operator(e, where, f"aten::{name}", [*counts, *more])
    return call_operator(e, where, "aten::ne", [total, e.constant(0)])
