"""The tangents of an operator's results, from those of its operands.

In the order in which they are tried:

1. an operator that is declared linear (`linear`), or linear in each operand (`multilinear`), is applied to the tangent;
2. a pointwise operator's formula multiplies by a derivative per element: it is the same for a tangent as for a
   gradient;
3. of an operator with one operand whose formula does not look at it, the operator itself is applied to the tangent;
4. else the formula, which is linear in the gradient, is run on a gradient of zeros, and gone back through: the
   transpose of what goes back is what goes forward.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from flambeau.autograd.backward import grad_of
from flambeau.autograd.node import edge_of
from flambeau.autograd.operator_node import CallFormulas, fitted_dtype, sizes_of
from flambeau.autograd.rule import Rule, is_complex, rule_of
from flambeau.ops.derivatives.operators import OPERATORS
from flambeau.ops.derivatives.pointwise import PointwiseGradient
from flambeau.ops.derivatives.reduction_formulas import tangent_of_logcumsumexp
from flambeau.schema import registry
from flambeau.schema.opdef import OpDef
from flambeau.schema.rule_tables import RuleTable
from flambeau.schema.types import FloatType, ListType, NumberType, OptionalType, TensorType
from flambeau.tensor import dispatch
from flambeau.tensor.grad_mode import inference_mode, is_grad_enabled
from flambeau.tensor.levels import variable
from flambeau.tensor.recorder import OUT_WRITTEN
from flambeau.tensor.tensor import Tensor

MISSING: Final = (
    "Trying to use forward AD with {name} that does not support it because it has not been implemented yet."
)
_by_hand: RuleTable[Any] = RuleTable("how tangents go forward through it")


def linear(definition: OpDef, values: Sequence[Any], operands: Sequence[Any], result: Any) -> Any:
    """Of what is linear in all its tensors together: applied to their tangents, zeros where there are none."""
    arguments = [
        value if tangent is None and not _has_tensor(value) else _complete(value, tangent)
        for value, tangent in zip(values, operands, strict=True)
    ]
    return out_of_place(definition, arguments)


def multilinear(definition: OpDef, values: Sequence[Any], operands: Sequence[Any], result: Any) -> Any:
    """Of what is linear in each tensor: the sum over them, each with its tangent in its place."""
    total: Any = None
    for position, tangent in enumerate(operands):
        if tangent is not None:
            one = out_of_place(definition, [*values[:position], tangent, *values[position + 1 :]])
            total = one if total is None else total + one
    return total


@_by_hand("aten::logcumsumexp")
def _logcumsumexp(definition: OpDef, values: Sequence[Any], operands: Sequence[Any], result: Any) -> Any:
    return tangent_of_logcumsumexp(OPERATORS, operands[0], values[0], result, values[1])


_by_hand(
    "aten::mm", "aten::bmm", "aten::matmul", "aten::linalg_matmul", "aten::mv", "aten::dot", "aten::outer", "aten::ger",
    "aten::kron", "aten::inner", "aten::vdot", "aten::linalg_vecdot", "aten::cross", "aten::linalg_cross",
)(multilinear)  # fmt: skip
_by_hand("aten::cat", "aten::concat", "aten::concatenate", "aten::stack")(linear)


@_by_hand("aten::max_unpool2d", "aten::max_unpool3d", "aten::embedding")
def _of_the_first(definition: OpDef, values: Sequence[Any], operands: Sequence[Any], result: Any) -> Any:
    """The operator on the tangent of its first operand. Where two elements go to one place, the tangent is that of the
    value, while the formula goes back to both; rows of a table have tangents though no gradient goes back to one."""
    return out_of_place(definition, [operands[0], *values[1:]])


def is_by_hand(definition: OpDef) -> bool:
    """Whether it has a rule written by hand."""
    return registry.out_of_place(definition.name) in _by_hand


def of_call(definition: OpDef, values: Sequence[Any], operands: Sequence[Any], result: Any) -> Any:
    """The tangent of the result of a call, one each of several; None where it has none.

    Args:
        definition: the operator.
        values: its arguments, as they were before the call.
        operands: of each argument its tangent, or a list of tangents; None where it has none.
        result: what the call gave.

    Raises NotImplementedError for an operator without formulas.
    """
    flows = definition.differentiable
    if not _can_have(result, flows):
        return None
    by_hand = _by_hand.get(registry.out_of_place(definition.name))
    if by_hand is not None:
        return by_hand(definition, values, operands, result)
    if definition.is_view or (definition.family == "view" and not definition.schema.is_mutable):
        return _of_view(definition, values, operands)
    rule = rule_of(definition)
    if rule is None:
        raise NotImplementedError(MISSING.format(name=definition.name))
    call = _TangentCall(rule, values, operands, result)
    if isinstance(rule.gradient, PointwiseGradient) and not call.is_complex:
        return call.diagonal()
    if _applies_itself(rule, call.known):
        return out_of_place(definition, [v if t is None else t for v, t in zip(values, operands, strict=True)])
    return call.transposed()


def _of_view(definition: OpDef, values: Sequence[Any], operands: Sequence[Any]) -> Any:
    """The same view of the tangent; of several tensors, of those that have one. None where only an operand that lends
    its sizes has one."""
    if isinstance(values[0], Tensor) and operands[0] is None:
        return None
    arguments = [v if t is None else _complete(v, t) for v, t in zip(values, operands, strict=True)]
    return dispatch.run(definition, arguments)


def _can_have(result: Any, flows: bool | tuple[bool, ...]) -> bool:
    results = result if isinstance(result, list | tuple) else [result]
    marks = [flows] * len(results) if isinstance(flows, bool) else flows
    return any(
        flow and isinstance(one, Tensor) and one._array.dtype.kind in "fcV"
        for one, flow in zip(results, marks, strict=False)
    )


def _has_tensor(value: Any) -> bool:
    return isinstance(value, Tensor) or (isinstance(value, list | tuple) and any(map(_has_tensor, value)))


def _complete(value: Any, tangent: Any) -> Any:
    """A tangent for each tensor of an argument: zeros where there is none."""
    if isinstance(value, list | tuple):
        listed = [None] * len(value) if tangent is None else tangent
        return [_complete(v, t) for v, t in zip(value, listed, strict=True)]
    return OPERATORS.zeros_like(value) if tangent is None else tangent


def out_of_place(definition: OpDef, arguments: Sequence[Any]) -> Any:
    """What the operator computes, also of one that writes."""
    if not definition.schema.is_mutable:
        return dispatch.run(definition, arguments)
    name = registry.out_of_place(definition.name)
    names = [a.name for a in definition.schema.arguments]
    first, *others = zip(names, arguments, strict=True)
    return dispatch.call(name, first[1], **dict(others))


def needs_first(definition: OpDef) -> bool:
    """Whether the tangent of a call that writes its first operand needs what that was before."""
    rule = rule_of(definition)
    return rule is not None


def writes_beside(definition: OpDef) -> bool:
    """Whether what a call writes are arguments beside its results, as statistics that move are."""
    first, *others = definition.schema.arguments
    written = [formal for formal in (first, *others) if formal.alias is not None and formal.alias.is_write]
    return all(formal is not first and not formal.kwarg_only for formal in written)


def refuse_out(definition: OpDef, arguments: Sequence[Any]) -> None:
    """Raise RuntimeError for a call with `out=`."""
    for formal in definition.schema.arguments:
        if formal.kwarg_only and formal.alias is not None and formal.alias.is_write:
            raise RuntimeError(OUT_WRITTEN.format(name=definition.name.rpartition("::")[2]))


def _applies_itself(rule: Rule, known: CallFormulas) -> bool:
    """Whether the operator is linear: it has one operand, at which its formula does not look, and nothing to add."""
    schema = rule.definition.schema
    if schema.is_mutable or rule.definition.effect.name == "RANDOM":
        return False
    if sum(_takes_tensors(a.type) for a in schema.arguments) != 1:
        return False
    if any(isinstance(_inner(a.type), NumberType | FloatType) for a in schema.arguments):
        return False
    if not known.steps:
        return False
    operand = rule.operands[0][1]
    looks_at = {operand, "result", "results"} | {f"result{n}" for n in range(len(schema.returns))}
    return not looks_at & {name for name, _ in known.kept}


def _inner(type_: Any) -> Any:
    return type_.element if isinstance(type_, OptionalType) else type_


def _takes_tensors(type_: Any) -> bool:
    inner = _inner(type_)
    if isinstance(inner, ListType):
        inner = _inner(inner.element)
    return isinstance(inner, TensorType)


class _TangentCall:
    """One call of an operator with formulas."""

    def __init__(self, rule: Rule, values: Sequence[Any], operands: Sequence[Any], result: Any) -> None:
        self.rule = rule
        self.arguments = values
        self.operands = operands
        self.result = result
        self.is_complex = is_complex(values) or is_complex([result])
        asking = tuple([operands[position] is not None for position, _ in rule.operands])
        self.known = rule.formulas(asking, self.is_complex, values)

    def values(self, gradients: Any) -> list[Any]:
        """What the formulas need."""
        values = [gradients]
        for name, position in self.known.kept:
            if position >= 0:
                value = self.arguments[position]
            elif name in ("result", "results", "results_sizes"):
                value = self.result
            else:
                value = self.result[-1 - position]
            values.append(sizes_of(value) if name.endswith("_sizes") else value)
        return values

    def diagonal(self) -> Any:
        """The formulas, applied to tangents."""
        values = self.values(None)
        total: Any = None
        for number, step in self.known.steps:
            values[0] = self.operands[self.rule.operands[number][0]]
            one = step(values)
            if isinstance(one, Tensor):  # a number is 0
                total = one if total is None else total + one
        if total is None:
            return None
        result = self.result
        if total._array.shape != result._array.shape:
            total = OPERATORS.expand(total, list(result._array.shape))
        return total if total._array.dtype == result._array.dtype else fitted_dtype(total, result._array.dtype)

    def transposed(self) -> Any:
        """Back through the formulas, which are linear in the gradients of the results."""
        creates = is_grad_enabled()
        is_list = isinstance(self.result, list | tuple)
        results = list(self.result) if is_list else [self.result]
        with inference_mode(False):
            seeds = [self._seed(number, one) for number, one in enumerate(results)]
            outputs, tangents = self._back(seeds if is_list else seeds[0])
        pairs = [(o, t) for o, t in zip(outputs, tangents, strict=True) if edge_of(o) is not None]
        asked = [seed for seed in seeds if seed is not None]
        if not pairs or not asked:
            return [None] * len(results) if is_list else None
        roots = [o for o, _ in pairs]
        gradients = iter(grad_of(roots, asked, [_as(o, t) for o, t in pairs], True, creates))
        columns = [None if seed is None else next(gradients) for seed in seeds]
        return columns if is_list else columns[0]

    def _seed(self, number: int, result: Any) -> Tensor | None:
        flows = self.rule.flows
        flow = flows if isinstance(flows, bool) else flows[number]
        if not flow or not isinstance(result, Tensor) or result._array.dtype.kind not in "fcV":
            return None
        return variable(OPERATORS.zeros_like(result))

    def _back(self, seeds: Any) -> tuple[list[Tensor], list[Tensor]]:
        """The gradients of operands that have tangents, with these."""
        values = self.values(seeds)
        outputs: list[Tensor] = []
        tangents: list[Tensor] = []
        for number, step in self.known.steps:
            tangent = self.operands[self.rule.operands[number][0]]
            operand = self.arguments[self.rule.operands[number][0]]
            gradient = step(values)
            several = isinstance(operand, list | tuple)
            triples = zip(gradient, tangent, operand, strict=False) if several else [(gradient, tangent, operand)]
            for one, along, value in triples:
                if isinstance(one, Tensor) and along is not None:
                    outputs.append(_fitted(one, value))
                    tangents.append(along)
        return outputs, tangents


def _fitted(gradient: Tensor, operand: Tensor) -> Tensor:
    if gradient._array.shape != operand._array.shape:
        gradient = OPERATORS.sum_to_size(gradient, list(operand._array.shape))
    if gradient._array.dtype != operand._array.dtype:
        gradient = fitted_dtype(gradient, operand._array.dtype)
    return gradient


def _as(output: Tensor, tangent: Tensor) -> Tensor:
    return tangent if tangent._array.dtype == output._array.dtype else fitted_dtype(tangent, output._array.dtype)
