"""What is computed, with no word on how: placeholders, and tensors whose elements are given by expressions.

>>> from flambeau import te
>>> n = te.var("n")
>>> A, B = te.placeholder("A", (n, 64)), te.placeholder("B", (64, n))
>>> C = te.reduce("C", (n, n), "sum", lambda i, j, k: A[i, k] * B[k, j], over=64)
>>> print(C)
C[i, j] = sum over k of A[i, k] * B[k, j]: float32[n, n]
"""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from flambeau.codegen.kernel.dtypes import ELEMENT_TYPES
from flambeau.codegen.kernel.opset import REDUCERS
from flambeau.te.access import checked_body
from flambeau.te.errors import ScheduleError
from flambeau.te.expressions import (
    INDEX,
    STORED,
    Buffer,
    Expr,
    Load,
    Operand,
    Var,
    as_expr,
    cast,
    dtype_name,
)
from flambeau.te.linear import constant_of, simplify
from flambeau.util.record import dataclass, field

Shape: TypeAlias = "Operand | Sequence[Operand]"
REDUCTIONS = tuple(name for name in REDUCERS if not name.startswith("arg"))
"""Ways to put the values of a reduction together, by name."""


@dataclass(slots=True, eq=False, repr=False)
class Tensor:
    """A placeholder, or what a `compute` or `reduce` gives; `A[i, j]` is an element in an expression.

    >>> from flambeau import te
    >>> x = te.placeholder('x', (3, 4))
    >>> y = te.compute('y', 3, lambda i: x[i, 0] * 2.0)
    >>> y.name, y.dtype, str(y.body)
    ('y', 'float32', 'x[i, 0] * 2.0')
    """

    name: str
    shape: tuple[Expr, ...]
    dtype: str
    """As its elements lie in memory."""
    axes: tuple[Var, ...]
    reduced: tuple[tuple[Var, Expr], ...]
    """Of a reduction: the axes that are reduced, with their sizes."""
    body: Expr | None
    """The value of an element, or what a reduction puts together; None for a placeholder."""
    reducer: str
    """How values are put together; empty where the body is the value."""
    buffer: Buffer
    number: int = field(default_factory=itertools.count().__next__)
    """Later ones have greater numbers."""

    @property
    def ndim(self) -> int:
        """How many dimensions it has."""
        return len(self.shape)

    @property
    def is_placeholder(self) -> bool:
        """Whether calls give it."""
        return self.body is None

    def __getitem__(self, indices: Operand | tuple[Operand, ...]) -> Expr:
        subscripts = indices if isinstance(indices, tuple) else (indices,)
        if len(subscripts) != self.ndim:
            names = ", ".join("ijklmnop"[: self.ndim]) or "()"
            raise ScheduleError(
                f"{self.name} has {self.ndim} dimensions, got {len(subscripts)} indices: {self.name}[{names}]"
            )
        return Load(self.buffer, tuple(_index(self.name, k, i) for k, i in enumerate(subscripts)))

    def __call__(self, *indices: Operand) -> Expr:
        return self[indices]

    def as_expr(self) -> Expr:
        """The element of a tensor without dimensions. Raises ScheduleError for others."""
        return self[()]

    def __repr__(self) -> str:
        kind = f"{self.dtype}[{', '.join(map(str, self.shape))}]"
        if self.body is None:
            return f"{self.name}: {kind}"
        over = ", ".join(v.name for v, _ in self.reduced)
        how = f"{self.reducer} over {over} of " if self.reducer else ""
        return f"{self.name}[{', '.join(v.name for v in self.axes)}] = {how}{self.body}: {kind}"


def _index(name: str, dimension: int, index: Operand) -> Expr:
    e = as_expr(index)
    if not ELEMENT_TYPES[e.dtype].is_integer:
        raise ScheduleError(
            f"index {dimension} of {name} has dtype {e.dtype}; indices are integers: write te.cast(x, 'int64')"
        )
    return cast(e, INDEX)


def _named(name: str) -> str:
    if not (isinstance(name, str) and name.isidentifier()):
        raise ScheduleError(
            f"{name!r} names nothing in a loop nest: names are letters, digits and underscores, as 'C_1'"
        )
    return name


def _sizes(name: str, shape: Shape) -> tuple[Expr, ...]:
    sizes = tuple(shape) if isinstance(shape, Sequence) else (shape,)
    expressions = []
    for k, size in enumerate(sizes):
        e = as_expr(size)
        if e.dtype != INDEX:
            raise ScheduleError(
                f"size {k} of {name} has dtype {e.dtype}; sizes are ints, or variables made by te.var('n')"
            )
        if (constant_of(e) or 0) < 0:
            raise ScheduleError(f"size {k} of {name} is {e}; sizes are zero or more")
        expressions.append(simplify(e))
    return tuple(expressions)


