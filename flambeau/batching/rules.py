"""Which batching rule an operator has: one written for it, or the one of its family."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, Protocol

from flambeau.batching import operators
from flambeau.batching.operand import Operand, all_of, ranked
from flambeau.batching.operators import EITHER
from flambeau.schema import registry
from flambeau.schema.dtype import DType, bool_
from flambeau.schema.opdef import OpDef
from flambeau.schema.rule_tables import RuleTable
from flambeau.tensor.python_forms import promote_types
from flambeau.tensor.tensor import Tensor

DYNAMIC: Final = (
    "vmap: We do not support batching operators that can output dynamic shape. Attempted to vmap over {name}."
)
MASKED: Final = (
    "vmap: We do not support batching operators that can support dynamic shape. Attempting to batch over indexing with "
    "a boolean mask."
)


RANDOM_OF_BATCH: Final = (
    "Vmap does not currently support same randomness with a batched tensor input. Please use a different randomness "
    "mode or draw outside of vmap"
)


class VmapLevel(Protocol):
    """What rules know of the `vmap` at work."""

    size: int
    randomness: str


class Call:
    """One call of an operator on batched operands, as rules see it."""

    __slots__ = ("arguments", "definition", "level", "names")

    def __init__(self, definition: OpDef, arguments: Sequence[Any], level: VmapLevel) -> None:
        self.definition = definition
        self.arguments = arguments
        """In schema order, `Operand`s in the place of tensors."""
        self.level = level
        self.names = definition.schema.index
        """The position of each argument by its name."""

    def __getitem__(self, name: str) -> Any:
        return self.arguments[self.names[name]]

    def get(self, name: str, default: Any = None) -> Any:
        """An argument by its name, if there is one."""
        return self.arguments[self.names[name]] if name in self.names else default

    @property
    def size(self) -> int:
        """How many elements the batch has."""
        return self.level.size

    def run(self, arguments: Sequence[Any], **replaced: Any) -> Any:
        """Run the operator itself on other arguments, of which some are named."""
        listed = list(arguments)
        for name, value in replaced.items():
            listed[self.names[name]] = value
        return operators.run(self.definition, listed)


Rule = Callable[[Call], Any]
batches: RuleTable[Rule] = RuleTable("how vmap runs it on a whole batch")
"""Rules by an operator's name, or the full name of an overload."""
decomposes: RuleTable[Callable[..., Any]] = RuleTable("what vmap runs in its place")
"""Bodies over other operators: they get all operators as functions, and the arguments by their names."""


def body_of(definition: OpDef) -> Callable[..., Any] | None:
    """What stands in for an overload, or for all of its name; None if nothing does."""
    body: Callable[..., Any] | None = decomposes.get(definition.full_name) or decomposes.get(definition.name)
    return body


def applied(definition: OpDef, operands: Sequence[Any], level: VmapLevel) -> Any:
    """The results for the whole batch; None where there is no rule, or it does not know such arguments."""
    name = definition.name
    overload = definition.schema.overload
    rule = batches.get(f"{name}.{overload}") or batches.get(name)
    if rule is None and definition.schema.is_mutable:
        name = registry.out_of_place(name)
        rule = batches.get(f"{name}.{overload}") or batches.get(name)
    if rule is not None:
        return rule(Call(definition, operands, level))
    if is_pointwise(definition):
        return pointwise(Call(definition, operands, level))
    return None


_pointwise: dict[OpDef, bool] = {}


def is_pointwise(definition: OpDef) -> bool:
    """Whether it computes each element of its result by the elements in the same place."""
    known = _pointwise.get(definition)
    if known is None:
        known = definition.family == "special" or definition.scalar is not None
        if definition.family == "in_place":
            known = any(d.scalar is not None for d in registry.overloads(registry.out_of_place(definition.name)))
        _pointwise[definition] = known
    return known


def pointwise(call: Call) -> Any:
    """Operands broadcast as they do without a batch: axes of size one come behind it."""
    operands = all_of(call.arguments)
    rank = max(o.rank for o in operands)
    arguments = [
        ranked(a, rank) if isinstance(a, Operand) else [ranked(b, rank) for b in a] if _has_operand(a) else a
        for a in call.arguments
    ]
    if any(o.is_batched and o.rank == 0 for o in operands):
        arguments = _promoted(call, operands, arguments)
    return call.run(arguments)


batches("aten::copy", "aten::fill", "aten::masked_fill.Scalar", "aten::where.self", "aten::where.ScalarSelf",
        "aten::where.ScalarOther")(pointwise)  # fmt: skip


def _has_operand(value: Any) -> bool:
    return isinstance(value, list) and any(isinstance(one, Operand) for one in value)


def _promoted(call: Call, operands: Sequence[Operand], arguments: list[Any]) -> list[Any]:
    """Tensors without axes give way to others in type promotion, also where the batch gives them one."""
    definition = call.definition
    if definition.schema.is_mutable or definition.dtype is None or len({o.value.dtype for o in operands}) == 1:
        return arguments
    common: Any = None
    for operand in operands:
        if operand.rank and not operand.is_number:
            own = operand.value.dtype
            common = own if common is None else promote_types(common, own)
    if common is None:
        return arguments
    choosing = {call.names.get("condition"), call.names.get("mask")}
    return [
        EITHER.to(changed, common) if position not in choosing and _gives_way(argument, common) else changed
        for position, (argument, changed) in enumerate(zip(call.arguments, arguments, strict=True))
    ]


def _gives_way(argument: Any, common: DType) -> bool:
    """Whether it is a tensor without axes of its own, of no higher kind than the others."""
    is_small = isinstance(argument, Operand) and argument.is_batched and argument.rank == 0
    return is_small and argument.value.dtype.category <= common.category


_sizes_first: Final = "size"


def drawn(definition: OpDef, arguments: Sequence[Any], size: int) -> Tensor | None:
    """A batch of random tensors from an operator that is told their sizes; None from one that is not."""
    position = definition.schema.index.get(_sizes_first)
    if position is None or not isinstance(arguments[position], list | tuple):
        return None
    result: Tensor = operators.run(
        definition, [*arguments[:position], [size, *arguments[position]], *arguments[position + 1 :]]
    )
    return result


_dynamic: RuleTable[Callable[[], None]] = RuleTable("its result has as many elements as its operands' values say")


@_dynamic(
    "aten::nonzero", "aten::argwhere", "aten::nonzero_numpy", "aten::masked_select", "aten::_unique", "aten::_unique2",
    "aten::unique_dim", "aten::unique_consecutive", "aten::unique_dim_consecutive", "aten::bincount",
    "aten::where.", "aten::repeat_interleave.Tensor", "aten::repeat_interleave.self_Tensor",
)  # fmt: skip
def _is_dynamic() -> None:
    """Nothing to do: being listed says it."""


def refuse_dynamic(definition: OpDef, operands: Sequence[Any]) -> None:
    """Raise RuntimeError for an operator whose results may have different sizes within a batch."""
    name = f"{definition.name}.{definition.schema.overload}"
    if definition.name in _dynamic or name in _dynamic:
        raise RuntimeError(DYNAMIC.format(name=definition.name))
    if any(isinstance(o, list) and any(_is_mask(one) for one in o) for o in operands):
        raise RuntimeError(MASKED)


def _is_mask(operand: Any) -> bool:
    return isinstance(operand, Operand) and operand.is_batched and operand.value.dtype is bool_
