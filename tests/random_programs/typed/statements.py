"""Statements over values of any type: names, fields and elements change, types are asked for, blocks are left."""

from __future__ import annotations

from tests.random_programs.model import Compound, Node, Statement
from tests.random_programs.typed.kinds import BOOL, INT, STR, Kind, Name
from tests.random_programs.typed.values import Values

RAISED = ("Oops", "Deep", "ValueError", "KeyError", "RuntimeError")
CAUGHT = ("Oops", "Deep", "ValueError", "(Oops, KeyError)", "Exception", "RuntimeError")


class Statements(Values):
    """Makes statements."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.loops = 0
        """How many loops are around."""
        self.returns: Kind | None = None
        """What the function gives; None in the main one."""

    def body(self, depth: int, *names: Name, most: int = 3, without: str = "") -> list[Node]:
        """Statements that see what is in scope, but one name, and `names`; what they define ends with them."""
        known = list(self.scope)
        self.scope = [name for name in known if name.text != without] + list(names)
        nodes = [node for _ in range(self.draw.randint(1, most)) for node in self.statement(depth - 1)]
        self.scope = known
        return nodes

    def statement(self, depth: int) -> list[Node]:
        """Any statement, maybe with what it needs before it."""
        simple = [self.define] * 4 + [self.change] * 6 + [self.tell] * 3 + [self.leave]
        if depth <= 0 or self.chance(0.45):
            return self.draw.choice(simple)()
        makers = [self.branch, self.loop, self.loop, self.attempt, self.enter]
        makers += [self.ask_optional] * 3 + [self.ask_union] * 3 + [self.ask_class] * 2 + [self.choose] * 2
        return self.draw.choice(makers)(depth)

    # -- lines --------------------------------------------------------------------------------------------------------

    def define(self, kind: Kind | None = None) -> list[Node]:
        """A new variable."""
        kind = kind or self.any_kind()
        name = self.fresh(kind.head[0])
        note = f": {kind.text}" if self.is_loose(kind) or self.chance(0.2) else ""
        text = f"{name}{note} = {self.value(kind)}"
        self.scope.append(Name(name, kind))
        return [Statement(text)]

    def tell(self) -> list[Node]:
        """A line in the log, or a number in a sum."""
        if self.returns is not None:
            return self.change()
        if self.chance(0.4):
            name = self.draw.choice(self.scope)
            return [Statement(f"log.append({self.shown(name.kind, name.text)})")]
        kind = self.any_kind()
        before = self.define(kind)
        return [*before, Statement(f"log.append({self.shown(kind, self.scope[-1].text)})")]

    def change(self) -> list[Node]:
        """Something becomes something else: a variable, a field, an element."""
        found = [n for n in self.paths() if n.text not in ("n", "k", "x", "flag", "s", "ints", "self")]
        if not found:
            return self.define()
        name = self.draw.choice(found)
        kind = name.kind
        forms = []
        if not name.is_fixed:
            forms.append(f"{name.text} = {self.value(kind)}")
            if kind == INT:
                forms += [
                    f"{name.text} += {self.value(INT, 1)}",
                    f"{name.text} = ({name.text} * 3 + {self.value(INT, 1)}) % 1009",
                ]
            if kind == STR:
                forms.append(f"{name.text} = ({name.text} + {self.value(STR, 0)})[:30]")
        if kind.head == "list" and not kind.name:
            forms += self.list_changes(name) * 2
        elif kind.head == "dict":
            forms += self.dict_changes(name) * 2
        elif kind.head in ("object", "module"):
            forms += self.object_changes(name)
        return [Statement(self.draw.choice(forms))] if forms else self.define()

    def list_changes(self, name: Name) -> list[str]:
        """What happens to lists."""
        part, t = name.kind.parts[0], name.text
        forms = [
            f"{t}.append({self.value(part, 1)})", f"{t}.insert(0, {self.value(part, 1)})", f"{t}.extend({t}[:2])", f"{t}.reverse()",
            f"del {t}[3:]", f"{t}.clear()",
        ]  # fmt: skip
        if not self.is_loose(part):
            forms += [f"{t} += [{self.value(part, 1)}]"] if not name.is_fixed else []
            forms.append(f"{t}[1:2] = [{self.value(part, 0)}, {self.value(part, 0)}]")
        if part in (INT, STR):
            forms += [f"{t}.sort()", f"{t}.sort(reverse=True)"]
        return forms

    def dict_changes(self, name: Name) -> list[str]:
        """What happens to dicts."""
        (key, value), t = name.kind.parts, name.text
        k, v = self.value(key, 0), self.value(value, 1)
        forms = [
            f"{t}[{k}] = {v}",
            f"{t}.pop({k}, {self.value(value, 0)})",
            f"{t}.setdefault({k}, {v})",
            f"{t}.update({t}.copy())",
        ]
        if value == INT:
            forms.append(f"{t}[{k}] = {t}.get({k}, 0) + 1")
        if value.head == "list" and not self.is_loose(value):
            forms.append(f"{t}.setdefault({k}, {self.value(value, 0)}).append({self.value(value.parts[0], 0)})")
        return forms

    def object_changes(self, name: Name) -> list[str]:
        """What happens to objects."""
        made, o = self.class_of(name.kind), name.text
        forms = [
            f"{o}.{m.name}({self.given(m.parameters, 1)})"
            for m in made.all_methods()
            if m.form == "method" and m.rank < self.rank
        ]
        if made.has("__setitem__"):
            forms.append(f"{o}[{self.value(INT, 0)}] = {self.value(INT, 1)}")
        if made.has("__iadd__") and "." not in o and not name.is_fixed:
            forms.append(f"{o} += {self.value(INT, 1)}")
        if made.has("set_key"):
            forms.append(f"{o}.spot = {self.value(INT, 1)}")
        return forms * 2

    def leave(self) -> list[Node]:
        """A way out, taken sometimes."""
        return [Compound(f"if {self.value(BOOL)}:", [[self.exit()]])]

    def exit(self) -> Statement:
        """A way out."""
        forms = [f"raise {self.draw.choice(RAISED)}({self.value(STR, 1)})", "return log, total"]
        if self.returns is not None:
            forms[1] = f"return {self.value(self.returns, 1)}"
        if self.loops:
            forms += ["break", "continue"] * 2
        return Statement(self.draw.choice(forms))

    # -- questions ----------------------------------------------------------------------------------------------------

    def own(self, head: str) -> Name | None:
        """A variable of a form of type that is not known to be narrower, and that only its own name changes."""
        found = [n for n in self.scope if n.kind.head == head and not n.is_fixed and "." not in n.text]
        return self.draw.choice(found) if found else None

    def ask_optional(self, depth: int) -> list[Node]:
        """Whether there is something, in one of many forms; then it is."""
        name = self.own("optional")
        if name is None:
            return self.define(Kind("optional", (self.plain_kind(1),)))
        known = Name(name.text, name.kind.parts[0], is_fixed=True)
        t = name.text
        match self.draw.randint(0, 6):
            case 0:
                return [
                    Compound(
                        f"if {t} is None:", [self.body(depth, without=t), self.body(depth, known, without=t)], ["else:"]
                    )
                ]
            case 1:
                return [
                    Compound(f"if {t} is not None and {self.value(BOOL, 1)}:", [self.body(depth, known, without=t)])
                ]
            case 2:
                node = Compound(
                    f"if {t} is None or {self.value(BOOL, 1)}:", [self.body(depth), [self.telling(known)]], ["else:"]
                )
                return [node]
            case 3:
                leaving = Compound(f"if {t} is None:", [[*self.body(depth, most=1, without=t), self.exit()]])
                self.scope = [n for n in self.scope if n.text != t] + [known]
                return [leaving]
            case 4:
                filling = Compound(f"if {t} is None:", [[Statement(f"{t} = {self.value(known.kind, 1)}")]])
                return [filling, self.telling(known)]
            case 5:
                return [Compound(f"match {t}:", [[
                    Compound("case None:", [self.body(depth, most=1, without=t)]),
                    Compound("case _:", [self.body(depth, most=1)]),
                ]])]  # fmt: skip
        w = self.fresh("w")
        return [Compound(f"if ({w} := {t}) is not None:", [[self.telling(Name(w, known.kind)), *self.body(depth)]])]

    def telling(self, name: Name) -> Statement:
        """A line that shows a variable."""
        text = self.shown(name.kind, name.text)
        return Statement(f"log.append({text})" if self.returns is None else f"{self.fresh('t')} = {text}")

    def ask_union(self, depth: int) -> list[Node]:
        """Which of several types it is."""
        name = self.own("union")
        if name is None:
            kind = self.any_kind()
            return self.define(kind if kind.head == "union" else Kind("union", (INT, STR)))
        t, parts = name.text, list(name.kind.parts)
        if self.chance(0.3) and all(p.head in ("int", "str") or p.name for p in parts):
            cases: list[Node] = []
            for part in parts:
                v = self.fresh("m")
                pattern = f"{part.text}() as {v}" if self.chance(0.5) else f"{part.text}()"
                names = [Name(v, part)] if " as " in pattern else []
                cases.append(Compound(f"case {pattern}:", [self.body(depth, *names, most=2, without=t)]))
            return [Compound(f"match {t}:", [cases])]
        self.draw.shuffle(parts)
        first = parts[:-1]
        bodies = [self.body(depth, Name(t, part, is_fixed=True), most=2, without=t) for part in parts]
        headers = [f"if {self.asked(first[0], t)}:", *(f"elif {self.asked(p, t)}:" for p in first[1:])]
        return [Compound(headers[0], bodies, [*headers[1:], "else:"])]

    def ask_class(self, depth: int) -> list[Node]:
        """Whether an object is of a subclass."""
        found = [n for n in self.scope if n.kind.head == "object" and len(self.class_of(n.kind).under()) > 1]
        found = [n for n in found if not n.is_fixed and "." not in n.text]
        if not found:
            return self.branch(depth)
        name = self.draw.choice(found)
        subclass = self.draw.choice(self.class_of(name.kind).under()[1:])
        known = Name(name.text, subclass.kind, is_fixed=True)
        bodies = [self.body(depth, known, most=2, without=name.text), self.body(depth, most=2, without=name.text)]
        return [Compound(f"if isinstance({name.text}, {subclass.name}):", bodies, ["else:"])]

    def choose(self, depth: int) -> list[Node]:
        """`match` on what there is."""
        found = [n for n in self.scope if n.kind.head in ("enum", "tuple", "list", "dict", "object", "int", "str")]
        if not found:
            return self.branch(depth)
        name = self.draw.choice(found)
        kind, v, w = name.kind, self.fresh("m"), self.fresh("m")
        cases: list[tuple[str, tuple[Name, ...]]] = []
        match kind.head:
            case "enum":
                cases = [(f"{kind.name}.{m}", ()) for m in self.class_of(kind).members[:2]]
            case "tuple":
                names = [Name(self.fresh("m"), part) for part in kind.parts]
                cases = [(f"({', '.join(n.text for n in names)}) if {self.value(BOOL, 1)}", tuple(names))]
            case "list":
                one, two = Name(v, kind.parts[0]), Name(w, kind)
                cases = [("[]", ()), (f"[{v}]", (one,)), (f"[{v}, _, *{w}]", (one, two))]
            case "dict" if kind.parts[0] == STR:
                cases = [(f"{{'a': {v}}}", (Name(v, kind.parts[1]),)), (f"{{'xyz': {v}}}", (Name(v, kind.parts[1]),))]
            case "object":
                fields = self.class_of(kind).all_fields()
                number = next((f for f in fields if f.kind == INT), None)
                if number is not None:
                    cases = [
                        (f"{kind.name}({number.text}=3)", ()),
                        (f"{kind.name}({number.text}={v}) if {v} > 2", (Name(v, INT),)),
                    ]
            case "int":
                cases = [("0 | 1", ()), ("-1", ()), (f"{v} if {v} % 2 == 0", (Name(v, INT),))]
            case "str":
                cases = [("'a' | ''", ()), ("'xyz'", ())]
        nodes = [Compound(f"case {pattern}:", [self.body(depth, *names, most=2)]) for pattern, names in cases]
        nodes.append(Compound("case _:", [self.body(depth, most=1)]))
        return [Compound(f"match {name.text}:", [nodes])]

    # -- compound statements ------------------------------------------------------------------------------------------

    def branch(self, depth: int) -> list[Node]:
        """`if`, with its branches; sometimes both define one name."""
        kind, name = self.any_kind(1), self.fresh("b")
        if self.is_loose(kind) or self.chance(0.7):
            return [Compound(f"if {self.value(BOOL)}:", [self.body(depth), self.body(depth)], ["else:"])]
        arms = [[*self.body(depth, most=1), Statement(f"{name} = {self.value(kind)}")] for _ in range(2)]
        node = Compound(f"if {self.value(BOOL)}:", arms, ["else:"])
        self.scope.append(Name(name, kind))
        return [node]

    def loop(self, depth: int) -> list[Node]:
        """`for` over what there is, sometimes with `else`."""
        text, names = self.source(1)
        self.loops += 1
        inner = self.body(depth, *(Name(n.text, n.kind, is_fixed=True) for n in names))
        self.loops -= 1
        # What the loop goes over is a copy: a loop's length is fixed when it starts.
        target, _, over = text.partition(" in ")
        if over.endswith(".items()") or over.isidentifier() or over.replace(".", "").isidentifier():
            over = f"list({over})"
        if self.chance(0.2):
            return [Compound(f"for {target} in {over}:", [inner, self.body(depth, most=1)], ["else:"])]
        return [Compound(f"for {target} in {over}:", [inner])]

    def attempt(self, depth: int) -> list[Node]:
        """`try`, with a handler, maybe with `else` and `finally`."""
        joints, bodies = [], [self.body(depth)]
        if self.chance(0.85):
            name = self.fresh("e")
            joints.append(f"except {self.draw.choice(CAUGHT)} as {name}:")
            bodies.append([Statement("total += 1" if self.returns is None else "pass"), *self.body(depth, most=2)])
            if self.chance(0.3):
                joints.append("else:")
                bodies.append(self.body(depth, most=2))
        if not joints or self.chance(0.3):
            joints.append("finally:")
            loops, self.loops = self.loops, 0
            bodies.append([node for _ in range(2) for node in self.change()])
            self.loops = loops
        return [Compound("try:", bodies, joints)]

    def enter(self, depth: int) -> list[Node]:
        """`with` on an object that has the methods."""
        found = [n for n in self.paths(1) if n.kind.head == "object" and self.class_of(n.kind).has("__enter__")]
        if not found:
            return self.branch(depth)
        name, v = self.draw.choice(found), self.fresh("g")
        return [Compound(f"with {name.text} as {v}:", [self.body(depth, Name(v, INT))])]
