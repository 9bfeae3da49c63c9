"""How calls of an operator are recorded: which operands gradients flow to, and what is kept for the way back.

>>> from flambeau.schema import registry
>>> rule = rule_of(registry.get("aten::mul.Tensor"))
>>> rule.node_type.__name__, [name for _, name in rule.operands]
('MulBackward0', ['self', 'other'])
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from flambeau.autograd.array_steps import ArrayStep
from flambeau.autograd.operator_node import NEVER, CallFormulas, OperatorNode, Quick, Step
from flambeau.autograd.quick_formulas import (
    LIST,
    OPERAND,
    OPTIONAL,
    PART,
    RESULT,
    SIZES,
    SIZES_OF_PARTS,
    TENSORS,
    VALUE,
    keeper,
    quick,
)
from flambeau.ops.derivatives.meaning_steps import FEW, least_large
from flambeau.ops.derivatives.node_names import node_name
from flambeau.ops.derivatives.operators import OPERATORS
from flambeau.schema import registry
from flambeau.schema.array_gradient import array_gradient_of
from flambeau.schema.gradient import Call, Formula, Gradient, Part, flat_by
from flambeau.schema.opdef import OpDef
from flambeau.schema.own_gradient import gradient_of as gradient_of
from flambeau.schema.types import ListType, OptionalType, TensorType, Type
from flambeau.tensor.tensor import Tensor
from flambeau.util.inversions import LARGE_GRADIENTS

Together = Callable[[Sequence[Any]], Sequence[Any] | None]


class _TogetherWhenLarge:
    """What computes all gradients of calls of an operator on large arrays: asked for when there is such a call."""

    __slots__ = ("_formulas", "_name", "_run")

    def __init__(self, name: str, formulas: Sequence[tuple[Formula, Sequence[tuple[str, int]]]]) -> None:
        self._name, self._formulas = name, formulas
        self._run: Together | None = None

    def __call__(self, values: Sequence[Any]) -> Sequence[Any] | None:
        if self._run is None:
            self._run = LARGE_GRADIENTS.implementation(self._name, self._formulas)
        return self._run(values)


class Rule:
    """How calls of one overload are recorded."""

    def __init__(self, definition: OpDef, gradient: Gradient) -> None:
        self.definition = definition
        self.gradient = gradient
        index = definition.schema.index
        self.operands: Final = tuple([(index[name], name) for name in gradient.names if name in index])
        """Position and name of the arguments that gradients may flow to."""
        traits = definition.traits
        members = {
            "__slots__": (),
            "__module__": "flambeau.autograd",
            "could_keep": frozenset(["result", *index]),
            "gives_slices": traits.gives_slices,
            "numbers": int(traits.number_is_operand and len(self.operands) == 1),
        }
        self.node_type: type[OperatorNode] = type(node_name(definition), (OperatorNode,), members)
        types = [definition.schema.arguments[position].type for position, _ in self.operands]
        self.takes_lists: Final = any(isinstance(type_, ListType) for type_ in types)
        """Whether an operand is a list of tensors."""
        self.is_in_place: Final = _writes_first(definition)
        self.flows: Final = definition.differentiable
        self._folds: Final = definition.scalar is None and definition.family != "view"
        self._flat_by: Final = flat_by(definition.name) or flat_by(registry.out_of_place(definition.name))
        self._tensor_names: Final = _tensor_names(definition)
        self._calls: dict[Any, CallFormulas] = {}

    def formulas(self, asking: tuple[bool, ...], is_complex: bool, arguments: Sequence[Any]) -> CallFormulas:
        """The formulas of a call whose operands ask for gradients or not."""
        statics = () if self.gradient.is_static else self.gradient.statics(tuple(arguments))
        key = (asking, is_complex, statics)
        known = self._calls.get(key)
        if known is None:
            known = self._calls[key] = self._make(asking, Call(is_complex, statics))
        return known

    def _make(self, asking: tuple[bool, ...], call: Call) -> CallFormulas:
        formulas: list[tuple[int, Formula]] = []
        for number, ((_, name), asks) in enumerate(zip(self.operands, asking, strict=True)):
            formula = self.gradient.formula(name, call) if asks else None
            if formula is not None:
                formulas.append((number, formula))
        needs = self._needs([formula for _, formula in formulas])
        positions = {"grad": 0, "grads": 0} | {name: 1 + position for position, name in enumerate(needs)}
        steps = tuple([(number, _step(formula, positions)) for number, formula in formulas])
        kept = tuple(needs.items())
        names = {name: position - 1 for name, position in positions.items()}
        direct = self._direct(kept)
        together, keeps = self._together(formulas, positions), direct or ()
        arrays = {} if call.is_complex else self._array_steps(formulas, positions)
        work = self._quick(formulas, steps, positions, direct, arrays)
        folds, least = self._served(formulas, arrays)
        slots = tuple([slot for slot, (needed, _) in enumerate(kept) if needed in self._tensor_names])
        keeps_tensors = any(way in (OPERAND, RESULT, PART) for way, _ in keeps)
        return CallFormulas(
            steps, work, kept, names, direct, keeper(keeps), together, least, folds, slots, self._flat_by, keeps_tensors
        )

    def _served(
        self, formulas: Sequence[tuple[int, Formula]], arrays: Mapping[int, ArrayStep]
    ) -> tuple[bool, int]:  # fmt: skip
        """Whether what is kept may be large where the gradient is not, and from how many elements on all gradients are
        one compiled function: never, where nothing compiled takes less than what is computed from arrays."""
        known = [f.is_passed_on or (n in arrays and arrays[n].gradient.is_for_large) for n, f in formulas]
        if all(known):
            return False, NEVER
        return self._folds, self._least([formula for number, formula in formulas if number not in arrays])

    def _quick(
        self, formulas: Sequence[tuple[int, Formula]], steps: Sequence[tuple[int, Step]], positions: Mapping[str, int],
        direct: tuple[tuple[int, int], ...] | None, arrays: Mapping[int, ArrayStep],
    ) -> Quick | None:  # fmt: skip
        """What computes all gradients of usual calls at once. Calls with lists of operands are usual where there is one
        list, whose gradients are computed from arrays."""
        if direct is None or (self.takes_lists and not len(arrays) == len(formulas) == len(self.operands) == 1):
            return None
        name, is_view = self.definition.schema.name.partition("::")[2], self.definition.family == "view"
        return quick(name, formulas, steps, positions, direct, len(self.operands), arrays, is_view=is_view)

    def _array_steps(
        self, formulas: Sequence[tuple[int, Formula]], positions: Mapping[str, int]
    ) -> dict[int, ArrayStep]:
        """What computes gradients from arrays, by the numbers of their operands."""
        steps = {}
        for number, formula in formulas:
            position, operand = self.operands[number]
            known = array_gradient_of(self.definition.full_name, operand)
            known = known or array_gradient_of(self.definition.name, operand)
            if known is not None and not isinstance(formula, Part):
                needs = [need for need in known.needs if need in positions]
                tensors, lists = self._kinds(needs)
                is_list = isinstance(self.definition.schema.arguments[position].type, ListType)
                steps[number] = ArrayStep(known, needs, tensors, lists, is_list=is_list)
        return steps

    def _kinds(self, needs: Sequence[str]) -> tuple[list[str], list[str]]:
        """Which of what is needed behind the gradient are tensors, and lists of them."""
        tensors, lists = [], []
        for need in needs[1:]:
            position = self._position(need)
            if position < 0:
                way = SIZES_OF_PARTS if need == "results_sizes" else PART
            else:
                way = _way(self.definition.schema.arguments[position].type, as_sizes=need.endswith("_sizes"))
            if way in (OPERAND, OPTIONAL, PART):
                tensors.append(need)
            elif way == TENSORS:
                lists.append(need)
        return tensors, lists

    def _least(self, formulas: Sequence[Formula]) -> int:
        """From how many elements on all gradients are one compiled function, where these take operators."""
        return FEW if _are_several_steps(formulas) else least_large(self.definition)

    def _needs(self, formulas: Sequence[Formula]) -> dict[str, int]:
        """What formulas need, with where it is: arguments by position; results, -1 and down."""
        needs: dict[str, int] = {}
        index = self.definition.schema.index
        for formula in formulas:
            for need in formula.needs:
                if need not in ("grad", "grads") and not (need in formula.optional and need not in index):
                    needs[need] = self._position(need)
        return needs

    def _together(self, formulas: Sequence[tuple[int, Formula]], positions: Mapping[str, int]) -> Together:
        """What computes all gradients of a call on large arrays."""
        placed = [(f, [(name, positions[name]) for name in f.needs if name in positions]) for _, f in formulas]
        return _TogetherWhenLarge(self.definition.schema.name.partition("::")[2], placed)

    def _direct(self, kept: Sequence[tuple[str, int]]) -> tuple[tuple[int, int], ...] | None:
        ways = []
        for name, position in kept:
            if position >= 0:
                way = _way(self.definition.schema.arguments[position].type, as_sizes=name.endswith("_sizes"))
            elif name in ("result", "results_sizes"):
                way, position = RESULT if name == "result" else SIZES_OF_PARTS, 0
            else:
                if name == "results":
                    return None
                way, position = PART, -1 - position
            ways.append((way, position))
        return tuple(ways)

    def _position(self, need: str) -> int:
        index = self.definition.schema.index
        if need in index:
            return index[need]
        if need.endswith("_sizes") and need.removesuffix("_sizes") in index:
            return index[need.removesuffix("_sizes")]
        return -1 if need in ("result", "results", "results_sizes") else -1 - int(need.removeprefix("result"))


def _are_several_steps(formulas: Sequence[Formula]) -> bool:
    """Whether formulas call operators of which each costs more than its loop over few elements, so that one compiled
    function for all of them pays early. Those that are made for exact sizes pay for many elements only."""
    if any(name.endswith("_sizes") for formula in formulas for name in formula.needs):
        return False
    return any(not (f.is_elementwise or f.is_passed_on or f.product or f.unscaled) for f in formulas)


def _way(type_: Type, *, as_sizes: bool) -> int:
    """How an argument of a type is kept."""
    inner = type_.element if isinstance(type_, OptionalType) else type_
    if isinstance(inner, TensorType):
        return SIZES if as_sizes else OPERAND if inner is type_ else OPTIONAL
    if isinstance(inner, ListType):
        has_tensors = any(isinstance(part, TensorType) for part in inner.walk())
        return SIZES if as_sizes else TENSORS if has_tensors else LIST
    return VALUE


def _step(formula: Formula, positions: Mapping[str, int]) -> Step:
    """A formula as a function of the values that it needs, where they are."""
    function = formula.function
    names = [name for name in formula.needs if name in positions]
    if isinstance(formula, Part):
        return _part(formula, {name: positions[name] for name in names}, 1 + max(positions.values()))
    if len(names) < len(formula.needs):  # an optional one is not there
        return lambda values: formula(OPERATORS, {name: values[positions[name]] for name in names})
    at = [positions[name] for name in names]
    if formula.takes_operators:
        return _with_operators(function, at)
    match at:
        case [a]:
            return lambda values: function(values[a])
        case [a, b]:
            return lambda values: function(values[a], values[b])
    return lambda values: function(*[values[a] for a in at])


def _part(formula: Part, at: Mapping[str, int], known: int) -> Step:
    """A part of what a function gives, which runs once for all parts: its results are behind the `known` values."""
    index = formula.index

    def step(values: Any) -> Any:
        if len(values) == known:
            needed = {name: values[position] for name, position in at.items()}
            values.append(formula.function(OPERATORS, **needed))
        return values[known][index]

    return step


def _with_operators(function: Callable[..., Any], at: Sequence[int]) -> Step:
    match at:
        case [a]:
            return lambda values: function(OPERATORS, values[a])
        case [a, b]:
            return lambda values: function(OPERATORS, values[a], values[b])
        case [a, b, c]:
            return lambda values: function(OPERATORS, values[a], values[b], values[c])
    return lambda values: function(OPERATORS, *[values[a] for a in at])


def _writes_first(definition: OpDef) -> bool:
    arguments = definition.schema.arguments
    alias = arguments[0].alias if arguments else None
    return alias is not None and alias.is_write


def _tensor_names(definition: OpDef) -> frozenset[str]:
    """Names of arguments that are tensors in this overload or in another of the name."""
    arguments = [a for d in registry.overloads(definition.schema.name) for a in d.schema.arguments]
    return frozenset([a.name for a in arguments if isinstance(a.type, TensorType)])


_rules: dict[OpDef, Rule | None] = {}


def rule_of(definition: OpDef) -> Rule | None:
    """The rule of an overload; None if no gradient is known for it."""
    if definition not in _rules:
        gradient = gradient_of(definition)
        _rules[definition] = None if gradient is None else Rule(definition, gradient)
    return _rules[definition]


def is_complex(values: Sequence[Any]) -> bool:
    """Whether there is a complex tensor or number among values, or in lists of them."""
    for value in values:
        if isinstance(value, Tensor):
            if value._array.dtype.kind in "cV" and value.dtype.is_complex:
                return True
        elif isinstance(value, complex) or (isinstance(value, list | tuple) and is_complex(value)):
            return True
    return False
