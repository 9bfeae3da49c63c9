"""Functions of dtypes in programs of arrays: `np.dtype("float32")`, `np.result_type(x, y)`, `np.can_cast(d, "f4")`.

np.result_type(x, 1)    →    the constant 7, a dtype, of a float64 array
np.issubdtype(x.dtype, np.floating)    →    the constant True
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from flambeau.frontend.emit.numpy.array_promotion import is_array, samples
from flambeau.frontend.emit.numpy.dtype_names import PYTHON_TYPES, dtype_named
from flambeau.frontend.emit.numpy.dtype_values import as_dtype, dtype_value, known_dtype
from flambeau.frontend.emit.values.simple_value import SimpleValue
from flambeau.frontend.emit.values.sugared import Emitter, Sugared
from flambeau.frontend.trees.tree_views import Apply, Expr, Starred, TupleLiteral
from flambeau.ir.constants import constant_value, is_constant
from flambeau.ir.graph import Value
from flambeau.schema.dtype import from_numpy_dtype
from flambeau.schema.dtype_code import is_code_of_dtype
from flambeau.schema.types import BOOL, STRING, Type, is_number
from flambeau.util.errors import CompileError
from flambeau.util.record import dataclass

NO_DTYPE: Final = "np.{name} takes dtypes here: x.dtype, np.float32, float, 'float32'{besides}"
SEVERAL: Final = "np.{name}: of which dtype this number is, only the run tells: convert it, as in np.float64(x)"
NO_ARRAYS: Final = "np.{name} gives {dtype} here, of which programs have no arrays"
FUNCTIONS: Final[dict[Any, str]] = {
    getattr(np, name): name
    for name in ("result_type", "promote_types", "can_cast", "issubdtype", "isdtype") if hasattr(np, name)
}
"""Functions of NumPy whose results follow from dtypes, which are known when a program is compiled."""


@dataclass(slots=True)
class DtypeClass(Sugared):
    """`np.dtype`."""

    @property
    def kind(self) -> str:
        """The name of this kind of value in error messages."""
        return "class np.dtype"

    def call_tree(self, e: Emitter, tree: Apply, hint: Type | None) -> Sugared | None:
        """The dtype that a text, one of Python's types, or a class of NumPy's scalars names."""
        if len(tree.args) != 1 or tree.keywords or isinstance(tree.args[0], Starred):
            raise CompileError(NO_DTYPE.format(name="dtype", besides=""), tree.range)
        named = dtype_named(e, tree.args[0])
        value = e.value(tree.args[0]) if named is None else as_dtype(named)
        if not is_code_of_dtype(value.static_type):
            raise CompileError(NO_DTYPE.format(name="dtype", besides=""), tree.args[0].range)
        return SimpleValue(value)


@dataclass(slots=True)
class DtypeFunction(Sugared):
    """`np.result_type` and its like, whose results follow from dtypes alone."""

    name: str

    @property
    def kind(self) -> str:
        """The name of this kind of value in error messages."""
        return f"function np.{self.name}"

    def call_tree(self, e: Emitter, tree: Apply, hint: Type | None) -> Sugared | None:
        """What NumPy says, of the dtypes of arguments and keywords."""
        trees = [*tree.args, *(k.value for k in tree.keywords)]
        passed = [self._sample(e, one) for one in trees]
        if self.name == "isdtype" and isinstance(passed[0], type):
            passed[0] = np.dtype(passed[0])  # it takes no classes
        names = [k.name for k in tree.keywords]
        count = len(tree.args)
        try:
            result = getattr(np, self.name)(*passed[:count], **dict(zip(names, passed[count:], strict=True)))
        except (TypeError, ValueError) as error:
            raise CompileError(f"np.{self.name}: {error}", tree.range) from None
        return SimpleValue(e.constant(result, BOOL) if isinstance(result, bool) else self._dtype(e, tree, result))

    def _dtype(self, e: Emitter, tree: Apply, result: Any) -> Value:
        try:
            return dtype_value(e, from_numpy_dtype(result))
        except TypeError:
            raise CompileError(NO_ARRAYS.format(name=self.name, dtype=result), tree.range) from None

    def _sample(self, e: Emitter, tree: Expr) -> Any:
        """What NumPy is asked about in place of an argument: a dtype, an abstract one, a number, an array of none."""
        python = e.python_value(tree)
        if isinstance(python, type) and (issubclass(python, np.generic) or python in PYTHON_TYPES):
            return python
        if isinstance(tree, TupleLiteral):
            return tuple([self._sample(e, item) for item in tree.items])
        value = e.value(tree)
        if is_code_of_dtype(value.static_type):
            dtype = known_dtype(value)
            if dtype is not None:
                return dtype.numpy
        elif value.static_type == STRING and is_constant(value):
            return constant_value(value)
        elif is_array(value) or is_number(value.static_type):
            each = samples(value, tree.range)
            if len(each) == 1:
                return each[0]
            raise CompileError(SEVERAL.format(name=self.name), tree.range)
        besides = ", arrays and numbers" if self.name == "result_type" else ""
        raise CompileError(NO_DTYPE.format(name=self.name, besides=besides), tree.range)


def dtype_function(value: Any) -> Sugared | None:
    """`np.dtype`, or a function of dtypes; None for other values."""
    if value is np.dtype:
        return DtypeClass()
    try:
        name = FUNCTIONS.get(value)
    except TypeError:
        return None
    return None if name is None else DtypeFunction(name)
