"""Methods of tensors that are more than one operator with the tensor first: `where`, `type`, `new_tensor`, `unique`.

`simple_value`, which offers them, gives its own class as `wrap`, so that this module need not know it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from flambeau.frontend.emit.schema_matching import call_operator
from flambeau.frontend.emit.values.sugared import Builtin, Emitter, Given, Sugared
from flambeau.ir.graph import Value
from flambeau.ops.python_forms import norm, unique, unique_consecutive
from flambeau.schema.types import INT
from flambeau.tensor.python_forms import nonzero
from flambeau.util.errors import CompileError
from flambeau.util.record import dataclass
from flambeau.util.source import SourceRange

Wrap = Callable[[Value], Sugared]

SECOND: Final = ("where", "polygamma")
"""Methods of operators that have the tensor as their second operand."""
OTHER_NAMES: Final = {"ndimension": "dim", "nelement": "numel"}
"""Methods that are others under a second name."""
FUNCTIONS: Final[dict[str, Callable[..., Any]]] = {
    "unique": unique, "unique_consecutive": unique_consecutive, "norm": norm, "nonzero": nonzero,
}  # fmt: skip
"""Methods that are functions of the package whose results depend on flags, or that take words."""


@dataclass(slots=True)
class SecondOperandMethod(Builtin):
    """`x.where(condition, other)`, `x.polygamma(n)`: the operator has the condition, or the order, first."""

    wrap: Wrap
    tensor: Value
    operator: str

    def call(self, e: Emitter, where: SourceRange, args: Sequence[Given], keywords: Sequence[Given]) -> Sugared:
        """A tensor."""
        own = Given(self.tensor, where)
        if args:
            return self.wrap(call_operator(e, where, self.operator, [args[0], own, *args[1:]], keywords))
        return self.wrap(call_operator(e, where, self.operator, [], [Given(self.tensor, where, "self"), *keywords]))


@dataclass(slots=True)
class TypeMethod(Builtin):
    """`x.type(dtype)`: a conversion."""

    wrap: Wrap
    tensor: Value

    def call(self, e: Emitter, where: SourceRange, args: Sequence[Given], keywords: Sequence[Given]) -> Sugared:
        """The tensor in another dtype. Raises CompileError without one: a dtype has no text in programs."""
        if len(args) + len(keywords) != 1:
            raise CompileError("type() needs a dtype in programs: x.type(flambeau.float64), or x.dtype to ask", where)
        arguments = [*args, *keywords]
        return self.wrap(call_operator(e, where, "aten::to", [Given(self.tensor, where), arguments[0]]))


@dataclass(slots=True)
class NewTensorMethod(Builtin):
    """`x.new_tensor(data)`: a new tensor, of the dtype of `x` unless the call names another."""

    wrap: Wrap
    tensor: Value

    def call(self, e: Emitter, where: SourceRange, args: Sequence[Given], keywords: Sequence[Given]) -> Sugared:
        """A tensor."""
        if not any(k.name == "dtype" for k in keywords):
            own = e.emit("prim::dtype", (self.tensor,), INT)
            keywords = [*keywords, Given(own, where, "dtype")]
        return self.wrap(call_operator(e, where, "aten::tensor", args, keywords))


@dataclass(slots=True)
class FunctionMethod(Builtin):
    """`x.unique`: a function of the package with the tensor as its first argument."""

    function: Callable[..., Any]
    tensor: Value

    def call(self, e: Emitter, where: SourceRange, args: Sequence[Given], keywords: Sequence[Given]) -> Sugared:
        """What the function gives."""
        return e.wrap(self.function, where).call(e, where, [Given(self.tensor, where), *args], keywords)


def tensor_method(wrap: Wrap, value: Value, name: str) -> Sugared | None:
    """A method of this module; None for other names."""
    if name in SECOND:
        return SecondOperandMethod(wrap, value, f"aten::{name}")
    if name == "type":
        return TypeMethod(wrap, value)
    if name == "new_tensor":
        return NewTensorMethod(wrap, value)
    return FunctionMethod(FUNCTIONS[name], value) if name in FUNCTIONS else None
