"""The classes and functions of a program, and their source."""

from __future__ import annotations

from tests.random_programs.model import Compound, Node, Statement
from tests.random_programs.typed.kinds import BOOL, FLOAT, INT, PLAIN, STR, Callee, Class, Kind, Name
from tests.random_programs.typed.statements import Statements

OPERATORS = {
    "__len__": ("", "int", "return self.{f} % 7"),
    "__lt__": (", other: '{root}'", "bool", "return self.{f} < other.{f}"),
    "__eq__": (", other: '{root}'", "bool", "return self.{f} == other.{f}"),
    "__getitem__": (", i: int", "int", "return self.{f} + i"),
    "__setitem__": (", i: int, to: int", "None", "self.{f} = (to + i) % 1009"),
    "__contains__": (", v: int", "bool", "return v % 3 == self.{f} % 3"),
    "__call__": (", v: int = 2", "int", "return self.{f} % 50 + v"),
    "__bool__": ("", "bool", "return self.{f} > 3"),
    "__str__": ("", "str", "return f'{name} {{self.{f}:03d}}'"),
    "__int__": ("", "int", "return self.{f} + 1"),
    "__invert__": ("", "int", "return -self.{f}"),
    "__rsub__": (", v: int", "int", "return v - self.{f}"),
    "__iter__": ("", "", "yield self.{f}"),
    "__enter__": ("", "int", "self.{f} = (self.{f} + 7) % 1009"),
    "__add__": (", other: '{root}'", "'{name}'", "return {made}"),
    "__sub__": (", other: '{root}'", "'{name}'", "return {made}"),
    "__mul__": (", by: int", "'{name}'", "return {made}"),
    "__iadd__": (", by: int", "'{name}'", "self.{f} = (self.{f} + by) % 1009"),
}
"""Parameters, result and what is done; `{f}` is a field that is a number."""
EXIT = "def __exit__(self, kind: Any, value: Any, trace: Any) -> None:"
METHODS = ("grow", "look", "turn", "mix", "find", "keep")


