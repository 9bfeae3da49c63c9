"""Makes native-heavy programs: statements over `numbers`, `tensors` and `containers`, in loops and branches.

An operator whose result nobody uses is left out, with the error that it might have raised. So that all paths agree on
errors, what may raise stands only in sinks: accumulators and logs that every return gives back, writes to arguments,
prints, and conditions of bodies that have a sink.
"""

from __future__ import annotations

import random
from collections.abc import Callable

from tests.random_programs.model import Compound, Node, Program, Statement
from tests.random_programs.native import containers, tensors
from tests.random_programs.native.callees import CALLEES
from tests.random_programs.native.layout import layout_of
from tests.random_programs.native.numbers import (
    bool_expression,
    float_expression,
    int_expression,
    smooth_expression,
)
from tests.random_programs.native.scope import Name, Scope

NUMBERS = {"int": int_expression, "float": float_expression, "bool": bool_expression}


class Generator:
    """One program from one seed."""

    def __init__(self, seed: int) -> None:
        self.layout = layout_of(seed)
        self.draw = random.Random(f"program {seed}")
        known = [*self.layout.names, *self.layout.parts]
        self.scope = Scope(self.draw, known, edges=self.layout.edges, lists=self.layout.lists)
        self.kept: list[str] = []
        """Tensors that every return gives back."""

    def program(self) -> Program:
        """The whole program."""
        body = self.opening()
        depth = self.draw.choice([1, 2, 2, 2, 2, 3])
        for _ in range(self.draw.randint(2, 5)):
            body.append(self.statement(depth))
        body.append(Statement(self.result()))
        return Program("main", self.layout.parameters, self.returns(), body, CALLEES)

    def opening(self) -> list[Node]:
        """Accumulators, logs, and tensors to write to."""
        body: list[Node] = [Statement(t) for t in ("total = 0", "ftotal = 0.0", "smooth = 0.0")]
        if self.scope.lists:
            body += [Statement("log: list[int] = []"), Statement("flog: list[float] = []")]
            body += [Statement("slog: list[float] = []")]
        found = [t for t in self.scope.all("tensor") if t.is_written]
        if self.scope.chance(0.4):
            base = self.draw.choice(found)
            text = self.draw.choice(
                [f"{base.text}.clone()", f"{base.text} + {base.text}", f"flambeau.zeros_like({base.text})"]
            )
            if base.family == "bool":
                text = f"{base.text}.clone()"
            self.kept.append("kept")
            self.scope.add(Name("kept", "tensor", base.axes, base.family, is_fixed=True))
            body.append(Statement(f"kept = {text}"))
        return body

    def returns(self) -> str:
        """The annotation of what `result` returns."""
        logs = ["list[int]", "list[float]", "list[float]"] if self.scope.lists else []
        lists = [containers.TYPES[n.kind] for n in self.layout.names if n.kind in containers.TYPES]
        return f"tuple[{', '.join(['int', 'float', 'float', *logs, *['Tensor'] * len(self.kept), *lists])}]"

    def result(self) -> str:
        """A return of every sink."""
        logs = ["log", "flog", "slog"] if self.scope.lists else []
        lists = [n.text for n in self.layout.names if n.kind in containers.TYPES]
        return f"return {', '.join(['total', 'ftotal', 'smooth', *logs, *self.kept, *lists])}"

    # -- statements ---------------------------------------------------------------------------------------------------

    def statement(self, depth: int) -> Node:
        """A random statement."""
        scope = self.scope
        makers: list[tuple[float, Callable[[], Node]]] = [
            (4, self.sink), (2, self.define), (2, self.reassign), (4, lambda: tensors.write_element(scope, risky=self.risk())),
            (1, lambda: tensors.write_part(scope)), (1.5, lambda: tensors.define_view(scope)),
            (0.7, lambda: tensors.define_tensor(scope)), (0.7, lambda: tensors.reassign_tensor(scope)),
            (0.7, lambda: tensors.define_zero_dimensional(scope)), (0.8, lambda: containers.define_tuple(scope)),
            (0.5, self.call), (0.4, self.tell),
        ]  # fmt: skip
        if scope.lists:
            makers += [
                (1.5, lambda: containers.define_list(scope)), (2.5, lambda: containers.change_list(scope)),
                (0.7, lambda: containers.pop_guarded(scope)),
            ]  # fmt: skip
        if depth:
            makers += [
                (3, lambda: self.branch(depth)), (4, lambda: self.axis_loop(depth)), (3, lambda: self.counted_loop(depth)),
                (1.5, lambda: self.while_loop(depth)), (1, lambda: self.row_loop(depth)), (2, lambda: self.leave(depth)),
            ]  # fmt: skip
        weights = [weight for weight, _ in makers]
        return self.draw.choices([make for _, make in makers], weights)[0]()

    def risk(self) -> bool:
        """Whether something may raise here; a program that raises at once shows little else."""
        return self.scope.chance(0.45)

    def sink(self) -> Node:
        """A number is computed that every return gives back."""
        scope, draw = self.scope, self.draw
        in_list = scope.lists and scope.chance(0.5)
        match draw.randrange(7):
            case 0:
                if in_list:
                    return Statement(f"slog.append({smooth_expression(scope, bounded=False)})")
                return Statement(f"smooth = smooth * 0.5 + {smooth_expression(scope, bounded=True)}")
            case 1 | 2 | 3:
                value = float_expression(scope, 2, risky=self.risk())
                return Statement(f"flog.append({value})" if in_list else f"ftotal = ftotal * 0.5 + {value}")
        value = int_expression(scope, 2, risky=self.risk())
        if in_list:
            return Statement(f"log.append({value})")
        return Statement(
            f"total = total * 31 + {value}" if scope.edges else f"total = (total * 31 + {value}) % 1000003"
        )

    def define(self) -> Node:
        """A new number."""
        kind = self.draw.choice(["int", "int", "float", "float", "bool"])
        text = NUMBERS[kind](self.scope, 2)
        return Statement(f"{self.scope.add(self.scope.fresh(kind)).text} = {text}")

    def reassign(self) -> Node:
        """An old number gets a new value."""
        kind = self.draw.choice(["int", "int", "float", "bool"])
        target = self.scope.changeable(kind)
        if target is None:
            return self.define()
        value = NUMBERS[kind](self.scope, 2)
        if kind == "bool" or self.scope.chance(0.5):
            return Statement(f"{target.text} = {value}")
        signs = ["+", "-"]
        if self.scope.edges:
            signs += ["*"] + (["<<", ">>", "&", "|", "^"] if kind == "int" else ["/"])
        sign = self.draw.choice(signs)
        return Statement(f"{target.text} {sign}= {f'({value}) % 70' if sign in ('<<', '>>') else value}")

    def call(self) -> Node:
        """A call of a function that looks through a tensor, writes to one, or raises."""
        scope, draw = self.scope, self.draw
        match draw.randrange(3):
            case 0:
                found = [t for t in scope.all("tensor") if t.axes]
                if found:
                    return Statement(f"total += find({draw.choice(found).text}, {float_expression(scope, 1)})")
            case 1:
                found = [t for t in scope.all("tensor") if t.axes and t.is_written and t.family != "bool"]
                if found:
                    new, t = scope.fresh("tensor"), draw.choice(found)
                    text = f"smear({t.text}, {draw.choice([2, -1, 3])})"
                    scope.add(Name(new.text, "tensor", t.axes, t.family, is_written=False))
                    return Statement(f"{new.text} = {text}")
        return Statement(f"total += require({int_expression(scope, 1)} % 16, {draw.randint(8, 20)})")

    def tell(self) -> Node:
        """A print, an assertion or a raise."""
        scope, draw = self.scope, self.draw
        a = f"({int_expression(scope, 1, risky=self.risk())} + n)"
        match draw.randrange(4):
            case 0:
                return Statement(f"print({a}, {bool_expression(scope, 1)})")
            case 1:
                return Statement(f"print(f'at {{{draw.choice([x.text for x in scope.all('int')])}}}', 'of', n)")
            case 2:
                return Statement(f"assert {a} != {draw.randint(-9, 9)}, {draw.choice(['f', ''])}'found {{n}}'")
        error = draw.choice(["ValueError", "RuntimeError", "IndexError"])
        return Compound(f"if {a} % 16 == {draw.randint(0, 15)}:", [[Statement(f"raise {error}(f'round {{n}}')")]])

    # -- control ------------------------------------------------------------------------------------------------------

    def body(self, depth: int, *names: Name, loop: bool = False) -> list[Node]:
        """Statements in a scope of their own, a sink among them."""
        with self.scope.inner(*names, loop=loop):
            count = self.draw.choice([0, 1, 1, 2])
            at = self.draw.randint(0, count)
            return [self.sink() if i == at else self.statement(depth - 1) for i in range(count + 1)]

    def branch(self, depth: int) -> Node:
        """An if."""
        condition = bool_expression(self.scope, 2, risky=self.risk())
        bodies, joints = [self.body(depth)], []
        if self.scope.chance(0.25):
            joints.append(f"elif {bool_expression(self.scope)}:")
            bodies.append(self.body(depth))
        if self.scope.chance(0.5):
            joints.append("else:")
            bodies.append(self.body(depth))
        return Compound(f"if {condition}:", bodies, joints)

    def axis_loop(self, depth: int) -> Node:
        """A loop over the indexes of an axis, forwards or backwards, whole or in steps."""
        found = [t for t in self.scope.all("tensor") if t.axes]
        if not found:
            return self.counted_loop(depth)
        t = self.draw.choice(found)
        axis = self.draw.randrange(len(t.axes))
        size = self.draw.choice(
            [f"{t.text}.shape[{axis}]", f"{t.text}.size({axis})"] + ([f"len({t.text})"] if not axis else [])
        )
        i = self.scope.fresh("int", below=t.axes[axis], is_fixed=True)
        form = self.draw.choice(["{}", "{}", "{}", "1, {}", "0, {}, 2", "{} - 1, -1, -1", "{} - 1, 0, -2"])
        return Compound(f"for {i.text} in range({form.format(size)}):", [self.loop_body(depth, i)])

    def loop_body(self, depth: int, *names: Name) -> list[Node]:
        """A loop's body; sometimes its variable changes at the end, which changes nothing about the loop."""
        made = self.body(depth, *names, loop=True)
        first = names[0] if names else None
        if first is not None and first.kind == "int" and self.scope.chance(0.1):
            with self.scope.inner(Name(first.text, "int"), loop=True):
                made += [Statement(f"{first.text} = {first.text} * 2 - 7"), self.sink()]
        return made

    def counted_loop(self, depth: int) -> Node:
        """A loop over a range that has nothing to do with any tensor."""
        i = self.scope.fresh("int", is_fixed=True)
        a = int_expression(self.scope, 1)
        lists = [x.text for kind in ("ints", "floats") for x in self.scope.all(kind)]
        bounds = self.draw.choice([
            str(self.draw.randint(0, 4)), "n", "n, 0, -1", "1, n, 2", "3, -4, -3", f"{a} % 4", f"{a} % 3, n", "2, 2", "-1, n",
            f"len({self.draw.choice(lists)}) % 6" if lists else "0",
        ])  # fmt: skip
        return Compound(f"for {i.text} in range({bounds}):", [self.loop_body(depth, i)])

    def while_loop(self, depth: int) -> Node:
        """A loop that a counter ends at the latest."""
        w = self.scope.fresh("while").text
        condition = bool_expression(self.scope, 2)
        header = self.draw.choice(
            [f"while {w} < {self.draw.randint(1, 5)} and {condition}:", f"while {w} < n:", "while True:"]
        )
        counter = Name(w, "int", is_fixed=True)
        body: list[Node] = [Statement(f"{w} += 1", is_kept=True), *self.body(depth, counter, loop=True)]
        if header == "while True:":
            with self.scope.inner(counter):
                condition = f"{w} > {self.draw.randint(1, 4)} or {bool_expression(self.scope, 1)}"
                leave = Compound(f"if {condition}:", [[Statement("break", is_kept=True)]], is_kept=True)
            body.insert(1, leave)
        return Compound(header, [body], before=(Statement(f"{w} = 0"),))

    def row_loop(self, depth: int) -> Node:
        """A loop over a tensor's rows, which are views, or over a copy of a list."""
        scope, draw = self.scope, self.draw
        kind = draw.choice(["ints", "floats", "tensors", "tensor", "tensor"])
        found = [x for x in scope.all(kind) if kind != "tensor" or x.axes]
        if not found:
            return self.axis_loop(depth)
        it = draw.choice(found)
        if kind in ("ints", "floats"):
            v, i = scope.fresh(kind[:-1], is_fixed=True), scope.fresh("int", is_fixed=True)
            form = draw.choice([f"{v.text} in {it.text}.copy()", f"{i.text}, {v.text} in enumerate({it.text}[:4])"])
            return Compound(f"for {form}:", [self.loop_body(depth, *([i, v] if "enumerate" in form else [v]))])
        row = scope.fresh(
            "tensor", axes=it.axes[kind == "tensor" :], family=it.family, is_fixed=True, is_written=it.is_written
        )
        text = f"{it.text}.copy()" if kind == "tensors" else it.text
        return Compound(f"for {row.text} in {text}:", [self.loop_body(depth, row)])

    def leave(self, depth: int) -> Node:
        """A way out of a loop or of the program."""
        condition = bool_expression(self.scope, 1)
        if self.scope.loops and self.scope.chance(0.75):
            body = self.body(depth) if self.scope.chance(0.3) else []
            return Compound(f"if {condition}:", [[*body, Statement(self.draw.choice(["break", "continue"]))]])
        return Compound(
            f"if {condition} and {bool_expression(self.scope, 1)}:", [[*self.body(depth), Statement(self.result())]]
        )


def generate(seed: int) -> Program:
    """A program from a seed; the same one each time."""
    return Generator(seed).program()
