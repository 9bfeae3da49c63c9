"""Operators written in terms of other operators.

A body gets `F`, which has every operator as a method, and the arguments in schema order. Called on tensors, `F` goes
through the dispatcher, so whatever watches operators (a tape, a trace) sees the parts; a graph builder may pass itself
as `F` instead.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from flambeau.ops.families.expansion_tables import expansions
from flambeau.ops.families.opaque import declare
from flambeau.schema import registry
from flambeau.schema.device import Device
from flambeau.schema.dtype import DType
from flambeau.schema.opdef import DtypeRule, ErrorSample, OpDef, Sample, ShapeRule
from flambeau.schema.traits import PLAIN, Traits
from flambeau.tensor import dispatch
from flambeau.tensor.array_library import is_on_device
from flambeau.tensor.default_device import makes_tensors
from flambeau.tensor.subclasses import special
from flambeau.tensor.tensor import Tensor

Body = Callable[..., Any]


class _Place(threading.local):
    """The device that bodies make tensors on in this thread, where they name none."""

    device: Device | None = None


_place = _Place()


@contextmanager
def making_on(device: Device | None) -> Iterator[None]:
    """Within the block, what this thread's bodies and formulas make of numbers alone is made on a device."""
    before, _place.device = _place.device, device
    try:
        yield
    finally:
        _place.device = before


def device_of(values: Sequence[Any]) -> Device | None:
    """The device of the first tensor that is on one; None for tensors of the host."""
    for value in values:
        if isinstance(value, Tensor):
            if value.device.type == "cuda":
                return value.device
        elif type(value) in (list, tuple) and (device := device_of(value)) is not None:
            return device
    return None


def brought(value: Tensor) -> Tensor:
    """A tensor of the host where bodies make theirs."""
    return value if _place.device is None or is_on_device() else value.to(_place.device)


def placed(name: str, operator: Callable[..., Any]) -> Callable[..., Any]:
    """The operator, which makes its tensors where the tensors are that a body is given."""
    if not makes_tensors(name):
        return operator

    def make(*arguments: Any, **named: Any) -> Any:
        is_free = _place.device is not None and named.get("device") is None and not is_on_device()
        if is_free and not any(isinstance(a, Tensor) for a in arguments):
            named["device"] = _place.device
        return operator(*arguments, **named)

    make.operator_name = name  # type: ignore[attr-defined]
    return make


class Operators:
    """Every `aten` operator as a method: `F.add(x, 1)` is `aten::add`."""

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("__") or not registry.overloads(f"aten::{name}"):
            raise AttributeError(f"no operator aten::{name}")
        operator = placed(f"aten::{name}", dispatch.operator(f"aten::{name}"))
        setattr(self, name, operator)
        return operator


F = Operators()


class CompositeKernel:
    """Runs a body on tensors."""

    __slots__ = ("body", "quickly")

    def __init__(self, body: Body, quickly: Callable[..., Any] | None = None) -> None:
        self.body = body
        """Takes `F` and all arguments in schema order."""
        self.quickly = quickly
        """Takes all arguments; gives the result where it has a quicker way, else None."""

    def __call__(self, *arguments: Any) -> Any:
        if self.quickly is not None and (result := self.quickly(*arguments)) is not None:
            return result
        if special.exists and (device := device_of(arguments)) is not None:
            with making_on(device):
                return self.body(F, *arguments)
        return self.body(F, *arguments)


def composite(
    schema: str,
    *,
    body: Body,
    quickly: Callable[..., Any] | None = None,
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
    is_expanded: bool = False,
) -> tuple[OpDef, ...]:
    """Register an operator whose kernel is a body over other operators; the body names all arguments of the schema.

    `quickly` may answer calls on tensors in its place, with None for those that the body is to answer. `is_expanded`:
    there is no native form but that of the parts, so that plans have these.
    """
    if is_expanded:
        expansions(schema.partition("(")[0].partition(".")[0])(body)
    return declare(
        schema, kernel=CompositeKernel(body, quickly), family="composite", outs=outs, doc=doc, dtype=dtype, shape=shape,
        samples=samples, errors=errors, reference=reference, is_method=is_method, is_function=is_function,
        namespaces=namespaces, on_tensors=True, traits=traits, ulp=ulp,
    )  # fmt: skip
