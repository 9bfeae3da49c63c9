"""Makes random typed programs whose meaning is the same in CPython and here.

Where the two languages differ on purpose (ints that wrap, `1 / 0`, `and` of ints), programs keep clear of the difference. Tensors
come in two kinds: exact ones (small whole numbers, where every order of operations gives the same bits) may be compared and
branched on; smooth ones (exp, tanh, softmax) only flow into results, where they are compared within a tolerance.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

from flambeau.testing.programs.model import Compound, Node, Program, Statement

HELPERS = (
    Program("fold", "values: list[int], start: int", "int", [
        Statement("total = start"),
        Compound("for v in values:", [[
            Compound("if v % 7 == 3:", [[Statement("continue")]]),
            Compound("if total > 500:", [[Statement("return total % 101")]]),
            Statement("total += v"),
        ]]),
        Statement("return total"),
    ]),
    Program("shift", "x: Tensor, by: int = 2", "Tensor", [Statement("return x * 2 - by")]),
    Program("write", "x: Tensor, value: float", "None", [Statement("x[0] = value"), Statement("x.add_(1)")]),
)  # fmt: skip
PARAMETERS = "x: Tensor, y: Tensor, z: Tensor, n: int, s: float, flag: bool, ints: list[int]"
START = (
    ("x", "exact", (2, 3)), ("y", "exact", (3,)), ("z", "smooth", (2, 3)),
    ("n", "int", ()), ("s", "float", ()), ("flag", "bool", ()), ("ints", "ints", ()),
)  # fmt: skip
SMOOTH = ("tanh", "sigmoid", "sin", "cos", "relu", "neg", "abs", "erf")
EXACT = ("relu", "neg", "abs", "floor", "sign")


@dataclass(frozen=True, slots=True)
class Variable:
    """A name in scope: its kind and, for tensors, its sizes."""

    name: str
    kind: str
    """exact, smooth, mask, int, float, bool, ints, tensors, dict, or pair."""
    sizes: tuple[int, ...] = ()


class Generator:
    """One program from one seed."""

    def __init__(self, seed: int) -> None:
        self.draw = random.Random(seed)
        self.scope: list[Variable] = [Variable(*v) for v in START]
        self.counter = 0
        self.loops = 0
        """How many loops are around, unrolled or not."""

    # -- names --------------------------------------------------------------------------------------------------------

    def fresh(self, kind: str, sizes: tuple[int, ...] = ()) -> Variable:
        self.counter += 1
        return Variable(f"{kind[0]}{self.counter}", kind, sizes)

    def some(self, kind: str, sizes: tuple[int, ...] | None = None) -> Variable | None:
        fitting = [v for v in self.scope if v.kind == kind and (sizes is None or v.sizes == sizes)]
        return self.draw.choice(fitting) if fitting else None

    # -- expressions --------------------------------------------------------------------------------------------------

    def int_expression(self, depth: int = 2) -> str:
        pick = self.draw.randrange(9 if depth else 2)
        if pick == 0:
            return str(self.draw.randint(-9, 9))
        if pick == 1:
            return self._named("int", "n")
        a, b = self.int_expression(depth - 1), self.int_expression(depth - 1)
        if pick in (2, 3):
            return f"({a} {self.draw.choice('+-*')} {b}) % 97"
        if pick == 4:
            return f"({a} {self.draw.choice(['//', '%'])} {self.draw.choice([-5, -3, 2, 3, 7])})"
        if pick == 5:
            return self.draw.choice([f"max({a}, {b})", f"min({a}, {b})", f"abs({a})"])
        if pick == 6:
            return f"({a} if {self.bool_expression(depth - 1)} else {b})"
        if pick == 7:
            return f"len({self._named('ints', 'ints')})"
        return f"int({self._named('exact', 'x')}.sum()) % 13"

    def float_expression(self, depth: int = 2) -> str:
        pick = self.draw.randrange(6 if depth else 2)
        if pick == 0:
            return str(self.draw.choice([0.5, -1.25, 2.0, 0.0, -0.0, 3.75]))
        if pick == 1:
            return self._named("float", "s")
        a, b = self.float_expression(depth - 1), self.float_expression(depth - 1)
        if pick in (2, 3):
            return f"({a} {self.draw.choice('+-')} {b})"
        if pick == 4:
            return f"({a} * 0.5)"
        return f"float({self.int_expression(depth - 1)})"

    def bool_expression(self, depth: int = 2) -> str:
        pick = self.draw.randrange(7 if depth else 2)
        if pick == 0:
            return self._named("bool", "flag")
        if pick == 1:
            return f"({self.int_expression(0)} {self.draw.choice(['<', '<=', '==', '!=', '>'])} {self.int_expression(0)})"
        a, b = self.bool_expression(depth - 1), self.bool_expression(depth - 1)
        if pick == 2:
            return f"({a} {self.draw.choice(['and', 'or'])} {b})"
        if pick == 3:
            return f"(not {a})"
        if pick == 4:
            return f"({self.int_expression(0)} < {self.int_expression(0)} <= {self.int_expression(0)})"
        if pick == 5:
            return f"bool(({self._named('exact', 'x')} > {self.draw.randint(-3, 3)}).any())"
        return f"({self.int_expression(1)} in {self._named('ints', 'ints')})"

    def _named(self, kind: str, default: str) -> str:
        found = self.some(kind)
        return found.name if found else default

    def tensor_expression(self, kind: str, sizes: tuple[int, ...], depth: int = 2) -> str:
        """An expression of this kind and these sizes."""
        leaf = self.some(kind, sizes)
        pick = self.draw.randrange(10) if depth else 0
        if pick <= 1 or leaf is None:
            return leaf.name if leaf else self.constant(kind, sizes)
        a = self.tensor_expression(kind, sizes, depth - 1)
        if pick <= 3:
            b = self.tensor_expression(kind, self.narrower(sizes), depth - 1)
            return self.bounded(kind, f"({a} {self.draw.choice('+-*')} {b})")
        if pick == 4:
            return f"{a}.{self.draw.choice(SMOOTH if kind == 'smooth' else EXACT)}()"
        if pick == 5:
            number = self.int_expression(0) if kind == "exact" else self.float_expression(0)
            return self.bounded(kind, f"({a} {self.draw.choice('+-*')} {number})")
        if pick == 6:
            b = self.tensor_expression(kind, sizes, depth - 1)
            return f"flambeau.where({self.mask(sizes)}, {a}, {b})"
        if pick == 7:
            b = self.tensor_expression(kind, sizes, depth - 1)
            return f"flambeau.{self.draw.choice(['minimum', 'maximum'])}({a}, {b})"
        if pick == 8 and sizes == (2, 3):
            return self.reduced(kind, depth)
        if kind == "smooth":
            return f"flambeau.softmax({a}, -1)" if pick == 9 and sizes else f"flambeau.exp(-({a} * {a}))"
        return f"flambeau.clamp({a}, -3, {self.draw.randint(0, 5)})"

    def reduced(self, kind: str, depth: int) -> str:
        a = self.tensor_expression(kind, (2, 3), depth - 1)
        name = self.draw.choice(["sum", "amax", "amin"] + (["mean"] if kind == "smooth" else []))
        kept = f"{a}.{name}({self.draw.choice([0, 1])}, keepdim=True)"
        b = self.tensor_expression(kind, (2, 3), depth - 1)
        return self.bounded(kind, f"({b} + {kept})")

    def bounded(self, kind: str, text: str) -> str:
        return f"flambeau.clamp({text}, -64, 64)" if kind == "exact" else text

    def narrower(self, sizes: tuple[int, ...]) -> tuple[int, ...]:
        return self.draw.choice([sizes, sizes[1:] or sizes]) if sizes == (2, 3) else sizes

    def mask(self, sizes: tuple[int, ...]) -> str:
        a = self.tensor_expression("exact", sizes, 1)
        compare = self.draw.choice([">", "<=", "==", "!="])
        return f"({a} {compare} {self.tensor_expression('exact', sizes, 0)})"

    def constant(self, kind: str, sizes: tuple[int, ...]) -> str:
        value = self.draw.randint(-3, 3) if kind == "exact" else self.draw.choice([0.25, -0.5, 1.5])
        return f"flambeau.full({list(sizes)}, {float(value)}, dtype=x.dtype)"

    # -- statements ---------------------------------------------------------------------------------------------------

    def statement(self, depth: int) -> Node:
        """A random statement; new variables join the scope."""
        makers = [self.assign] * 5 + [self.reassign] * 4 + [self.tensor_write] * 3 + [self.container] * 3 + [self.call]
        makers += [self.view] * 2
        if depth:
            makers += [self.branch, self.counted_loop, self.while_loop, self.list_loop, self.tensor_loop, self.leave]
        return self.draw.choice(makers)(depth)

    def assign(self, depth: int) -> Node:
        kind = self.draw.choice(["int", "float", "bool", "exact", "exact", "smooth", "smooth"])
        sizes = self.draw.choice([(2, 3), (3,)]) if kind in ("exact", "smooth") else ()
        text = self.expression(kind, sizes)
        new = self.fresh(kind, sizes)
        self.scope.append(new)
        return Statement(f"{new.name} = {text}")

    def expression(self, kind: str, sizes: tuple[int, ...]) -> str:
        if kind == "int":
            return self.int_expression()
        if kind == "float":
            return self.float_expression()
        if kind == "bool":
            return self.bool_expression()
        return self.tensor_expression(kind, sizes)

    def reassign(self, depth: int) -> Node:
        target = self.draw.choice([v for v in self.scope if v.kind in ("int", "float", "bool", "exact", "smooth")])
        if target.kind == "int" and self.draw.random() < 0.5:
            return Statement(f"{target.name} {self.draw.choice(['+', '-'])}= {self.draw.randint(0, 5)}")
        return Statement(f"{target.name} = {self.expression(target.kind, target.sizes)}")

    def tensor_write(self, depth: int) -> Node:
        kind = self.draw.choice(["exact", "smooth"])
        target = self.some(kind, (2, 3)) or self.some(kind)
        if target is None:
            return Statement("pass")
        value = self.tensor_expression(kind, (3,), 1)
        number = self.draw.randint(-3, 3)
        name = target.name
        if kind == "exact" and self.draw.random() < 0.3:
            return Statement(f"{name}.clamp_(-8, 8)")
        if target.sizes != (2, 3):
            return Statement(f"{name}[{self.draw.choice(['0', '-1', '1:', ':2'])}] = {number}")
        choices = [
            f"{name}[{self.draw.choice([0, 1, -1])}] = {value}", f"{name}[:, {self.draw.randint(0, 2)}] = {number}",
            f"{name}[0, 1:] = {number}", f"{name} += {number}", f"{name}.mul_(0.5)" if kind == "smooth" else f"{name}.neg_()",
            f"{name}[{self.mask((2, 3))}] = {number}", f"{name}[1].add_({number})",
        ]  # fmt: skip
        return Statement(self.draw.choice(choices))

    def view(self, depth: int) -> Node:
        """A name for part of a tensor: later writes go through."""
        base = self.some(self.draw.choice(["exact", "smooth"]), (2, 3))
        if base is None:
            return Statement("pass")
        text, sizes = self.draw.choice(
            [("[0]", (3,)), ("[-1]", (3,)), (".view(-1)[:3]", (3,)), (".t().t()", (2, 3)), ("[:, :]", (2, 3)),
             (".t()[:, 1]", (3,)), (".reshape(6)[1:4]", (3,))]
        )  # fmt: skip
        if text.startswith(".view"):
            text = ".contiguous()" + text
        new = self.fresh(base.kind, sizes)
        self.scope.append(new)
        return Statement(f"{new.name} = {base.name}{text}")

    def container(self, depth: int) -> Node:
        pick = self.draw.randrange(8)
        ints = self._named("ints", "ints")
        if pick == 0:
            new = self.fresh("ints")
            text = f"[{', '.join(self.int_expression(1) for _ in range(self.draw.randint(1, 4)))}]"
        elif pick == 1:
            new = self.fresh("ints")
            text = f"[(i * {self.draw.randint(1, 5)} + {self.int_expression(0)}) % 31 for i in range({self.draw.randint(1, 5)})]"
        elif pick == 2:
            return Statement(f"{ints}.append({self.int_expression(1)})") if not self.loops else Statement("pass")
        elif pick == 3:
            return Statement(f"{ints}[{self.draw.choice([0, -1])}] = {self.int_expression(1)}")
        elif pick == 4:
            new = self.fresh("ints")
            text = f"{ints}[{self.draw.choice(['::-1', '1:', ':-1', '::2'])}] + [{self.int_expression(0)}]"
        elif pick == 5:
            new = self.fresh("int")
            text = f"sorted({ints})[0] + sum({ints}) % 11 + {ints}[{self.draw.choice([0, -1])}]"
        elif pick == 6:
            left, right = self.some("int"), self.some("int")
            if left is None or right is None or left is right:
                return Statement("pass")
            return Statement(f"{left.name}, {right.name} = {right.name}, {left.name}")
        else:
            new = self.fresh("int")
            pairs = ", ".join(f"{k!r}: {self.int_expression(0)}" for k in ("a", "b"))
            text = f"{{{pairs}}}[{self.draw.choice(['a', 'b'])!r}]"
        self.scope.append(new)
        return Statement(f"{new.name} = {text}")

    def call(self, depth: int) -> Node:
        pick = self.draw.randrange(3)
        if pick == 0:
            text = f"fold({self._named('ints', 'ints')}, {self.int_expression(0)})"
            new = self.fresh("int")
            self.scope.append(new)
            return Statement(f"{new.name} = {text}")
        base = self.some("exact", (2, 3)) or self.scope[0]
        if pick == 1:
            new = self.fresh("exact", base.sizes)
            self.scope.append(new)
            return Statement(f"{new.name} = flambeau.clamp(shift({base.name}), -64, 64)")
        return Statement(f"write({base.name}, {float(self.draw.randint(-2, 2))})")

    # -- control ------------------------------------------------------------------------------------------------------

    def body(self, depth: int, *extra: Variable) -> list[Node]:
        """Statements in a scope of their own."""
        before = list(self.scope)
        self.scope.extend(extra)
        made = [self.statement(depth - 1) for _ in range(self.draw.randint(1, 3))]
        self.scope = before
        return made

    def branch(self, depth: int) -> Node:
        condition = self.bool_expression()
        bodies, joints = [self.body(depth)], []
        if self.draw.random() < 0.3:
            joints.append(f"elif {self.bool_expression()}:")
            bodies.append(self.body(depth))
        if self.draw.random() < 0.6:
            joints.append("else:")
            bodies.append(self.body(depth))
        return Compound(f"if {condition}:", bodies, joints)

    def _loop(self, header: str, depth: int, *extra: Variable, before: tuple[Statement, ...] = (), first: str = "") -> Node:
        self.loops += 1
        made = self.body(depth, *extra)
        self.loops -= 1
        return Compound(header, [[Statement(first), *made] if first else made], before=before)

    def counted_loop(self, depth: int) -> Node:
        i = self.fresh("int")
        bounds = self.draw.choice([str(self.draw.randint(0, 4)), "1, 4", "5, 0, -2", f"{self.int_expression(0)} % 4"])
        return self._loop(f"for {i.name} in range({bounds}):", depth, i)

    def while_loop(self, depth: int) -> Node:
        self.counter += 1
        w = f"w{self.counter}"
        header = f"while {w} < {self.draw.randint(1, 4)} and {self.bool_expression(1)}:"
        return self._loop(header, depth, before=(Statement(f"{w} = 0"),), first=f"{w} += 1")

    def list_loop(self, depth: int) -> Node:
        v, i = self.fresh("int"), self.fresh("int")
        ints = self._named("ints", "ints")
        form = self.draw.choice(["{v} in {ints}.copy()", "{i}, {v} in enumerate({ints}.copy())", "{i}, {v} in zip(range(3), {ints}.copy())"])
        header = f"for {form.format(v=v.name, i=i.name, ints=ints)}:"
        return self._loop(header, depth, *([v, i] if "{i}" in form else [v]))

    def tensor_loop(self, depth: int) -> Node:
        base = self.some("exact", (2, 3))
        if base is None:
            return Statement("pass")
        row = self.fresh("exact", (3,))
        return self._loop(f"for {row.name} in {base.name}:", depth, row)

    def leave(self, depth: int) -> Node:
        condition = self.bool_expression(1)
        if self.loops and self.draw.random() < 0.7:
            return Compound(f"if {condition}:", [[Statement(self.draw.choice(["break", "continue"]))]])
        return Compound(f"if {condition}:", [[*self.body(depth), Statement(self.result())]])

    def result(self) -> str:
        return (
            f"return {self.tensor_expression('exact', (2, 3), 1)}, {self.tensor_expression('smooth', (2, 3), 1)}, "
            f"{self.int_expression(1)}, {self.bool_expression(1)}, {self._named('ints', 'ints')}.copy()"
        )

    def program(self, size: int) -> Program:
        """The whole program, with about `size` statements at the top."""
        body = [self.statement(3) for _ in range(size)]
        body.append(Statement(self.result()))
        return Program("main", PARAMETERS, "tuple[Tensor, Tensor, int, bool, list[int]]", body, HELPERS)


def generate(seed: int, size: int = 10) -> Program:
    """A program from a seed; the same one each time."""
    return Generator(seed).program(size)
