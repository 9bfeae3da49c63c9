"""The meaning of a pointwise operator as terms: the Scalar protocol, recorded instead of computed.

>>> recorder = Recorder()
>>> x = recorder.argument("x")
>>> recorder.mul(x, recorder.exp(x))
mul(x, exp(x))
>>> recorder.exp(x) is recorder.exp(x)
True
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from flambeau.schema import scalar
from flambeau.schema.dtype import DType, bool_, complex128, float64
from flambeau.schema.opdef import OpDef

_BOOLS: Final = frozenset({*scalar.COMPARE, *scalar.LOGICAL, *scalar.PREDICATES})
_REALS: Final = frozenset({"real", "imag", "angle", "abs"})
_COMPLEX: Final = frozenset({"complex", "polar"})


class Term:
    """A value of a meaning: an argument, a constant, or an operation of the Scalar protocol on terms."""

    __slots__ = ("dtype", "is_number", "name", "operands", "order", "value")

    def __init__(
        self, name: str, operands: tuple[Term, ...], dtype: DType, order: int, *, value: Any = None, is_number: bool
    ) -> None:
        self.name = name
        """The operation; `argument` or `constant`."""
        self.operands = operands
        self.dtype = dtype
        """float64, complex128 or bool, for all real, complex or truth values."""
        self.order = order
        """Terms are numbered as they are made: operands before what uses them."""
        self.value = value
        """An argument's name, or a constant."""
        self.is_number = is_number
        """Whether it is a Python number when the derivative runs, not a tensor."""

    @property
    def is_complex(self) -> bool:
        """Whether it stands for complex numbers."""
        return self.dtype is complex128

    def is_constant(self, value: complex) -> bool:
        """Whether it is this constant."""
        return self.name == "constant" and self.value == value

    def __repr__(self) -> str:
        if self.name in ("argument", "constant"):
            return str(self.value)
        return f"{self.name}({', '.join(map(repr, self.operands))})"


class Recorder:
    """The Scalar protocol on terms: equal operations on equal terms are one term."""

    def __init__(self) -> None:
        self._terms: dict[Any, Term] = {}

    def argument(self, name: str, dtype: DType = float64, *, is_number: bool = False) -> Term:
        """An argument of the meaning."""
        return self._term("argument", (), dtype, name, is_number)

    def const(self, value: complex, dtype: DType = float64) -> Term:
        """A literal."""
        return self._term("constant", (), complex128 if isinstance(value, complex) else float64, value, True)

    def dtype_of(self, x: Term) -> DType:
        """The dtype that stands for the kind of number."""
        return x.dtype

    def supports(self, name: str, dtype: DType) -> bool:
        """Everything can be recorded."""
        return True

    def cast(self, x: Term, dtype: DType) -> Term:
        """Conversion between kinds of number; among real numbers there is nothing to do."""
        if dtype is bool_:
            return x if x.dtype is bool_ else self.apply("ne", x, self.const(0))
        if dtype.is_complex == x.is_complex:
            return x
        return self.apply("real", x) if x.is_complex else x

    def select(self, condition: Term, a: Term, b: Term) -> Term:
        """`a` where the condition holds, else `b`."""
        return a if a is b else self.apply("select", condition, a, b)

    def apply(self, name: str, *operands: Term) -> Term:
        """The term of an operation, simplified where one operand says what it is."""
        simpler = _SIMPLER.get(name)
        if simpler is not None and (term := simpler(self, *operands)) is not None:
            return term
        return self._term(name, operands, _dtype(name, operands), None, all(o.is_number for o in operands))

    def __getattr__(self, name: str) -> Callable[..., Term]:
        if name.startswith("_"):
            raise AttributeError(name)
        return lambda *operands: self.apply(name, *operands)

    def _term(self, name: str, operands: tuple[Term, ...], dtype: DType, value: Any, is_number: bool) -> Term:
        key = (name, operands, repr(value))
        term = self._terms.get(key)
        if term is None:
            term = Term(name, operands, dtype, len(self._terms), value=value, is_number=is_number)
            self._terms[key] = term
        return term


def operation(definition: OpDef | None) -> str:
    """Which operation of the Scalar protocol an operator is on its operands in their order; empty for others.

    >>> from flambeau.schema import registry
    >>> operation(registry.get("aten::lt.float"))
    'lt'
    """
    if definition is None or definition.scalar is None:
        return ""
    recorder = Recorder()
    arguments = tuple(recorder.argument(argument.name) for argument in definition.schema.arguments)
    meaning = definition.scalar(recorder, *arguments)
    return meaning.name if isinstance(meaning, Term) and meaning.operands == arguments else ""


def _dtype(name: str, operands: tuple[Term, ...]) -> DType:
    if name in _BOOLS:
        return bool_
    if name in _COMPLEX:
        return complex128
    if name in _REALS:
        return float64
    return complex128 if any(o.is_complex for o in operands) else float64


def _simpler_mul(s: Recorder, x: Term, y: Term) -> Term | None:
    if y.is_constant(1):
        return x
    return y if x.is_constant(1) else None


def _simpler_neg(s: Recorder, x: Term) -> Term | None:
    if x.name == "constant":
        return s.const(-x.value, x.dtype)
    return x.operands[0] if x.name == "neg" else None


_SIMPLER: Final[dict[str, Callable[..., Term | None]]] = {
    "mul": _simpler_mul,
    "neg": _simpler_neg,
    "div": lambda s, x, y: x if y.is_constant(1) else None,
    "conj": lambda s, x: None if x.is_complex else x,
    "real": lambda s, x: None if x.is_complex else x,
    "add": lambda s, x, y: s.const(x.value + y.value) if x.name == y.name == "constant" else None,
}
"""Operations that are one of their operands for some of them."""
