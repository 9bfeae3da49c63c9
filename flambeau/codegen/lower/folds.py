"""The vocabulary of folds: which dimensions, how, and how many elements."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flambeau.codegen.lower.complex_values import each, is_complex
from flambeau.codegen.lower.recorder import apply, cast, constant
from flambeau.codegen.lower.values import Dim, Dims, Expr, LoweringError, Reduction, view


def dims_over(x: Expr, dim: Any, *, empty_is_all: bool = True) -> tuple[int, ...]:
    """The dimensions a `dim` argument names, counted from the front."""
    rank = len(x.dims)
    if dim is None or (empty_is_all and dim == []):
        return tuple(range(rank))
    dims = [dim] if isinstance(dim, int) else list(dim)
    if rank == 0 and all(d in (0, -1) for d in dims):
        return ()
    if any(not -rank <= d < rank for d in dims) or len({d % rank for d in dims}) != len(dims):
        raise LoweringError(f"dimensions {dims} do not fit a tensor of {rank} dimensions")
    return tuple(sorted(d % rank for d in dims))


def reduce(x: Expr, reducer: str, axes: tuple[int, ...], keepdim: bool) -> Expr:
    """Fold the dimensions at `axes`."""
    if is_complex(x):
        if reducer != "sum":
            raise LoweringError(f"{reducer} of complex numbers has no native code")
        return each_part(x, lambda part: reduce(part, reducer, axes, keepdim))
    kept: Dims = tuple(None if k in axes else d for k, d in enumerate(x.dims) if keepdim or k not in axes)
    over = tuple(d.root for k in axes if (d := x.dims[k]) is not None)
    dtype = "int64" if reducer in ("argmax", "argmin") else x.dtype
    if not over:
        alone = constant(0, "int64") if reducer.startswith("arg") else x
        if reducer == "sum" and x.dtype.startswith("float"):
            alone = apply("add", x, constant(0.0, x.dtype))  # a sum starts from zero: of -0.0 alone it is 0.0
        return Expr("select", dtype, (constant(True, "bool"), alone, alone), kept)
    return Expr("reduce", dtype, (x,), kept, Reduction(reducer, over))


def each_part(x: Expr, function: Callable[[Expr], Expr]) -> Expr:
    """What a linear function gives for both parts of a complex expression, each with the dimensions of the whole: of a
    real number that became complex, the imaginary part has none.
    """
    here = constant(True, "bool")

    def of_all(part: Expr) -> Expr:
        return part if part.dims == x.dims else Expr("select", part.dtype, (here, part, part), x.dims)

    return each(x, lambda part: function(of_all(part)))


def without(axes: tuple[int, ...], value: Expr, keepdim: bool) -> Expr:
    """A value without the dimensions at `axes`, along which it does not vary, unless they are kept."""
    return value if keepdim else view(value, tuple([d for k, d in enumerate(value.dims) if k not in axes]))


def seldom(when: Expr, value: Expr, otherwise: Expr) -> Expr:
    """`value`, with all folds that only it needs, where `when` is true, as it seldom is; elsewhere `otherwise`."""
    return Expr("seldom", otherwise.dtype, (when, otherwise), otherwise.dims, value)


def count(x: Expr, axes: tuple[int, ...], dtype: str) -> Expr:
    """How many elements a fold over `axes` meets."""
    over: tuple[Dim, ...] = tuple(d for k in axes if (d := x.dims[k]) is not None)
    return cast(Expr("extent", "int64", (), (), over), dtype) if over else constant(1, dtype)
