"""Makes random typed programs whose meaning is the same in CPython and here: statements over `expressions`."""

from __future__ import annotations

from collections.abc import Callable

from tests.random_programs.expressions import TENSORS, Expressions, Sizes, Variable
from tests.random_programs.model import Compound, Node, Program, Statement

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
    Program("search", "rows: list[list[int]], wanted: int, skip: bool = False", "Optional[int]", [
        Statement("seen = 0"),
        Compound("for row in rows:", [[
            Compound("for v in row:", [[
                Statement("seen += 1"),
                Compound("if v == wanted and not skip:", [[Statement("return seen")]]),
                Compound("if v < -90:", [[Statement("break")]]),
            ]]),
        ]]),
        Statement("return None if seen % 2 == 0 else -seen"),
    ]),
    Program("pick", "maybe: Optional[int], other: int = 4", "int", [
        Compound("if maybe is None or maybe == other:", [[Statement("return other")]]),
        Statement("return maybe % 31"),
    ]),
    Program("shift", "x: Tensor, by: int = 2, twice: bool = False", "Tensor", [
        Compound("if twice:", [[Statement("return x * 2 - by")]]),
        Statement("return x - by"),
    ]),
    Program("both", "x: Tensor, name: str = 'n'", "tuple[Tensor, str]", [
        Statement("return shift(x, twice=True), name + str(int(x.sum()) % 5)"),
    ]),
    Program("write", "x: Tensor, value: float", "None", [Statement("x[0] = value"), Statement("x.add_(1)")]),
)  # fmt: skip
PARAMETERS = "x: Tensor, y: Tensor, z: Tensor, n: int, s: float, flag: bool, ints: list[int]"
RETURNS = "tuple[Tensor, Tensor, Tensor, int, bool, list[int], str]"
SCALARS = ("int", "float", "bool", "str")
SHAPES: tuple[Sizes, ...] = ((2, 3), (2, 3), (2, 3), (3,), (3,), (), (0, 3))
VIEWS: tuple[tuple[str, Sizes], ...] = (
    ("[0]", (3,)), ("[-1]", (3,)), (".contiguous().view(-1)[:3]", (3,)), (".t().t()", (2, 3)), ("[:, :]", (2, 3)),
    (".reshape(6)[1:4]", (3,)), (".select(0, 1)", (3,)), (".unsqueeze(0)[0]", (2, 3)), (".unsqueeze(1).squeeze(1)", (2, 3)),
    ("[1][2]", ()), (".select(0, 0).select(0, 1)", ()), ("[2:]", (0, 3)), (".transpose(0, 1).t()", (2, 3)),
    (".contiguous().view(6)[::2]", (3,)), ("[0, :]", (3,)), (".narrow(0, 1, 1)[0]", (3,)), ("[:, 0:3:1]", (2, 3)),
    (".detach()", (2, 3)), (".contiguous()", (2, 3)), (".permute(1, 0).t()", (2, 3)), (".flatten()[0:6:2]", (3,)),
)  # fmt: skip
LIST_CHANGES = (
    "{0}[0] = {1}", "{0}[-1] = {1}", "{0}.reverse()", "{0}.sort()", "{0}[0] += 1", "{0}.insert(0, {0}.pop())",
    "{0}.append({0}.pop(0))",
)  # fmt: skip


