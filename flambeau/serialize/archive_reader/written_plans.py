"""Calls of operators by the kinds of their values: which overload they mean is looked for once for each kind.

A call that is like one before needs no look at the signatures: values of the same kinds fit the same overload.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from flambeau.schema.device import Device
from flambeau.schema.function import FunctionSchema
from flambeau.schema.opdef import Effect, OpDef
from flambeau.serialize.archive_reader.written_memory import ForeignMemory
from flambeau.serialize.archive_reader.written_operators import (
    Call,
    check_effects,
    check_records,
    overload_of,
)
from flambeau.tensor import dispatch
from flambeau.tensor.subclasses import special
from flambeau.tensor.tensor import Tensor

_ALIKE: Final = frozenset({int, float, bool, complex, str, type(None), Device, Tensor})
"""Classes whose values all fit the same parameters."""


class Plan:
    """What calls of one kind have in common."""

    __slots__ = ("_defaults", "_has_effects", "_order", "concerns_tensors", "count", "definition")

    def __init__(self, definition: OpDef, call: Call) -> None:
        schema = definition.schema
        self.definition, self.count = definition, len(schema.returns)
        self.concerns_tensors = dispatch.concerns_tensors(schema)
        self._order, self._defaults = _order(schema, call)
        self._has_effects = (
            schema.is_mutable or definition.is_about_tensor or definition.effect is not Effect.NONE
            or bool(definition.traits.draws_by) or definition.traits.writes_when is not None
        )  # fmt: skip

    def arguments(self, call: Call) -> list[Any]:
        """All arguments of a call of this kind."""
        values = [*call.values, *call.keywords.values()] if call.keywords else list(call.values)
        if self._order is not None:
            values = [values[k] if k >= 0 else self._defaults[~k] for k in self._order]
        else:
            values += self._defaults
        return [list(v) if type(v) is list and any(v is d for d in self._defaults) else v for v in values]

    def check(self, arguments: Sequence[Any], memory: ForeignMemory) -> None:
        """Raise GivenUpError for a call whose effects could not be taken back."""
        if self._has_effects:
            check_effects(self.definition, arguments, memory)


def _order(schema: FunctionSchema, call: Call) -> tuple[list[int] | None, list[Any]]:
    """Where in the values each argument is, or in the defaults, counted from -1 down; None for values in order, with
    defaults behind them."""
    count = len(call.values)
    if not call.keywords:
        return None, [formal.default for formal in schema.arguments[count:]]
    names = {name: count + k for k, name in enumerate(call.keywords)}
    order: list[int] = []
    defaults: list[Any] = []
    for index, formal in enumerate(schema.arguments):
        if index < count or formal.name in names:
            order.append(index if index < count else names[formal.name])
        else:
            order.append(~len(defaults))
            defaults.append(formal.default)
    return order, defaults


class Plans:
    """The plans of one archive's code."""

    def __init__(self) -> None:
        self._known: dict[Any, Plan] = {}

    def run(self, call: Call, memory: ForeignMemory, *, records: bool, is_direct: bool) -> tuple[Any, int]:
        """The results of an operator, and how many the overload declares. `records` says whether gradients may be
        recorded, `is_direct` that nobody else is to see the call. Raises GivenUpError."""
        kinds = _kinds(call)
        plan = None if kinds is None else self._known.get(kinds)
        if plan is None:
            definition, arguments = overload_of(call)
            plan = Plan(definition, call)
            if kinds is not None and not definition.schema.is_vararg:
                self._known[kinds] = plan
        else:
            arguments = plan.arguments(call)
        plan.check(arguments, memory)
        if records:
            check_records(plan.definition, arguments)
        if is_direct or not plan.concerns_tensors:
            return plan.definition.kernel(*arguments), plan.count
        return dispatch.run(plan.definition, arguments), plan.count


def is_direct(*, records: bool) -> bool:
    """Whether operators of a run may be called without asking who wants to see the call."""
    return not records and not special.exists and not dispatch.is_intercepted()


def _kinds(call: Call) -> Any:
    """What calls that mean the same overload have in common; None where that is not known."""
    kinds: list[Any] = [call.name, call.vague, *call.keywords, None] if call.keywords else [call.name, call.vague]
    for values in (call.values, call.keywords.values()):
        for value in values:
            kind = type(value)
            if kind in _ALIKE:
                kinds.append(kind)
            elif isinstance(value, Tensor):
                kinds.append(Tensor)
            elif kind is list:
                inner = {Tensor if isinstance(item, Tensor) else type(item) for item in value}
                if not inner <= _ALIKE:
                    return None
                kinds.append(frozenset(inner))
            else:
                return None
    return tuple(kinds)
