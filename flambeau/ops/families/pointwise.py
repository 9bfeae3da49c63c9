"""Pointwise operators: one declaration yields every overload, its in-place and `out` forms, its rules and its NumPy
kernel.

The meaning, `scalar(s, *arguments)`, gets the arguments in schema order: tensors and numbers as values of the
computation dtype, everything else (strings, bools, None) as it is, so that it may choose by it. It must not branch on
values.

    unary(
        "aten::softsign(Tensor self) -> Tensor",
        scalar=lambda s, x: s.div(x, s.add(s.const(1, s.dtype_of(x)), s.abs(x))),
        result=to_float,
        doc="x / (1 + |x|).",
    )
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from flambeau.ops.families import variants
from flambeau.ops.families.elementwise import DtypeMap, Pointwise
from flambeau.ops.families.promotion import compute_dtype, float_of
from flambeau.schema import registry
from flambeau.schema.dtype import Category, DType, bool_, float32
from flambeau.schema.function import FunctionSchema, parse_schema
from flambeau.schema.opdef import ErrorSample, OpDef, Sample
from flambeau.schema.types import FloatType, NumberType, OptionalType, TensorType, Type

AUTO: Final = "auto"
"""Name the `out` overload as most schemas do: `out`, `Scalar_out`."""
CATEGORIES: Final = frozenset(Category)
REAL: Final = frozenset({Category.BOOL, Category.INTEGER, Category.FLOAT})
NUMERIC: Final = frozenset({Category.INTEGER, Category.FLOAT})
FRACTIONAL: Final = frozenset({Category.FLOAT, Category.COMPLEX})
FLOATS: Final = frozenset({Category.FLOAT})
BITS: Final = frozenset({Category.BOOL, Category.INTEGER})


def same(common: DType, args: Sequence[Any] = ()) -> DType:
    """The result has the dtype in which the operands meet."""
    return common


def to_float(common: DType, args: Sequence[Any] = ()) -> DType:
    """Integers and bools give the default float dtype."""
    return float_of(common)


def to_bool(common: DType, args: Sequence[Any] = ()) -> DType:
    """The result is bool."""
    return bool_


def to_real(common: DType, args: Sequence[Any] = ()) -> DType:
    """Complex numbers give the dtype of their parts."""
    return common.to_real()


def literal(s: Any, x: Any, value: complex) -> Any:
    """A constant of the dtype of `x`."""
    return s.const(value, s.dtype_of(x))


def _is_value(type_: Type) -> bool:
    inner = type_.element if isinstance(type_, OptionalType) else type_
    return isinstance(inner, TensorType | NumberType | FloatType)


def pointwise(
    *schemas: str,
    scalar: Callable[..., Any],
    doc: str,
    operands: Sequence[str],
    raw: Sequence[str] = (),
    result: DtypeMap = same,
    compute: DtypeMap | None = None,
    accepts: frozenset[Category] = CATEGORIES,
    refusal: str = "",
    check: Callable[..., None] | None = None,
    lift: bool = True,
    out: Sequence[str | None] | None = (),
    in_place: bool = True,
    aliases: Sequence[str] = (),
    gradient: Mapping[str, Callable[..., Any]] | None = None,
    ulp: float = 0,
    samples: Callable[[], Iterable[Sample]] | None = None,
    errors: Callable[[], Iterable[ErrorSample]] | None = None,
    reference: Callable[..., Any] | None = None,
    is_method: bool = True,
    is_function: bool = True,
    namespaces: tuple[str, ...] = (),
) -> None:
    """Register a pointwise operator: every overload in `schemas`, in this order, and all that follows from them.

    `operands` are the arguments that promote together; `raw` tensors keep their dtype. `result` maps the dtype in
    which they meet to that of the result, `compute` to the one computed in (the result's for `to_float`, else the
    common one; halves in single unless `lift` is off). `accepts` are the kinds of number there is a meaning for;
    others raise NotImplementedError with `refusal`, where `{}` is the dtype. `check(common, *arguments)` may raise
    first. `out` names the overloads that take `out`, one per schema (None: there is none; left away: as usual;
    `out=None`: nowhere). `aliases` are further names.
    """
    for number, text in enumerate(schemas):
        schema = parse_schema(text)
        base = _plan(schema, scalar, operands, raw, result, compute, accepts, refusal, check, lift)
        definition = OpDef(
            schema=schema,
            family="pointwise",
            kernel=base.run,
            doc=doc if number == 0 else "",
            dtype=base.predict_dtype,
            shape=base.predict_shape,
            scalar=scalar,
            compute=base.predict_compute,
            gradient=gradient or {},
            samples=samples if number == 0 else None,
            errors=errors if number == 0 else None,
            reference=reference,
            ulp={} if ulp == 0 else {float32: ulp},
            is_method=is_method,
            is_function=is_function,
            namespaces=namespaces,
        )
        _register_all(definition, base, _out_overload(schema, number, out), in_place, aliases)


def _out_overload(schema: FunctionSchema, number: int, out: Sequence[str | None] | None) -> str | None:
    if out is None:
        return None
    if len(out) > number and out[number] != AUTO:
        return out[number]
    return f"{schema.overload}_out" if schema.overload else "out"


def _plan(
    schema: FunctionSchema,
    scalar: Callable[..., Any],
    operands: Sequence[str],
    raw: Sequence[str],
    result: DtypeMap,
    compute: DtypeMap | None,
    accepts: frozenset[Category],
    refusal: str,
    check: Callable[..., None] | None,
    lift: bool,
) -> Pointwise:
    index = schema.index
    wanted = compute or (to_float if result is to_float else same)
    short = schema.name.partition("::")[2]
    return Pointwise(
        schema=schema,
        operands=tuple(index[n] for n in operands),
        raw=tuple(index[n] for n in raw),
        values=tuple(i for i, a in enumerate(schema.arguments) if _is_value(a.type)),
        scalar=scalar,
        result=result,
        compute=(lambda common, args: compute_dtype(wanted(common, args))) if lift else wanted,
        accepts=accepts,
        refusal=refusal or f"\"{short}_cpu\" not implemented for '{{}}'",
        check=check,
    )


def _register_all(definition: OpDef, base: Pointwise, out: str | None, in_place: bool, aliases: Sequence[str]) -> None:
    for name in (definition.name, *(f"aten::{a}" for a in aliases)):
        schema = definition.schema.renamed(name, definition.schema.overload)
        registry.register(replace(definition, schema=schema))
        if in_place and isinstance(schema.arguments[0].type, TensorType):
            registry.register(
                replace(
                    definition, schema=variants.in_place_schema(schema), family="in_place", kernel=base.run_in_place,
                    scalar=None, compute=None, dtype=_first_dtype, shape=_first_shape, samples=None, errors=None,
                    doc="",
                )
            )  # fmt: skip
        if out is not None:
            registry.register(
                replace(
                    definition, schema=variants.out_schema(schema, out), family="out", kernel=base.run_out, scalar=None,
                    compute=None, dtype=_last_dtype, shape=lambda *args: base.predict_shape(*args[:-1]), samples=None,
                    errors=None, doc="",
                )
            )  # fmt: skip


def _first_dtype(*args: Any) -> DType | None:
    return args[0].dtype if isinstance(args[0], TensorType) else None


def _first_shape(*args: Any) -> tuple[int | None, ...] | None:
    return args[0].sizes if isinstance(args[0], TensorType) else None


def _last_dtype(*args: Any) -> DType | None:
    return args[-1].dtype if isinstance(args[-1], TensorType) else None


def unary(*schemas: str, **facts: Any) -> None:
    """A pointwise operator whose first argument alone decides the dtype; further numbers are parameters."""
    first = parse_schema(schemas[0]).arguments[0].name
    pointwise(*schemas, operands=(first,), **facts)


def binary(*schemas: str, **facts: Any) -> None:
    """A pointwise operator whose first two arguments promote together; further numbers are parameters."""
    a, b = (argument.name for argument in parse_schema(schemas[0]).arguments[:2])
    pointwise(*schemas, operands=(a, b), **facts)


def compare(*schemas: str, **facts: Any) -> None:
    """A binary operator that gives bools."""
    binary(*schemas, result=to_bool, **facts)
