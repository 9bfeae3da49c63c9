"""Products of matrices and vectors as folds: `c[i, j] = sum over k of product(a[i, k], b[k, j])`.

Leading dimensions broadcast as they do for the operators. What an operator refuses, sizes, ranks or dtypes that do
not fit, has no form here: the interpreter runs it and raises the operator's own error.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from flambeau.codegen.kernel.dtypes import element_type
from flambeau.codegen.lower.complex_values import is_complex, parts, whole
from flambeau.codegen.lower.recorder import apply, constant
from flambeau.codegen.lower.values import Dim, Dims, Expr, LoweringError, Reduction, broadcast

Arguments = Mapping[str, Any]
"""Arguments by name, in the order of the schema."""

PRODUCT = "product"
"""The operation inside the fold; it may go into the sum unrounded, which a user's own `mul` may not."""


def matmul(a: Expr, b: Expr, ranks: tuple[int, int] | None = None) -> Expr:
    """`a @ b` for vectors, matrices and stacks of them; of exactly these `ranks` if given."""
    if 0 in (len(a.dims), len(b.dims)) or (ranks is not None and (len(a.dims), len(b.dims)) != ranks):
        raise LoweringError(f"a product of {len(a.dims)} and {len(b.dims)} dimensions")
    rows: Dims = a.dims[-2:-1]
    columns: Dims = b.dims[-1:] if len(b.dims) > 1 else ()
    inner = _inner(a.dims[-1], b.dims[-2] if len(b.dims) > 1 else b.dims[-1])
    if ranks == (3, 3):
        batch: Dims = (_inner(a.dims[0], b.dims[0]),)
    else:
        batch = broadcast([a.dims[:-2], b.dims[:-2]])
    return _fold(a, b, (*batch, *rows), inner, columns)


def linear(x: Expr, weight: Expr, bias: Expr | None) -> Expr:
    """`x @ weight.T + bias`."""
    if not x.dims or len(weight.dims) not in (1, 2):
        raise LoweringError(f"linear of {len(x.dims)} and {len(weight.dims)} dimensions")
    inner = _inner(x.dims[-1], weight.dims[-1])
    product = _fold(x, weight, x.dims[:-1], inner, weight.dims[:-1], columns_first=True)
    return product if bias is None else _added(product, bias)


def outer(a: Expr, b: Expr) -> Expr:
    """Every product of an element of the first vector and one of the second."""
    if (len(a.dims), len(b.dims)) != (1, 1) or a.dtype != b.dtype or element_type(a.dtype).kind in ("bool", "half"):
        raise LoweringError("an outer product of other things than two vectors of numbers of one dtype")
    if is_complex(a):
        return _by_parts(a, b, outer)
    return Expr("mul", a.dtype, (a, b), (*a.dims, *b.dims))


def _by_parts(a: Expr, b: Expr, product: Callable[[Expr, Expr], Expr]) -> Expr:
    """A product of complex numbers as products of their parts."""
    x, y = parts(a), parts(b)
    re = apply("sub", product(x.re, y.re), product(x.im, y.im))
    return whole(re, apply("add", product(x.re, y.im), product(x.im, y.re)))


def scaled(base: Expr, product: Expr, beta: Any, alpha: Any) -> Expr:
    """`beta * base + alpha * product`; with `beta` 0, `base` does not count."""
    if isinstance(beta, Expr) or isinstance(alpha, Expr):
        raise LoweringError("scales of a product that are not constants")
    result = product if alpha == 1 else apply("mul", product, constant(alpha, product.dtype))
    if beta == 0:
        _check_expands(product, base)
        return result
    return _added(result, base if beta == 1 else apply("mul", base, constant(beta, base.dtype)))


def _added(product: Expr, base: Expr) -> Expr:
    """The sum of a product and a tensor that broadcasts to it."""
    _check_expands(product, base)
    return apply("add", product, base)


def _check_expands(product: Expr, base: Expr) -> None:
    if base.dtype != product.dtype:
        raise LoweringError(f"a product in {product.dtype} and a tensor in {base.dtype}")
    if len(base.dims) > len(product.dims):
        raise LoweringError("a tensor of more dimensions than the product it is added to")
    for mine, theirs in zip(reversed(product.dims), reversed(base.dims), strict=False):
        if mine is None and theirs is not None:
            raise LoweringError("a tensor larger than the product it is added to")
    broadcast([product.dims, base.dims])


def _inner(mine: Dim | None, theirs: Dim | None) -> Dim | None:
    """One dimension of two that must have one size."""
    if (mine is None) != (theirs is None):
        raise LoweringError("sizes of a product that do not fit")
    if mine is not None and theirs is not None:
        mine.unify(theirs)
    return mine


def _fold(a: Expr, b: Expr, left: Dims, inner: Dim | None, right: Dims, *, columns_first: bool = False) -> Expr:
    if a.dtype != b.dtype:
        raise LoweringError(f"a product of {a.dtype} and {b.dtype}")
    if element_type(a.dtype).kind in ("bool", "half"):
        raise LoweringError(f"a product in {a.dtype}")
    if is_complex(a):
        return _by_parts(a, b, lambda x, y: _fold(x, y, left, inner, right, columns_first=columns_first))
    # The dimensions in an order that both operands have them in: weights of `linear` have the folded one last.
    space = (*left, *right, inner) if columns_first else (*left, inner, *right)
    terms = Expr(PRODUCT, a.dtype, (a, b), space)
    kept = (*left, *right)
    if inner is None:
        return apply("mul", Expr("cast", a.dtype, (a,), kept), Expr("cast", b.dtype, (b,), kept))
    return Expr("reduce", a.dtype, (terms,), kept, Reduction("sum", (inner,)))


def _matmul(*ranks: int) -> Callable[[Arguments], Expr]:
    def rule(arguments: Arguments) -> Expr:
        a, b = arguments.values()
        return matmul(a, b, (ranks[0], ranks[1]) if ranks else None)

    return rule


def _linear(arguments: Arguments) -> Expr:
    return linear(*arguments.values())


def _scaled(*ranks: int) -> Callable[[Arguments], Expr]:
    def rule(arguments: Arguments) -> Expr:
        base, a, b, beta, alpha = arguments.values()
        return scaled(base, matmul(a, b, (ranks[0], ranks[1])), beta, alpha)

    return rule


PRODUCTS: dict[str, Callable[[Arguments], Expr]] = {
    "matmul": _matmul(),
    "mm": _matmul(2, 2),
    "bmm": _matmul(3, 3),
    "mv": _matmul(2, 1),
    "dot": _matmul(1, 1),
    "outer": lambda arguments: outer(*arguments.values()),
    "linear": _linear,
    "addmm": _scaled(2, 2),
    "addmv": _scaled(2, 1),
    "baddbmm": _scaled(3, 3),
}
"""By what operators declare as their accumulator."""
