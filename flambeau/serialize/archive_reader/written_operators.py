"""Operators that code calls while it is run as text: which overload values mean, and which calls are for the graph.

The code of an archive was printed from a graph whose calls fit an overload as they are, without conversions. So values
decide as types would; where a value may have several types (None, an empty list) and overloads differ in that, the
graph decides.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from flambeau.analysis.gradients import holds_tensors, is_real
from flambeau.frontend.emit.values.operator_arguments import adapts
from flambeau.interpreter.conform import conforms
from flambeau.interpreter.structural import MAKERS
from flambeau.ir import kinds
from flambeau.program.written import GivenUpError
from flambeau.schema import registry
from flambeau.schema.device import Device
from flambeau.schema.function import NO_DEFAULT, Argument, FunctionSchema
from flambeau.schema.match import has_variables
from flambeau.schema.opdef import Effect, OpDef
from flambeau.schema.rule_tables import RuleTable
from flambeau.schema.types import DictType, ListType, NumberType, OptionalType, Type, VarType
from flambeau.serialize.archive_reader.written_memory import ForeignMemory
from flambeau.tensor.tensor import Tensor

_OF_GRAPHS: Final = frozenset(MAKERS) | kinds.OPAQUE | kinds.ORDERED
"""What is no operator, although code writes it like one."""
_NUMBERS: Final = (bool, int, float, complex)
_PLAIN: Final = (*_NUMBERS, str, type(None), Tensor, Device)


_ONLY_ASK: Final = RuleTable[Callable[[], None]]("asks only, in its turn: running it twice is as good as once")
_ONLY_ASK(
    "aten::is_autocast_enabled", "aten::is_autocast_cpu_enabled", "aten::get_autocast_dtype", "aten::is_grad_enabled"
)(lambda: None)


_ALIKE: Final = RuleTable[Callable[[], None]]("overloads that mean the same where what may be of several types is None")
_ALIKE(
    *[f"aten::{kind}{dims}d" for kind in ("upsample_nearest", "_upsample_nearest_exact") for dims in (1, 2, 3)],
    "aten::upsample_linear1d", "aten::upsample_bilinear2d", "aten::upsample_bicubic2d", "aten::upsample_trilinear3d",
    "aten::_upsample_bilinear2d_aa", "aten::_upsample_bicubic2d_aa", "aten::_upsample_lanczos2d_aa",
)(lambda: None)


class Call(NamedTuple):
    """What an operator is called with."""

    name: str
    values: Sequence[Any]
    keywords: Mapping[str, Any]
    vague: frozenset[int | str] = frozenset()
    """Positions and names of values that may be of several types: None that is not written so, what is empty."""

    def given(self, key: int | str) -> Any:
        """The value of a position or a name."""
        return self.keywords[key] if isinstance(key, str) else self.values[key]


def overload_of(call: Call) -> tuple[OpDef, list[Any]]:
    """The overload that takes such values as they are, and all its arguments. Raises GivenUpError where there is none,
    or where types would have to decide between several."""
    name, values = call.name, call.values
    if name in _OF_GRAPHS or (name in adapts and not all(map(_is_plain, values))):
        raise GivenUpError(f"{name} of such values")
    first: tuple[OpDef, list[Any]] | None = None
    for definition in registry.overloads(name):
        arguments = _arguments(definition.schema, values, call.keywords)
        if arguments is None:
            continue
        if first is None:
            first = definition, arguments
            if not call.vague:
                break
        elif not _is_either(first[0], definition, call):
            raise GivenUpError(f"types decide which overload of {name} it is")
    if first is None or _makes_numbers_of_bools(first[0].schema, values):
        raise GivenUpError(f"no overload of {name} takes the values as they are")
    return first


def _is_plain(value: Any) -> bool:
    return all(isinstance(item, _PLAIN) for item in (value if isinstance(value, list) else (value,)))


def _is_either(first: OpDef, other: OpDef, call: Call) -> bool:
    """Whether types of vague values would not tell two overloads apart, or nothing is different."""
    if first.kernel is other.kernel or (call.name in _ALIKE and all(call.given(key) is None for key in call.vague)):
        return True
    return all(_formal(first.schema, key).type == _formal(other.schema, key).type for key in call.vague)


def _formal(schema: FunctionSchema, key: int | str) -> Argument:
    index = schema.index[key] if isinstance(key, str) else key
    return schema.arguments[min(index, len(schema.arguments) - 1)]


def _arguments(schema: FunctionSchema, values: Sequence[Any], keywords: Mapping[str, Any]) -> list[Any] | None:
    """All arguments in the order of the schema; None where the values do not fit."""
    count = len(schema.positional)
    if (len(values) > count and not schema.is_vararg) or any(name not in schema.index for name in keywords):
        return None
    if any(schema.index[name] < min(len(values), count) for name in keywords):
        return None
    arguments = []
    for index, formal in enumerate(schema.arguments):
        value = values[index] if index < min(len(values), count) else keywords.get(formal.name, formal.default)
        if value is NO_DEFAULT or not _fits(value, formal.type):
            return None
        arguments.append(list(value) if value is formal.default and isinstance(value, list) else value)
    arguments += values[count:]
    return arguments


def _fits(value: Any, type_: Type) -> bool:
    """Whether a value can be passed for a type, in which there may be variables."""
    if not has_variables(type_):
        return conforms(value, type_)
    match type_:
        case VarType():
            return True
        case OptionalType(element):
            return value is None or _fits(value, element)
        case ListType(element):
            return isinstance(value, list) and all(_fits(item, element) for item in value)
        case DictType(key, element):
            items = value.items() if isinstance(value, dict) else ()
            return isinstance(value, dict) and all(_fits(k, key) and _fits(v, element) for k, v in items)
    return False


def _makes_numbers_of_bools(schema: FunctionSchema, values: Sequence[Any]) -> bool:
    """Whether bools among numbers are made ints or floats first, as the compiler does."""
    if not any(type(v) is bool for v in values) or not all(type(v) in _NUMBERS for v in values):
        return False
    return any(isinstance(a.type, NumberType) for a in schema.arguments[: len(values)])


def check_effects(definition: OpDef, arguments: Sequence[Any], memory: ForeignMemory) -> None:
    """Raise GivenUpError for a call after which the run could not begin again as if nothing had happened."""
    schema = definition.schema
    if definition.is_about_tensor and schema.is_mutable:
        raise GivenUpError(f"{schema.full_name} changes more than elements")
    is_quiet = definition.effect in (Effect.NONE, Effect.RANDOM) or schema.name in _ONLY_ASK
    if not is_quiet or definition.draws(arguments):
        raise GivenUpError(f"{schema.full_name} does more than compute")
    for formal, value in zip(schema.arguments, arguments, strict=False):
        if formal.alias is not None and formal.alias.is_write:
            _check_write(schema, formal, value, memory)
    condition = definition.traits.writes_when
    if condition is None or arguments[schema.index[condition.flag]] is False:
        return
    for name in condition.arguments:
        _check_write(schema, schema.arguments[schema.index[name]], arguments[schema.index[name]], memory)


def _check_write(schema: FunctionSchema, formal: Argument, value: Any, memory: ForeignMemory) -> None:
    """Raise GivenUpError for a write to what was there before that could not be taken back."""
    is_of_tensors = isinstance(value, list | tuple) and holds_tensors(formal.type)
    if not all(map(memory.may_change, value if is_of_tensors else ())) or not memory.may_change(value):
        raise GivenUpError(f"{schema.full_name} writes to what was there before")


def check_records(definition: OpDef, arguments: Sequence[Any]) -> None:
    """Raise GivenUpError for what the tape alone could not go back through: numbers made of tensors, writes; and for
    what looks at the need of gradients."""
    schema = definition.schema
    if schema.is_mutable and schema.concerns_tensors:
        raise GivenUpError(f"{schema.full_name} writes while gradients are recorded")
    if definition.is_about_tensor:
        raise GivenUpError(f"{schema.full_name} is about gradients")
    if definition.differentiable is False or not any(map(holds_tensor, arguments)):
        return
    if any(is_real(r.type) and not holds_tensors(r.type) for r in schema.returns):
        raise GivenUpError(f"{schema.full_name} makes a number of a tensor while gradients are recorded")


def holds_tensor(value: Any) -> bool:
    """Whether a value is a tensor, or a container of some."""
    return any(isinstance(part, Tensor) for part in (value if isinstance(value, list | tuple) else (value,)))
