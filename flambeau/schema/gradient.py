"""How a gradient goes back through an operator: a formula per operand, in its declaration.

A formula is a function whose parameters say what it needs: `grad`, the gradient of the result (`grads`, one for each,
of several); arguments of the operator by their names in the schema, or only the sizes of one, as `self_sizes`;
`result`, or `results`; and first, if it wants, `f`,
which has all operators as functions. What it does to them are operators, so that one formula serves the tape, which
runs it, and graphs, into which it is traced, and can be differentiated itself.

>>> formula = Formula(lambda grad, other: grad * other)
>>> formula.needs
('grad', 'other')
>>> formula(None, {"grad": 3, "other": 4})
12
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from flambeau.schema.rule_tables import RuleTable
from flambeau.util.record import dataclass


@dataclass(frozen=True, slots=True)
class Call:
    """What of a call may decide which formula it has."""

    is_complex: bool = False
    """Whether an operand or the result is complex."""
    statics: tuple[Any, ...] = ()
    """Per argument: its value where the formula depends on it, else `...`."""


class Product(NamedTuple):
    """What a formula is where its factors are matrices: their product, with one of them transposed."""

    left: str
    right: str
    is_left_transposed: bool
    """Else the right one is."""


class Formula:
    """A function with the names of what it is computed from."""

    __slots__ = (
        "factor", "function", "is_elementwise", "is_passed_on", "is_whole", "needs", "optional", "product", "source",
        "takes_operators", "unscaled",
    )  # fmt: skip

    def __init__(
        self,
        function: Callable[..., Any],
        *,
        source: str = "",
        is_elementwise: bool = False,
        product: Product | None = None,
    ) -> None:
        code = function.__code__
        names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        self.function = function
        self.takes_operators = names[:1] == ("f",)
        self.needs: tuple[str, ...] = names[1:] if self.takes_operators else names
        """What it is computed from, in the order of its parameters."""
        self.optional = frozenset(names[len(names) - len(function.__defaults__ or ()) :])
        """Parameters with defaults: not every overload has such an argument."""
        self.source = source
        """Its Python text, if it was derived."""
        self.is_elementwise = is_elementwise
        """Whether it computes each element from those at its place, by operators of which none is of numbers alone."""
        self.is_passed_on = function is passed_on
        """Whether it is the gradient as it is."""
        self.is_whole = False
        """Whether it is compiled as a whole, products of matrices too."""
        self.factor = ""
        """A number that the gradient is multiplied by in the end; empty if there is none."""
        self.unscaled: Formula | None = None
        """The formula before that."""
        self.product = product
        """The product that it is for real matrices, if it is one."""

    def __call__(self, operators: Any, values: Mapping[str, Any]) -> Any:
        """The gradient, or gradients, where `values` has what is needed."""
        arguments = {name: values[name] for name in self.needs if name in values or name not in self.optional}
        return self.function(operators, **arguments) if self.takes_operators else self.function(**arguments)


class Block(NamedTuple):
    """A part of a call whose gradients are computed by themselves."""

    values: Mapping[str, Any]
    """What the formulas need of it, where that is not as for the call."""
    indices: tuple[Any, ...]
    """Where among the gradients of each operand those of the block lie."""
    adds: tuple[bool, ...]
    """Whether they are added to what blocks before it gave."""


class Blocks(NamedTuple):
    """All blocks of a call, and the shapes of the gradients of its operands."""

    shapes: tuple[tuple[int, ...], ...]
    blocks: Iterable[Block]


Split = Callable[[Mapping[str, Any]], Blocks | None]


class Part(Formula):
    """One of the gradients that a function gives of all operands together."""

    __slots__ = ("index", "split")

    def __init__(
        self, function: Callable[..., Any], index: int, *, is_whole: bool = False, split: Split | None = None
    ) -> None:
        super().__init__(function)
        self.index = index
        """Which of the gradients."""
        self.is_whole = is_whole
        self.split = split
        """Gives the blocks of a large call, from what is needed for it; None for a call that is one block."""

    def __call__(self, operators: Any, values: Mapping[str, Any]) -> Any:
        """The gradient, where `values` has what is needed."""
        return self.of_all(operators, values)[self.index]

    def of_all(self, operators: Any, values: Mapping[str, Any]) -> Any:
        """The gradients of all operands, of which this is one."""
        return super().__call__(operators, values)


def together(
    function: Callable[..., Any], *names: str, is_whole: bool = False, split: Split | None = None
) -> dict[str, Formula]:
    """Formulas of operands whose gradients one function gives, in this order: where several are asked for, an operator
    that computes all of them runs once. `is_whole`: compiled, they are one function with its products of matrices.
    `split` gives the blocks of a call that would take much memory at once.

    >>> parts = together(lambda grad, self, other: (grad * other, grad * self), "self", "other")
    >>> parts["other"](None, {"grad": 3, "self": 5, "other": 4})
    15
    """
    return {name: Part(function, index, is_whole=is_whole, split=split) for index, name in enumerate(names)}


class Gradient(ABC):
    """The formulas of an operator."""

    names: tuple[str, ...] = ()
    """The operands that a gradient may flow to."""
    is_static: bool = True
    """Whether all calls have the same formulas, but for complex numbers."""

    @abstractmethod
    def formula(self, name: str, call: Call) -> Formula | None:
        """The formula for an operand; None if no gradient flows to it."""

    def statics(self, arguments: tuple[Any, ...]) -> tuple[Any, ...]:
        """The `Call.statics` of a call."""
        return ()


class Written(Gradient):
    """Formulas written by hand."""

    def __init__(self, by_operand: Mapping[str, Callable[..., Any] | Formula]) -> None:
        self._formulas = {n: f if isinstance(f, Formula) else Formula(f) for n, f in by_operand.items()}
        self.names = tuple(self._formulas)

    def formula(self, name: str, call: Call) -> Formula | None:
        """The formula for an operand."""
        return self._formulas.get(name)


class ByFlag(Written):
    """Formulas written by hand, others where a flag among the arguments is set: what one needs the other may not."""

    is_static = False

    def __init__(
        self,
        flag_index: int,
        if_set: Mapping[str, Callable[..., Any] | Formula],
        if_not: Mapping[str, Callable[..., Any] | Formula],
    ) -> None:
        super().__init__(if_not)
        self.flag_index = flag_index
        """Which argument is the flag."""
        self._if_set = Written(if_set)

    def formula(self, name: str, call: Call) -> Formula | None:
        """The formula for an operand, by the flag of the call; None where that is not known."""
        if call.statics == (True,):
            return self._if_set.formula(name, call)
        return super().formula(name, call) if call.statics == (False,) else None

    def statics(self, arguments: tuple[Any, ...]) -> tuple[Any, ...]:
        """The flag; `...` where it is not known."""
        flag = arguments[self.flag_index]
        return (flag if flag is ... else bool(flag),)


class Decomposed(Gradient):
    """The operator in terms of others, which stand in for it where gradients are recorded."""

    def __init__(self, body: Callable[..., Any]) -> None:
        self.body = body
        """Takes all operators as functions, and the arguments by their names."""
        self.first: str = body.__code__.co_varnames[1]
        """What it calls the first argument, which forms in place may call otherwise."""

    def formula(self, name: str, call: Call) -> Formula | None:
        """None: the operators that stand in have formulas."""
        return None


def passed_on(grad: Any) -> Any:
    """The gradient as it is: what was broadcast or converted is summed and converted back by whoever asks."""
    return grad


_table: RuleTable[Any] = RuleTable("how gradients go back through it")


def formulas(*names: str, **by_operand: Callable[..., Any] | Formula) -> None:
    """Declare the formulas of operators: for each operand, by its name in the schema, how its gradient is computed.

    >>> formulas("example::twice", self=lambda grad: grad * 2)
    >>> written("example::twice").formula("self", Call()).needs
    ('grad',)
    """
    _table(*names)(Written(by_operand))


def formulas_by_flag(
    *names: str,
    flag_index: int,
    if_set: Mapping[str, Callable[..., Any] | Formula],
    if_not: Mapping[str, Callable[..., Any] | Formula],
) -> None:
    """Declare formulas that depend on a flag, the argument at `flag_index`: what no formula needs is not kept.

    >>> formulas_by_flag(
    ...     "example::norm", flag_index=1, if_set={"x": lambda grad: grad}, if_not={"x": lambda grad, y: grad}
    ... )
    >>> written("example::norm").formula("x", Call(statics=(True,))).needs
    ('grad',)
    """
    _table(*names)(ByFlag(flag_index, if_set, if_not))


def decomposed(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Declare that operators are recorded as the body that is decorated, over other operators."""

    def register(body: Callable[..., Any]) -> Callable[..., Any]:
        _table(*names)(Decomposed(body))
        return body

    return register