class Definitions(Statements):
    """Makes classes and functions."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.ranks = 0

    def next_rank(self) -> int:
        """Above all that is there."""
        self.ranks += 1
        return self.ranks

    def everything(self) -> list[Node]:
        """All that stands before the main function."""
        makers = [self.enum_class, self.record] + [self.dataclass_] * 2 + [self.plain_class] * 3 + [self.subclass] * 3
        nodes = [self.draw.choice(makers)() for _ in range(self.draw.randint(2, 5))]
        nodes += [
            self.draw.choice([self.function, self.function, self.generator])() for _ in range(self.draw.randint(1, 3))
        ]
        return nodes

    def new_class(self, form: str, base: Class | None = None) -> Class:
        """A class without fields."""
        family = len(self.classes) if base is None else base.family
        # A process knows named tuples by name: those of all programs together.
        return Class(self.fresh(f"R{self.seed}_" if form == "record" else "C"), form, family, base)

    # -- classes of values --------------------------------------------------------------------------------------------

    def enum_class(self) -> Node:
        """An enum of numbers."""
        made = self.new_class("enum")
        made.members = ("RED", "BLUE", "GREEN")[: self.draw.choice([2, 3])]
        self.classes[made.name] = made
        values = [f"{member} = {self.draw.randint(0, 9) + 10 * i}" for i, member in enumerate(made.members)]
        return Compound(f"class {made.name}(Enum):", [[Statement(v, is_kept=True) for v in values]])

    def fields(self, made: Class, count: int, *, defaults: bool) -> None:
        """New fields: the first is a number."""
        had_default = any(f.default for f in made.given)
        for i in range(count):
            kind = INT if i == 0 else self.any_kind(2, made.family)
            default = ""
            if had_default or (defaults and self.chance(0.3)):
                kind = INT if i == 0 else self.draw.choice(PLAIN)
                default, had_default = self.literal(kind), True
            made.fields.append(Name(self.fresh("f"), kind, default))
        made.given += made.fields

    def literal(self, kind: Kind) -> str:
        """A constant."""
        return {INT: "3", STR: "'d'", BOOL: "True", FLOAT: "1.5"}[kind]

    def shows(self, made: Class) -> Node:
        """The method that says what is in an object."""
        known, self.scope = self.scope, []
        body: list[Node] = []
        parts = []
        for f in made.all_fields():
            if f.text == "link":
                parts.append("('+' if self.link is not None else '-')")
                continue
            v = self.fresh("v")
            body.append(Statement(f"{v} = self.{f.text}", is_kept=True))
            parts.append(self.shown(f.kind, v))
        self.scope = known
        body.append(
            Statement(f"return '{made.name}(' + {' + SEP + '.join(parts)} + ')'".replace("SEP", "' '"), is_kept=True)
        )
        return Compound("def show(self) -> str:", [body], is_kept=True)

    def record(self) -> Node:
        """A named tuple."""
        made = self.new_class("record")
        self.fields(made, self.draw.randint(1, 3), defaults=True)
        self.classes[made.name] = made
        lines: list[Node] = [self.declared(f) for f in made.fields]
        return Compound(f"class {made.name}(NamedTuple):", [[*lines, self.shows(made), *self.methods(made)]])

    def declared(self, name: Name) -> Statement:
        """A field of a class body."""
        return Statement(f"{name.text}: {name.kind.text}{f' = {name.default}' if name.default else ''}", is_kept=True)

    def dataclass_(self) -> Node:
        """A dataclass, sometimes one that can be sorted, or that inherits."""
        bases = [c for c in self.classes.values() if c.form == "dataclass"]
        base = self.draw.choice(bases) if bases and self.chance(0.5) else None
        made = self.new_class("dataclass", base)
        made.given = list(base.given) if base else []
        self.fields(made, self.draw.randint(1, 3), defaults=True)
        made.is_ordered = base is None and all(f.kind in (INT, STR, FLOAT) for f in made.fields) and self.chance(0.5)
        if made.is_ordered:
            made.operators.add("__lt__")
        made.operators.add("__eq__")
        self.known(made)
        lines: list[Node] = [self.declared(f) for f in made.fields]
        extra = self.fresh("f")
        lines.append(Statement(f"{extra}: list[int] = field(default_factory=list)", is_kept=True))
        made.fields.append(Name(extra, Kind("list", (INT,))))
        made.given.append(Name(extra, Kind("list", (INT,)), "-"))
        if self.chance(0.3):
            lines.append(
                Compound("def __post_init__(self) -> None:", [[Statement(f"self.{extra}.append({len(lines)})")]])
            )
        mark = "@dataclass(order=True)" if made.is_ordered else "@dataclass"
        name = f"class {made.name}({base.name}):" if base else f"class {made.name}:"
        return Compound(name, [[*lines, self.shows(made), *self.methods(made)]], before=[Statement(mark, True)])

    def known(self, made: Class) -> None:
        """From here on the class can be used."""
        self.classes[made.name] = made
        if made.base is not None:
            made.base.subclasses.append(made)

    # -- classes with a constructor -----------------------------------------------------------------------------------

    def plain_class(self, base: Class | None = None) -> Node:
        """A class."""
        made = self.new_class("class", base)
        inherited = list(base.given) if base else []
        self.fields(made, self.draw.randint(1, 3), defaults=True)
        own = list(made.fields)
        if any(f.default for f in inherited):
            own = [Name(f.text, f.kind, f.default or "None") for f in own]
        made.given = inherited + made.fields
        if any(f.default for f in inherited) and not all(f.default for f in made.fields):
            made.given = [Name(f.text, f.kind) for f in made.given]
        first = [f"self.{f.text} = {f.text}" for f in made.fields]
        if base is not None:
            first.insert(0, f"super().__init__({', '.join(f.text for f in inherited)})")
        for _ in range(self.draw.randint(0, 2)):
            kind, name = self.any_kind(2, made.family), self.fresh("f")
            known, self.scope = self.scope, list(made.given)
            first.append(f"self.{name}: {kind.text} = {self.value(kind, 1)}")
            self.scope = known
            made.fields.append(Name(name, kind))
        self.known(made)
        if self.chance(0.3) and base is None:
            first.append(f"self.link: Optional[{made.name}] = None")
            made.fields.append(Name("link", Kind("optional", (made.kind,))))
        parameters = "".join(f", {self.parameter(f)}" for f in made.given)
        init = Compound(f"def __init__(self{parameters}):", [[Statement(line, is_kept=True) for line in first]])
        name_ = f"class {made.name}({base.name}):" if base else f"class {made.name}:"
        return Compound(name_, [[init, self.shows(made), *self.operators(made), *self.methods(made)]])

    def subclass(self) -> Node:
        """A class that inherits."""
        bases = [c for c in self.classes.values() if c.form == "class"]
        return self.plain_class(self.draw.choice(bases) if bases else None)

    def parameter(self, name: Name, made: Class | None = None) -> str:
        """A parameter as written, in a class that may not be there yet."""
        kind = name.kind.text if made is None else self.quoted(name.kind, made)
        return f"{name.text}: {kind}{f' = {name.default}' if name.default else ''}"

    def operators(self, made: Class) -> list[Node]:
        """A few methods that stand for operators."""
        f = next(f.text for f in made.fields if f.kind == INT)
        nodes: list[Node] = []
        root = [*made.line()][-1]
        for operator in self.draw.sample(sorted(OPERATORS), self.draw.randint(0, 5)):
            heads, returns, text = OPERATORS[operator]
            if operator in ("__lt__", "__eq__") and made is not root:
                continue
            if returns == "'{name}'" and (made is not root and made.has(operator)):
                continue
            known, rank = self.scope, self.rank
            self.scope, self.rank = [Name("self", made.kind, is_fixed=True)], 0
            if "{made}" in text:
                self.scope += [Name("other", root.kind)] if "other" in heads else [Name("by", INT)]
                new = f"{made.name}({self.given(made.given, 1)})"
                text = text.replace("{made}", new.replace("{", "{{").replace("}", "}}"))
            self.scope, self.rank = known, rank
            words = {
                "f": f,
                "root": made.name if "{made}" in OPERATORS[operator][2] and made is not root else root.name,
            }
            words |= {"name": made.name, "made": ""}
            lines = [Statement(text.format(**words))]
            lines += {
                "__iter__": [Statement(f"for i in range(2):\n            yield self.{f} * i")], "__iadd__": [Statement("return self", True)],
                "__enter__": [Statement(f"return self.{f}", True)],
            }.get(operator, [])  # fmt: skip
            arrow = f" -> {returns.format(**words)}" if returns else ""
            nodes.append(Compound(f"def {operator}(self{heads.format(**words)}){arrow}:", [lines]))
            made.operators.add(operator)
            if operator == "__enter__":
                nodes.append(Compound(EXIT, [[Statement(f"self.{f} = self.{f} // 2")]]))
        if self.chance(0.3):
            made.operators.add("set_key")
            nodes.append(
                Compound(
                    "def spot(self) -> int:",
                    [[Statement(f"return self.{f} + 1", True)]],
                    before=[Statement("@property", True)],
                )
            )
            nodes.append(
                Compound(
                    "def spot(self, to: int) -> None:",
                    [[Statement(f"self.{f} = to % 1009")]],
                    before=[Statement("@spot.setter", True)],
                )
            )
        return nodes

    def methods(self, made: Class) -> list[Node]:
        """Methods, some in place of those of the base."""
        nodes = []
        inherited = {m.name: m for m in made.base.all_methods()} if made.base else {}
        for name in self.draw.sample(METHODS, self.draw.randint(0, 3)):
            over = inherited.get(name)
            if over is None:
                forms = ["method"] * 4 + ["property", "static"]
                callee = Callee(
                    f"{name}",
                    self.parameters(),
                    self.any_kind(1, made.family),
                    self.next_rank(),
                    self.draw.choice(forms),
                )
                taken = {m.name for subclass in made.under()[1:] for m in subclass.methods}
                if name in taken:
                    continue
                if callee.form == "property":
                    if f"{name}_" in taken or f"{name}_" in inherited:
                        continue
                    callee = Callee(f"{name}_", (), callee.returns, callee.rank, "property")
            elif over.form == "method":
                callee = over
            else:
                continue
            nodes.append(self.method(made, callee, over is not None))
            made.methods.append(callee)
        return nodes

    def parameters(self) -> tuple[Name, ...]:
        """Parameters of a function."""
        found = [Name(self.fresh("p"), self.any_kind(1)) for _ in range(self.draw.randint(0, 2))]
        if self.chance(0.3):
            kind = self.draw.choice(PLAIN)
            found.append(Name(self.fresh("p"), kind, self.literal(kind)))
        return tuple(found)

    def method(self, made: Class, callee: Callee, is_over: bool) -> Node:
        """One method."""
        known, self.scope = self.scope, list(callee.parameters)
        if callee.form != "static":
            self.scope.append(Name("self", made.kind, is_fixed=True))
        body: list[Node] = []
        if is_over and self.chance(0.5):
            name, names = self.fresh("u"), ", ".join(p.text for p in callee.parameters)
            body.append(Statement(f"{name} = super().{callee.name}({names})"))
            self.scope.append(Name(name, callee.returns))
        body += self.function_body(callee)
        self.scope = known
        heads = "".join(f", {self.parameter(p, made)}" for p in callee.parameters)
        first = "" if callee.form == "static" else "self"
        mark = {"property": [Statement("@property", True)], "static": [Statement("@staticmethod", True)]}.get(
            callee.form, []
        )
        header = f"def {callee.name}({(first + heads).removeprefix(', ')}) -> {self.quoted(callee.returns, made)}:"
        return Compound(header, [body], before=mark)

    def quoted(self, kind: Kind, made: Class) -> str:
        """An annotation, in quotes where it names the class itself."""
        return repr(kind.text) if made.name in kind.text else kind.text

    def function_body(self, callee: Callee) -> list[Node]:
        """Statements and a result."""
        rank, loops, returns = self.rank, self.loops, self.returns
        self.rank, self.loops, self.returns = callee.rank, 0, callee.returns
        body = [node for _ in range(self.draw.randint(0, 3)) for node in self.statement(2)]
        body.append(Statement(f"return {self.value(callee.returns)}", True))
        self.rank, self.loops, self.returns = rank, loops, returns
        return body

    # -- functions ----------------------------------------------------------------------------------------------------

    def function(self) -> Node:
        """A function."""
        callee = Callee(self.fresh("g"), self.parameters(), self.any_kind(), self.next_rank(), "function")
        known, self.scope = self.scope, list(callee.parameters)
        body = self.function_body(callee)
        self.scope = known
        self.functions.append(callee)
        heads = ", ".join(self.parameter(p) for p in callee.parameters)
        return Compound(f"def {callee.name}({heads}) -> {callee.returns.text}:", [body])

    def generator(self) -> Node:
        """A function that yields, in a loop."""
        callee = Callee(self.fresh("y"), self.parameters(), self.plain_kind(1), self.next_rank(), "generator")
        known, rank = self.scope, self.rank
        self.scope, self.rank, self.returns = list(callee.parameters), callee.rank, callee.returns
        v = self.fresh("i")
        self.scope.append(Name(v, INT, is_fixed=True))
        inner: list[Node] = [Statement(f"yield {self.value(callee.returns)}")]
        if self.chance(0.5):
            inner.insert(
                0, Compound(f"if {self.value(BOOL)}:", [[Statement(self.draw.choice(["continue", "break", "return"]))]])
            )
        self.scope, self.rank, self.returns = known, rank, None
        self.generators.append(callee)
        heads = ", ".join(self.parameter(p) for p in callee.parameters)
        body = [Compound(f"for {v} in range({self.draw.randint(1, 3)}):", [inner])]
        return Compound(f"def {callee.name}({heads}) -> Iterator[{callee.returns.text}]:", [body])
