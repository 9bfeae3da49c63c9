"""Every operator of floating point has a formula, or a reason why there is none; so has every operand."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import flambeau
from flambeau.autograd.rule import gradient_of
from flambeau.ops.derivatives.pointwise import PointwiseGradient
from flambeau.schema import registry
from flambeau.schema.dtype import float32
from flambeau.schema.gradient import Call, Written, reason
from flambeau.schema.opdef import REFUSALS, UNKNOWN, OpDef
from flambeau.schema.types import ListType, OptionalType, TensorType, Type
from flambeau.tensor import dispatch
from flambeau.tensor.tensor import Tensor

OUTSIDE = {"out", "in_place", "language", "composite", "creation", "query", "metadata"}
"""Families that need no formulas: forms of others, what is made of others, what looks at no elements."""


def inner(type_: Type) -> Type:
    while isinstance(type_, OptionalType | ListType):
        type_ = type_.element
    return type_


def tensors(value: Any) -> Iterator[Tensor]:
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, list | tuple):
        for one in value:
            yield from tensors(one)


def is_inexact(value: Any) -> bool:
    return any(t.is_floating_point() or t.is_complex() for t in tensors(value))


def asked() -> list[OpDef]:
    """The operators on tensors, with tensors as results, from whose operands gradients may flow."""
    return [
        d
        for d in registry.all_definitions()
        if d.name.startswith("aten::")
        and d.differentiable is not False
        and not d.is_about_tensor
        and d.family not in OUTSIDE
        and any(isinstance(inner(a.type), TensorType) for a in d.schema.arguments)
        and any(isinstance(inner(r.type), TensorType) for r in d.schema.returns)
    ]


def calls(definition: OpDef) -> list[tuple[OpDef, tuple[Any, ...], Any]]:
    """What its samples run, with what comes out."""
    noted: list[tuple[OpDef, tuple[Any, ...], Any]] = []

    def note(ran: OpDef, arguments: Any, proceed: Any) -> Any:
        result = proceed(arguments)
        noted.append((ran, tuple(arguments), result))
        return result

    with dispatch.intercepting(note):
        for sample in definition.samples() if definition.samples is not None else ():
            dispatch.call(definition.name, *sample.args, **sample.kwargs)
    return noted


def gives_numbers(definition: OpDef) -> bool:
    """Whether results are inexact: in a sample, or by the rule for dtypes; True if neither tells."""
    results = [r for ran, _, r in calls(definition) if ran is definition]
    if results:
        return any(map(is_inexact, results))
    formals = definition.schema.arguments
    told = [TensorType(float32) if isinstance(inner(a.type), TensorType) else UNKNOWN for a in formals]
    try:
        dtypes = definition.dtype(*told) if definition.dtype is not None else None
    except REFUSALS:
        return True
    listed = dtypes if isinstance(dtypes, tuple) else (dtypes,)
    return any(d is None or d.is_floating_point or d.is_complex for d in listed)


def takes_floats(definition: OpDef) -> bool:
    """Whether a pointwise operator does not refuse floating point."""
    formals = definition.schema.arguments
    try:
        definition.kernel(*[flambeau.ones(2) if isinstance(inner(a.type), TensorType) else 2.0 for a in formals])
    except REFUSALS:
        return False
    return True


def test_every_operator_of_floating_point_has_a_formula_or_a_reason() -> None:
    missing = {d for d in asked() if gradient_of(d) is None and not (reason(d.name) or reason(d.full_name))}
    missing = {d for d in missing if gives_numbers(d)}
    assert not missing, "write formulas, or say why not in ops/derivatives/exceptions.py"


def test_reasons_are_for_what_has_no_formula() -> None:
    for name in ("aten::geqrf", "aten::histogram", "aten::_unique2", "aten::embedding_renorm_", "aten::set_"):
        assert reason(name)
        assert all(gradient_of(d) is None for d in registry.overloads(name)), f"{name} has a formula by now"
    assert "incomplete gamma" in reason("aten::igamma.self")
    assert reason("aten::mul") == ""


def test_every_operand_of_floating_point_has_a_formula_or_a_reason() -> None:
    missing = set()
    for definition in asked():
        gradient = gradient_of(definition)
        if isinstance(gradient, Written):
            for ran, arguments, _ in calls(definition):
                for argument, value in zip(ran.schema.arguments, arguments, strict=True):
                    if ran is definition and is_inexact(value) and argument.name not in gradient.names:
                        missing.add(f"{definition.name}.{argument.name}")
        elif isinstance(gradient, PointwiseGradient) and gradient.is_static and takes_floats(definition):
            missing |= {f"{definition.name}.{n}" for n in gradient.names if gradient.formula(n, Call()) is None}
    assert {name for name in missing if not reason(name)} == set()


def test_what_is_drawn_or_overwritten_has_no_gradient() -> None:
    x = flambeau.ones(3).requires_grad_()
    y = x * 2
    y.zero_()
    y.sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [0.0, 0.0, 0.0]
    assert flambeau.autograd.grad(flambeau.normal(x, 1.0).sum(), x)[0].tolist() == [0.0, 0.0, 0.0]
