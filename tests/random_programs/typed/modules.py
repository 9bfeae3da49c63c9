"""Makes modules out of modules that each program makes for itself: attributes of every type, methods, containers."""

from __future__ import annotations

from tests.random_programs.flow.generate import PARAMETERS, RETURNS
from tests.random_programs.model import Compound, Node, Program, Statement
from tests.random_programs.typed.definitions import Definitions
from tests.random_programs.typed.generate import PRELUDE
from tests.random_programs.typed.kinds import BOOL, INT, PLAIN, Callee, Class, Name
from tests.random_programs.typed.values import FIRST

IMPORT = "from flambeau import nn\n"


class ModuleDefinitions(Definitions):
    """Makes classes of modules."""

    def module_class(self) -> Node:
        """A module with attributes and methods, sometimes one that inherits from another."""
        bases = [m for m in self.modules.values() if m.base is None]
        base = self.draw.choice(bases) if bases and self.chance(0.3) else None
        made = Class(self.fresh("M"), "module", 1000, base)
        for i in range(self.draw.randint(1, 3)):
            made.fields.append(Name(self.fresh("f"), INT if i == 0 else self.any_kind(2)))
        made.given = [*(base.given if base else []), *made.fields]
        self.modules[made.name] = made
        parameters = "".join(f", {self.parameter(f)}" for f in made.given)
        above = ", ".join(f.text for f in base.given) if base else ""
        first = [Statement(f"super().__init__({above})", True)]
        first += [Statement(f"self.{f.text} = {f.text}", True) for f in made.fields]
        init = Compound(f"def __init__(self{parameters}):", [first])
        notes: list[Node] = [Statement(f"{f.text}: {f.kind.text}", True) for f in made.fields if self.needs_note(f)]
        forward = Callee("forward", self.parameters(), self.any_kind(1), self.next_rank())
        own = self.methods(made) + ([self.method(made, forward, False)] if base is None else [])
        if base is None:
            made.methods.append(forward)
        header = f"class {made.name}({base.name if base else 'nn.Module'}):"
        return Compound(header, [[*notes, init, self.shows(made), *own]])

    def needs_note(self, name: Name) -> bool:
        """Whether the value alone does not say the type of an attribute; sometimes it is said all the same."""
        return self.is_loose(name.kind) or name.kind.head in ("list", "dict") or self.chance(0.3)

    def whole(self) -> tuple[Node, list[Name]]:
        """The outermost module, and what its `forward` sees of it."""
        names: list[Name] = [Name("self.training", BOOL, is_fixed=True)]
        lines = ["super().__init__()"]
        notes: list[Node] = []
        for _ in range(self.draw.randint(1, 3)):
            kind, field = self.any_kind(), self.fresh("f")
            lines.append(f"self.{field}: {kind.text} = {self.value(kind, 1)}")
            if self.needs_note(Name(field, kind)):
                notes.append(Statement(f"{field}: {kind.text}", True))
            names.append(Name(f"self.{field}", kind))
        for made in self.modules.values():
            field, several, by_name = self.fresh("m"), self.fresh("m"), self.fresh("m")
            lines.append(f"self.{field} = {self.made(made)}")
            names.append(Name(f"self.{field}", made.kind, is_fixed=True))
            if self.chance(0.5):
                lines.append(f"self.{several} = nn.ModuleList([{self.made(made)}, {self.made(made)}, self.{field}])")
                names += [Name(f"self.{several}[{i}]", made.kind, is_fixed=True) for i in (0, 1, -1)]
                self.lists.append((f"self.{several}", made))
            if self.chance(0.4):
                lines.append(f"self.{by_name} = nn.ModuleDict({{'a': {self.made(made)}, 'b': self.{field}}})")
                names.append(Name(f"self.{by_name}['a']", made.kind, is_fixed=True))
                self.lists.append((f"self.{by_name}.values()", made))
        init = Compound("def __init__(self):", [[Statement(line, True) for line in lines]])
        return Compound("class Base(nn.Module):", [[*notes, init]], is_kept=True), names

    def made(self, cls: Class) -> str:
        """A new module."""
        known, self.scope = self.scope, []
        text = f"{cls.name}({self.given(cls.given, 1)})"
        self.scope = known
        return text

    def statement(self, depth: int) -> list[Node]:
        """Sometimes a loop over modules."""
        if depth > 0 and self.lists and self.returns is None and self.chance(0.15):
            text, made = self.draw.choice(self.lists)
            it = self.fresh("it")
            loops, self.loops = self.loops, 0
            inner = self.body(depth, Name(it, made.kind, is_fixed=True), most=2)
            self.loops = loops
            return [Compound(f"for {it} in {text}:", [[*inner, Statement(f"log.append({it}.show())")]])]
        return super().statement(depth)


def generate(seed: int, size: int = 4) -> Program:
    """The `forward` of a module from a seed; the same one each time. `Base` has everything else."""
    made = ModuleDefinitions(seed)
    definitions = made.everything()
    definitions += [made.module_class() for _ in range(made.draw.randint(1, 2))]
    made.scope, rank, made.rank = [], made.rank, 0  # what a module is made of does not raise
    base, names = made.whole()
    made.rank = rank
    made.scope = [*FIRST, *names]
    body: list[Node] = [Statement("log: list[str] = []", True), Statement("total = 0", True)]
    for _ in range(size):
        body += made.statement(made.draw.choice([2, 3]))
    for name in names[-6:]:
        if name.kind.head in ("module", *(k.head for k in PLAIN)):
            body.append(Statement(f"log.append({made.shown(name.kind, name.text)})"))
    body.append(Statement("return log, total", True))
    return Program("forward", f"self, {PARAMETERS}", RETURNS, body, (), PRELUDE + IMPORT, [*definitions, base])
