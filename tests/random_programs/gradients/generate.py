"""Makes programs of float64 tensors that give a sum to go back from: definitions, updates in place and through views,
lists, branches, counted loops, `while`, `break`, early returns, loops over single elements, calls.

All values stay small, and what is smooth stays so: finite differences of the sum are gradients. Numbers that are taken from
tensors only decide; those that flow back into tensors are in programs of their own (`is_about_numbers`): compiled
functions follow them, and Python on eager tensors has no gradient for its floats.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tests.random_programs.gradients import containers, nesting
from tests.random_programs.model import Compound, Node, Program, Statement

PARAMETERS = "x: Tensor, v: Tensor, w: Tensor, k: int, flag: bool"
Axes = tuple[str, ...]
NUMBERS = 4
"""Every so many seeds a program has numbers that come from tensors and go back."""
LENGTHS, SHORT = (1, 1, 2, 2, 2, 3, 3, 5), (1, 2)
"""How many statements a program has, and a function that it calls: many short ones find more than a few long ones."""
PRELUDE = containers.PRELUDE + nesting.PRELUDE


@dataclass(frozen=True, slots=True)
class Value:
    """A tensor: its text, and an axis symbol for each dimension."""

    text: str
    axes: Axes
    is_own: bool = False
    """Whether it is a variable with memory of its own, which may be written."""


START = (Value("x", ("a", "b")), Value("v", ("b",)), Value("w", ("a",)))


def is_about_numbers(seed: int) -> bool:
    """Whether the program of a seed has numbers that come from tensors and go back into them."""
    return seed % NUMBERS == NUMBERS - 1


class Generator:
    """One program from one seed."""

    def __init__(self, draw: random.Random, *, numbers: bool, calls: int = 0) -> None:
        self.draw = draw
        self.calls = calls
        """How many calls deep it is."""
        self.numbers = numbers
        self.values = list(START)
        self.names = itertools.count(1)
        self.helpers: list[Program] = []
        self.depth = 0

    def program(self) -> Program:
        """The whole program: the sum of what was made last, and of what came before it."""
        body: list[Node] = [Statement("total = (x * v).sum() * 0.1")]
        for _ in range(self.draw.choice(LENGTHS if self.calls == 0 else SHORT)):
            body += self.statement()
        if self.chance(0.3):
            early = Statement(f"return total + {self.summed(self.value())}")
            body.append(Compound(f"if {self.decision()}:", [[early]]))
            body += self.statement()
        for value in self.values[-3:]:
            body.append(Statement(f"total = total + {self.summed(value)}"))
        body.append(Statement("return total"))
        return Program("main", PARAMETERS, "Tensor", body, self.helpers, prelude=PRELUDE if self.calls == 0 else "")

    def statement(self) -> list[Node]:
        """One statement, or a few that belong together."""
        makers: list[tuple[float, Callable[[], list[Node]]]] = [
            (5, self.define), (2, self.write), (1.5, self.through_view), (1, self.listed), (1, self.elements),
            (3, lambda: self.made_by(containers.OF_TENSORS)), (5, lambda: self.made_by(nesting.NESTED)),
        ]  # fmt: skip
        if self.depth < 2:
            makers += [(2, self.branch), (2, self.counted), (1.5, self.conditional)]
            makers += [(0.7, self.call)] if self.calls < 2 else []
        if self.numbers:
            makers += [(3, self.number), (3, lambda: self.made_by(containers.OF_NUMBERS))]
        return self.pick([m for _, m in makers], [weight for weight, _ in makers])()

    # -- choices ------------------------------------------------------------------------------------------------------

    def chance(self, probability: float) -> bool:
        """Whether something with this probability happens."""
        return self.draw.random() < probability

    def pick(self, options: list[Callable[[], list[Node]]], weights: list[float]) -> Callable[[], list[Node]]:
        """One of some makers."""
        return self.draw.choices(options, weights)[0]

    def name(self, letter: str = "t") -> str:
        """A name not used before."""
        return f"{letter}{next(self.names)}"

    def chosen(self, options: list[str]) -> str:
        """One of some texts."""
        return self.draw.choice(options)

    def row(self) -> str:
        """The text of a tensor with the axes ("b",)."""
        return self.value(("b",)).text

    def value(self, axes: Axes | None = None) -> Value:
        """A tensor in scope, of some axes; if there is none with them, one made for it."""
        fitting = [v for v in self.values if axes is None or v.axes == axes]
        if fitting:
            return self.draw.choice(fitting[-5:])
        return {
            (): Value("x.mean()", ()),
            ("b", "a"): Value("x.t()", ("b", "a")),
            ("a", "a"): Value("(x @ x.t()).tanh()", ("a", "a")),
            ("b", "b"): Value("(x.t() @ x).tanh()", ("b", "b")),
        }[axes or ()]

    def decision(self) -> str:
        """A condition: of numbers, or of what was computed."""
        a = self.value()
        return self.draw.choice([
            "flag", "k > 1", f"bool({a.text}.sum() > 0.1)", f"float({a.text}.sum()) < 0.3", "x.size(0) > 2",
        ])  # fmt: skip

    def summed(self, a: Value) -> str:
        """A sum with another weight for each element."""
        if not a.axes:
            return f"{a.text} * 0.7"
        weights = {("b",): "v", ("a",): "w", ("a", "b"): "x", ("b", "a"): "x.t()"}.get(a.axes, a.text)
        return f"({a.text} * {weights}.cos()).sum()"

    # -- expressions --------------------------------------------------------------------------------------------------

    def expression(self, axes: Axes | None = None) -> Value:
        """A bounded expression over what is in scope."""
        a = self.value(axes)
        t = a.text
        options = [
            f"flambeau.sin({t})", f"flambeau.tanh({t} * 1.5)", f"flambeau.exp(-{t} * {t})", f"flambeau.sigmoid({t})",
            f"({t} / (1 + {t} * {t}))", f"flambeau.log(1.5 + {t}.tanh())", f"({t} * {t} + 0.5).sqrt()", f"({t} * 2 - 0.3)",
            f"flambeau.where({t} > 0.2, {t} * 2, {t}.sin())", f"flambeau.relu({t} - 0.05)", f"{t}.clamp(-0.7, 0.6)",
            f"flambeau.atan({t})", f"({t} - {t}.mean())", f"{t}.abs()", f"(1 / (2 + {t}.cos()))", f"({t}.tanh() ** 3)",
        ]  # fmt: skip
        if a.axes:
            options += [f"{t}.softmax(-1)", f"{t}.cumsum(0).tanh()", f"{t}.flip(0)", f"({t} - {t}.amax(-1, keepdim=True))"]
            options += [f"({t} * {self.partner(a)})", f"({t} + {self.partner(a)}).sin()"]
            options += [f"{t}.clone()", f"{t}.log_softmax(0).tanh()", f"flambeau.roll({t}, 1, 0)"]
        return Value(self.draw.choice(options), a.axes)

    def partner(self, a: Value) -> str:
        """What broadcasts to a tensor with axes."""
        fitting = [v.text for v in self.values if v.axes in (a.axes, a.axes[1:], ())]
        return self.draw.choice([*fitting[-5:], "0.5"])

    def reshaped(self) -> Value:
        """An expression of other axes than its operand: folds, products, views."""
        a = self.value(("a", "b"))
        t = a.text
        options = [
            Value(f"{t}.sum(0).tanh()", ("b",)), Value(f"{t}.mean(1)", ("a",)), Value(f"({t} @ v).tanh()", ("a",)),
            Value(f"(w @ {t}).tanh()", ("b",)), Value(f"{t}.t()", ("b", "a")), Value(f"{t}.logsumexp(1)", ("a",)),
            Value(f"({t} @ {t}.t()).tanh()", ("a", "a")), Value(f"{t}.amax(1)", ("a",)), Value(f"{t}.norm()", ()),
            Value(f"flambeau.outer(w, {self.value(('b',)).text})", ("a", "b")), Value(f"{t}[0]", ("b",)),
            Value(f"{t}[:, -1]", ("a",)), Value(f"{t}.unsqueeze(0).expand(2, -1, -1).sum(0)", ("a", "b")),
            Value(f"flambeau.cat([{t}, {t} * 2])[:{t}.size(0)]", ("a", "b")), Value(f"{t}.var(1, unbiased=False)", ("a",)),
            Value(f"flambeau.einsum('ij,j->i', {t}, v)", ("a",)), Value(f"{t}.select(1, 0)", ("a",)),
            Value(f"flambeau.layer_norm({t}, [{t}.size(1)], v, v, 0.1)", ("a", "b")), Value(f"{t}.prod(0).tanh()", ("b",)),
            Value(f"{t}.index_select(0, flambeau.tensor([0, 0]))[:1].sum(0)", ("b",)), Value(f"{t}.diagonal().sum()", ()),
        ]  # fmt: skip
        return self.draw.choice(options)

    # -- statements ---------------------------------------------------------------------------------------------------

    def define(self) -> list[Node]:
        """A variable."""
        value = self.reshaped() if self.chance(0.4) else self.expression()
        name = self.name()
        self.values.append(Value(name, value.axes))
        return [Statement(f"{name} = {value.text}")]

    def made_by(self, makers: Sequence[containers.Maker]) -> list[Node]:
        """Statements of one of some kinds, which define a tensor."""
        name = self.name()
        nodes = self.draw.choice(makers)(self, name)
        self.values.append(Value(name, ("b",)))
        return nodes

    def own(self) -> tuple[list[Node], Value]:
        """A variable with memory of its own, made now if there is none."""
        fitting = [v for v in self.values if v.is_own]
        if fitting and self.chance(0.6):
            return [], self.draw.choice(fitting)
        source, name = self.value(), self.name("m")
        value = Value(name, source.axes, is_own=True)
        self.values.append(value)
        return [Statement(f"{name} = {source.text}.clone()" if self.chance(0.6) else f"{name} = {source.text} * 1.1")], value

    def write(self) -> list[Node]:
        """A change in place, of all or of a part."""
        before, m = self.own()
        t, by = m.text, self.expression(m.axes).text
        texts = [
            f"{t}.mul_({by})", f"{t}.add_({by}, alpha=0.5)", f"{t}.copy_({by})", f"{t} *= 0.9", f"{t} += {by}",
            f"{t}.sin_()", f"{t}.tanh_()", f"{t}.masked_fill_({t} > 0.4, 0.25)", f"{t}.sub_({by})", f"{t}.sigmoid_()",
        ]  # fmt: skip
        if m.axes:
            texts += [f"{t}[0] = {t}[-1] * 0.5", f"{t}[1:] *= 0.8", f"{t}[:-1] += {t}[1:] * 1", f"{t}[0] = 0.1"]
            texts += [f"{t}[-1].mul_({t}[0] * 1)", f"{t}[{t} > 0.3] = 0.2"]
        if len(m.axes) == 2:
            texts += [f"{t}[:, 0] = {t}[:, -1].sin()", f"{t}[:, 1:] = {t}[:, :-1] * 0.5", f"{t}.t().mul_(0.7)"]
        bounded = [Statement(f"{t} = {t}.tanh()")] if self.chance(0.2) else []
        return [*before, Statement(self.draw.choice(texts)), *bounded]

    def through_view(self) -> list[Node]:
        """A view with a name, and a write to it or to what it shows."""
        before, m = self.own()
        if not m.axes:
            return [*before, *self.define()]
        u = self.name("u")
        form = self.draw.choice(["[1:]", "[0]", "[::2]", ".reshape(-1)", ".unsqueeze(0)"])
        if len(m.axes) == 2:
            form = self.draw.choice([form, ".t()", "[:, 1:]", "[:, 0]", ".diagonal()"])
        writes = [f"{u}.mul_(0.6)", f"{u}.add_({u}.clone())", f"{u}.sin_()", f"{m.text}.mul_(1.2)", f"{u} += w.sum()"]
        nodes: list[Node] = [Statement(f"{u} = {m.text}{form}"), Statement(self.draw.choice(writes))]
        if self.chance(0.5):
            nodes.append(Statement(f"total = total + ({u} * {u}).sum()"))
        return [*before, *nodes]

    def listed(self) -> list[Node]:
        """A list of tensors: filled, changed, put together."""
        parts, i, a = self.name("parts"), self.name("i"), self.value(("b",))
        result = self.name()
        join = self.draw.choice([f"flambeau.stack({parts}).sum(0)", f"({parts}[0] * {parts}[-1]).tanh()", f"{parts}.pop() + 0.1"])
        self.values.append(Value(result, ("b",)))
        loop = Compound(f"for {i} in range(k + 1):", [[Statement(f"{parts}.append(({a.text} * {i} + {parts}[-1]).sin())")]])
        return [Statement(f"{parts} = [{a.text}]"), loop, Statement(f"{result} = {join}")]

    def elements(self) -> list[Node]:
        """A loop over single elements: a recurrence or a stencil."""
        y, i = self.name("m"), self.name("i")
        source = self.value(("b",)).text
        update = self.draw.choice([
            f"{y}[{i}] = ({y}[{i} - 1] * 0.5 + {source}[{i}]).sin()", f"{y}[{i}] = {y}[{i}] * {y}[{i} - 1] + 0.1",
            f"{y}[{i}] += 0.3 * {source}[{i} - 1]", f"{y}[{i}] = ({source}[{i} - 1] - {source}[{i}]) * w[0]",
        ])  # fmt: skip
        self.values.append(Value(y, ("b",), is_own=True))
        return [
            Statement(f"{y} = {source}.clone()"),
            Compound(f"for {i} in range(1, {source}.size(0)):", [[Statement(update)]]),
        ]

    def number(self) -> list[Node]:
        """A number from a tensor that goes back into one."""
        c, name = self.name("c"), self.name()
        a, b = self.value(), self.value()
        take = self.draw.choice([f"float({a.text}.sum())", f"{a.text}.sum().item()", "float(x[0, 0])", "float(w[-1])"])
        change = self.draw.choice(["{c} * 0.5 + 0.1", "{c} * {c}", "math.sin({c})", "math.exp(-{c} * {c})", "{c} / (1.0 + {c} ** 2)"])
        self.values.append(Value(name, b.axes))
        return [
            Statement(f"{c} = {take}"), Statement(f"{c} = {change.format(c=c)}"),
            Statement(f"{name} = {b.text} * {c}"),
        ]  # fmt: skip

    # -- control ------------------------------------------------------------------------------------------------------

    def inside(self, count: int) -> list[Node]:
        """Statements of a block; what they define is not seen behind it."""
        known = list(self.values)
        self.depth += 1
        body: list[Node] = []
        for _ in range(count):
            body += self.statement()
        last = self.values[-1]
        if last not in known:
            body.append(Statement(f"total = total + {self.summed(last)}"))
        self.values = known
        self.depth -= 1
        return body

    def branch(self) -> list[Node]:
        """A branch that gives a variable another value, or none."""
        test = self.decision()
        first = self.inside(self.draw.randint(1, 2))
        if self.chance(0.5):
            return [Compound(f"if {test}:", [first, self.inside(1)], ["else:"])]
        return [Compound(f"if {test}:", [first])]

    def counted(self) -> list[Node]:
        """A loop with a carried tensor, maybe left early."""
        s, i = self.name("s"), self.name("i")
        axes = self.draw.choice([("b",), ("a",), (), ("a", "b")])
        start = self.value(axes)
        update = self.update(s, axes, i)
        body: list[Node] = [Statement(update), *(self.inside(1) if self.chance(0.4) else [])]
        if self.chance(0.3):
            body.append(Compound(f"if float({s}.sum()) > 0.4:", [[Statement(self.draw.choice(["break", "continue"]))]]))
            body.append(Statement(f"{s} = {s} * 0.9 + 0.02"))
        self.values.append(Value(s, axes))
        count = self.draw.choice(["k", "3", "x.size(0)", "k * 2"])
        return [Statement(f"{s} = {start.text} * 0.5"), Compound(f"for {i} in range({count}):", [body])]

    def update(self, s: str, axes: Axes, i: str) -> str:
        """A step of a recurrence."""
        options = [f"{s} = ({s} * 0.8 + 0.1 * {i}).sin()", f"{s} = {s} - 0.1 * {s} * {s}", f"{s} = ({s} + v.sum()).tanh()"]
        if axes == ("b",):
            options += [f"{s} = ({s} + x[{i} % x.size(0)]).tanh()", f"{s} = ({s} * v).sin() + 0.1"]
        if axes == ("a",):
            options += [f"{s} = (x @ (w @ x) + {s}).tanh()"]
        if axes == ("a", "b"):
            options += [f"{s} = ({s} * v + x).sin()"]
        return f"{self.draw.choice(options)}"

    def conditional(self) -> list[Node]:
        """A `while` whose turns depend on what it computes."""
        s, n = self.name("s"), self.name("n")
        start = self.value(("b",))
        body: list[Node] = [Statement(f"{s} = {s} * 0.7 + 0.05 * v"), Statement(f"{n} += 1", is_kept=True)]
        if self.chance(0.3):
            body.append(Compound("if k == 2:", [[Statement("break")]]))
        self.values.append(Value(s, ("b",)))
        test = self.draw.choice([f"float(({s} * {s}).sum()) > 0.05", f"bool({s}.abs().sum() > 0.3)"])
        loop = Compound(f"while {n} < 7 and {test}:", [body], before=[Statement(f"{n} = 0", is_kept=True)])
        return [Statement(f"{s} = {start.text} * 1.3"), loop]

    def call(self) -> list[Node]:
        """A function of its own."""
        helper = Generator(self.draw, numbers=False, calls=self.calls + 1)
        helper.depth, helper.names = 1, self.names
        name = self.name("helper")
        program = helper.program()
        self.helpers.append(Program(name, PARAMETERS, "Tensor", program.body, program.helpers))
        result = self.name()
        self.values.append(Value(result, ()))
        return [Statement(f"{result} = {name}({self.value(('a', 'b')).text}, v, w, k - 1, not flag)")]


def generate(seed: int) -> Program:
    """A program from a seed; the same one each time."""
    return Generator(random.Random(f"gradients {seed}"), numbers=is_about_numbers(seed)).program()
