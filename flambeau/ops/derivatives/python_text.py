"""Terms as the Python text of a function over tensors: what a derivative looks like, and what runs.

>>> from flambeau.ops.derivatives.terms import Recorder
>>> s = Recorder()
>>> x, g = s.argument("x"), s.argument("grad")
>>> print(source(s.mul(g, s.cos(x)), name="sin_backward"))
def sin_backward(f, grad, x):
    return grad * f.cos(x)

`f` has the operators by name, as functions of tensors: eager ones, or ones that build a graph.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from typing import Any, Final

from flambeau.ops.derivatives.terms import Term

_INFIX: Final = {
    "add": ("+", 1),
    "sub": ("-", 1),
    "mul": ("*", 2),
    "div": ("/", 2),
    "eq": ("==", 0),
    "ne": ("!=", 0),
    "lt": ("<", 0),
    "le": ("<=", 0),
    "gt": (">", 0),
    "ge": (">=", 0),
    "logical_and": ("&", 0),
    "logical_or": ("|", 0),
}
"""Operations that Python has a sign for, and how tightly it binds."""
_ATOM: Final = 9
_UNARY: Final = 3
_CALLED: Final = {
    "select": "where",
    "minimum": "minimum",
    "maximum": "maximum",
    "conj": "conj",
    "sign": "sgn",
    "truncdiv": "truncated_quotient",
    "floordiv": "floor_divide",
    "logical_not": "logical_not",
}
"""What operations are called among the operators, where it is something else."""


class _Text:
    def __init__(self, result: Term) -> None:
        self.lines: list[str] = []
        self._names: dict[Term, str] = {}
        self._uses: Counter[Term] = Counter()
        self._seen: set[Term] = set()
        self._count(result)

    def _count(self, term: Term) -> None:
        for operand in term.operands:
            self._uses[operand] += 1
            if operand not in self._seen:
                self._seen.add(operand)
                self._count(operand)

    def arguments(self) -> set[str]:
        """The names of the arguments that the text uses."""
        return {term.value for term in self._seen if term.name == "argument"}

    def of(self, term: Term, binding: int = 0) -> str:
        """The text of a term inside of what binds so tightly; one that is used twice is computed once."""
        name = self._names.get(term)
        if name is not None:
            return name
        text, own = self._written(term)
        if self._uses[term] > 1 and term.operands:
            name = self._names[term] = f"t{len(self._names) + 1}"
            self.lines.append(f"    {name} = {text}")
            return name
        return text if own > binding else f"({text})"

    def _written(self, term: Term) -> tuple[str, int]:
        if term.name == "argument":
            return term.value, _ATOM
        if term.name == "constant":
            text = _literal(term.value)
            return text, _UNARY if text.startswith("-") else _ATOM
        operands = term.operands
        if term.name in _INFIX:
            sign, binding = _INFIX[term.name]
            left = self.of(operands[0], max(binding - 1, 0) if binding else 0)
            return f"{left} {sign} {self.of(operands[1], binding)}", binding
        if term.name == "neg":
            return f"-{self.of(operands[0], 2)}", _UNARY
        if term.is_number and term.name == "reciprocal":
            return f"1 / {self.of(operands[0], 2)}", 2
        return f"f.{_CALLED.get(term.name, term.name)}({', '.join(map(self.of, operands))})", _ATOM


def _literal(value: complex) -> str:
    if isinstance(value, float) and not math.isfinite(value):
        return f"float('{value}')"
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    return repr(value)


def source(result: Term, *, name: str) -> str:
    """The text of a function that computes a term from its arguments, which are its parameters behind `f`."""
    text = _Text(result)
    returned = text.of(result)
    arguments = text.arguments() | ({result.value} if result.name == "argument" else set())
    parameters = ", ".join(["f", *sorted(arguments, key=lambda a: (a != "grad", a))])
    return "\n".join([f"def {name}({parameters}):", *text.lines, f"    return {returned}"])


def function(text: str, name: str) -> Callable[..., Any]:
    """The function that a text defines."""
    namespace: dict[str, Any] = {}
    exec(compile(text, f"<derivative {name}>", "exec"), namespace)
    defined: Callable[..., Any] = namespace[name]
    defined.__doc__ = text
    return defined
