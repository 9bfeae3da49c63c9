"""Contractions and functions of matrices as products, sums and views of others: what plans have in their place."""

# ruff: noqa: N803  # F is what bodies call the operators
from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from math import prod
from typing import Any

from flambeau.ops.einsum import implied, operands
from flambeau.ops.families.expansion_tables import differentiated, expansions
from flambeau.schema.dtype import complex64, complex128, float32, float64

Names = Sequence[Any]
"""What the axes of a tensor are called."""


def _are_floats(*tensors: Any) -> bool:
    """Whether tensors are of single or double precision, all of the same."""
    return tensors[0].dtype in (float32, float64) and all(t.dtype is tensors[0].dtype for t in tensors)


def _are_numbers(*tensors: Any) -> bool:
    """Whether tensors are of floats or complex numbers in single or double precision, all of the same."""
    known = (float32, float64, complex64, complex128)
    return tensors[0].dtype in known and all(t.dtype is tensors[0].dtype for t in tensors)


def _is_list_of_axes(dims: Any, rank: int) -> bool:
    return (
        isinstance(dims, list) and all(type(d) is int and -rank <= d < rank for d in dims)
        and len({d % rank for d in dims}) == len(dims)
    )  # fmt: skip


@differentiated("aten::tensordot")
@expansions("aten::tensordot")
def _tensordot(F: Any, x: Any, y: Any, dims_x: Any, dims_y: Any = None) -> Any:
    """The product of two matrices: of the axes that are kept by those that are summed."""
    if dims_y is None and isinstance(dims_x, list | tuple) and len(dims_x) == 2:
        dims_x, dims_y = dims_x
    elif dims_y is None and type(dims_x) is int and 0 < dims_x <= min(x.ndim, y.ndim):
        dims_x, dims_y = [*range(-dims_x, 0)], [*range(dims_x)]
    if not _are_numbers(x, y) or not _is_list_of_axes(dims_x, x.ndim) or not _is_list_of_axes(dims_y, y.ndim):
        return None
    if len(dims_x) != len(dims_y) or not dims_x:
        return None
    letters = [*range(x.ndim)], [*range(x.ndim, x.ndim + y.ndim)]
    for one, other in zip(dims_x, dims_y, strict=True):
        letters[1][other] = letters[0][one]
    summed = {letters[0][d] for d in dims_x}
    return _contracted(F, x, y, *letters, [name for name in (*letters[0], *letters[1]) if name not in summed])


@differentiated("aten::einsum")
@expansions("aten::einsum")
def _einsum(F: Any, equation: Any, tensors: Any, path: Any = None) -> Any:
    """The diagonals of axes that an operand names twice; then two operands after two, those first whose product has the
    fewest axes."""
    letters = _named(equation, tensors) if isinstance(equation, str) and _are_numbers(*tensors) else None
    if letters is None:
        return None
    named, result = letters
    parts = _single_names(F, tensors, named, result)
    while len(parts) > 1:
        (j, k), kept = _next_pair([names for _, names in parts], result)
        kept = [*result] if len(parts) == 2 else kept
        product = _product(F, *parts[j], *parts[k], kept)
        if product is None:
            return None
        parts = [*(part for n, part in enumerate(parts) if n not in (j, k)), (product, kept)]
    [(value, names)] = parts
    if names == result:
        return value
    return F.clone(F.permute(value, [names.index(n) for n in result]), memory_format=0)


def _named(equation: str, tensors: Sequence[Any]) -> tuple[list[list[str]], list[str]] | None:
    """The names of the axes of each operand and of the result, numbers for those behind `...`. None for what does not
    fit, a result that names an axis twice, or that shows an operand."""
    named, result = operands(equation)
    dots = [t.ndim - len(names.replace("...", "")) for names, t in zip(named, tensors, strict=False)]
    if len(named) != len(tensors) or any(d < 0 or (d and "..." not in n) for d, n in zip(dots, named, strict=True)):
        return None
    result = implied(named) if result is None else result
    axes = [_listed(names, count, max(dots)) for names, count in zip(named, dots, strict=True)]
    wanted = _listed(result, max(dots), max(dots))
    is_view = len(axes) == 1 and set(axes[0]) == set(wanted)
    is_usual = len(set(wanted)) == len(wanted) and not is_view and set(wanted) <= _others(axes)
    return (axes, wanted) if is_usual else None


