"""Makes programs of whole tensors: definitions, writes through masks and slices, branches, loops over growing slices,
forked tasks, functions that call themselves.

Everything that is defined at the top comes back, so that no operator is left out with the error that it might raise.
"""

from __future__ import annotations

import random
from collections.abc import Callable

from tests.random_programs.model import Compound, Node, Program, Statement
from tests.random_programs.tensors.elements import element_loop
from tests.random_programs.tensors.expressions import (
    bounded,
    condition,
    elementwise,
    expression,
    fold,
    leaf,
    lookup,
    moved,
    one_operand,
    scan,
)
from tests.random_programs.tensors.layout import PARAMETERS, Layout
from tests.random_programs.tensors.recursion import recursive
from tests.random_programs.tensors.tasks import PASSED, forked
from tests.random_programs.tensors.values import ONE, Axes, Scope, Value, joined

RETURNED = 20
"""Results that a program gives back, at most."""
NESTED = 2
"""How deep tasks fork others."""


class Generator:
    """One program from one seed; or a task of one, which changes nothing that others see."""

    def __init__(self, draw: random.Random, scope: Scope, task: int = 0) -> None:
        self.draw = draw
        self.scope = scope
        self.task = task
        """How many forks deep it is."""
        self.returned: list[str] = []
        self.helpers: list[Program] = []

    def program(self) -> Program:
        """The whole program."""
        return self.function("main", self.draw.randint(2, 6))

    def function(self, name: str, statements: int) -> Program:
        """A function of the parameters."""
        body: list[Node] = []
        for _ in range(statements):
            body += self.statement()
        results = self.returned[-RETURNED:] or ["x"]
        body.append(Statement(f"return {', '.join(results)}{',' * (len(results) == 1)}"))
        return Program(name, PARAMETERS, f"tuple[{', '.join(['Tensor'] * len(results))}]", body, self.helpers)

    def statement(self) -> list[Node]:
        """One statement, or a few that belong together."""
        makers: list[tuple[float, Callable[[], list[Node]]]] = [
            (5, self.define), (2, self.together), (1.5, self.masked), (1.5, self.loop), (0.5, self.growing_writes),
            (0.8, self.by_element), (0.5, self.recursion),
        ]  # fmt: skip
        if self.task < NESTED:
            makers.append((0.7 if self.task == 0 else 1.5, self.fork))
        if self.task == 0:
            makers += [(2, self.write), (1, self.write_masked), (1, self.branch)]
        return self.draw.choices([m for _, m in makers], [w for w, _ in makers])[0]()

    # -- functions ----------------------------------------------------------------------------------------------------

    def fork(self) -> list[Node]:
        """Tasks, awaited before anything is changed."""
        scope = Scope(self.draw, [v for v in self.scope.values if v.text in PASSED], self.scope.names)
        inside = Generator(self.draw, scope, self.task + 1)
        task = inside.function(self.scope.name("task"), self.draw.randint(1, 2))
        named = {v.text: v for v in scope.values}
        results = [named[name] for name in inside.returned[-RETURNED:] or ["x"]]
        nodes, made = forked(self.scope, task, results, self.define if self.scope.chance(0.4) else list)
        self.helpers.append(task)
        return self.got(nodes, made)

    def recursion(self) -> list[Node]:
        """A call of a function that calls itself."""
        text, value, functions = recursive(self.scope)
        self.helpers += functions
        return self.got([Statement(text)], [value])

    def by_element(self) -> list[Node]:
        """A loop over single elements."""
        return self.got(*element_loop(self.scope))

    def got(self, nodes: list[Node], made: list[Value]) -> list[Node]:
        """Statements whose variables come back."""
        for value in made:
            self.scope.add(value)
            self.returned.append(value.text)
        return nodes

    def keep(self, value: Value, *, place: bool = True) -> list[Node]:
        """A variable that comes back."""
        name = self.scope.name()
        self.scope.add(Value(name, value.axes, value.family, value.most, place))
        self.returned.append(name)
        return [Statement(f"{name} = {value.text}")]

    def new(self, depth: int = 2) -> Value:
        """What a maker of the tensors' own families gives."""
        maker = self.draw.choice([elementwise, elementwise, one_operand, fold, fold, scan, lookup, moved])
        return maker(self.scope, depth)

    def define(self) -> list[Node]:
        """A value computed from others."""
        value = self.new(self.draw.choice([1, 2, 3]))
        return self.keep(value, place=value.text.endswith(")") and not value.text.endswith("t()"))

    def together(self) -> list[Node]:
        """Several results of one value: what would be one group."""
        nodes = self.keep(self.new(1), place=False)
        first = self.scope.values[-1]
        for _ in range(self.draw.randint(1, 2)):
            other = leaf(self.scope, first.family)
            sign = "&" if first.family == "bool" else self.draw.choice("+-")
            axes = joined(first.axes, other.axes)
            if axes is None or self.scope.chance(0.4):
                nodes += self.keep(self.over(first))
            else:
                nodes += self.keep(bounded(f"{first.text} {sign} {other.text}", axes, first.family, 2 * other.most + 1e4))
        return nodes

    def over(self, a: Value) -> Value:
        """A fold, a scan or a function of one value."""
        if a.family == "bool" or not a.axes:
            return Value(f"({a.text} == {a.text})", a.axes, "bool")
        at = self.draw.randrange(len(a.axes))
        rest: Axes = (*a.axes[:at], *a.axes[at + 1 :])
        family = a.family if a.family != "index" else "int"
        return self.draw.choice([
            bounded(f"{a.text}.sum({at})", rest, family, 1e6), bounded(f"{a.text}.cumsum({at})", a.axes, family, 1e6),
            bounded(f"{a.text} * 2", a.axes, family, 1e6), Value(f"{a.text}.clamp(-3, 3).exp()", a.axes, "smooth")
            if family == "exact" else Value(f"{a.text}.long()", a.axes, "int", 1e4)
            if family == "int" else bounded(f"{a.text} * 0.5", a.axes, "smooth", 1),
        ])  # fmt: skip

    # -- masks --------------------------------------------------------------------------------------------------------

    def mask_of(self, a: Value) -> tuple[str, Axes]:
        """A subscript with a mask for a value, and the axes of the item; a symbol of its own for what is chosen."""
        new = self.scope.name("chosen")
        text = condition(self.scope) if self.scope.chance(0.7) else self.draw.choice(["flag", "True", "k > 0"])
        axes = a.axes
        options: list[tuple[str, Axes]] = [(text, (new, *axes)), (f"..., {text}", (*axes, new)), (f"None, {text}", (ONE, new, *axes))]
        if axes:
            options += [(f":, {text}", (axes[0], new, *axes[1:])), (f"{text}, 1:", (new, f"{new}x", *axes[1:]))]
            options += [(f"{text}, :, None", (new, axes[0], ONE, *axes[1:]))]
            row = self.scope.some("bool", rank=1)
            if row is not None and row.axes == axes[: len(row.axes)]:
                options += [(row.text, (new, *axes[len(row.axes) :]))] * 3
            if row is not None and len(row.axes) == 1 and row.axes[0] == axes[-1]:
                options += [(f"..., {row.text}", (*axes[:-1], new))] * 3
        return self.draw.choice(options)

    def masked(self) -> list[Node]:
        """`t = x[mask]`."""
        a = leaf(self.scope, self.draw.choice(["exact", "int"]))
        if len(a.axes) > 2:
            return self.define()
        subscript, axes = self.mask_of(a)
        return self.keep(Value(f"{a.text}[{subscript}]", axes, a.family, a.most), place=False)

    def write_masked(self) -> list[Node]:
        """`x[mask] = value` and `x[mask] += value`."""
        a = self.place()
        if a is None:
            return self.define()
        subscript, _ = self.mask_of(a)
        sign = self.draw.choice(["=", "=", "+=", "-="])
        return [Statement(f"{a.text}[{subscript}] {sign} {self.draw.choice(['7', '1', 'k', '-2'])}")]

    # -- writes -------------------------------------------------------------------------------------------------------

    def place(self) -> Value | None:
        """A variable of floats or ints to write to."""
        return self.scope.some("exact", "int", place=True)

    def write(self) -> list[Node]:
        """A change in place, of all or of a slice."""
        a = self.place()
        if a is None:
            return self.define()
        by = leaf(self.scope, a.family, onto=a.axes)
        by_text = by.text if by.text != a.text else f"{a.text}.clone()"
        limit = f"{a.text}.clamp_(-50, 50)"
        texts = [
            f"{a.text} += {by_text}", f"{a.text} -= {by_text}", f"{a.text}.mul_(2)", f"{a.text}.add_(k)",
            f"{a.text}.copy_({by_text})", f"{a.text}.neg_()", f"{a.text}.masked_fill_({a.text} > 2, k)", f"{a.text} *= {by_text}",
        ]  # fmt: skip
        if a.axes:
            texts += [f"{a.text}[1:] = k", f"{a.text}[::2] += 1", f"{a.text}[:-1] *= 2", f"{a.text}[..., 1:] -= 1", f"{a.text}[k:] = 3"]
        return [Statement(self.draw.choice(texts)), Statement(limit)]

    # -- control ------------------------------------------------------------------------------------------------------

    def branch(self) -> list[Node]:
        """A variable gets another value, which comes back as well."""
        target = self.scope.some("exact", "int", "smooth")
        if target is None or target.text in ("ids", "w"):
            return self.define()
        if target.text not in self.returned:
            self.returned.append(target.text)
        test = self.draw.choice(["flag", "k > 0", f"bool({condition(self.scope)})"])
        other = leaf(self.scope, target.family, onto=target.axes)
        limit = 9 if target.family == "smooth" else 50
        text = f"{target.text} = ({target.text} - {other.text}).clamp(-{limit}, {limit})"
        joints, bodies = [], [[Statement(text)]]
        if self.scope.chance(0.4):
            joints, bodies = ["else:"], [*bodies, [Statement(f"{target.text} = {target.text} * 1")]]
        return [Compound(f"if {test}:", bodies, joints)]

    def part(self, i: str) -> tuple[str, str]:
        """A slice whose length changes with a loop's variable, of a vector or of a row: two that are equally long."""
        form = self.draw.choice([":{i}", "{i}:", ":{i} + 1", "1:{i}", "{i}:{i} + 2", ":-{i}", "{i}::2"]).format(i=i)
        return f"x[{i}, {form}]", f"v[{form}]"

    def loop(self) -> list[Node]:
        """Folds and products of slices that grow from turn to turn."""
        s, i = self.scope.name("s"), self.scope.name("i")
        row, vector = self.part(i)
        texts = [
            f"{s} = {s} + {row}.sum()", f"{s} = {s} + ({row} * {vector}).sum()", f"{s} = {s} + ({row} @ {vector})",
            f"{s} = {s} + x[:{i}].sum() - x[{i}:].abs().sum()", f"{s} = {s} + {row}.cumsum(0).sum()",
            f"{s} = {s} + x[:{i} + 1].amax()", f"{s} = {s} + x[:{i}, {i}:].sum(0).sum()", f"{s} = {s} + {vector}.numel()",
            f"{s} = {s} + flambeau.embedding(w, ids)[:{i}].sum()", f"{s} = {s} + x[{i}].sort()[0][:{i}].sum()",
            f"{s} = {s} + x[:{i}].argmax()" if self.scope.chance(0.2) else f"{s} = {s} - {row}.abs().sum()",
        ]  # fmt: skip
        bodies: list[Node] = [Statement(self.draw.choice(texts)), Statement(f"{s} = {s}.clamp(-5000, 5000)")]
        self.returned.append(s)
        self.scope.add(Value(s, (), "exact", 5000, is_place=False))
        stop = self.draw.choice(["x.size(0)", "x.size(0)", "x.shape[0] - 1", "min(x.size(0), 3)"])
        return [Statement(f"{s} = x.sum() * 0"), Compound(f"for {i} in range({stop}):", [bodies])]

    def growing_writes(self) -> list[Node]:
        """Rows or slices written turn by turn, from those before."""
        t, i = self.scope.name("g"), self.scope.name("i")
        row, vector = self.part(i)
        texts = [
            f"{t}[{i}] = {t}[:{i}].sum(0) + 1", f"{t}[{i}] = x[{i}] - {t}[:{i}].sum()", f"{t}[:{i}] += 1",
            f"{t}[{i}, :{i}] = {vector}.sum()", f"{t}[{i}:, {i}:] *= -1", f"{t}[{i}] += {row}.sum()",
            f"{t}[{i}][{row.partition('.')[0]} > 0] = 1" if self.scope.chance(0.1) else f"{t}[{i}, 1:] = x[{i}, :-1]",
        ]  # fmt: skip
        body: list[Node] = [Statement(self.draw.choice(texts)), Statement(f"{t}.clamp_(-50, 50)")]
        self.returned.append(t)
        self.scope.add(Value(t, ("a", "b"), "exact", 50))
        return [Statement(f"{t} = x.clone()"), Compound(f"for {i} in range(x.size(0)):", [body])]


def generate(seed: int) -> Program:
    """A program from a seed; the same one each time."""
    draw = random.Random(f"tensors {seed}")
    return Generator(draw, Scope(draw, Layout(seed).tensors)).program()


__all__ = ["Generator", "expression", "generate"]