class Generator(Expressions):
    """One program from one seed."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.loops = 0
        """How many loops are around, unrolled or not."""

    def statement(self, depth: int) -> Node:
        """A random statement; new variables join the scope."""
        makers = [self.assign] * 5 + [self.reassign] * 4 + [self.tensor_write] * 3 + [self.container] * 3 + [self.call]
        makers += [self.view] * 2 + [self.change_list]
        if depth:
            makers += [self.branch, self.counted_loop, self.while_loop, self.list_loop, self.tensor_loop, self.leave]
            makers += [self.refine]
        return self.draw.choice(makers)(depth)

    def define(self, kind: str, text: str, sizes: Sizes = ()) -> Statement:
        """A new variable with this value."""
        new = self.fresh(kind, sizes)
        self.scope.append(new)
        return Statement(f"{new.name} = {text}")

    def assign(self, depth: int) -> Node:
        """A new variable."""
        kind = self.draw.choice([*SCALARS, "exact", "exact", "smooth", "smooth", "whole", "mask"])
        sizes = self.draw.choice(SHAPES) if kind in TENSORS else ()
        return self.define(kind, self.expression(kind, sizes), sizes)

    def reassign(self, depth: int) -> Node:
        """A new value for an old variable."""
        target = self.draw.choice([v for v in self.scope if v.kind in (*SCALARS, *TENSORS)])
        if target.kind == "int" and self.draw.random() < 0.5:
            return Statement(f"{target.name} {self.draw.choice(['+', '-'])}= {self.draw.randint(0, 5)}")
        return Statement(f"{target.name} = {self.expression(target.kind, target.sizes)}")

    def tensor_write(self, depth: int) -> Node:
        """A write that every view of the tensor sees."""
        kind = self.draw.choice(["exact", "exact", "smooth", "whole", "mask"])
        target = self.some(kind, (2, 3)) if self.draw.random() < 0.6 else self.some(kind)
        if target is None:
            return Statement("pass")
        name, sizes, number = target.name, target.sizes, self.draw.randint(-3, 3)
        if kind == "mask":
            return Statement(
                f"{name}.logical_not_()" if sizes != (2, 3) else f"{name}[{self.draw.choice([0, 1])}] = {number > 0}"
            )
        if self.draw.random() < 0.3:
            source = self.tensor_expression(kind, self.narrower(sizes), 1)
            # A source that broadcasts over the memory it lies in: PyTorch admits it in Python alone.
            choices = [
                f"{name}.copy_({source}.clone())",
                f"{name}[:] = {source}.clone()",
                f"{name}.masked_fill_({self.mask(sizes)}, {number})",
            ]
            choices += [f"{name}.zero_()", f"{name}.fill_({number})"]
            choices += (
                [f"{name}.clamp_(-8, 8)", f"{name} -= {source}\n{name}.clamp_(-64, 64)"] if kind != "smooth" else []
            )
            if not sizes:
                choices = [c for c in choices if "[" not in c]
            return self._lines(self.draw.choice(choices))
        if sizes == () or sizes == (0, 3):
            return Statement(f"{name}.mul_({self.draw.choice([-1, 0, 1])})")
        if sizes != (2, 3):
            return Statement(f"{name}[{self.draw.choice(['0', '-1', '1:', ':2', '::2'])}] = {number}")
        row = self.tensor_expression(kind, (3,), 1)
        choices = [
            f"{name}[{self.draw.choice([0, 1, -1])}] = {row}", f"{name}[:, {self.draw.randint(0, 2)}] = {number}",
            f"{name}[0, 1:] = {number}", f"{name} += {number}", f"{name}.mul_(0.5)" if kind == "smooth" else f"{name}.neg_()",
            f"{name}[{self.mask((2, 3))}] = {number}", f"{name}[1].add_({number})", f"{name}[:, ::2] = {number}",
            f"{name}.t()[{self.draw.randint(0, 2)}] = {number}", f"{name}[0].copy_({name}[1])",
            f"{name}.select(1, {self.draw.randint(0, 2)}).fill_({number})", f"{name}[1, 0] = {name}[0, 2]",
            f"{name}.unsqueeze(0)[0, 1].sub_({number})",
        ]  # fmt: skip
        return Statement(self.draw.choice(choices))

    def _lines(self, text: str) -> Node:
        """One or two lines as one node."""
        first, _, second = text.partition("\n")
        return Compound("if True:", [[Statement(first), Statement(second)]]) if second else Statement(first)

    def view(self, depth: int) -> Node:
        """A name for part of a tensor: later writes go through."""
        base = self.some(self.draw.choice(TENSORS), (2, 3))
        if base is None:
            return Statement("pass")
        row = self.some("exact", (3,))
        if row is not None and self.draw.random() < 0.15:
            return self.define(
                "spread", f"{row.name}.{self.draw.choice(['expand(2, 3)', 'unsqueeze(0).expand(2, -1)'])}", (2, 3)
            )
        text, sizes = self.draw.choice(VIEWS)
        return self.define(base.kind, f"{base.name}{text}", sizes)

    # -- containers ---------------------------------------------------------------------------------------------------

    def container(self, depth: int) -> Node:
        """A list, a dict or a tuple, or something taken from one."""
        ints, draw = self._named("ints", "ints"), self.draw
        some_ints = f"[{', '.join(self.int_expression(1) for _ in range(draw.randint(1, 4)))}]"
        match draw.randrange(16):
            case 0:
                return self.define("ints", some_ints)
            case 1:
                rounds = draw.randint(1, 5)
                return self.define(
                    "ints", f"[(i * {draw.randint(1, 5)} + {self.int_expression(0)}) % 31 for i in range({rounds})]"
                )
            case 2:
                return self.define("ints", f"[v // 2 + {self.int_expression(0)} for v in {ints}]")
            case 3:
                return self.define("ints", ints)
            case 4:
                part = draw.choice(["::-1", "1:", ":-1", "::2", "-2:", "1:5:2"])
                return self.define("ints", f"{ints}[{part}] + [{self.int_expression(0)}]")
            case 5:
                return self.define("int", f"sorted({ints})[0] + sum({ints}) % 11 + {ints}[{draw.choice([0, -1])}]")
            case 6:
                left, right = self.some("int"), self.some("int")
                if left is None or right is None or left is right:
                    return Statement("pass")
                return Statement(f"{left.name}, {right.name} = {right.name}, {left.name}")
            case 7:
                pairs = ", ".join(
                    f"{k!r}: {self.int_expression(0)}" for k in draw.sample(["a", "b", "c", "X"], 2) if k not in "ab"
                )
                return self.define("dict", f"{{'b': {self.int_expression(1)}, 'a': {self.int_expression(0)}, {pairs}}}")
            case 8:
                return self._dict_use()
            case 9:
                return self.define("rows", f"[{some_ints}, {ints}, [{self.int_expression(0)}]]")
            case 10:
                rows = self.some("rows")
                if rows is None:
                    return Statement("pass")
                if draw.random() < 0.5:
                    return self.define("ints", f"{rows.name}[{draw.choice([0, 1, -1])}]")
                return Statement(f"{rows.name}[{draw.choice([0, 1])}][0] = {self.int_expression(0)}")
            case 11:
                first, second = (self.tensor_expression("exact", (3,), 1) for _ in range(2))
                return self.define("tensors", f"[{first}, {second}]")
            case 12:
                return self._tensors_use()
            case 13:
                a, b = self.fresh("int"), self.fresh("str")
                text = f"{a.name}, {b.name} = {self.int_expression(1)}, {self.str_expression()}"
                self.scope += [a, b]
                return Statement(text)
            case 14:
                text = f"({self.int_expression(1)}, {self.float_expression(1)}, {self.tensor_expression('exact', (3,), 1)})"
                kind, sizes, at = draw.choice([("int", (), 0), ("float", (), 1), ("exact", (3,), 2)])
                return self.define(kind, f"{text}[{at}]", sizes)
            case _:
                return Compound(f"if len({ints}) > 1:", [[Statement(f"{ints}.pop()")]])

    def _dict_use(self) -> Node:
        found = self.some("dict")
        if found is None:
            return Statement("pass")
        name = found.name
        choices: list[Callable[[], Node]] = [
            lambda: Statement(f"{name}[{self.draw.choice('abcd')!r}] = {self.int_expression(1)}"),
            lambda: self.define("int", f"{name}.get({self.draw.choice('abz')!r}, {self.int_expression(0)})"),
            lambda: self.define("ints", f"[v for v in {name}.values()]"),
            lambda: self.define("str", f"'/'.join([k for k in {name}.keys()])"),
            lambda: self.define("int", f"len({name}) + {name}['a']"),
            lambda: self.define("dict", f"{{k: v + 1 for k, v in {name}.items()}}"),
            lambda: Statement(f"{name}.update({{'b': {self.int_expression(0)}}})"),
        ]  # fmt: skip
        return self.draw.choice(choices)()

    def _tensors_use(self) -> Node:
        found = self.some("tensors")
        if found is None:
            return Statement("pass")
        name = found.name
        choices: list[Callable[[], Node]] = [
            lambda: self.define("exact", f"{name}[{self.draw.choice([0, -1])}]", (3,)),
            lambda: self.define("exact", f"flambeau.stack({name})[:2]", (2, 3)),
            lambda: Statement(f"{name}[0].add_({self.draw.randint(-2, 2)})"),
            lambda: Statement(f"{name}[1] = {self.tensor_expression('exact', (3,), 1)}"),
            lambda: Statement(f"{name}[0][{self.draw.choice(['0', '1:'])}] = {self.draw.randint(-3, 3)}"),
        ]  # fmt: skip
        return self.draw.choice(choices)()

    def change_list(self, depth: int) -> Node:
        """A change in place of a list that may have several names; nothing that could make it grow without end in a
        loop.
        """
        ints = self._named("ints", "ints")
        if not self.loops and self.draw.random() < 0.4:
            return Statement(
                f"{ints}.{self.draw.choice(['append({})', 'extend([{}, 5])', 'insert(1, {})']).format(self.int_expression(1))}"
            )
        return Statement(self.draw.choice(LIST_CHANGES).format(ints, self.int_expression(1)))

    # -- calls --------------------------------------------------------------------------------------------------------

    def call(self, depth: int) -> Node:
        """A call of a helper, with and without its defaults."""
        draw = self.draw
        base = self.some("exact", (2, 3)) or self.scope[0]
        match draw.randrange(6):
            case 0:
                return self.define("int", f"fold({self._named('ints', 'ints')}, {self.int_expression(0)}) % 97")
            case 1:
                more = draw.choice(["", ", 3", ", twice=True", f", by={self.int_expression(0)}", ", -1, flag"])
                return self.define("exact", f"flambeau.clamp(shift({base.name}{more}), -64, 64)", base.sizes)
            case 2:
                rows = self._named("rows", f"[[n, 4], {self._named('ints', 'ints')}]")
                skip = draw.choice(["", ", skip=flag", ", True"])
                return self.define("maybe", f"search({rows}, {self.int_expression(0)}{skip})")
            case 3:
                return self.define(
                    "int", f"pick({self._named('maybe', 'None')}{draw.choice(['', ', n', ', other=-2'])})"
                )
            case 4:
                more = draw.choice(["", f", {self.str_expression(0)}", ", name='k'"])
                made, word = self.fresh("tensor"), self.fresh("str")
                self.scope.append(word)
                return Statement(f"{made.name}, {word.name} = both({base.name}{more})")
        return Statement(f"write({base.name}, {float(draw.randint(-2, 2))})")

    # -- control ------------------------------------------------------------------------------------------------------

    def body(self, depth: int, *extra: Variable) -> list[Node]:
        """Statements in a scope of their own."""
        before = list(self.scope)
        self.scope.extend(extra)
        made = [self.statement(depth - 1) for _ in range(self.draw.randint(1, 3))]
        self.scope = before
        return made

    def branch(self, depth: int) -> Node:
        """An if; sometimes both arms give a variable its first value."""
        condition = self.bool_expression()
        bodies, joints = [self.body(depth)], []
        if self.draw.random() < 0.3:
            joints.append(f"elif {self.bool_expression()}:")
            bodies.append(self.body(depth))
        if self.draw.random() < 0.6:
            joints.append("else:")
            bodies.append(self.body(depth))
        return Compound(f"if {condition}:", bodies, joints)

    def refine(self, depth: int) -> Node:
        """A value that may be None, looked at; known to be there in one arm."""
        found = self.some("maybe")
        if found is None or self.draw.random() < 0.3:
            new = self.fresh("maybe")
            self.scope.append(new)
            before = (Statement(f"{new.name}: Optional[int] = {self.draw.choice(['None', self.int_expression(0)])}"),)
            value = self.draw.choice(["None", self.int_expression(1)])
            return Compound(f"if {self.bool_expression(1)}:", [[Statement(f"{new.name} = {value}")]], before=before)
        known = Variable(found.name, "int")
        if self.draw.random() < 0.5:
            header = f"if {found.name} is not None and {found.name} > {self.int_expression(0)}:"
            return Compound(header, [self._known(depth, known), self.body(depth)], ["else:"])
        return Compound(f"if {found.name} is None:", [self.body(depth), self._known(depth, known)], ["else:"])

    def _known(self, depth: int, known: Variable) -> list[Node]:
        new = self.fresh("int")
        return [Statement(f"{new.name} = {known.name} * 2 % 31"), *self.body(depth, new)]

    def _loop(
        self, header: str, depth: int, *extra: Variable, before: tuple[Statement, ...] = (), first: str = ""
    ) -> Node:
        self.loops += 1
        made = self.body(depth, *extra)
        self.loops -= 1
        return Compound(header, [[Statement(first, is_kept=True), *made] if first else made], before=before)

    def counted_loop(self, depth: int) -> Node:
        """A loop over a range."""
        i = self.fresh("int")
        bounds = self.draw.choice([
            str(self.draw.randint(0, 4)), "1, 4", "5, 0, -2", f"{self.int_expression(0)} % 4", "n", f"len({self._named('ints', 'ints')}) % 6",
        ])  # fmt: skip
        return self._loop(f"for {i.name} in range({bounds}):", depth, i)

    def while_loop(self, depth: int) -> Node:
        """A loop that a counter ends."""
        self.counter += 1
        w = f"w{self.counter}"
        condition = self.draw.choice([f" and {self.bool_expression(1)}", ""])
        header = f"while {w} < {self.draw.randint(1, 4)}{condition}:"
        return self._loop(header, depth, before=(Statement(f"{w} = 0"),), first=f"{w} += 1")

    def list_loop(self, depth: int) -> Node:
        """A loop over a copy of a list, a dict's keys, or a string."""
        v, i = self.fresh("int"), self.fresh("int")
        found = self.some("dict")
        if found is not None and self.draw.random() < 0.4:
            key = self.fresh("str")
            if self.draw.random() < 0.5:
                return self._loop(f"for {key.name} in list({found.name}.keys()):", depth, key)
            return self._loop(f"for {key.name}, {v.name} in {found.name}.copy().items():", depth, key, v)
        if self.draw.random() < 0.15:
            letter = self.fresh("str")
            return self._loop(f"for {letter.name} in {self.str_expression()}[:4]:", depth, letter)
        ints = self._named("ints", "ints")
        form = self.draw.choice([
            "{v} in {ints}.copy()", "{i}, {v} in enumerate({ints}.copy())", "{i}, {v} in zip(range(3), {ints}.copy())",
            "{v} in reversed({ints}.copy())", "{i}, {v} in enumerate({ints}.copy(), 2)",
        ])  # fmt: skip
        header = f"for {form.format(v=v.name, i=i.name, ints=ints)}:"
        return self._loop(header, depth, *([v, i] if "{i}" in form else [v]))

    def tensor_loop(self, depth: int) -> Node:
        """A loop over the rows of a tensor, which are views, or over a list of tensors."""
        row = self.fresh("exact", (3,))
        several = self.some("tensors")
        if several is not None and self.draw.random() < 0.5:
            return self._loop(f"for {row.name} in {several.name}:", depth, row)
        base = self.some("exact", (2, 3))
        return self._loop(f"for {row.name} in {base.name}:", depth, row) if base else Statement("pass")

    def leave(self, depth: int) -> Node:
        """A way out: of a loop, of the program, seldom by raising."""
        condition = self.bool_expression(1)
        if self.loops and self.draw.random() < 0.7:
            body = self.body(depth) if self.draw.random() < 0.3 else []
            return Compound(f"if {condition}:", [[*body, Statement(self.draw.choice(["break", "continue"]))]])
        if self.draw.random() < 0.1:
            return Compound(f"if {condition} and n == 5:", [[Statement("raise ValueError('as drawn')")]])
        return Compound(f"if {condition}:", [[*self.body(depth), Statement(self.result())]])

    def result(self) -> str:
        """A return of something of each kind."""
        return (
            f"return {self.tensor_expression('exact', (2, 3), 1)}, {self.tensor_expression('smooth', (2, 3), 1)}, "
            f"{self.tensor_expression('whole', self.draw.choice(SHAPES), 1)}, {self.int_expression(1)}, {self.bool_expression(1)}, "
            f"{self._named('ints', 'ints')}.copy(), {self.str_expression()}"
        )

    def program(self, size: int) -> Program:
        """The whole program, with about `size` statements at the top."""
        body = [self.statement(3) for _ in range(size)]
        body.append(Statement(self.result()))
        return Program("main", PARAMETERS, RETURNS, body, HELPERS)


def generate(seed: int, size: int = 10) -> Program:
    """A program from a seed; the same one each time."""
    return Generator(seed).program(size)