def _listed(names: str, count: int, most: int) -> list[str]:
    """The names of axes, with so many numbers in the place of `...`: the last of `most`."""
    before, is_open, after = names.partition("...")
    return [*before, *(str(most - n) for n in range(count, 0, -1) if is_open), *after]


def _single_names(
    F: Any, tensors: Sequence[Any], named: Sequence[list[str]], result: Sequence[str]
) -> list[tuple[Any, list[str]]]:
    """Operands that have each name once, and none that neither another nor the result has; of one size by each name."""
    parts = [_on_diagonals(F, tensor, names) for tensor, names in zip(tensors, named, strict=True)]
    named = [names for _, names in parts]
    parts = [_summed(F, tensor, names, {*result, *_others(named, k)}) for k, (tensor, names) in enumerate(parts)]
    for name in {name: None for _, names in parts for name in names}:
        parts = _of_one_size(F, parts, name)
    return parts


def _on_diagonals(F: Any, x: Any, names: Sequence[str]) -> tuple[Any, list[str]]:
    """An operand with each of its names once: its diagonals along axes of one name."""
    names = [*names]
    while (repeated := next((n for n in names if names.count(n) > 1), None)) is not None:
        one = names.index(repeated)
        other = names.index(repeated, one + 1)
        F.require(x.shape[one] == x.shape[other])
        x = F.diagonal(x, 0, one, other)
        names = [name for k, name in enumerate(names) if k not in (one, other)] + [repeated]
    return x, names


def _of_one_size(F: Any, parts: list[tuple[Any, list[str]]], name: str) -> list[tuple[Any, list[str]]]:
    """Operands repeated along an axis of size 1 where others have more, which may be known only when they are there.

    Products demand that sizes are equal of which none is 1.
    """
    sizes = {k: t.shape[names.index(name)] for k, (t, names) in enumerate(parts) if name in names}
    first, *others = sizes.values()
    if all((size == first) is True or ((size == 1) is False and (first == 1) is False) for size in others):
        return parts
    are_one = [size == 1 for size in sizes.values()]
    if all(isinstance(is_one, bool) for is_one in are_one):
        common = next(size for size in sizes.values() if (size == 1) is False)
    else:
        common = reduce(F.broadcast_size, sizes.values())
    aligned = []
    for k, (t, names) in enumerate(parts):
        if k in sizes and (sizes[k] == 1) is not False:
            t = F.expand(t, [common if n == name else size for n, size in zip(names, t.shape, strict=True)])
        aligned.append((t, names))
    return aligned


def _next_pair(named: Sequence[list[str]], result: Sequence[str]) -> tuple[tuple[int, int], list[str]]:
    """The two operands whose product has the fewest axes, the first such, and the names of these axes."""
    pairs = [(j, k) for k in range(len(named)) for j in range(k)]
    kept = [
        [name for name in dict.fromkeys(named[j] + named[k]) if name in {*result, *_others(named, j, k)}]
        for j, k in pairs
    ]
    best = min(range(len(pairs)), key=lambda n: len(kept[n]))
    return pairs[best], kept[best]


def _others(named: Sequence[Sequence[str]], *positions: int) -> set[str]:
    """The names that operands in other positions have."""
    return {name for k, names in enumerate(named) if k not in positions for name in names}


def _summed(F: Any, x: Any, names: Sequence[str], needed: set[str]) -> tuple[Any, list[str]]:
    """An operand without the axes that nobody else names."""
    gone = [k for k, name in enumerate(names) if name not in needed]
    return (F.sum(x, gone) if gone else x), [name for name in names if name in needed]


