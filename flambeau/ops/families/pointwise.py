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

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, Final

from flambeau.ops.derivatives.pointwise import PointwiseGradient
from flambeau.ops.families import variants
from flambeau.ops.families.elementwise import DtypeMap, Pointwise, pointwise_meaning
from flambeau.ops.families.entry_kernel import EntryKernel
from flambeau.ops.families.promotion import compute_dtype, float_of
from flambeau.schema import registry
from flambeau.schema.dtype import Category, DType, bool_, float32
from flambeau.schema.function import FunctionSchema, parse_schema
from flambeau.schema.opdef import ErrorSample, OpDef, Sample
from flambeau.schema.traits import PLAIN, Traits
from flambeau.schema.types import TensorType
from flambeau.util.record import replace

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


def pointwise(
    *schemas: str,
    operands: int | Sequence[str],
    scalar: Callable[..., Any],
    doc: str,
    raw: Sequence[str] = (),
    result: DtypeMap = same,
    compute: DtypeMap | None = None,
    lift: bool = True,
    accepts: frozenset[Category] = CATEGORIES,
    refusal: str = "",
    check: Callable[..., None] | None = None,
    check_in_place: Callable[..., None] | None = None,
    out: Sequence[str | None] | None = (),
    in_place: bool = True,
    aliases: Sequence[str] = (),
    ulp: float = 0,
    samples: Callable[[], Iterable[Sample]] | None = None,
    errors: Callable[[], Iterable[ErrorSample]] | None = None,
    reference: Callable[..., Any] | None = None,
    is_method: bool = True,
    is_function: bool = True,
    namespaces: tuple[str, ...] = (),
    native: bool = True,
    differentiable: bool = True,
    traits: Traits = PLAIN,
) -> None:
    """Register a pointwise operator: every overload in `schemas`, in this order, and all that follows from them.

    `operands` are the arguments that promote together, by name or as the number of leading ones; `raw` tensors keep
    their dtype. `result` maps the dtype in which operands meet to that of the result, `compute` to the one computed
    in (the result's for `to_float`, else the common one; halves in single unless `lift` is off). `accepts` are the
    kinds of number there is a meaning for; others raise NotImplementedError with `refusal`, where `{}` is the dtype.
    `check(common, *arguments)` may raise first, and before it `check_in_place` for the in-place form. `out` names the
    overloads that take `out`, one per schema (None: there is none; left away: as usual; `out=None`: nowhere).
    `aliases` are further names. Gradients follow from the meaning, where no
    formulas are written. Without `native`, the meaning is one of arrays alone: kernels do not contain it.
    """
    wanted = compute or (to_float if result is to_float else same)
    for number, text in enumerate(schemas):
        schema = parse_schema(text)
        meaning = pointwise_meaning(
            schema, operands=operands, raw=raw, scalar=scalar, result=result, accepts=accepts, refusal=refusal,
            compute=_lifted(wanted) if lift else wanted, check=check, check_in_place=check_in_place,
            out_dtype=traits.out_dtype,
        )  # fmt: skip
        first: dict[str, Any] = {"doc": doc, "samples": samples, "errors": errors} if number == 0 else {}
        definition = OpDef(
            schema=schema,
            dtype=meaning.predict_dtype,
            shape=meaning.predict_shape,
            differentiable=differentiable,
            reference=reference,
            ulp={float32: ulp} if ulp else {},
            is_method=is_method,
            is_function=is_function,
            namespaces=namespaces,
            traits=traits,
            **(_for_native_code(meaning, differentiable) if native else _for_arrays(meaning)),
            **first,
        )
        for name in (schema.name, *(f"aten::{alias}" for alias in aliases)):
            renamed = replace(definition, schema=schema.renamed(name, schema.overload))
            _register(renamed, meaning, _out_overload(schema, number, out), in_place)


def _for_native_code(meaning: Pointwise, differentiable: bool) -> dict[str, Any]:
    """What a declaration says of a meaning that kernels contain."""
    schema = meaning.schema
    return {
        "family": "pointwise",
        "kernel": EntryKernel(schema.full_name, meaning, meaning.run),
        "scalar": meaning.scalar,
        "compute": meaning.predict_compute,
        "gradient": PointwiseGradient(meaning.scalar, schema, frozenset(meaning.raw)) if differentiable else None,
    }


def _for_arrays(meaning: Pointwise) -> dict[str, Any]:
    """What a declaration says of a meaning over arrays alone."""
    return {"family": "special", "kernel": meaning.run}


unary = partial(pointwise, operands=1)
"""A pointwise operator whose first argument alone decides the dtype; further numbers are parameters."""
binary = partial(pointwise, operands=2)
"""A pointwise operator whose first two arguments promote together; further numbers are parameters."""
compare = partial(pointwise, operands=2, result=to_bool)
"""A binary operator that gives bools."""


def _lifted(wanted: DtypeMap) -> DtypeMap:
    return lambda common, args: compute_dtype(wanted(common, args))


def _out_overload(schema: FunctionSchema, number: int, out: Sequence[str | None] | None) -> str | None:
    if out is None:
        return None
    if len(out) > number:
        return out[number]
    return f"{schema.overload}_out" if schema.overload else "out"


def _register(definition: OpDef, meaning: Pointwise, out: str | None, in_place: bool) -> None:
    """Register an overload, its in-place form and its out form."""
    registry.register(definition)
    writing = replace(definition, scalar=None, compute=None, samples=None, errors=None, doc="")
    if definition.traits is not PLAIN:
        writing = replace(writing, traits=definition.traits.in_place())
    native = definition.scalar is not None
    run_in_place, run_out = meaning.run_in_place, meaning.run_out
    if in_place and isinstance(definition.schema.arguments[0].type, TensorType):
        schema = variants.in_place_schema(definition.schema)
        registry.register(
            replace(
                writing,
                schema=schema,
                family="in_place",
                kernel=EntryKernel(schema.full_name, meaning, run_in_place, 0) if native else run_in_place,
                dtype=_first_dtype,
                shape=_first_shape,
            )
        )
    if out is not None:
        schema, last = variants.out_schema(definition.schema, out), len(definition.schema.arguments)
        registry.register(
            replace(
                writing,
                schema=schema,
                family="out",
                kernel=EntryKernel(schema.full_name, meaning, run_out, last) if native else run_out,
                dtype=_last_dtype,
                shape=lambda *args: meaning.predict_shape(*args[:-1]),
            )
        )


def _first_dtype(*args: Any) -> DType | None:
    return args[0].dtype if isinstance(args[0], TensorType) else None


def _first_shape(*args: Any) -> tuple[int | None, ...] | None:
    return args[0].sizes if isinstance(args[0], TensorType) else None


def _last_dtype(*args: Any) -> DType | None:
    return args[-1].dtype if isinstance(args[-1], TensorType) else None
