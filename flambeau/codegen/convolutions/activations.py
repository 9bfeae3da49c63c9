"""Activations behind convolutions: an operator's scalar meaning as a function over numbers that lie side by side."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, Final

from flambeau.codegen.convolutions.run import TYPES
from flambeau.codegen.convolutions.vectors import Floats, VectorFunction, VectorModule
from flambeau.codegen.kernel.dtypes import KernelError, element_type
from flambeau.codegen.llvm.casts import cast
from flambeau.codegen.llvm.emitter import Value, float_constant
from flambeau.codegen.llvm.engine import NativeCode, engine, memory_imports
from flambeau.codegen.llvm.ops import lower
from flambeau.codegen.lower.recorder import dtype_named
from flambeau.codegen.lower.rules import pointwise
from flambeau.codegen.lower.values import Expr, LoweringError, topological
from flambeau.schema import registry
from flambeau.util.record import dataclass

SYMBOL: Final = "activated"
DTYPES: Final = {"f": "float32", "d": "float64"}


@dataclass(frozen=True, slots=True)
class Activation:
    """A pointwise operator, and its arguments behind the first by their names."""

    operator: str
    arguments: tuple[tuple[str, Any], ...]

    def code(self, character: str) -> NativeCode:
        """The function ``activated(ptr y, i64 count)`` that changes numbers in place. Raises `KernelError` where the
        operator has no native code.
        """
        return _code(self.operator, self.arguments, character)


@cache
def _code(operator: str, arguments: tuple[tuple[str, Any], ...], character: str) -> NativeCode:
    m = VectorModule(Floats(TYPES[character], engine().target))
    f = m.function(f"void {SYMBOL}", "ptr y", "i64 count", exported=True)
    y, count = f.parameters
    x = Expr("input", DTYPES[character], (), ())
    result = _expression(operator, x, dict(arguments))

    def some(at: Value, lanes: int, mask: Value | None) -> None:
        here = f.moved(y, at)
        value = f.vector(here, mask) if lanes > 1 else f.read(here, m.floats.type)
        activated = _emitted(f, result, x, value)
        if lanes > 1:
            f.put_vector(activated, here, mask)
        else:
            f.write(activated, here)

    f.span(count).each(some)
    f.ret()
    return engine().link(m.builder.text(), (SYMBOL,), memory_imports())


def _expression(operator: str, x: Expr, constants: Mapping[str, Any]) -> Expr:
    definition = registry.get(operator)
    dtype = dtype_named(x.dtype)
    first = definition.schema.arguments[0].name
    try:
        return pointwise(definition, {**constants, first: x}, dtype, dtype)
    except LoweringError as error:
        raise KernelError(str(error)) from None


def _emitted(f: VectorFunction, result: Expr, x: Expr, value: Value) -> Value:
    """The instructions of an expression of one input."""
    known: dict[Expr, Value] = {x: value}
    for one in topological([result]):
        if one in known:
            continue
        kind = element_type(one.dtype)
        if one.op == "const":
            assert isinstance(one.data, int | float)
            known[one] = _constant(one, value.lanes)
        elif one.op == "cast":
            known[one] = cast(f, known[one.args[0]], element_type(one.args[0].dtype), kind)
        else:
            operands = [known[a] for a in one.args]
            known[one] = lower(f, one.op, operands, element_type(one.args[-1].dtype), _never)
    return known[result]


def _constant(one: Expr, lanes: int) -> Value:
    kind = element_type(one.dtype)
    if not kind.is_float or not isinstance(one.data, float):
        raise KernelError("a constant of integers in an activation")
    return float_constant(one.data, kind.llvm, lanes)


def _never(condition: Value) -> None:
    raise AssertionError("floats divide by zero")
