"""What a nested function captures, as further parameters of the function that is compiled for a call of it.

f = partial(g, n); apply(lambda v: f(v) + k)    →    `apply` compiled with parameters for k and for the n in `f`
"""

from __future__ import annotations

from collections.abc import Mapping

from flambeau.frontend.closures.captures import Closure, captures
from flambeau.frontend.emit.frames import Variable
from flambeau.frontend.emit.implicit_conversions import pack_list
from flambeau.frontend.emit.values.carried_values import take_along
from flambeau.frontend.emit.values.sugared import Emitter, Sugared
from flambeau.frontend.trees.tree_views import Ident, Param
from flambeau.ir.value import Value
from flambeau.schema.types import Type
from flambeau.util.errors import CompileError
from flambeau.util.record import dataclass, field
from flambeau.util.source import SourceRange


@dataclass(slots=True)
class CapturedParameters:
    """The parameters by name, and what a call passes for them."""

    constants: dict[str, Sugared]
    """What is no value, by the name where it arrives."""
    values: dict[str, Value] = field(default_factory=dict)
    aliases: dict[str, str] = field(default_factory=dict)
    """Further names of parameters."""
    variables: dict[str, Variable] = field(default_factory=dict)
    """The variables that are passed, by parameter."""
    cells: dict[str, tuple[Value, Variable]] = field(default_factory=dict)
    """The lists of one that are passed for variables that the function assigns."""

    @property
    def types(self) -> dict[str, Type]:
        """Their types."""
        return {name: value.static_type for name, value in self.values.items()}

    def trees(self, where: SourceRange) -> tuple[Param, ...]:
        """Their declarations."""
        return tuple(Param(where, Ident(where, name), None, None, True) for name in self.values)


def captured_parameters(
    e: Emitter,
    where: SourceRange,
    closure: Closure | None,
    constants: Mapping[str, Sugared],
    function: str,
    refusal: str = "",
) -> CapturedParameters:
    """What a call of `function` passes along: for `closure`, if it is nested, and for arguments that are no values.

    With a `refusal` it raises CompileError with that text if the function assigns a variable.
    """
    along = captures(e, where, closure, constants.values())
    result = CapturedParameters({})
    for name, constant in constants.items():
        result.constants[name], parts = take_along(constant, f"{name}__{function}", where)
        result.values.update(parts)
    result.values.update(along.values)
    result.constants.update(along.constants)
    for captured in along.variables.values():
        first, *others = captured.names
        result.aliases.update(dict.fromkeys(others, first))
        slot = captured.variable.slot
        if refusal and captured.is_assigned:
            raise CompileError(refusal, where)
        value = e.load(first, captured.variable)
        if captured.is_assigned:
            value = e.builder.cells.get(slot) or pack_list(e, [value], value.static_type)
            result.cells[first] = value, captured.variable
        result.variables[first] = captured.variable
        result.values[first] = value
    return result
