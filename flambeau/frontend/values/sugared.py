"""Values as the compiler sees them: values of the graph, or something that only means one, a module or a `range`.

    torch.relu(x)[0]    `torch` a namespace, `torch.relu` an operator, its result a `SimpleValue`, the item another

A sugared value answers for each thing that can be done with it; whatever it does not answer is refused with its kind.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, ClassVar

from flambeau.frontend.trees.views import Apply, Attribute, Ident, Var
from flambeau.ir.value import Value
from flambeau.schema.types import Type
from flambeau.util.errors import CompileError, NotSupportedError
from flambeau.util.record import dataclass
from flambeau.util.source import SourceRange

if TYPE_CHECKING:
    from flambeau.frontend.emit.emission import Emission


@dataclass(frozen=True, slots=True)
class Given:
    """One argument of a call."""

    value: Value
    where: SourceRange
    name: str = ""
    """The keyword; empty for a positional argument."""


Form = Callable[["Emission", "Apply", "Type | None"], "Sugared"]
"""A call that needs the trees of its arguments, as `isinstance(x, int)` does."""


class Sugared:
    """What a name or expression stands for."""

    is_function: ClassVar[bool] = False
    """Whether a call may have given it: a function, or functions, made by the program."""

    is_lazy: ClassVar[bool] = False
    """Whether its items come as they are asked for."""

    @property
    def kind(self) -> str:
        """What it is, for messages."""
        return "value"

    def as_value(self, e: Emission, where: SourceRange) -> Value:
        """The value it is. Raises CompileError if it is none."""
        raise CompileError(f"{self.kind} cannot be used as a value", where)

    def held(self, e: Emission, where: SourceRange) -> Value | None:
        """The value that a variable holds when this is assigned to it; None if the name just stands for it."""
        return None

    def kept(self, e: Emission, where: SourceRange) -> Sugared:
        """What a variable or a parameter that is given it stands for."""
        return self

    def here(self, e: Emission) -> Sugared:
        """What a name that stands for it means in this function."""
        return self

    def check_named(self, where: SourceRange) -> None:
        """Raise CompileError for what no name may stand for."""

    def attribute(self, e: Emission, where: SourceRange, name: str) -> Sugared:
        """`self.name`."""
        raise CompileError(f"attribute lookup is not defined on {self.kind}", where)

    def has_attribute(self, e: Emission, where: SourceRange, name: str) -> bool:
        """Whether `self.name` exists."""
        text = f"hasattr's first argument must be an object or NamedTuple, but got {self.kind} instead"
        raise CompileError(text, where)

    def set_attribute(
        self, e: Emission, where: SourceRange, name: str, value: Value, annotation: Type | None = None
    ) -> None:
        """`self.name = value`, or `self.name: annotation = value`."""
        raise CompileError(f"attribute assignment is not defined on {self.kind}", where)

    def call(self, e: Emission, where: SourceRange, args: Sequence[Given], keywords: Sequence[Given]) -> Sugared:
        """`self(*args, **keywords)`."""
        raise CompileError(f"cannot call a {self.kind}", where)

    def call_tree(self, e: Emission, tree: Apply, hint: Type | None) -> Sugared | None:
        """A call that is emitted from its tree; None if the values of its arguments are all it needs."""
        return None

    def as_tuple(self, e: Emission, where: SourceRange, size: int | None = None) -> list[Sugared]:
        """Its items, for unpacking; `size` is how many are wanted, where that is known."""
        raise CompileError(f"{self.kind} cannot be used as a tuple", where)

    def as_keywords(self, e: Emission, where: SourceRange) -> dict[str, Sugared]:
        """What `**self` spreads out in a call."""
        text = "keyword-arg expansion is not supported for what has no names while compiling. Write the arguments out"
        raise NotSupportedError(text, where)

    def iterate(self, e: Emission, where: SourceRange) -> Iteration:
        """How a loop goes over it."""
        raise CompileError(f"'{self.kind}' object is not iterable", where)

    def item(self, e: Emission, where: SourceRange, index: Value) -> Sugared:
        """`self[index]`."""
        raise CompileError(f"'{self.kind}' object is not subscriptable", where)

    def contains(self, e: Emission, where: SourceRange, item: Value) -> Value | None:
        """`item in self`; None for what is a value of the graph, which answers itself."""
        return None

    def length(self, e: Emission, where: SourceRange) -> Value:
        """`len(self)`."""
        raise CompileError(f"'{self.kind}' object has no len()", where)


class Builtin(Sugared):
    """What is called by a name that the compiler knows, and is nothing without the call."""

    @property
    def kind(self) -> str:
        """The name of this kind of value in error messages."""
        return "builtin"


@dataclass(slots=True)
class FormValue(Sugared):
    """A builtin that looks at the trees of its arguments."""

    name: str
    emit: Form

    @property
    def kind(self) -> str:
        """Its name."""
        return self.name

    def call_tree(self, e: Emission, tree: Apply, hint: Type | None) -> Sugared:
        """What the form makes of the call."""
        return self.emit(e, tree, hint)

    def call(self, e: Emission, where: SourceRange, args: Sequence[Given], keywords: Sequence[Given]) -> Sugared:
        """A call with values, as if each were a variable."""
        with e.scope():
            trees = [_as_variable(e, f"$given{i}", given) for i, given in enumerate(args)]
            pairs = [(Ident(k.where, k.name), _as_variable(e, f"$given_{k.name}", k)) for k in keywords]
            named = tuple(Attribute(ident.range, ident, tree) for ident, tree in pairs)
            return self.emit(e, Apply(where, Var(where, Ident(where, self.name)), tuple(trees), named), None)


def _as_variable(e: Emission, name: str, given: Given) -> Var:
    e.frame.names[name] = e.store_aside(name, given.value)
    return Var(given.where, Ident(given.where, name))


class Iteration(ABC):
    """How a loop goes over something: a length known when the loop starts, and an item for each index."""

    unrolled: list[Sugared] | None = None
    """The items, when the loop is unrolled once for each: those of a tuple differ in type."""

    @abstractmethod
    def trip_count(self, e: Emission, where: SourceRange) -> Value | None:
        """How many items; None if it goes on as long as its companions in a `zip`."""

    @abstractmethod
    def at(self, e: Emission, where: SourceRange, index: Value) -> Sugared:
        """The item of round `index`."""

    def emit(self, e: Emission, where: SourceRange, body: Callable[[Sugared], bool], jumps: bool) -> bool | None:
        """The whole loop, of what has a form of its own for that, and whether control goes on behind it; else None.

        `jumps` says whether the body has a `break` or `continue`.
        """
        return None
