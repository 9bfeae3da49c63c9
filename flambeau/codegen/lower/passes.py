"""Expressions to a loop nest: one loop over what is kept, and inside it as many passes over what is folded as it
takes.

A fold's value is known only after its pass, so what depends on it runs in a later one. What several passes need is
computed again in each, unless it holds a costly function: then it is kept in a scratch row.
"""

from __future__ import annotations

from collections.abc import Sequence

from flambeau.codegen.kernel.build import KernelBuilder
from flambeau.codegen.kernel.nest import ONE, Carry, Kernel
from flambeau.codegen.lower.products import PRODUCT
from flambeau.codegen.lower.values import Dim, Expr, LoweringError, Reduction, RepeatedResultsError, topological
from flambeau.codegen.shapes import Span
from flambeau.util.record import dataclass, field

COSTLY = frozenset({
    "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sigmoid", "sin", "cos", "tan", "asin", "acos", "atan",
    "atan2", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "erf", "erfc", "pow", "div", "floordiv", "truncdiv",
    "remainder", "fmod", "scan", "erfinv", "lgamma", "digamma",
    "gcd",
})  # fmt: skip


@dataclass(frozen=True, slots=True)
class Lowered:
    """A kernel and what the shapes of a call must fulfil for it to mean what the region means.

    >>> Lowered(Kernel("nothing", (), (), ())).spans
    ()
    """

    kernel: Kernel
    spans: tuple[Span, ...] = field(default=())


Orders = Sequence[tuple[str, ...] | None]
"""As which inputs results lie in memory: see `Buffer.like`."""


def build(name: str, inputs: list[Expr], outputs: list[Expr], orders: Orders) -> Lowered:
    """The kernel that computes `outputs`.

    Raises `LoweringError` where their shapes do not fit one nest.
    """
    return Nest(name, inputs, outputs, orders).build()


