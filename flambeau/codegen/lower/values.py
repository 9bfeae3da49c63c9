"""Tensor values of a region while it is lowered: an expression graph whose dimensions are variables.

A `Dim` is one dimension of a tensor; dimensions that broadcast against each other are unified. None stands for a
dimension that is known to have size one. Nothing here knows of loops yet.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from flambeau.codegen.kernel.dtypes import KernelError
from flambeau.util.record import dataclass


class LoweringError(KernelError):
    """A region, or a node of one, that has no native form; the interpreter runs it."""


class RepeatedResultsError(LoweringError):
    """Results that do not vary along all that the loops of others run over: they belong to a kernel of their own."""

    def __init__(self, results: Sequence[int]) -> None:
        super().__init__("results that do not vary along all dimensions of others")
        self.places = tuple(results)
        """Which results these are."""


class Dim:
    """A dimension variable; equal ones have one `root`."""

    __slots__ = ("_parent",)

    def __init__(self) -> None:
        self._parent: Dim | None = None

    @property
    def root(self) -> Dim:
        """The representative of all dimensions unified with this one."""
        dim = self
        while dim._parent is not None:
            dim = dim._parent
        return dim

    def unify(self, other: Dim) -> None:
        """Make both one dimension."""
        mine, theirs = self.root, other.root
        if mine is not theirs:
            theirs._parent = mine


Dims: TypeAlias = "tuple[Dim | None, ...]"


@dataclass(eq=False, slots=True)
class Expr:
    """A value: `op` on `args`; compared by identity."""

    op: str
    """A scalar operation, or `input`, `const`, `cast`, `view`, `indexed`, `changed`, `reduce`, `scan`, `extent`,
    `position`, `seldom`.
    """
    dtype: str
    args: tuple[Expr, ...]
    dims: Dims
    data: object = None
    """The buffer of an input, the number of a constant, the `Reduction` of a reduce or scan, the dimensions of an
    extent, the table and places of an `indexed`, the place of the dimension and the operation of a `changed`, the sizes
    that the dimensions of a `view` must have by themselves (None: those of whatever they meet), what a `seldom` is
    where its first operand is true; elsewhere it is the second.
    """

    @property
    def space(self) -> frozenset[Dim]:
        """The dimensions it varies along."""
        return frozenset(d.root for d in self.dims if d is not None)


@dataclass(frozen=True, slots=True)
class Reduction:
    """How a `reduce` expression folds its argument."""

    reducer: str
    over: tuple[Dim, ...]


def view(x: Expr, dims: Dims, sizes: tuple[int | None, ...] | None = None) -> Expr:
    """`x` under other dimensions of the same values; `sizes`: it may not broadcast along them."""
    for k, dim in enumerate(dims if sizes is not None else ()):
        assert sizes is not None
        if dim is None and sizes[k] not in (None, 1):
            raise LoweringError(f"a dimension of size 1 where {sizes[k]} is expected")
    return Expr("view", x.dtype, (x,), dims, sizes)


def indexed(table: Expr, indices: dict[int, Expr], dims: Dims) -> Expr:
    """Elements of an input, at the values of `indices` along these of its dimensions; the others are among `dims`."""
    if table.op != "input":
        raise LoweringError("a table that is computed in the same region")
    return Expr("indexed", table.dtype, tuple(indices.values()), dims, (table, tuple(indices)))


def size_of(x: object, dim: object) -> Dim | int:
    """A tensor's size along a dimension: the dimension itself, which stands for its size, or 1."""
    if not isinstance(x, Expr) or not isinstance(dim, int) or not -len(x.dims) <= dim < len(x.dims):
        raise LoweringError(f"a size along {dim}")
    return x.dims[dim] or 1


def broadcast(shapes: list[Dims]) -> Dims:
    """The dimensions of an elementwise result; unifies those that meet."""
    result: list[Dim | None] = []
    for back in range(1, max(map(len, shapes), default=0) + 1):
        chosen: Dim | None = None
        for dims in shapes:
            dim = dims[-back] if back <= len(dims) else None
            if dim is not None and chosen is not None:
                chosen.unify(dim)
            chosen = chosen or dim
        result.append(chosen)
    return tuple(reversed(result))


def topological(targets: list[Expr]) -> list[Expr]:
    """Every expression that `targets` need, operands first."""
    done: dict[Expr, None] = {}
    stack: list[tuple[Expr, bool]] = [(t, False) for t in reversed(targets)]
    while stack:
        expr, is_ready = stack.pop()
        if expr in done:
            continue
        if is_ready:
            done[expr] = None
            continue
        stack.append((expr, True))
        stack.extend((a, False) for a in reversed(expr.args) if a not in done)
    return list(done)
