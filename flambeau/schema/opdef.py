"""The declaration of one operator: everything the rest of the system derives its behaviour from.

A declaration is keyword-only and reads as a table. Rules (`dtype`, `shape`) are called with the arguments in schema
order, where each tensor is a `TensorType` that says what is known of it, each list of tensors a list of these (or, if
nobody knows how many there are, its `ListType`), and each other value is itself, or `UNKNOWN`, or for a `Scalar` the
type of number that it is. Of a result that is a list of tensors, they say what holds of each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import Enum
from typing import Any, Final, NoReturn

from flambeau.schema.dtype import DType
from flambeau.schema.function import FunctionSchema
from flambeau.schema.gradient import Gradient
from flambeau.schema.traits import PLAIN, Traits
from flambeau.schema.types import Type
from flambeau.util.record import dataclass, field


class UnknownValueError(Exception):
    """A rule needs a value that is not known."""


class _Unknown:
    """A value that is not known when a rule runs: what would look at it raises UnknownValueError."""

    def __repr__(self) -> str:
        return "UNKNOWN"

    def _refuse(self, *_: Any) -> NoReturn:
        raise UnknownValueError("a rule looks at a value that is not known")

    __lt__ = __le__ = __gt__ = __ge__ = __bool__ = __len__ = __iter__ = __getitem__ = __contains__ = _refuse
    __int__ = __index__ = __float__ = __neg__ = __abs__ = __add__ = __radd__ = __sub__ = __rsub__ = _refuse
    __mul__ = __rmul__ = __floordiv__ = __rfloordiv__ = __truediv__ = __rtruediv__ = __mod__ = __rmod__ = _refuse


class UnknownNumber(_Unknown):
    """A number of which only the type is known."""

    def __init__(self, type_: Type) -> None:
        self.type = type_


UNKNOWN: Final = _Unknown()
REFUSALS: Final = (UnknownValueError, IndexError, RuntimeError)
"""What a rule raises where it cannot tell, or where the operator itself refuses such arguments. Anything else that
comes out of a rule is a mistake of the rule, and nobody catches it.
"""

Sizes = tuple[int | None, ...]
DtypeRule = Callable[..., "DType | tuple[DType | None, ...] | None"]
"""Arguments to the dtype of each tensor result; None where it cannot be told."""
ShapeRule = Callable[..., "Sizes | tuple[Sizes | None, ...] | None"]
"""Arguments to the sizes of each tensor result; a None inside is a size that cannot be told."""


class Effect(Enum):
    """What a call does besides computing its results and writing what its schema says it writes."""

    NONE = "none"
    """Nothing: equal arguments give equal results. It may raise."""
    RANDOM = "random"
    """Draws from a generator."""
    ORDERED = "ordered"
    """Runs when and as often as the program says, though nothing uses its result: prints on standard output, warns,
    raises on purpose, reads a clock, turns the recording of gradients on this thread on or off, moves a generator that
    it is given.
    """
    WORLD = "world"
    """`ORDERED`, and reaches what others have as well: files, other streams, the process's own generator and
    settings. Code of archives calls no such operator unless whoever loads it allows that one by name.
    """


@dataclass(frozen=True, kw_only=True, slots=True)
class Sample:
    """One call that must work: arguments as a Python caller writes them."""

    args: tuple[Any, ...] = ()
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    note: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class ErrorSample:
    """One call that must fail, with the type and a fragment of the message."""

    args: tuple[Any, ...] = ()
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    error: type[Exception]
    message: str


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class OpDef:
    """One overload of one operator."""

    schema: FunctionSchema
    """Name, overload, arguments with alias annotations, returns."""
    family: str
    """Which constructor built it: unary, binary, reduce, view, composite, opaque, language, ..."""
    kernel: Callable[..., Any]
    """Runs it: all arguments in schema order, tensors as `Tensor`; returns what the schema returns."""
    doc: str = ""
    """One or two sentences for `help()`; empty for overloads that another one explains."""
    dtype: DtypeRule | None = None
    """The dtypes of the tensor results; None if only running it tells."""
    shape: ShapeRule | None = None
    """The sizes of the tensor results; None if only running it tells."""
    scalar: Callable[..., Any] | None = None
    """Meaning per element of a pointwise operator: `scalar(s, *arguments)` over a `schema.scalar.Scalar` `s`."""
    compute: DtypeRule | None = None
    """The dtype in which a pointwise operator computes: its operands are cast to it, `scalar` runs, the result is cast.
    """
    accumulator: str = ""
    """What a reduction folds with: sum, prod, max, min, mean, var, any, all, argmax, argmin, ...; of a product,
    which one it is: matmul, linear, addmm, ...; of what loads or stores where integers say, which one: gather,
    scatter_add, ...; empty for others.
    """
    gradient: Gradient | None = None
    """How gradients go back through it: a formula per argument that one flows to."""
    samples: Callable[[], Iterable[Sample]] | None = None
    """Calls for the derived tests."""
    errors: Callable[[], Iterable[ErrorSample]] | None = None
    """Calls that must be refused."""
    reference: Callable[..., Any] | None = None
    """An independent way to get the result, over NumPy arrays in place of tensors."""
    effect: Effect = Effect.NONE
    """What a call does besides its results and declared writes."""
    ulp: Mapping[DType, float] = field(default_factory=dict)
    """Largest distance between two ways to run it, in units in the last place; 0 where missing."""
    is_method: bool = True
    """Whether `Tensor` has a method of this name."""
    is_function: bool = True
    """Whether the package has a function of this name."""
    differentiable: bool | tuple[bool, ...] = True
    """Whether gradients flow from its operands to its results, or to which: `zeros_like` only looks at sizes."""
    is_about_tensor: bool = False
    """Whether it is about the tensor itself, not its elements: whether it asks for gradients, which memory it shows."""
    namespaces: tuple[str, ...] = ()
    """Further modules of the package that have the function: `nn.functional`. Names like `special_erf` need no entry.
    """
    traits: Traits = PLAIN
    """What else holds of every call: when it may raise, how Python writes it, what networks use it as."""

    @property
    def name(self) -> str:
        """Qualified name without overload: `aten::add`."""
        return self.schema.name

    @property
    def full_name(self) -> str:
        """Qualified name with overload: `aten::add.Tensor`."""
        return self.schema.full_name

    @property
    def is_view(self) -> bool:
        """Whether its result is a tensor that shows the memory of its first operand, whatever that is."""
        arguments, returns = self.schema.arguments, self.schema.returns
        if self.family != "view" or self.traits.may_copy or not arguments or len(returns) != 1:
            return False
        shown = arguments[0].alias
        return shown is not None and shown == returns[0].alias and not shown.is_write

    @property
    def changes_layout(self) -> bool:
        """Whether it changes the sizes, strides or flags of a tensor that exists, not only its elements."""
        return self.traits.changes_layout or (self.schema.is_mutable and self.family in ("view", "out"))

    def draws(self, arguments: Sequence[Any]) -> bool:
        """Whether a call with all these arguments draws from a generator: a dropout does not unless it trains."""
        probability = self.traits.draws_by
        if self.effect is not Effect.RANDOM and not probability:
            return False
        if probability and arguments[self.schema.index[probability]] == 0:
            return False
        indices = (self.schema.index.get(name) for name in ("train", "training"))
        return all(index is None or arguments[index] is not False for index in indices)

    def __call__(self, *arguments: Any) -> Any:
        """Run the kernel on all arguments in schema order."""
        return self.kernel(*arguments)

    def __repr__(self) -> str:
        return f"<operator {self.schema}>"


def named_arguments(definition: OpDef, arguments: Sequence[Any]) -> dict[str, Any]:
    """The arguments of a call by the names that the schema gives them."""
    return dict(zip((a.name for a in definition.schema.arguments), arguments, strict=False))
