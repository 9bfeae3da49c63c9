"""Makes random programs whose blocks are left in every way: to their end, by break, continue, return, and by errors.

What happens is told in a list of texts, so that order counts; a function that fails tells by class and message.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from tests.random_programs.flow.expressions import Expressions, Name
from tests.random_programs.flow.prelude import PRELUDE
from tests.random_programs.model import Compound, Node, Program, Statement

PARAMETERS = "n: int, k: int, x: float, flag: bool, s: str, ints: list[int]"
RETURNS = "tuple[list[str], int]"
RAISED = ("ValueError", "KeyError", "IndexError", "RuntimeError", "Oops", "Deep", "TypeError", "ZeroDivisionError")
WORDED = ("Oops", "Deep")
"""Classes that nobody but the program raises: their messages are the program's."""
CAUGHT = (*RAISED, "Exception", "LookupError", "ArithmeticError", "(KeyError, Deep)", "(Oops, RuntimeError)")


class FlowGenerator(Expressions):
    """One program from one seed."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.loops = 0
        """How many loops are around."""
        self.handling = False
        """Whether this is in an except clause, whose error may be raised again."""
        self.in_function = False
        """Whether this is in a nested function, which gives a number."""

    # -- blocks -------------------------------------------------------------------------------------------------------

    def body(self, depth: int, *names: Name, most: int = 2) -> list[Node]:
        """Statements that see what is in scope, and `names`; what they define ends with them."""
        known, functions = list(self.scope), list(self.functions)
        self.scope += names
        nodes = [self.statement(depth - 1) for _ in range(self.draw.randint(1, most))]
        self.scope, self.functions = known, functions
        return nodes

    def statement(self, depth: int) -> Node:
        """Any statement."""
        simple = [self.tell] * 3 + [self.define] * 3 + [self.change] * 3 + [self.count_on] * 2 + [self.may_fail, self.leave]
        if depth <= 0 or self.draw.random() < 0.4:
            return self.draw.choice(simple)()
        makers = [self.branch] * 2 + [self.loop] * 3 + [self.while_loop] + [self.attempt] * 5 + [self.room] * 2
        makers += [self.choose] * 3 + ([] if self.in_function else [self.nested] * 2)
        return self.draw.choice(makers)(depth)

    # -- lines --------------------------------------------------------------------------------------------------------

    def tell(self) -> Node:
        """A line in the log."""
        return Statement(f"log.append({self.str_(2)})")

    def define(self) -> Node:
        """A new variable."""
        kind = self.draw.choice(["int", "int", "str", "ints", "bool", "table", "pair", "maybe", "strs", "stars"])
        name = self.fresh(kind[0])
        if kind == "stars":
            rest = self.fresh("r")
            text = f"{name}, *{rest} = ({self.int_(1)}, {self.int_(0)}, {self.int_(0)})"
            self.scope += [Name(name, "int"), Name(rest, "rest")]
            return Statement(text)
        if kind == "maybe":
            value = f"{self.int_(1)} if {self.bool_(1)} else None"
            text = f"{name}: Optional[int] = {value}"
        else:
            text = f"{name} = {self.any_of(kind)}"
        self.scope.append(Name(name, kind))
        return Statement(text)

    def change(self) -> Node:
        """Something becomes something else."""
        forms = [f"total += {self.int_(2)}", f"total = (total * 3 + {self.int_(2)}) % 10007"]
        own = [v for v in self.scope if v.text[-1].isdigit()]
        for v in own:
            if v.kind in ("int", "str", "bool", "ints", "table", "pair", "strs") and not self.in_function:
                forms.append(f"{v.text} = {self.any_of(v.kind)}")
            if v.kind == "ints":
                forms += [f"{v.text}.append({self.int_(1)})", f"{v.text}.insert(0, {self.int_(0)})", f"{v.text}.reverse()"]
                forms += [f"{v.text}.extend({self.ints(1)})", f"{v.text}.sort()"]
            if v.kind == "table":
                forms += [f"{v.text}[{self.str_(0)}] = {self.int_(1)}", f"{v.text}.update({self.table(1)})"]
                forms += [f"log.append(str({v.text}.pop({self.str_(0)}, -1)))"]
        if self.in_function:
            forms = [f for f in forms if not f.startswith("total")] or [f"log.append({self.str_(1)})"]
        return Statement(self.draw.choice(forms))

    def count_on(self) -> Node:
        """A number that the result shows."""
        text = f"{self.int_(2)}"
        return Statement(f"log.append(str({text}))" if self.in_function else f"total += {text}")

    def may_fail(self) -> Node:
        """Something that raises for some arguments, and whose value is told."""
        a = self.int_(1)
        forms = [
            f"log.append(str(check(log, {a})))", f"log.append(str(guarded(log, {a})))", f"log.append(str({self.ints(1)}[{a}]))",
            f"log.append(str(int({self.str_(1)})))", f"log.append(str({a} // {self.int_(0)}))", f"log.append(str({a} % {self.int_(0)}))",
            f"log.append(str({self.table(1)}[{self.str_(0)}]))", f"log.append(str({self.ints(1)}.index({self.int_(0)})))",
            f"log.append({self.strs(1)}[{self.int_(0)}])", f"assert {self.bool_(1)}, {self.formatted(1)}",
            f"log.append(str({self.ints(1)}.pop()))", f"log.append(chr({a}))",
        ]  # fmt: skip
        return Statement(self.draw.choice(forms))

    def leave(self) -> Node:
        """A way out, taken sometimes."""
        return Compound(f"if {self.bool_(2)}:", [[self.exit()]])

    def exit(self) -> Node:
        """A way out."""
        raising = [f"raise {self.draw.choice(RAISED)}({self.formatted(1)})"]
        forms = raising * 2 + [f"return {self.int_(1)}" if self.in_function else "return log, total"]
        if self.loops:
            forms += ["break", "continue"] * 2
        if self.handling:
            forms += ["raise"] * 2
        return Statement(self.draw.choice(forms))

    # -- compound statements ------------------------------------------------------------------------------------------

    def branch(self, depth: int) -> Node:
        """`if`, with all its branches."""
        joints, bodies = [], [self.body(depth)]
        if self.draw.random() < 0.4:
            joints.append(f"elif {self.bool_()}:")
            bodies.append(self.body(depth))
        if self.draw.random() < 0.6:
            joints.append("else:")
            bodies.append(self.body(depth))
        if self.draw.random() < 0.2:
            name, condition = self.fresh("w"), self.int_(1)
            bodies[0].insert(0, Statement(f"log.append(str({name}))"))
            return Compound(f"if ({name} := {condition}) > {self.draw.randint(-5, 20)}:", bodies, joints)
        return Compound(f"if {self.bool_()}:", bodies, joints)

    @contextmanager
    def inside_loop(self) -> Iterator[None]:
        """Break and continue are possible."""
        self.loops += 1
        yield
        self.loops -= 1

    def loop(self, depth: int) -> Node:
        """`for`, maybe with `else`."""
        v, w = self.fresh("i"), self.fresh("j")
        a, b = Name(v, "int"), Name(w, "int")
        header, names = self.draw.choice([
            (f"for {v} in range({self.int_(1)} % 5):", (a,)), (f"for {v} in {self.ints(1)}[:4]:", (a,)),
            (f"for {v}, {w} in enumerate({self.ints(1)}[:4]):", (a, b)), (f"for {v} in list({self.ints(1)}):", (a,)),
            (f"for {v}, {w} in zip({self.ints(1)}[:3], range(5)):", (a, b)), (f"for {v} in count_up({self.int_(0)} % 4):", (a,)),
            (f"for {v}, {w} in pairs_of({self.ints(1)}[:4]):", (a, b)), (f"for {v} in {self.str_(1)}[:4]:", (Name(v, "str"),)),
            (f"for {v}, {w} in list({self.table(1)}.items()):", (Name(v, "str"), b)), (f"for {v} in reversed(range(3)):", (a,)),
            (f"for {v}, {w} in {self.table(1)}.copy().items():", (Name(v, "str"), b)),
        ])  # fmt: skip
        with self.inside_loop():
            inner = self.body(depth, *names)
        return self._with_else(header, inner, depth)

    def _with_else(self, header: str, inner: list[Node], depth: int, *before: Statement) -> Node:
        if self.draw.random() < 0.25:
            return Compound(header, [inner, self.body(depth, most=2)], ["else:"], before=before)
        return Compound(header, [inner], before=before)

    def while_loop(self, depth: int) -> Node:
        """`while`, which ends."""
        v = self.fresh("c") + "_"  # what nothing else assigns to
        with self.inside_loop():
            inner = [Statement(f"{v} -= 1", is_kept=True), *self.body(depth, Name(v, "int"))]
        more = f" and {self.bool_(1)}" if self.draw.random() < 0.4 else ""
        return self._with_else(f"while {v} > 0{more}:", inner, depth, Statement(f"{v} = {self.draw.randint(1, 4)}", True))

    def attempt(self, depth: int) -> Node:
        """`try`, with handlers, `else` and `finally`."""
        joints, bodies = [], [self.body(depth, most=4)]
        handlers = self.draw.choice([0, 1, 1, 1, 2, 2])
        before = self.handling
        for _ in range(handlers):
            name, kind = self.fresh("e"), self.draw.choice(CAUGHT)
            self.handling = True
            inner = self.body(depth, most=2)
            self.handling = before
            if self.draw.random() < 0.6:
                joints.append(f"except {kind} as {name}:")
                text = self.draw.choice([f"str({name})", f"f'{{{name}}}!'"])
                inner.insert(0, Statement(f"log.append({text if kind in WORDED else repr(kind)})"))
            else:
                joints.append(f"except {kind}:")
            bodies.append(inner)
        if handlers and self.draw.random() < 0.3:
            joints.append("else:")
            bodies.append(self.body(depth, most=2))
        if not handlers or self.draw.random() < 0.4:
            joints.append("finally:")
            loops, self.loops, returns = self.loops, 0, self.in_function
            bodies.append([self.tell(), self.count_on()])
            self.loops, self.in_function = loops, returns
        return Compound("try:", bodies, joints)

    def room(self, depth: int) -> Node:
        """`with`."""
        name = self.fresh("g")
        first = f"Room(log, {self.str_(0)})"
        if self.draw.random() < 0.25:
            return Compound(f"with {first}, Room(log, 'inner') as {name}:", [self.body(depth, Name(name, "int"))])
        if self.draw.random() < 0.5:
            return Compound(f"with {first} as {name}:", [self.body(depth, Name(name, "int"))])
        return Compound(f"with {first}:", [self.body(depth)])

    def choose(self, depth: int) -> Node:
        """`match`."""
        v, w = self.fresh("m"), self.fresh("m")
        options: list[tuple[str, list[tuple[str, tuple[Name, ...]]]]] = [
            (f"{self.int_(1)} % 4", [("0", ()), ("1 | 2", ()), (f"{v} if {v} > 2", (Name(v, "int"),)), ("_", ())]),
            (f"({self.int_(1)} % 3, {self.str_(0)})", [
                (f"(0, {v})", (Name(v, "str"),)), (f"({v}, 'a')", (Name(v, "int"),)),
                (f"({v}, {w}) if len({w}) > 2", (Name(v, "int"), Name(w, "str"))), ("_", ()),
            ]),
            (self.str_(1), [("'a'", ()), ("'xyz' | ''", ()), (v, (Name(v, "str"),))]),
            (self.ints(1), [
                ("[]", ()), (f"[{v}]", (Name(v, "int"),)), (f"[{v}, {w}, *_]", (Name(v, "int"), Name(w, "int"))), ("_", ()),
            ]),
            (self.bool_(1), [("True", ()), ("False", ())]),
        ]  # fmt: skip
        subject, cases = self.draw.choice(options)
        bodies = [[Compound(f"case {pattern}:", [self.body(depth, *names, most=2)])] for pattern, names in cases]
        return Compound(f"match {subject}:", [[node for body in bodies for node in body]], is_kept=False)

    def nested(self, depth: int) -> Node:
        """A function inside, which sees the variables around it, or a lambda."""
        name, v = self.fresh("f"), self.fresh("p")
        if self.draw.random() < 0.3:
            self.scope.append(Name(v, "int"))
            value = self.int_(2)
            self.scope.pop()
            node: Node = Statement(f"{name} = lambda {v}: {value} % 997")
        else:
            loops, handling, self.loops, self.handling, self.in_function = self.loops, self.handling, 0, False, True
            default = self.draw.choice(["", f", {v}b: int = 3"])
            own = [Name(v, "int")] + ([Name(f"{v}b", "int")] if default else [])
            self.scope += own
            inner = [*self.body(min(depth, 2), most=2), Statement(f"return {self.int_(1)}", True)]
            del self.scope[-len(own) :]
            self.loops, self.handling, self.in_function = loops, handling, False
            node = Compound(f"def {name}({v}: int{default}) -> int:", [inner])
        self.functions.append(name)
        return node


def generate(seed: int, size: int = 4) -> Program:
    """A program from a seed; the same one each time."""
    generator = FlowGenerator(seed)
    body: list[Node] = [Statement("log: list[str] = []", True), Statement("total = 0", True)]
    body += [generator.statement(generator.draw.choice([2, 2, 3])) for _ in range(size)]
    seen = [v.text for v in generator.scope if v.kind in ("ints", "int", "str") and v.text[-1].isdigit()][:4]
    body += [Statement(f"log.append(str({name}))") for name in seen]
    body.append(Statement("return log, total", True))
    return Program("main", PARAMETERS, RETURNS, body, (), PRELUDE)
