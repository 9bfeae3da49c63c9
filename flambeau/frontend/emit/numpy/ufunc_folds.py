"""Folds of a function of two: `np.add.reduce(x)`, `np.maximum.accumulate(x)`, `np.add.reduceat(x, i)`, `outer`.

They go along the first axis unless another one is named.

np.add.reduce(x)    →    np.sum(x, axis=0)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import numpy as np

from flambeau.frontend.closures.call_arguments import Argument
from flambeau.frontend.emit.builtins.library_functions import call_library
from flambeau.frontend.emit.implicit_conversions import unpack_tuple
from flambeau.frontend.emit.numpy.array_promotion import as_number, converted, dtype_and_rank, is_array
from flambeau.frontend.emit.schema_matching import call_operator
from flambeau.frontend.emit.values.literal_value import LiteralValue
from flambeau.frontend.emit.values.simple_value import SimpleValue
from flambeau.frontend.emit.values.sugared import Emitter, Given, Sugared
from flambeau.frontend.library import ufunc_loops
from flambeau.ir.graph import Value
from flambeau.schema.dtype import int64, uint64
from flambeau.util.errors import CompileError
from flambeau.util.record import dataclass
from flambeau.util.source import SourceRange

ArrayCall = Callable[[Emitter, SourceRange, str, Sequence[Given], Sequence[Given]], Value]
REDUCED: Final = {
    "add": "sum", "multiply": "prod", "maximum": "max", "minimum": "min", "logical_and": "all", "logical_or": "any",
}  # fmt: skip
"""The functions whose fold has a name of its own."""
ACCUMULATED: Final = {"add": "cumsum", "multiply": "cumprod", "maximum": "cummax", "minimum": "cummin"}
LOOPED: Final = {
    "bitwise_or": 0, "bitwise_and": -1, "bitwise_xor": 0, "logical_xor": False, "gcd": 0, "lcm": None, "fmax": None,
    "fmin": None, "hypot": 0, "subtract": None, "divide": None, "logaddexp": None,
}  # fmt: skip
"""The functions whose folds are loops, by what they give of nothing; None where that is an error."""
FORMS: Final = "np.{name}.{method} takes {arguments} here"


def has_fold(name: str, method: str) -> bool:
    """Whether a function has a method in programs."""
    if method in ("outer", "reduceat"):
        function = getattr(np, name, None)
        return isinstance(function, np.ufunc) and (function.nin, function.nout) == (2, 1)
    return name in {"reduce": REDUCED, "accumulate": ACCUMULATED}.get(method, ()) or (
        name in LOOPED and method in ("reduce", "accumulate")
    )


@dataclass(slots=True)
class UfuncFold(Sugared):
    """One method of a function of two arrays."""

    name: str
    method: str
    function: ArrayCall
    """Calls a function of NumPy on arrays, by its name."""

    @property
    def kind(self) -> str:
        """The name of this kind of value in error messages."""
        return f"function np.{self.name}.{self.method}"

    def call(self, e: Emitter, where: SourceRange, args: Sequence[Given], keywords: Sequence[Given]) -> Sugared:
        """The fold of an array, or each element by each of two. Raises CompileError for anything else."""
        if self.method == "outer":
            return SimpleValue(self._each_by_each(e, where, args, keywords))
        if self.method == "reduceat":
            return self._by_parts(e, where, args, keywords)
        return self._whole(e, where, args, keywords)

    def _whole(
        self, e: Emitter, where: SourceRange, args: Sequence[Given], keywords: Sequence[Given]
    ) -> Sugared:
        """`reduce` or `accumulate` along an axis."""
        names = [k.name for k in keywords]
        is_known = set(names) <= {"axis", "keepdims"} and (self.method == "reduce" or "keepdims" not in names)
        if not args or len(args) > 2 or not is_array(args[0].value) or not is_known:
            self._refuse(where, "an array and an axis")
        if self.name in LOOPED:
            return self._by_loop(e, where, args, keywords)
        if len(args) == 1 and "axis" not in names:
            keywords = [*keywords, Given(e.constant(0), where, "axis")]
        elif len(args) == 2:
            keywords = [*keywords, Given(args[1].value, args[1].where, "axis")]
        name = (REDUCED if self.method == "reduce" else ACCUMULATED)[self.name]
        if name in ("cummax", "cummin"):
            pair = call_operator(e, where, f"aten::{name}", [args[0].value, keywords[-1].value])
            return SimpleValue(unpack_tuple(e, pair)[0])
        return SimpleValue(as_number(e, self.function(e, where, name, args[:1], keywords)))

    def _by_loop(self, e: Emitter, where: SourceRange, args: Sequence[Given], keywords: Sequence[Given]) -> Sugared:
        """The fold as a loop that calls the function."""
        function = Argument(e.wrap(getattr(np, self.name), where), where)
        identity = [Argument(LiteralValue(LOOPED[self.name]), where)] if self.method == "reduce" else []
        values = [Argument(SimpleValue(a.value), a.where) for a in args]
        named = {k.name: Argument(SimpleValue(k.value), k.where) for k in keywords}
        python = vars(ufunc_loops)["reduced" if self.method == "reduce" else "accumulated"]
        return call_library(e, where, python, [function, *identity, *values], named)

    def _by_parts(self, e: Emitter, where: SourceRange, args: Sequence[Given], keywords: Sequence[Given]) -> Sugared:
        """The folds of parts as a loop that calls the function."""
        named = {k.name: Argument(SimpleValue(k.value), k.where) for k in keywords}
        if not args or not is_array(args[0].value) or not set(named) <= {"indices", "axis"}:
            self._refuse(where, "an array, the indices where parts begin, and an axis")
        function = Argument(e.wrap(getattr(np, self.name), where), where)
        array = args[0].value
        if self.name in ("add", "multiply"):  # in which NumPy has room for more than elements have
            narrow, _ = dtype_and_rank(array, where)
            if narrow.is_integral and narrow.itemsize < int64.itemsize:
                array = converted(e, array, int64 if narrow.is_signed else uint64)
        rest = [Argument(SimpleValue(a.value), a.where) for a in args[1:]]
        values = [Argument(SimpleValue(array), args[0].where), *rest]
        python = vars(ufunc_loops)["summed_parts" if self.name == "add" else "reduced_parts"]
        return call_library(e, where, python, [function, *values], named)

    def _each_by_each(self, e: Emitter, where: SourceRange, args: Sequence[Given], keywords: Sequence[Given]) -> Value:
        if len(args) != 2 or keywords or not all(is_array(a.value) for a in args):
            self._refuse(where, "two arrays")
        left, right = args
        more = dtype_and_rank(right.value, where)[1]
        column = left.value
        for _ in range(more):
            column = call_operator(e, where, "aten::unsqueeze", [column, e.constant(-1)])
        return self.function(e, where, self.name, [Given(column, left.where), right], ())

    def _refuse(self, where: SourceRange, arguments: str) -> None:
        raise CompileError(FORMS.format(name=self.name, method=self.method, arguments=arguments), where)
