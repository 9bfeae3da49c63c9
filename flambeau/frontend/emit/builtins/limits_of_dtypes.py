"""`finfo(x.dtype).min` in programs: an operator of the dtype's number.

finfo(x.dtype).min    →    %d : int = prim::dtype(%x)    %m : float = python::finfo(%d, "min")
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from flambeau.frontend.emit.numpy.dtype_names import dtype_named
from flambeau.frontend.emit.numpy.dtype_values import as_dtype, known_dtype
from flambeau.frontend.emit.schema_matching import call_operator
from flambeau.frontend.emit.values.simple_value import SimpleValue
from flambeau.frontend.emit.values.sugared import Emitter, Given, Sugared
from flambeau.frontend.trees.tree_views import Apply
from flambeau.ir.graph import Value
from flambeau.schema.dtype import float32
from flambeau.schema.element_type import element_of
from flambeau.schema.types import FLOAT, INT, Type
from flambeau.util.errors import CompileError
from flambeau.util.record import dataclass
from flambeau.util.source import SourceRange

ONE_DTYPE = "{name} takes one dtype"
FLOATS: Final = ("min", "max", "eps", "tiny", "smallest_normal", "resolution")
INTEGERS: Final = ("min", "max")


@dataclass(slots=True)
class LimitsClass(Sugared):
    """`finfo` or `iinfo`."""

    name: str

    @property
    def kind(self) -> str:
        """The name of this kind of value in error messages."""
        return f"class {self.name}"

    def call_tree(self, e: Emitter, tree: Apply, hint: Type | None) -> Sugared | None:
        """The limits of a dtype that one of Python's types, or a text, names; None for any other call."""
        named = dtype_named(e, tree.args[0]) if e.arrays and len(tree.args) == 1 and not tree.keywords else None
        return None if named is None else Limits(self.name, as_dtype(named))

    def call(self, e: Emitter, where: SourceRange, args: Sequence[Given], keywords: Sequence[Given]) -> Sugared:
        """The limits of a dtype, float32's if none is given."""
        arguments = [*args, *keywords]
        are_dtypes = all(a.value.static_type == INT for a in arguments)
        if len(arguments) > 1 or not are_dtypes or (not arguments and self.name == "iinfo"):
            raise CompileError(ONE_DTYPE.format(name=self.name), where)
        return Limits(self.name, arguments[0].value if arguments else e.constant(float32.code))


@dataclass(slots=True)
class Limits(Sugared):
    """The limits of a dtype, each an attribute."""

    name: str
    dtype: Value

    @property
    def kind(self) -> str:
        """The name of this kind of value in error messages."""
        return self.name

    def attribute(self, e: Emitter, where: SourceRange, name: str) -> Sugared:
        """One limit."""
        if name == "bits":
            return SimpleValue(call_operator(e, where, "python::dtype_bits", [self.dtype]))
        if name not in (FLOATS if self.name == "finfo" else INTEGERS):
            raise CompileError(f"{self.name} has no attribute '{name}'", where)
        result = call_operator(e, where, f"python::{self.name}", [self.dtype, e.constant(name)])
        dtype = known_dtype(self.dtype)
        if dtype is not None and self.name == "finfo":
            result.set_type(element_of(FLOAT, dtype))
        return SimpleValue(result)
