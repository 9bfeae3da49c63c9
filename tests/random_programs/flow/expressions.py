"""Expressions of each kind, from what is in scope. None of them raises but where it is asked for."""

from __future__ import annotations

import random
from dataclasses import dataclass

WORDS = ("a", "xyz", "Quick", "", "two words", "tab\\t", "b-1")
FORMATS = ("d", "5d", "<4d", "+d", "05d", "x", "b", ",d", "^7", ">3")
FLOAT_FORMATS = (".3f", "8.2f", ".2e", "+.1f", "g", ".1%", "010.4f")
STRING_FORMATS = ("", ">8", "<6", "^9", ".2", "*^7")


@dataclass(frozen=True, slots=True)
class Name:
    """A variable."""

    text: str
    kind: str


class Expressions:
    """Makes expressions."""

    def __init__(self, seed: int) -> None:
        self.draw = random.Random(seed)
        self.scope: list[Name] = [
            Name("n", "int"), Name("k", "int"), Name("x", "float"), Name("flag", "bool"), Name("s", "str"),
            Name("ints", "ints"),
        ]  # fmt: skip
        self.functions: list[str] = []
        """Nested functions in scope, of an int to an int."""
        self.count = 0

    def fresh(self, prefix: str) -> str:
        """A name that is not taken."""
        self.count += 1
        return f"{prefix}{self.count}"

    def some(self, kind: str) -> str | None:
        """A variable of a kind, if there is one."""
        found = [name.text for name in self.scope if name.kind == kind]
        return self.draw.choice(found) if found else None

    def any_of(self, kind: str, depth: int = 2) -> str:
        """An expression of a kind."""
        makers = {
            "int": self.int_, "bool": self.bool_, "str": self.str_, "ints": self.ints, "float": self.float_,
            "table": self.table, "pair": self.pair, "strs": self.strs,
        }  # fmt: skip
        return makers[kind](depth)

    def int_(self, depth: int = 2) -> str:
        """A number, small enough to be the same with 64 bits."""
        names = [self.some("int") or "n", self.some("int") or "k", str(self.draw.randint(-9, 40))]
        if depth <= 0 or self.draw.random() < 0.25:
            return self.draw.choice(names)
        a, b = self.int_(depth - 1), self.int_(depth - 2)
        forms = [
            f"({a} + {b})", f"({a} - {b})", f"({a} * {b} % 101)", f"({a} % {self.draw.randint(2, 9)})",
            f"({a} // {self.draw.randint(2, 9)})", f"min({a}, {b})", f"max({a}, {b}, 0)", f"abs({a})",
            f"({a} if {self.bool_(depth - 1)} else {b})", f"int({self.bool_(depth - 1)})", f"({a} ^ {b}) % 64",
            f"(-{a})", f"len({self.str_(depth - 1)})", f"len({self.ints(depth - 1)})", f"sum({self.ints(depth - 1)})",
            f"max({self.ints(depth - 1)}, default={b})", f"ord({self.str_(0)}[:1] or 'q')", f"divmod({a}, 7)[1]",
        ]  # fmt: skip
        return f"({self.draw.choice(forms + self._calls(a, b, depth))})"

    def _calls(self, a: str, b: str, depth: int) -> list[str]:
        """Calls of functions, with arguments in every form."""
        v = self.fresh("v")
        forms = [
            f"fold({a}, {b}, {self.draw.randint(0, 9)})", f"fold({a})", f"fold(*({a}, {b}, 4))", f"named({a})",
            f"named({a}, c={b})", f"named(b={a}, a={b})", f"named({a}, *({b},), c=1)", f"gather({a}, p={b}, qq=3)",
            f"spread({a}, {b}, one={a})", f"apply(lambda {v}: {v} + {b}, {a})", f"apply(abs, {a}, 1)",
            f"apply(lambda {v}: {v} * 2 if {v} > {self.draw.randint(0, 9)} else -{v}, {a}, times=3)",
            f"fib({a} % 8)", f"sum(count_up({a} % 9, 2))", f"sum([p * 10 + q for p, q in pairs_of({self.ints(depth - 1)})])",
            f"len(list(both({self.ints(depth - 1)}, {b} % 4)))",
        ]  # fmt: skip
        if (pair := self.some("pair")) is not None:
            forms.append(f"{pair}[0]")
        if (table := self.some("table")) is not None:
            forms += [f"{table}.get({self.str_(0)}, {b})", f"len({table})", f"sum({table}.values())"]
        if (rest := self.some("rest")) is not None:
            forms += [f"sum({rest})", f"fold(*{rest})"]
        if (maybe := self.some("maybe")) is not None:
            forms.append(f"({maybe} if {maybe} is not None else {b})")
        forms += [f"{f}({a})" for f in self.functions] * 2 + [f"apply({f}, {a})" for f in self.functions]
        return forms

    def float_(self, depth: int = 2) -> str:
        """A number with a point."""
        return self.draw.choice(["x", f"({self.int_(depth - 1)} * 0.25)", f"(x + {self.int_(0)})", f"float({self.int_(0)})"])

    def bool_(self, depth: int = 2) -> str:
        """A condition."""
        if depth <= 0:
            return self.draw.choice([self.some("bool") or "flag", f"{self.int_(0)} > {self.int_(0)}"])
        a, b = self.int_(depth - 1), self.int_(0)
        few = ", ".join(str(self.draw.randint(-3, 9)) for _ in range(3))
        v = self.fresh("v")
        forms = [
            f"{a} < {b}", f"{a} == {b}", f"{a} != {b}", f"{self.draw.randint(-9, 9)} <= {a} < 20", f"{a} % 2 == 0",
            f"not {self.bool_(depth - 1)}", f"({self.bool_(depth - 1)} and {self.bool_(depth - 1)})",
            f"({self.bool_(depth - 1)} or {self.bool_(depth - 1)})", f"{a} in {{{few}}}", f"{a} in ({few})",
            f"{a} not in [{few}]", f"{self.str_(0)} in {self.str_(1)}", f"{self.str_(0)} < {self.str_(0)}",
            f"any([{v} > {b} for {v} in {self.ints(depth - 1)}])", f"all([{v} != {b} for {v} in {self.ints(depth - 1)}])",
            f"{self.str_(1)}.startswith('a')", f"bool({a})", f"len({self.ints(depth - 1)}) > 2",
        ]  # fmt: skip
        if (table := self.some("table")) is not None:
            forms.append(f"{self.str_(0)} in {table}")
        if (maybe := self.some("maybe")) is not None:
            forms += [f"{maybe} is None", f"({maybe} is not None and {maybe} > {b})"]
        return f"({self.draw.choice(forms)})"

    def str_(self, depth: int = 2) -> str:
        """A text."""
        plain = [self.some("str") or "s", f"'{self.draw.choice(WORDS)}'"]
        if depth <= 0 or self.draw.random() < 0.25:
            return self.draw.choice(plain)
        a, b = self.str_(depth - 1), self.str_(0)
        v = self.fresh("v")
        forms = [
            f"({a} + {b})", self.formatted(depth - 1), self.formatted(depth - 1), f"{a}.upper()", f"{a}[:3]",
            f"{a}[::-1]", f"{a}.replace('a', 'ou')", f"'.'.join([{a}, {b}])", f"str({self.int_(depth - 1)})",
            f"({a} if {self.bool_(depth - 1)} else {b})", f"({b} * 2)", f"repr({b})", f"named_by({self.int_(depth - 1)})",
            f"shape_of({self.ints(depth - 1)})", f"'-'.join([str({v}) for {v} in {self.ints(depth - 1)}])",
            f"{a}.strip().title()", f"'%s|%d' % ({b}, {self.int_(0)})", f"'{{}}~{{:>3}}'.format({b}, {self.int_(0)})",
        ]  # fmt: skip
        if (pair := self.some("pair")) is not None:
            forms.append(f"{pair}[1]")
        return f"({self.draw.choice(forms)})[:40]"

    def formatted(self, depth: int) -> str:
        """A formatted text."""
        parts = []
        for _ in range(self.draw.randint(1, 3)):
            match self.draw.randint(0, 4):
                case 0:
                    parts.append(f"{{{self._plain('int', depth)}:{self.draw.choice(FORMATS)}}}")
                case 1:
                    parts.append(f"{{{self._plain('float', depth)}:{self.draw.choice(FLOAT_FORMATS)}}}")
                case 2:
                    spec, how = self.draw.choice(STRING_FORMATS), self.draw.choice(["", "!r", "!s"])
                    parts.append(f"{{{self._plain('str', 0)}{how}{':' if spec else ''}{spec}}}")
                case 3:
                    parts.append(f"{{{self._plain('int', depth)}}}")
                case _:
                    parts.append(self.draw.choice(["_", "{{}}", "=", " "]))
        return f'f"{"".join(parts)}"'

    def _plain(self, kind: str, depth: int) -> str:
        """An expression that may stand in a formatted text: no quotes of its kind, no braces, no lambda's colon."""
        for _ in range(4):
            text = self.any_of(kind, depth)
            if not set('"{}:\\!') & set(text):
                return text
        return {"int": "n", "float": "x", "str": "s"}[kind]

    def ints(self, depth: int = 2) -> str:
        """A list of numbers."""
        plain = [self.some("ints") or "ints", f"[{self.int_(0)}, {self.int_(0)}]"]
        if depth <= 0 or self.draw.random() < 0.25:
            return self.draw.choice(plain)
        a, v = self.ints(depth - 1), self.fresh("v")
        w = self.fresh("w")
        bound = self.draw.randint(0, 9)
        forms = [
            f"[{v} * 2 % 97 for {v} in {a}]", f"[{v} for {v} in {a} if {v} > {bound}]",
            f"[{v} + {w} for {v} in {a} if {v} % 2 for {w} in range(2) if {w} != {bound}]", f"{a}[1:]", f"{a}[::-1]",
            f"sorted({a})", f"({a} + [{self.int_(0)}])", f"list(range({self.int_(0)} % 5))", f"list(count_up({bound}))",
            f"list(map(lambda {v}: {v} + {bound}, {a}))", f"list(filter(lambda {v}: {v} > {bound}, {a}))",
            f"[{w} for {v}, {w} in enumerate({a}) if {v} < 4]", f"[len({v}) for {v} in {self.strs(depth - 1)}]",
            f"[{v} - {w} for {v}, {w} in zip({a}, {self.ints(0)})]", f"sorted({a}, key=lambda {v}: -{v} % 7)",
            f"[{v} for {v}, _ in pairs_of({a})]", f"[{w} for {v} in [{a}, [1]] for {w} in {v}]",
            f"list(reversed({a}))",
        ]  # fmt: skip
        if (table := self.some("table")) is not None:
            forms += [f"sorted({table}.values())", f"[{v} for {v} in {table}.values() if {v} < {bound}]"]
        return f"{self.draw.choice(forms)}[:9]"

    def strs(self, depth: int = 2) -> str:
        """A list of texts."""
        plain = [self.some("strs") or "['p', 'q']", f"[{self.str_(0)}, {self.str_(0)}]"]
        if depth <= 0:
            return self.draw.choice(plain)
        v = self.fresh("v")
        forms = [f"[str({v}) for {v} in {self.ints(depth - 1)}]", f"{self.str_(0)}.split(' ')", f"sorted({plain[1]})"]
        return self.draw.choice(plain + forms)

    def table(self, depth: int = 2) -> str:
        """A dict of numbers by text."""
        a, v = self.int_(depth - 1), self.fresh("v")
        forms = [
            f"{{'a': {a}, 'xyz': {self.int_(0)}}}", f"{{str({v}): {v} * 3 for {v} in {self.ints(depth - 1)}}}",
            f"{{{v}: len({v}) for {v} in {self.strs(depth - 1)} if {v} != 'a'}}", f"dict(zip({self.strs(0)}, {self.ints(0)}))",
        ]  # fmt: skip
        if (table := self.some("table")) is not None:
            forms.append(f"{table}.copy()")
        return self.draw.choice(forms)

    def pair(self, depth: int = 2) -> str:
        """A tuple."""
        return f"({self.int_(depth - 1)}, {self.str_(depth - 1)})"
