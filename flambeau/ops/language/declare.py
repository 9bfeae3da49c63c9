"""How the operators of the language are declared: schema text, kernel, and for pure numbers the Scalar meaning."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from flambeau.schema import registry
from flambeau.schema.dtype import DType, bool_, float64, int64, promote
from flambeau.schema.function import parse_schema
from flambeau.schema.opdef import DtypeRule, Effect, OpDef, ShapeRule
from flambeau.schema.traits import PLAIN, Fails, Traits

Kernel = Callable[..., Any]

KEYS = ("str", "int", "bool", "float", "complex", "Tensor")
"""The key types of dicts, as their overloads are named."""
OTHER_KEY = "k"
"""The type variable of the overloads for all other keys: devices, enums, tuples of keys."""


NEVER: Final = Traits(fails=Fails.NEVER)
NOT_ON_REALS: Final = Traits(fails=Fails.NOT_ON_REALS)
ON_ZERO: Final = Traits(fails=Fails.ON_ZERO)


def declare(
    schema: str,
    kernel: Kernel,
    *,
    scalar: Kernel | None = None,
    effect: Effect = Effect.NONE,
    doc: str = "",
    dtype: DtypeRule | None = None,
    shape: ShapeRule | None = None,
    traits: Traits = PLAIN,
    is_about_tensor: bool = False,
) -> OpDef:
    """Register one overload of a language operator; `dtype` and `shape` take all arguments.

    Raises ValueError if it exists already.
    """
    return registry.register(
        OpDef(
            schema=parse_schema(schema),
            family="language",
            kernel=kernel,
            scalar=scalar,
            effect=effect,
            doc=doc,
            dtype=dtype,
            shape=shape,
            traits=traits,
            is_about_tensor=is_about_tensor,
            is_method=False,
            is_function=False,
        )
    )


def promoted(name: str) -> Kernel:
    """The Scalar meaning `name` of two numbers, converted to their common type first."""

    def meaning(s: Any, a: Any, b: Any) -> Any:
        dtype = promote(s.dtype_of(a), s.dtype_of(b))
        return getattr(s, name)(s.cast(a, dtype), s.cast(b, dtype))

    return meaning


def as_floats(name: str) -> Kernel:
    """The Scalar meaning `name` of numbers converted to float64."""

    def meaning(s: Any, *operands: Any) -> Any:
        return getattr(s, name)(*(s.cast(x, float64) for x in operands))

    return meaning


def same(name: str) -> Kernel:
    """The Scalar meaning `name` of operands that have one type already."""
    return lambda s, *operands: getattr(s, name)(*operands)


def cast_to(dtype: DType) -> Kernel:
    """The Scalar meaning of a conversion."""
    return lambda s, x: s.cast(x, dtype)


def through(name: str, dtype: DType) -> Kernel:
    """The Scalar meaning `name`, its result converted."""
    return lambda s, *operands: s.cast(getattr(s, name)(*operands), dtype)


to_int: Kernel = cast_to(int64)
to_float: Kernel = cast_to(float64)
to_bool: Kernel = cast_to(bool_)
