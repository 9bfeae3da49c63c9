"""Makes programs on arrays: definitions, writes, masks, loops over elements, branches, calls.

Sizes and dtypes are those of the call, so that one program is compiled for several.
"""

from __future__ import annotations

import random

from tests.random_programs.arrays.expressions import Expressions
from tests.random_programs.arrays.values import FLOATS, INTS, PARAMETERS, Value
from tests.random_programs.model import Compound, Node, Program, Statement

HEAD = "x: np.ndarray, y: np.ndarray, v: np.ndarray, w: np.ndarray, q: np.ndarray, idx: np.ndarray, c: float, k: int"
LENGTHS = (2, 3, 3, 4, 5, 7)
MOST_RESULTS = 4


class Generator:
    """One program from one seed."""

    def __init__(self, draw: random.Random) -> None:
        self.draw = draw
        self.values = list(PARAMETERS)
        self.expressions = Expressions(draw, self.values)
        self.count = 0

    def name(self) -> str:
        """A name that is not there yet."""
        self.count += 1
        return f"t{self.count}"

    def program(self) -> Program:
        """The whole program: it gives what was made last."""
        body: list[Node] = []
        for _ in range(self.draw.choice(LENGTHS)):
            body += self.statement()
        made = [v.text for v in self.values[len(PARAMETERS) :]][-MOST_RESULTS:]
        body.append(Statement(f"return {', '.join(made)}," if made else "return x,"))
        return Program("main", HEAD, "tuple", body)

    def statement(self) -> list[Node]:
        """One of the kinds."""
        makers = (self.definition,) * 6 + (
            self.written, self.written, self.loop, self.loop, self.branch, self.running_total, self.by_mask, self.until,
        )  # fmt: skip
        return self.draw.choice(makers)()

    def definition(self) -> list[Node]:
        """A variable."""
        made = self.expressions.expression()
        return self.defined(made)

    def defined(self, made: Value, *, is_own: bool = False) -> list[Node]:
        """A variable with a value."""
        name = self.name()
        self.values.append(Value(name, made.axes, made.kind, is_own))
        return [Statement(f"{name} = {made.text}")]

    def copied(self) -> tuple[list[Node], Value]:
        """An array that may be written, and how it comes about."""
        own = [v for v in self.values if v.is_own]
        if own and self.draw.random() < 0.5:
            return [], self.draw.choice(own)
        source = self.draw.choice([v for v in self.values if v.axes and v.kind in (FLOATS, INTS) and v.axes != ("?",)])
        nodes = self.defined(Value(f"{source.text}.copy()", source.axes, source.kind), is_own=True)
        return nodes, self.values[-1]

    def number(self, kind: str) -> str:
        """A number of a kind."""
        return self.draw.choice(("1", "k", "-2") if kind == INTS else ("1", "c", "-0.5", "2.0"))

    def written(self) -> list[Node]:
        """A write into a part of an array."""
        nodes, t = self.copied()
        name, number = t.text, self.number(t.kind)
        lines = [
            f"{name}[0] = {number}", f"{name}[1:] += {number}", f"{name}[::2] = {number}", f"{name}[-1] = {name}[0]",
            f"{name} += {number}", f"{name} *= 2", f"{name}[...] = {name}[::-1].copy()", f"{name}[:] = np.sort({name}, axis=0)",
            f"{name}.fill({number})", f"{name}[k % len({name})] -= {number}", f"np.maximum({name}, 0, out={name})",
        ]  # fmt: skip
        if len(t.axes) == 2:
            lines += [
                f"{name}[:, 0] = {number}",
                f"{name}[:, -1] += {name}[:, 0]",
                f"{name}[0, :] = {name}[-1]",
                f"{name}[1:, 1:] *= 2",
            ]
        if t.axes[0] == "n" and len(t.axes) == 1:
            lines += [f"{name}[idx] = {number}", f"np.add.at({name}, idx, {number})"]
        return [*nodes, Statement(self.draw.choice(lines))]

    def by_mask(self) -> list[Node]:
        """A write where something holds."""
        nodes, t = self.copied()
        mask = f"{t.text} {self.draw.choice(('>', '<', '=='))} {self.draw.choice(('0', '1', '-1'))}"
        new = self.draw.choice((self.number(t.kind), f"-{t.text}[{mask}]"))
        return [*nodes, Statement(f"{t.text}[{mask}] = {new}")]

    def loop(self) -> list[Node]:
        """A loop that computes elements."""
        nodes, t = self.copied()
        if len(t.axes) == 1:
            form = self.draw.choice((
                "{t}[i] = {t}[i] * 2 - {t}[i - 1]", "{t}[i] += {t}[i - 1]", "{t}[i] = max({t}[i], {t}[i - 1])",
                "{t}[i], {t}[i - 1] = {t}[i - 1], {t}[i]", "{t}[i] = abs({t}[i] - {t}[0])",
            ))  # fmt: skip
            text = form.format(t=t.text)
            return [*nodes, Compound(f"for i in range(1, len({t.text})):", [[Statement(text)]])]
        if len(t.axes) == 2:
            form = self.draw.choice((
                "{t}[i, j] = {t}[i, j] + i - j", "{t}[i, j] += {t}[i, j - 1] * 2", "{t}[i, j] = {t}[i, 0] if {t}[i, j] > 0 else {t}[i, j]",
                "{t}[i, j] = min({t}[i, j], {t}[i - 1, j])", "{t}[i][j] -= 1",
            ))  # fmt: skip
            inner = Compound(f"for j in range({t.text}.shape[1]):", [[Statement(form.format(t=t.text))]])
            return [*nodes, Compound(f"for i in range({t.text}.shape[0]):", [[inner]])]
        return nodes

    def running_total(self) -> list[Node]:
        """A number that a loop adds up."""
        a = self.expressions.pick(FLOATS)
        s = self.name()
        if len(a.axes) == 1:
            body: list[Node] = [
                Statement(f"{s} += {a.text}[i] * {self.draw.choice(('c', '0.5', 'i', f'{a.text}[-1]'))}")
            ]
            if self.draw.random() < 0.4:
                body = [Compound(f"if {a.text}[i] > {self.draw.choice(('0', 'c'))}:", [body], ())]
            header = f"for i in range(len({a.text})):"
        else:
            body = [Statement(f"{s} += {a.text}[i].sum() * 0.5")]
            header = f"for i in range({a.text}.shape[0]):"
        self.values.append(Value(s, (), FLOATS))
        return [Statement(f"{s} = 0.0"), Compound(header, [body])]

    def branch(self) -> list[Node]:
        """Two ways to a value."""
        a = self.expressions.pick(FLOATS)
        other = next((v for v in reversed(self.values) if v.axes == a.axes and v.kind == a.kind), a)
        name = self.name()
        condition = self.draw.choice(("k > 2", f"{a.text}.sum() > 0", "c < 0.5", "len(w) > 2", f"({a.text} > 0).any()"))
        arms = [[Statement(f"{name} = {a.text} * 2")], [Statement(f"{name} = {other.text} - 1")]]
        self.values.append(Value(name, a.axes, a.kind))
        return [Compound(f"if {condition}:", arms, ("else:",))]

    def until(self) -> list[Node]:
        """A loop that ends when something holds."""
        s = self.name()
        self.values.append(Value(s, (), FLOATS))
        body = [
            Statement(f"{s} = {s} * 0.5 + {self.draw.choice(('c', '0.1', 'float(w[0])', 'float(v[-1])'))}"),
            Statement("rounds += 1", is_kept=True),
        ]
        if self.draw.random() < 0.5:
            body.insert(1, Compound(f"if abs({s}) > 50:", [[Statement("break")]]))  # type: ignore[arg-type]
        return [
            Statement(f"{s} = c", is_kept=True),
            Statement("rounds = 0", is_kept=True),
            Compound(f"while rounds < k and {s} < 100:", [body]),
        ]


def generate(seed: int) -> Program:
    """The program of a seed."""
    return Generator(random.Random(f"arrays {seed}")).program()
