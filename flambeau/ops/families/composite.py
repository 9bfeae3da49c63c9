"""Operators written in terms of other operators.

A body gets `F`, which has every operator as a method, and the arguments in schema order. Called on tensors, `F` goes
through the dispatcher, so whatever watches operators (a tape, a trace) sees the parts; a graph builder may pass itself
as `F` instead.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from flambeau.ops.families.opaque import declare
from flambeau.schema import registry
from flambeau.schema.dtype import DType
from flambeau.schema.opdef import DtypeRule, ErrorSample, OpDef, Sample, ShapeRule
from flambeau.schema.traits import PLAIN, Traits
from flambeau.tensor import dispatch

Body = Callable[..., Any]


class Operators:
    """Every `aten` operator as a method: `F.add(x, 1)` is `aten::add`."""

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("__") or not registry.overloads(f"aten::{name}"):
            raise AttributeError(f"no operator aten::{name}")
        operator = dispatch.operator(f"aten::{name}")
        setattr(self, name, operator)
        return operator


F = Operators()


class CompositeKernel:
    """Runs a body on tensors."""

    __slots__ = ("body",)

    def __init__(self, body: Body) -> None:
        self.body = body
        """Takes `F` and all arguments in schema order."""

    def __call__(self, *arguments: Any) -> Any:
        return self.body(F, *arguments)


def composite(
    schema: str,
    *,
    body: Body,
    outs: Sequence[str] = (),
    doc: str = "",
    dtype: DtypeRule | None = None,
    shape: ShapeRule | None = None,
    samples: Callable[[], Iterable[Sample]] | None = None,
    errors: Callable[[], Iterable[ErrorSample]] | None = None,
    reference: Callable[..., Any] | None = None,
    is_method: bool = False,
    is_function: bool = True,
    namespaces: Sequence[str] = (),
    traits: Traits = PLAIN,
    ulp: Mapping[DType, float] | None = None,
) -> tuple[OpDef, ...]:
    """Register an operator whose kernel is a body over other operators; the body names all arguments of the schema."""
    return declare(
        schema, kernel=CompositeKernel(body), family="composite", outs=outs, doc=doc, dtype=dtype, shape=shape,
        samples=samples, errors=errors, reference=reference, is_method=is_method, is_function=is_function,
        namespaces=namespaces, on_tensors=True, traits=traits, ulp=ulp,
    )  # fmt: skip
