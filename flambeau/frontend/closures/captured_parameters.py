"""What a nested function captures, as further parameters of the function that is compiled for a call of it.

f = partial(g, n); apply(lambda v: f(v) + k)    →    `apply` compiled with parameters for k and for the n in `f`
"""

from __future__ import annotations

from collections.abc import Container, Mapping

from flambeau.frontend.closures.captures import Closure, captures
from flambeau.frontend.emit.frames import Variable
from flambeau.frontend.emit.implicit_conversions import pack_list
from flambeau.frontend.emit.values.carried_values import carry
from flambeau.frontend.emit.values.sugared import Emitter, Sugared
from flambeau.frontend.scopes.captured_names import Name
from flambeau.frontend.scopes.scope_tree import used_names
from flambeau.frontend.trees.tree_views import Def, Ident, Param
from flambeau.ir.graph import Value
from flambeau.schema.types import Type
from flambeau.util.errors import CompileError
from flambeau.util.record import dataclass, field
from flambeau.util.source import SourceRange


@dataclass(slots=True)
class CapturedParameters:
    """The parameters by name, and what a call passes for them."""

    constants: dict[Name, Sugared]
    """What is no value, by the name in the function that is called."""
    values: dict[str, Value] = field(default_factory=dict)
    aliases: dict[Name, str] = field(default_factory=dict)
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
    tree: Def,
    refusal: str = "",
) -> CapturedParameters:
    """What a call passes for captured variables: those of `closure`, if it is nested, and of functions as arguments.

    With a `refusal` it raises CompileError with that text if the function assigns a variable.
    """
    along = captures(e, where, closure, constants.values())
    result = CapturedParameters({})
    for name, constant in constants.items():
        result.constants[name], parts = carry(constant, f"{name}__{tree.name}", where)
        result.values.update(parts)
    result.values.update(along.values)
    result.constants.update(along.constants)
    mentioned = {*(p.name for p in tree.decl.params), *used_names(tree.body)} if along.variables else set()
    for captured in along.variables.values():
        first = captured.names[0]
        parameter = first if isinstance(first, str) else _unused(str(first), mentioned)
        result.aliases.update({name: parameter for name in captured.names if name != parameter})
        slot = captured.variable.slot
        if refusal and captured.is_assigned:
            raise CompileError(refusal, where)
        value = e.load(parameter, captured.variable)
        if captured.is_assigned:
            value = e.builder.cells.get(slot) or pack_list(e, [value], value.static_type)
            result.cells[parameter] = value, captured.variable
        result.variables[parameter] = captured.variable
        result.values[parameter] = value
    return result


def _unused(name: str, mentioned: Container[str]) -> str:
    """A name for a parameter that the function does not use for something else."""
    while name in mentioned:
        name += "_"
    return name