def placeholder(name: str, shape: Shape, dtype: Any = "float32") -> Tensor:
    """A tensor that calls give.

    Args:
        name: what it is called in the nest's text, and where calls name their arguments.
        shape: sizes, ints or expressions of `te.var("n")`, which calls then find in the shapes of arrays.
        dtype: one of float32, float64, bool, the integers, or float16 and bfloat16, which are computed in float32.

    Raises ScheduleError for a dtype or a size that there is not.

    >>> placeholder("A", (4, 8), "float64")
    A: float64[4, 8]
    """
    sizes, kind = _sizes(_named(name), shape), dtype_name(dtype, stored=True)
    return _defined(Tensor(name, sizes, kind, (), (), None, "", Buffer(name, sizes, kind)))


def _defined(t: Tensor) -> Tensor:
    t.buffer.definition = t
    return t


def compute(name: str, shape: Shape, body: Callable[..., Operand], dtype: Any = None) -> Tensor:
    """A tensor whose elements a function of their indices gives.

    Args:
        name: what it is called.
        shape: its sizes.
        body: takes an index for each dimension, and gives an expression. Its parameters name the loops.
        dtype: of the elements; None for that of the expression.

    Raises ScheduleError where the expression reads what can be seen to lie outside a tensor.

    >>> A = placeholder("A", 10)
    >>> compute("B", 10, lambda i: A[i] * 2)
    B[i] = A[i] * 2.0: float32[10]
    """
    return _tensor(name, shape, "", body, (), dtype)


def reduce(
    name: str, shape: Shape, reducer: str, body: Callable[..., Operand], over: Shape, dtype: Any = None
) -> Tensor:
    """A tensor whose elements put many values together.

    Args:
        name: what it is called.
        shape: its sizes, () for a single number.
        reducer: `sum`, `prod`, `max`, `min`, `maxnum`, `any` or `all`. The order in which floats are put together is
            not part of the meaning. Of no values at all there is the reducer's neutral value.
        body: takes an index for each dimension, then one for each size in `over`.
        over: the sizes of what is reduced.
        dtype: of the elements; None for that of the expression, int64 for sums of bools.

    Raises ScheduleError for a reducer that there is not, or that has no meaning for the dtype.

    >>> A = placeholder("A", (4, 8))
    >>> reduce("S", 4, "max", lambda i, k: A[i, k], over=8)
    S[i] = max over k of A[i, k]: float32[4]
    """
    if reducer not in REDUCTIONS:
        raise ScheduleError(f"no reduction is called {reducer!r}; write one of {', '.join(REDUCTIONS)}")
    sizes = _sizes(name, over)
    if not sizes:
        raise ScheduleError(
            f"{name} reduces nothing: give the sizes of what is reduced, as over=8, or write te.compute"
        )
    return _tensor(name, shape, reducer, body, sizes, dtype)


def _tensor(
    name: str, shape: Shape, reducer: str, body: Callable[..., Operand], over: tuple[Expr, ...], dtype: Any
) -> Tensor:
    sizes = _sizes(_named(name), shape)
    axes = tuple(Var(n) for n in _parameter_names(name, body, len(sizes) + len(over)))
    value = as_expr(body(*axes))
    if reducer == "sum" and value.dtype == "bool":
        value = cast(value, INDEX)
    kind = value.dtype if dtype is None else dtype_name(dtype, stored=True)
    value = cast(value, STORED.get(kind, kind))
    if reducer and ELEMENT_TYPES[value.dtype].kind not in REDUCERS[reducer]:
        raise ScheduleError(f"{name}: {reducer} is not defined for {value.dtype}; write te.cast(x, dtype)")
    ranges = dict(zip(axes, sizes + over, strict=True))
    value = checked_body(name, value, ranges)
    reduced = tuple(zip(axes[len(sizes) :], over, strict=True))
    buffer = Buffer(name, sizes, kind)
    return _defined(Tensor(name, sizes, kind, axes[: len(sizes)], reduced, value, reducer, buffer))


def _parameter_names(name: str, body: Callable[..., Operand], count: int) -> list[str]:
    """The names of a body's parameters, `i0`, `i1`, ... where it takes any number."""
    listed = inspect.signature(body).parameters.values()
    if any(p.kind is p.VAR_POSITIONAL for p in listed):
        return [f"i{k}" for k in range(count)]
    names = [p.name for p in listed if p.default is p.empty]
    if len(names) != count:
        raise ScheduleError(
            f"the body of {name} takes {len(names)} indices, and there are {count} sizes: one for each dimension, "
            f"then one for each that is reduced"
        )
    return names
