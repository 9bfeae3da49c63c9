"""`int(x)`, `float(x)`, `bool(x)`, `str(x)`, `complex(x)`: conversions of numbers, texts, tensors and objects."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from flambeau.frontend.emit.conditions import to_bool
from flambeau.frontend.emit.implicit_conversions import to_device
from flambeau.frontend.emit.numpy.element_arithmetic import as_python
from flambeau.frontend.emit.schema_matching import as_int, call_operator
from flambeau.frontend.emit.values.object_methods import has_method
from flambeau.frontend.emit.values.operator_arguments import printed
from flambeau.frontend.emit.values.simple_value import SimpleValue
from flambeau.frontend.emit.values.sugared import Emitter, Given, Sugared
from flambeau.ir.graph import Value
from flambeau.schema.types import BOOL, COMPLEX, FLOAT, INT, STRING, ListType, NamedType, Type
from flambeau.tensor.defaults import get_default_dtype
from flambeau.util.errors import CompileError
from flambeau.util.record import dataclass
from flambeau.util.source import SourceRange

EMPTY: dict[Type, object] = {INT: 0, FLOAT: 0.0, BOOL: False, STRING: "", COMPLEX: 0j}


@dataclass(slots=True)
class CastValue(Sugared):
    """A builtin type called as a function."""

    type: Type
    operator: str
    magic: str
    """The method that objects have for it."""

    @property
    def kind(self) -> str:
        """The name of this kind of value in error messages."""
        return f"type '{self.type}'"

    def as_value(self, e: Emitter, where: SourceRange) -> Value:
        """Types are no values."""
        raise CompileError("python value of type 'type' cannot be used as a value: call it, or use it as a type", where)

    def call(self, e: Emitter, where: SourceRange, args: Sequence[Given], keywords: Sequence[Given]) -> Sugared:
        """The converted value; the value itself if there is nothing to convert."""
        if not args and not keywords:
            return SimpleValue(e.constant(EMPTY[self.type]))
        if self.type == INT and len(args) + len(keywords) == 2 and args[0].value.static_type == STRING:
            return SimpleValue(call_operator(e, where, "python::int_of_base", args, keywords))
        if len(args) == 1 and not keywords:
            value = args[0].value
            if value.static_type == self.type:
                return SimpleValue(as_python(e, as_int(e, where, value)))
            if isinstance(value.static_type, NamedType) and has_method(e, value.static_type, self.magic, where):
                return SimpleValue(value).attribute(e, where, self.magic).call(e, where, (), ())
            if self.type == STRING:
                value = printed(e, where, value)
                if value.static_type == STRING:
                    return SimpleValue(value)
            if self.type == BOOL:
                return SimpleValue(to_bool(e, where, value))
        return SimpleValue(call_operator(e, where, self.operator, args, keywords))


CASTS: Final = {
    int: CastValue(INT, "aten::Int", "__int__"),
    float: CastValue(FLOAT, "aten::Float", "__float__"),
    bool: CastValue(BOOL, "aten::Bool", "__bool__"),
    str: CastValue(STRING, "aten::str", "__str__"),
    complex: CastValue(COMPLEX, "aten::Complex", "__complex__"),
}
"""What the builtin types are in programs."""


class DeviceClass(Sugared):
    """`device`, called with a text and perhaps an index."""

    @property
    def kind(self) -> str:
        """The name of this kind of value in error messages."""
        return "class device"

    def call(self, e: Emitter, where: SourceRange, args: Sequence[Given], keywords: Sequence[Given]) -> Sugared:
        """A device; a constant if its name is one."""
        by_name = not args and len(keywords) == 1 and keywords[0].name == "type"
        only = keywords[0] if by_name else args[0] if len(args) == 1 and not keywords else None
        if only is not None and only.value.static_type == STRING:
            return SimpleValue(to_device(e, only.value))
        return SimpleValue(call_operator(e, where, "aten::device", args, keywords))


@dataclass(slots=True)
class TypedTensorClass(Sugared):
    """`FloatTensor` and its like, called with one list, with sizes, or with nothing."""

    name: str
    dtype: int | None
    """The code of its dtype; None for that which is the default when the program runs."""

    @property
    def kind(self) -> str:
        """The name of this kind of value in error messages."""
        return f"class {self.name}"

    def call(self, e: Emitter, where: SourceRange, args: Sequence[Given], keywords: Sequence[Given]) -> Sugared:
        """A tensor of that dtype."""
        if keywords:
            raise CompileError(f"{self.name}: Keyword argument {keywords[0].name} unknown.", keywords[0].where)
        dtype = Given(self._dtype(e, where), where, "dtype")
        if len(args) == 1 and args[0].value.static_type != INT:
            return SimpleValue(call_operator(e, where, "aten::tensor", args, [dtype]))
        if any(a.value.static_type != INT for a in args):
            text = "was called with multiple positional arguments that were not all integers: give sizes, or one list"
            raise CompileError(f"{self.name} {text}", where)
        sizes = [a.value for a in args] or [e.constant(0)]
        listed = e.emit("prim::ListConstruct", sizes, ListType(INT))
        return SimpleValue(call_operator(e, where, "aten::empty", [listed], [dtype]))

    def _dtype(self, e: Emitter, where: SourceRange) -> Value:
        if self.dtype is not None:
            return e.constant(self.dtype, INT)
        return e.wrap(get_default_dtype, where).call(e, where, (), ()).as_value(e, where)