def written(name: str) -> Gradient | None:
    """What was declared for an operator of this name; None if nothing was."""
    gradient: Gradient | None = _table.get(name)
    return gradient


_flat: RuleTable[Any] = RuleTable("whose gradient is recorded as depending on it, by a slope of 0")


def flat_gradient(*names: str, of: str) -> None:
    """Declare that the gradients of operators of one operand have the derivative 0 by that operand, or by the `result`,
    wherever they have one, and that they are recorded so: `grad` of them gives zeros, where it would refuse a gradient
    that was computed from nothing but truths about the operand.

    >>> flat_gradient("example::ramp", of="self")
    >>> flat_by("example::ramp")
    'self'
    """
    _flat(*names)(lambda: of)


def flat_by(name: str) -> str:
    """By what the gradient of an operator is recorded as flat: its operand's name, or `result`; empty if it is not."""
    return str(_flat[name]()) if name in _flat else ""


_reasons: RuleTable[Any] = RuleTable("why no gradient goes back through it")


def not_differentiable(*names: str, because: str) -> None:
    """Declare that operators have no formula, or (`aten::igamma.self`) one operand of theirs has none, and why.

    >>> not_differentiable("example::fraction", because="it jumps everywhere")
    >>> reason("example::fraction")
    'it jumps everywhere'
    """
    _reasons(*names)(lambda: because)


def reason(name: str) -> str:
    """Why an operator, or an operand of one, has no formula; empty if nothing was said."""
    return str(_reasons[name]()) if name in _reasons else ""