def _product(F: Any, x: Any, names_x: list[str], y: Any, names_y: list[str], kept: list[str]) -> Any:
    """The product of two operands over the names that are kept; None where sizes may be of one and of another."""
    if not {*names_x} & {*names_y} <= {*kept}:
        return _contracted(F, x, y, names_x, names_y, kept)
    sizes = dict(zip(names_x, x.shape, strict=True))
    F.require(*[sizes[name] == size for name, size in zip(names_y, y.shape, strict=True) if name in sizes])
    aligned, is_turned = [], False
    for t, names in ((x, names_x), (y, names_y)):
        order = [names.index(name) for name in kept if name in names]
        if order != [*range(t.ndim)]:
            t, is_turned = F.permute(t, order), True
        for index, name in enumerate(kept):
            t = t if name in names else F.unsqueeze(t, index)
        aligned.append(t)
    return F.contiguous(F.mul(*aligned)) if is_turned else F.mul(*aligned)


def _roles(names_x: Names, names_y: Names, wanted: Names) -> tuple[list[Any], ...] | None:
    """The names that both operands have and keep, those that are summed, and those of one alone.

    None unless each is there once in an operand and in the result, and what one has alone is kept.
    """
    both = [name for name in names_x if name in names_y]
    batch, summed = ([n for n in both if (n in wanted) is kept] for kept in (True, False))
    left, right = ([n for n in names if n not in both] for names in (names_x, names_y))
    is_once = all(len(set(names)) == len(names) for names in (names_x, names_y, wanted))
    return (batch, summed, left, right) if is_once and {*batch, *left, *right} == set(wanted) else None


def _arranged(F: Any, x: Any, names: Names, groups: Sequence[Names], sizes: dict[Any, Any]) -> Any:
    """A tensor with an axis for each group of names."""
    order = [names.index(n) for group in groups for n in group]
    turned = x if order == [*range(x.ndim)] else F.permute(x, order)
    if all(len(group) == 1 for group in groups):
        return turned
    return F.reshape(turned, [prod([sizes[n] for n in group], start=1) for group in groups])


def _contracted(F: Any, x: Any, y: Any, names_x: Names, names_y: Names, wanted: Names) -> Any:
    """The sum of products over the names that both have and the result has not, as a product of matrices."""
    roles = _roles(names_x, names_y, wanted)
    if roles is None:
        return None
    batch, summed, left, right = roles
    sizes = dict(zip(names_x, x.shape, strict=True))
    F.require(*[sizes[name] == size for name, size in zip(names_y, y.shape, strict=True) if name in sizes])
    sizes.update((n, size) for n, size in zip(names_y, y.shape, strict=True) if n in right)
    applied = None if batch else _applied(F, (x, names_x, left), (y, names_y, right), (summed, wanted), sizes)
    if applied is not None:
        return applied
    leading = [batch] if batch else []
    matrices = [
        _arranged(F, t, names, [*leading, *groups], sizes)
        for t, names, groups in ((x, names_x, (left, summed)), (y, names_y, (summed, right)))
    ]
    product, letters = F.matmul(*matrices), [*batch, *left, *right]
    if any(len(names) != 1 for names in (*leading, left, right)):
        product = F.reshape(product, [sizes[n] for n in letters])
    order = [letters.index(n) for n in wanted]
    return product if order == [*range(len(letters))] else F.clone(F.permute(product, order), memory_format=0)


MOST_APPLIED = 16
"""Rows and columns of a matrix that is applied to the axes of a tensor where they lie: copies would take longer."""


def _applied(F: Any, one: Any, other: Any, roles: tuple[Names, Names], sizes: dict[Any, Any]) -> Any:
    """A small matrix times what lies along neighbouring axes of a tensor, as gates of quantum circuits are applied:
    products of the matrix by each part, without copies. None where it is none, or sizes are not known.
    """
    summed, wanted = roles
    for (x, names_x, left), (y, names_y, _) in ((one, other), (other, one)):
        at = names_y.index(summed[0]) if summed else 0
        before, after = names_y[:at], names_y[at + len(summed) :]
        is_small = all(isinstance(sizes[n], int) for n in (*left, *summed)) and left and before
        if not is_small or names_y[at : at + len(summed)] != summed or [*before, *left, *after] != [*wanted]:
            continue
        if max(prod(sizes[n] for n in group) for group in (left, summed)) > MOST_APPLIED:
            continue
        matrix = _arranged(F, x, names_x, [left, summed], sizes)
        if after:
            product = F.matmul(matrix, _arranged(F, y, names_y, [before, summed, after], sizes))
        else:
            product = F.matmul(_arranged(F, y, names_y, [before, summed], sizes), F.transpose(matrix, 0, 1))
        return F.reshape(product, [sizes[n] for n in wanted])
    return None


