"""`np.add.at(x, i, v)`: additions at indexes, of which each counts where one stands there several times.

np.add.at(x, i, v)    →    aten::index_put_(%x, [%i], %v, accumulate=True)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from flambeau.frontend.emit.numpy import array_promotion as arrays
from flambeau.frontend.emit.numpy.array_promotion import is_array
from flambeau.frontend.emit.schema_matching import call_operator
from flambeau.frontend.emit.tensor_subscripts import add_at
from flambeau.frontend.emit.values.simple_value import SimpleValue
from flambeau.frontend.emit.values.sugared import Emitter, Given, Sugared
from flambeau.frontend.trees.tree_views import Apply, TupleLiteral
from flambeau.schema.array_type import array_of
from flambeau.schema.dtype import int64, uint64
from flambeau.schema.types import INT, NONE, Type
from flambeau.util.errors import CompileError
from flambeau.util.record import dataclass
from flambeau.util.source import SourceRange

SIGNS: Final = {"add": "+", "subtract": "-"}
"""The functions that have a form with `at`, as operators."""
LITERALS: Final = "np.{name}.at takes an array, its indexes and what is added, written out: np.{name}.at(x, i, v)"


@dataclass(slots=True)
class UfuncAt(Sugared):
    """`np.add.at` and `np.subtract.at`."""

    name: str

    @property
    def kind(self) -> str:
        """The name of this kind of value in error messages."""
        return f"function np.{self.name}.at"

    def call(self, e: Emitter, where: SourceRange, args: Sequence[Given], keywords: Sequence[Given]) -> Sugared:
        """Arguments that come as a list have no form."""
        raise CompileError(LITERALS.format(name=self.name), where)

    def call_tree(self, e: Emitter, tree: Apply, hint: Type | None) -> Sugared | None:
        """The additions. Raises CompileError for what is no array, and for what NumPy would not add to it."""
        where = tree.callee.range
        if len(tree.args) != 3 or tree.keywords:
            raise CompileError(LITERALS.format(name=self.name), where)
        target, index_tree, added = tree.args
        array, value = e.value(target), e.value(added)
        if not is_array(array):
            raise CompileError(LITERALS.format(name=self.name), target.range)
        dtype, _ = arrays.dtype_and_rank(array, where)
        if dtype.is_integral and dtype is not uint64 and value.static_type == INT:  # NumPy makes an array of it first
            code = Given(e.constant(int64.code, INT), where, "dtype")
            value = call_operator(e, where, "aten::tensor", [value], [code])
            value.set_type(array_of(int64, 0))
        else:
            arrays.check_in_place(where, SIGNS[self.name], array, value)
        if self.name == "subtract":
            value = call_operator(e, where, "aten::neg", [value])
        indices = index_tree.items if isinstance(index_tree, TupleLiteral) else [index_tree]
        add_at(e, where, array, list(indices), arrays.converted(e, value, dtype))
        return SimpleValue(e.constant(None, NONE))