class Nest:
    """One kernel while it is put together."""

    def __init__(self, name: str, inputs: list[Expr], outputs: list[Expr], orders: Orders) -> None:
        self.inputs, self.outputs, self.orders = inputs, outputs, orders
        self.order = topological(outputs)
        self.folds = [x for x in self.order if x.op == "reduce"]
        self.gathers = [x for x in self.order if x.op == "indexed"]
        self.index_axes = self.name_index_axes()
        self.axes = self.name_axes()
        self.scans = [x for x in self.order if x.op == "scan"]
        folding = self.folds + self.scans
        folded = {tuple(self.in_order(frozenset(d.root for d in reduction(f).over))) for f in folding}
        if len(folded) > 1:
            raise LoweringError("folds over different dimensions")
        self.folded = next(iter(folded), ())
        varying = frozenset[Dim]().union(*(y.space for y in outputs))
        self.kept = tuple(d for d in self.axes if d not in self.folded and d in varying)
        self.b = KernelBuilder(name, (*self.axes.values(), *self.index_axes.values()))
        self.level = self.levels()
        self.alone: list[Expr] = []
        """Further values that must reach all sizes by their own inputs."""
        self.names: list[dict[Expr, str]] = [{}]
        self.rows: dict[Expr, str] = {}
        """Scratch buffers of expressions that later passes read."""

    def name_index_axes(self) -> dict[Dim, str]:
        """The dimensions of tables that values go along, and their names."""
        names: dict[Dim, str] = {}
        tables = [lookup(x)[0] for x in self.gathers]
        if any(t in self.order for t in tables) or len(set(tables)) != len(tables):
            raise LoweringError("a table that is used in two ways")
        for x in self.gathers:
            table, positions = lookup(x)
            for position in positions:
                dim = table.dims[position]
                if dim is None:
                    raise LoweringError("a table of size 1")
                names[dim.root] = f"g{len(names)}"
        if any(d.root in names for x in self.order for d in x.dims if d is not None):
            raise LoweringError("a dimension that both values and loops go along")
        return names

    def name_axes(self) -> dict[Dim, str]:
        """Every dimension in an order that all values agree with, and its name."""
        shapes = [
            tuple(d.root for d in x.dims if d is not None and d.root not in self.index_axes)
            for x in self.order + self.inputs
        ]
        longest = self.longest(shapes)
        for dims in shapes:
            if len(set(dims)) != len(dims):
                raise LoweringError("a dimension meets itself across a broadcast")
            positions = [longest.index(d) if d in longest else -1 for d in dims]
            if -1 in positions or positions != sorted(positions):
                raise LoweringError("values whose dimensions have no common order")
        return {d: f"d{k}" for k, d in enumerate(longest)}

    def longest(self, shapes: list[tuple[Dim, ...]]) -> tuple[Dim, ...]:
        """All dimensions in order, as one of the values should have them."""
        return max(shapes, key=len, default=())

    def in_order(self, dims: frozenset[Dim]) -> list[Dim]:
        return [d for d in self.axes if d in dims]

    def levels(self) -> dict[Expr, int]:
        """How many passes must be over before an expression can be computed."""
        level: dict[Expr, int] = {}
        for x in self.order:
            level[x] = max((level[a] for a in x.args), default=0) + (x.op == "reduce")
        return level

    def is_full(self, x: Expr) -> bool:
        """Whether it varies along the folded dimensions."""
        return any(d in self.folded for d in x.space)

    def buffer_axes(self, x: Expr) -> tuple[str, ...]:
        names = self.axes | self.index_axes
        return tuple(ONE if d is None else names[d.root] for d in x.dims)

    # --- statements

    def build(self) -> Lowered:
        for x in self.inputs:
            self.b.input(str(x.data), x.dtype, self.buffer_axes(x))
        for k, (y, like) in enumerate(zip(self.outputs, self.orders, strict=True)):
            self.b.output(f"y{k}", y.dtype, self.buffer_axes(y), like=like)
        self.refuse_repeated()
        kept = tuple(self.axes[d] for d in self.kept)
        if kept or not self.folded:
            with self.b.loop(*kept):
                self.names.append({})
                self.passes()
        else:
            self.passes()
        return Lowered(self.b.kernel(), self.spans())

    def refuse_repeated(self) -> None:
        """A result is stored once: loops over what it does not vary along would store it often, or never."""
        around = (frozenset(self.kept), frozenset(self.kept + self.folded))
        repeated = [k for k, y in enumerate(self.outputs) if y.space not in around]
        if repeated:
            raise RepeatedResultsError(repeated)

    def passes(self) -> None:
        full = {k for k, y in enumerate(self.outputs) if self.is_full(y)}
        if self.folded:
            last = max(self.level[x] for x in self.order)
            targets = [self.targets(p, full) for p in range(last + 1)]
            for p in range(last + 1):
                self.one_pass(p, targets)
        for k, y in enumerate(self.outputs):
            if k not in full:
                self.emit([y])
                self.b.store(f"y{k}", self.name_of(y))

    def targets(self, level: int, full: set[int]) -> tuple[list[Expr], list[int]]:
        """Folds whose arguments can be computed in this pass, and outputs to store in it."""
        folds = [f for f in self.folds if self.level[f] == level + 1]
        return folds, [k for k in sorted(full) if self.level[self.outputs[k]] == level]

    def needs(self, targets: tuple[list[Expr], list[int]], order: Sequence[Expr] | None = None) -> list[Expr]:
        """Full expressions that a pass computes, operands first; kept rows and folds end the search. `order` has all of
        them, if these are not those of the results.
        """
        folds, stores = targets
        wanted = set([f.args[0] for f in folds] + [self.outputs[k] for k in stores])
        needed: set[Expr] = set()
        while wanted:
            x = wanted.pop()
            if x in needed or not self.is_full(x):
                continue
            needed.add(x)
            if x not in self.rows:
                wanted.update(a for a in x.args)
        return [x for x in (self.order if order is None else order) if x in needed]

    def one_pass(self, p: int, targets: list[tuple[list[Expr], list[int]]]) -> None:
        folds, stores = targets[p]
        if not folds and not stores:
            return
        needed = self.needs(targets[p])
        kept = self.keep_rows(needed, targets[p + 1 :])
        operands = [a for x in needed for a in x.args] + [f.args[0] for f in folds]
        self.emit([x for x in operands if not self.is_full(x)])
        carries = {f: Carry(f"s{self.folds.index(f)}", f.args[0].dtype, reduction(f).reducer) for f in folds}
        self.running = self.running_states([x for x in needed if x not in self.rows or x in kept])
        with self.b.loop(*self.folded_axes, carries=(*carries.values(), *self.running.values())):
            self.names.append({})
            for x in needed:
                self.names[-1][x] = self.element(x, kept)
            for fold, carry in carries.items():
                self.fold(fold, carry)
            for k in stores:
                self.b.store(f"y{k}", self.name_of(self.outputs[k]))
            self.names.pop()
        self.names[-1].update({fold: carry.name for fold, carry in carries.items()})

    @property
    def folded_axes(self) -> tuple[str, ...]:
        return tuple([self.axes[d] for d in self.folded])

    def running_states(self, computed: list[Expr]) -> dict[Expr, Carry]:
        """What a loop carries for the scans among what it computes."""
        scans = [x for x in computed if x.op == "scan"]
        return {x: Carry(f"r{self.scans.index(x)}", x.dtype, reduction(x).reducer) for x in scans}

    def keep_rows(self, needed: list[Expr], later: list[tuple[list[Expr], list[int]]]) -> set[Expr]:
        """Give what is costly and needed again later a row of scratch; which expressions get one now."""
        kept = set()
        for x in reversed(needed):
            if x.op in COSTLY and x not in self.rows and any(x in self.needs(p) for p in later):
                self.rows[x] = self.b.scratch(f"row{len(self.rows)}", x.dtype, self.folded_axes)
                kept.add(x)
        return kept

    def element(self, x: Expr, kept: set[Expr]) -> str:
        """An expression in the loop over what is folded: from its row if an earlier pass has left one."""
        if x in self.rows and x not in kept:
            return self.b.load(self.rows[x])
        name = self.statement(x)
        if x in kept:
            self.b.store(self.rows[x], name)
        return name

    def fold(self, fold: Expr, carry: Carry) -> None:
        at = self.b.position(*self.folded_axes) if carry.reducer.startswith("arg") else None
        self.b.accumulate(carry.name, self.name_of(fold.args[0]), at)

    def emit(self, targets: list[Expr]) -> None:
        """Compute expressions that do not vary along the folded dimensions."""
        for x in topological(targets):
            if not any(x in names for names in self.names) and not (self.folded and self.is_full(x)):
                self.names[-1][x] = self.statement(x)

    def name_of(self, x: Expr) -> str:
        return next(names[x] for names in reversed(self.names) if x in names)

    def statement(self, x: Expr) -> str:
        if x.op == "input":
            return self.b.load(str(x.data))
        if x.op == "const":
            assert isinstance(x.data, int | float)
            return self.b.const(x.data, x.dtype)
        if x.op == "extent":
            assert isinstance(x.data, tuple)
            return self.b.extent(*(self.axes[d.root] for d in x.data))
        if x.op == "scan":
            self.b.accumulate(self.running[x].name, self.name_of(x.args[0]))
            return self.b.running(self.running[x])
        if x.op == "indexed":
            table, positions = lookup(x)
            at = []
            for position, index in zip(positions, x.args, strict=True):
                dim = table.dims[position]
                assert dim is not None
                axis = self.index_axes[dim.root]
                at.append((axis, self.b.within(self.name_of(index), axis)))
            return self.b.load(str(table.data), tuple(at))
        if x.op == "view":
            return self.name_of(x.args[0])
        if x.op == "seldom":
            return self.seldom(x)
        if x.op == "cast":
            return self.b.cast(self.name_of(x.args[0]), x.dtype)
        return self.b.apply(x.op, *(self.name_of(a) for a in x.args))

    def seldom(self, x: Expr) -> str:
        """A value that is seldom computed, with the folds that only it needs: a pass for each."""
        assert isinstance(x.data, Expr)
        with self.b.seldom(self.name_of(x.args[0])) as value:
            self.names.append({})
            for fold in topological([x.data]):
                if fold.op != "reduce" or any(fold in names for names in self.names):
                    continue
                needed = self.needs(([fold], []), topological([fold]))
                self.emit([a for y in needed for a in y.args if not self.is_full(a)])
                carry = Carry(f"{value.name}s{len(self.names[-1])}", fold.dtype, reduction(fold).reducer)
                with self.b.loop(*self.folded_axes, carries=(carry,)):
                    self.names.append({})
                    for y in needed:
                        self.names[-1][y] = self.element(y, set())
                    self.fold(fold, carry)
                    self.names.pop()
                self.names[-1][fold] = carry.name
            self.emit([x.data])
            value.give(self.name_of(x.data), self.name_of(x.args[1]))
            self.names.pop()
        return value.name

    # --- conditions on shapes

    def spans(self) -> tuple[Span, ...]:
        """What each output and each fold's argument must reach by its own inputs."""
        everyone = {d: frozenset(str(i.data) for i in self.inputs if d in i.space) for d in self.axes}
        spans: dict[Span, None] = {}
        for x in self.outputs + [f.args[0] for f in self.folds + self.scans] + self.alone:
            for d in x.space:
                own = frozenset(str(i.data) for i in _reaching(x, d))
                if own != everyone[d]:
                    spans[Span(self.axes[d], own)] = None
        for f in self.folds:
            if f.args[0].op == PRODUCT:
                self.fit_product(f, spans)
        for x in self.gathers:
            table = lookup(x)[0]
            for dim in table.space - set(self.index_axes):
                spans[Span(self.axes[dim], frozenset([str(table.data)]))] = None
        for x in self.order:
            if x.op == "view" and isinstance(x.data, tuple):
                self.fit_view(x, x.data, spans)
        return tuple(spans)

    def fit_view(self, x: Expr, sizes: tuple[int | None, ...], spans: dict[Span, None]) -> None:
        """What it views reaches along each dimension by itself."""
        for dim, size in zip(x.dims, sizes, strict=True):
            if dim is not None:
                own = frozenset(str(i.data) for i in _reaching(x, dim.root))
                spans[Span(self.axes[dim.root], own, size)] = None

    def fit_product(self, fold: Expr, spans: dict[Span, None]) -> None:
        """The operands of a product do not broadcast along what is folded, and it is computed once an element."""
        for d in self.folded:
            for operand in fold.args[0].args:
                spans[Span(self.axes[d], frozenset(str(i.data) for i in _reaching(operand, d)))] = None
        if set(self.axes) != fold.args[0].space:
            raise LoweringError("a product that broadcasts against something larger")


def reduction(x: Expr) -> Reduction:
    """How a `reduce` or a `scan` folds."""
    assert isinstance(x.data, Reduction)
    return x.data


def lookup(x: Expr) -> tuple[Expr, tuple[int, ...]]:
    """The table of an `indexed` and its dimensions that values go along."""
    assert isinstance(x.data, tuple)
    table, positions = x.data
    return table, positions


def _reaching(x: Expr, dim: Dim) -> list[Expr]:
    """The inputs that give `x` its size along `dim`."""
    inputs: list[Expr] = []
    seen: set[Expr] = set()
    stack = [x]
    while stack:
        y = stack.pop()
        if y in seen or dim not in y.space:
            continue
        seen.add(y)
        if y.op == "input":
            inputs.append(y)
        if y.op == "indexed" and dim in lookup(y)[0].space:
            inputs.append(lookup(y)[0])
        stack.extend(y.args)
    return inputs