@expansions("aten::kron")
def _kron(F: Any, x: Any, y: Any) -> Any:
    """Each axis of one beside the same axis of the other, multiplied and joined."""
    if x.ndim != y.ndim or not x.ndim or not _are_numbers(x, y):
        return None
    spread = [[part for size in t.shape for part in (size, 1)[:: 1 if t is x else -1]] for t in (x, y)]
    product = F.mul(*(F.reshape(t, sizes) for t, sizes in zip((x, y), spread, strict=True)))
    return F.reshape(product, [a * b for a, b in zip(x.shape, y.shape, strict=True)])


@expansions("aten::trace")
def _trace(F: Any, x: Any) -> Any:
    """The sum of the diagonal."""
    return F.sum(F.diagonal(x)) if x.ndim == 2 and _are_numbers(x) else None


@expansions("aten::logdet")
def _logdet(F: Any, x: Any) -> Any:
    """The logarithm of the determinant's size, and nan where it is negative."""
    if x.ndim < 2 or not _are_floats(x):
        return None
    F.require(x.shape[-2] == x.shape[-1])
    sign, size = F.linalg_slogdet(x)
    return F.where(F.lt(sign, 0), float("nan"), size)


@expansions("aten::linalg_matrix_power", "aten::matrix_power")
def _matrix_power(F: Any, x: Any, n: Any) -> Any:
    """Squares, and products of them; of the inverse where the exponent is negative."""
    if type(n) is not int or n == 0 or x.ndim < 2 or not _are_numbers(x):
        return None
    F.require(x.shape[-2] == x.shape[-1])
    if n < 0:
        x, n = F.linalg_inv(x), -n
        if n == 1:
            return x
    power, square = None, x
    while n:
        if n & 1:
            power = square if power is None else F.matmul(power, square)
        n >>= 1
        if n:
            square = F.matmul(square, square)
    return F.clone(x, memory_format=0) if power is x else power


def _is_one(size: Any) -> bool:
    """Whether a size is known to be 1, which is broadcast."""
    return type(size) is int and size == 1


@expansions("aten::cross", "aten::linalg_cross")
def _cross(F: Any, x: Any, y: Any, dim: Any = None) -> Any:
    """Three differences of products side by side."""
    if type(dim) is not int or x.ndim != y.ndim or not -x.ndim <= dim < x.ndim or not _are_numbers(x, y):
        return None
    sizes = [(a, b) for a, b in zip(x.shape, y.shape, strict=True) if not (_is_one(a) or _is_one(b))]
    F.require(x.shape[dim] == 3, y.shape[dim] == 3, *[a == b for a, b in sizes])
    a, b = ([F.select(t, dim, k) for k in range(3)] for t in (x, y))
    pairs = ((1, 2), (2, 0), (0, 1))
    return F.stack([F.sub(F.mul(a[i], b[j]), F.mul(a[j], b[i])) for i, j in pairs], dim)


@expansions("aten::linalg_multi_dot")
def _product_of_several(F: Any, tensors: Any) -> Any:
    """The product of two or three, the one first that has less to do; the ends may be vectors."""
    if len(tensors) not in (2, 3) or not _are_numbers(*tensors) or any(t.ndim not in (1, 2) for t in tensors):
        return None
    first, last = tensors[0], tensors[-1]
    if any(t.ndim != 2 for t in tensors[1:-1]):
        return None
    if len(tensors) == 2:
        return F.matmul(first, last)
    middle = tensors[1]

    def from_left() -> Any:
        return F.matmul(F.matmul(first, middle), last)

    def from_right() -> Any:
        return F.matmul(first, F.matmul(middle, last))

    if first.ndim == 1 or last.ndim == 1:
        return from_left() if first.ndim == 1 else from_right()
    (rows, inner), (_, outer), (_, columns) = (t.shape for t in tensors)
    is_left = rows * outer * (inner + columns) < inner * columns * (outer + rows)
    return F.either(is_left, from_left, from_right)
