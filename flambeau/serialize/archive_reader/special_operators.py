"""What archives write like operators, and none of them declares.

`with record_function(name):` enters an object of a class that PyTorch has in C++; the classes are the archive's own, so
the operators' types are too. `ops.prim.Gradient(f, [0], False, False, x)` is the gradient of a function of the archive,
which only Flambeau reads.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from flambeau.frontend.emit.values.simple_value import SimpleValue
from flambeau.frontend.emit.values.sugared import Builtin, Given, Sugared
from flambeau.ir import constants
from flambeau.ir.graph import Value
from flambeau.program.function import Function
from flambeau.program.gradients import insert_gradient
from flambeau.program.unit import CompilationUnit
from flambeau.schema.function import Argument
from flambeau.schema.subtype import is_subtype
from flambeau.schema.types import TupleType, without_refinement
from flambeau.util.errors import CompileError
from flambeau.util.names import in_root
from flambeau.util.record import dataclass

if TYPE_CHECKING:
    from flambeau.frontend.emit.values.sugared import Emitter
    from flambeau.util.source import SourceRange

SPECIAL: Final[dict[str, str]] = {
    "profiler::_record_function_enter_new": in_root("torch.classes.profiler._RecordFunction"),
}
"""The class of what an operator gives, by its name."""

NO_FUNCTION: Final = (
    "ops.prim.Gradient takes a function of the archive, a list of numbers of its arguments, two bools, and what the "
    "function is called with"
)
WRONG_ARGUMENTS: Final = "ops.prim.Gradient gives {name}() other arguments than it takes"
LEADING: Final = 4
"""Arguments before those of the function."""


@dataclass(slots=True)
class TakesGradient(Builtin):
    """The gradient of a function of the archive by some of its arguments."""

    def call(self, e: Emitter, where: SourceRange, args: Sequence[Given], keywords: Sequence[Given]) -> Sugared:
        """The node; of several results a tuple."""
        if keywords or len(args) < LEADING:
            raise CompileError(NO_FUNCTION, where)
        values = [a.value for a in args]
        function = _function(values[0])
        numbers, with_value, has_aux = map(_written, values[1:LEADING])
        if function is None or not _are_places(numbers, len(function.schema.arguments)):
            raise CompileError(NO_FUNCTION, where)
        operands = values[LEADING:]
        wanted = function.schema.arguments
        if len(operands) != len(wanted) or not all(map(_fits, operands, wanted)):
            raise CompileError(WRONG_ARGUMENTS.format(name=function.short_name), where)
        with e.graph.at_range(where):
            try:
                node = insert_gradient(
                    e.graph, function, numbers, operands, with_value=with_value is True, has_aux=has_aux is True
                )
            except TypeError as error:
                raise CompileError(str(error), where) from None
            if len(node.results) == 1:
                return SimpleValue(node.result())
            types = TupleType(tuple(v.static_type for v in node.results))
            return SimpleValue(e.graph.insert("prim::TupleConstruct", node.results, [types]).result())


def _function(value: Value) -> Function | None:
    """The function of the archive that a value is."""
    node = value.defining_node
    function = None if node is None else node.attributes.get("function")
    return function if isinstance(function, Function) else None


def _are_places(numbers: Any, count: int) -> bool:
    """Whether a constant is a list of numbers of arguments, of which there are so many."""
    return isinstance(numbers, list) and bool(numbers) and all(isinstance(n, int) and 0 <= n < count for n in numbers)


def _written(value: Value) -> Any:
    """The constant that a value is; None for others. A list of constants is one."""
    if constants.is_constant(value):
        return constants.constant_value(value)
    node = value.defining_node
    return [_written(v) for v in node.operands] if node is not None and node.op == "prim::ListConstruct" else None


def _fits(value: Value, argument: Argument) -> bool:
    return is_subtype(without_refinement(value.static_type), without_refinement(argument.type))


@dataclass(slots=True)
class MakesObject(Builtin):
    """An operator that gives an object of a class of the archive."""

    name: str
    unit: CompilationUnit

    def call(self, e: Emitter, where: SourceRange, args: Sequence[Given], keywords: Sequence[Given]) -> Sugared:
        """The node, whose result is of that class."""
        if keywords:
            raise CompileError(f"{self.name} takes no keywords", where)
        type_ = self.unit.find_type(SPECIAL[self.name])
        if type_ is None:
            raise CompileError(f"the archive has no class {SPECIAL[self.name]}", where)
        with e.graph.at_range(where):
            return SimpleValue(e.emit(self.name, tuple(a.value for a in args), type_))
