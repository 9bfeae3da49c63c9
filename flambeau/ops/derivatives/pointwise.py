"""The formulas of a pointwise operator: derived from its meaning per element, for each operand.

>>> from flambeau.schema.function import parse_schema
>>> schema = parse_schema("aten::tanh(Tensor self) -> Tensor")
>>> gradient = PointwiseGradient(lambda s, x: s.tanh(x), schema, frozenset())
>>> print(gradient.formula("self", Call(is_complex=False)).source)
def tanh_self(f, grad, result):
    return grad * (1 - result * result)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flambeau.ops.derivatives import python_text, rules
from flambeau.ops.derivatives.terms import Recorder, Term
from flambeau.schema.dtype import bool_, complex128, float64
from flambeau.schema.function import FunctionSchema
from flambeau.schema.gradient import Call, Formula, Gradient
from flambeau.schema.types import FloatType, NumberType, OptionalType, TensorType, Type


class PointwiseGradient(Gradient):
    """Formulas derived when they are asked for, and kept: by what strings, flags and missing arguments a call has, and
    whether it is about complex numbers."""

    def __init__(self, scalar: Callable[..., Any], schema: FunctionSchema, raw: frozenset[int]) -> None:
        self._scalar = scalar
        self._schema = schema
        self._raw = raw
        self._formulas: dict[Any, Formula | None] = {}
        self.names = tuple(
            a.name for i, a in enumerate(schema.arguments) if isinstance(_inner(a.type), TensorType) and i not in raw
        )
        self.is_static = all(self._is_value(i) for i in range(len(schema.arguments)))

    def formula(self, name: str, call: Call) -> Formula | None:
        """The formula for one operand; None if no gradient flows to it."""
        key = (name, call.is_complex, call.statics)
        if key not in self._formulas:
            self._formulas[key] = self._derived(name, call)
        return self._formulas[key]

    def statics(self, arguments: tuple[Any, ...]) -> tuple[Any, ...]:
        """What of a call decides the formulas: arguments that are no values, and which optional ones are missing."""
        return tuple([a if a is None or not self._may_be_value(i) else ... for i, a in enumerate(arguments)])

    def _may_be_value(self, index: int) -> bool:
        return isinstance(_inner(self._schema.arguments[index].type), TensorType | NumberType | FloatType)

    def _is_value(self, index: int) -> bool:
        return isinstance(self._schema.arguments[index].type, TensorType | NumberType | FloatType)

    def _derived(self, name: str, call: Call) -> Formula | None:
        recorder = Recorder()
        dtype = complex128 if call.is_complex else float64
        terms: list[Any] = []
        for i, argument in enumerate(self._schema.arguments):
            inner = _inner(argument.type)
            static = call.statics[i] if call.statics else ...
            if static is not ...:
                terms.append(static)
            else:
                is_number = not isinstance(inner, TensorType)
                kind = bool_ if i in self._raw else dtype
                terms.append(recorder.argument(argument.name, kind, is_number=is_number))
        result = self._scalar(recorder, *terms)
        wanted = terms[self._schema.index[name]]
        if not isinstance(result, Term) or not isinstance(wanted, Term):
            return None
        gradient = recorder.argument("grad", complex128 if result.is_complex else float64)
        try:
            term = rules.backward(recorder, result, gradient, wanted)
        except rules.NotDifferentiableError:
            return None
        if term is None:
            return Formula(_flat, source="def flat(f, grad):\n    return f.zeros_like(grad)")
        term = _with_result(recorder, term, result)
        return _formula(term, f"{self._schema.name.partition('::')[2]}_{name}", is_elementwise=not call.is_complex)


def _formula(term: Term, name: str, *, is_elementwise: bool) -> Formula:
    text = python_text.source(term, name=name)
    computes = is_elementwise and bool(term.operands) and not _computes_numbers(term)
    formula = Formula(python_text.function(text, name), source=text, is_elementwise=computes)
    formula.is_passed_on = term.name == "argument" and term.value == "grad"
    if term.name == "mul" and term.operands[1].name == "argument" and term.operands[1].is_number:
        formula.factor = term.operands[1].value
        formula.unscaled = _formula(term.operands[0], name, is_elementwise=is_elementwise)
    return formula


def _computes_numbers(term: Term) -> bool:
    """Whether something is computed from numbers alone."""
    waiting: list[Term] = [term]
    seen: set[Term] = set()
    while waiting:
        one = waiting.pop()
        if one in seen:
            continue
        seen.add(one)
        if one.operands and one.is_number:
            return True
        waiting += one.operands
    return False


def _flat(f: Any, grad: Any) -> Any:
    """The gradient of what does not depend on the operand, or is flat almost everywhere."""
    return f.zeros_like(grad)


def _inner(type_: Type) -> Type:
    return type_.element if isinstance(type_, OptionalType) else type_


def _with_result(recorder: Recorder, term: Term, result: Term) -> Term:
    """The term with the operator's result in place of its computation."""
    if not result.operands:
        return term
    replaced: dict[Term, Term] = {result: recorder.argument("result", result.dtype)}

    def walk(one: Term) -> Term:
        if one not in replaced:
            replaced[one] = recorder.apply(one.name, *map(walk, one.operands)) if one.operands else one
        return replaced[one]

    return walk(term)
