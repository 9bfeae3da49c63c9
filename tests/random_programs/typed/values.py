"""Expressions of any type, from what is in scope. None of them raises but through calls of the program's own functions."""

from __future__ import annotations

import random
from collections.abc import Callable

from tests.random_programs.typed.kinds import BOOL, FLOAT, INT, INTS, PLAIN, STR, STRS, Callee, Class, Kind, Name

WORDS = ("a", "xyz", "Quick", "", "two words", "b-1", "42")
FIRST = (
    Name("n", INT), Name("k", INT), Name("x", FLOAT), Name("flag", BOOL), Name("s", STR), Name("ints", INTS),
)  # fmt: skip


class Values:
    """Makes expressions."""

    def __init__(self, seed: int) -> None:
        self.draw = random.Random(seed)
        self.seed = seed
        self.scope: list[Name] = list(FIRST)
        self.classes: dict[str, Class] = {}
        self.modules: dict[str, Class] = {}
        """Classes of modules, which only attributes of modules hold."""
        self.lists: list[tuple[str, Class]] = []
        """Containers of modules."""
        self.functions: list[Callee] = []
        self.generators: list[Callee] = []
        """Functions that yield; `returns` is what each item is."""
        self.rank = 1000
        self.count = 0

    def fresh(self, prefix: str) -> str:
        """A name that is not taken."""
        self.count += 1
        return f"{prefix}{self.count}"

    def chance(self, share: float) -> bool:
        """True in a share of the cases."""
        return self.draw.random() < share

    def class_of(self, kind: Kind) -> Class:
        """The class behind a type."""
        return self.modules[kind.name] if kind.head == "module" else self.classes[kind.name]

    # -- what is there ------------------------------------------------------------------------------------------------

    def paths(self, depth: int = 2) -> list[Name]:
        """Variables, and what can be read from them without a question."""
        found, level = list(self.scope), list(self.scope)
        for _ in range(depth):
            level = [inner for name in level for inner in self.inside(name)]
            found += level
        return found

    def inside(self, name: Name) -> list[Name]:
        """Fields and elements of one value."""
        if name.kind.head == "tuple":
            return [Name(f"{name.text}[{i}]", part, is_fixed=True) for i, part in enumerate(name.kind.parts)]
        if name.kind.head not in ("object", "module"):
            return []
        made = self.class_of(name.kind)
        inner = [Name(f"{name.text}.{f.text}", f.kind, is_fixed=made.form == "record") for f in made.all_fields()]
        calls = [m for m in made.all_methods() if m.form == "property" and m.rank < self.rank]
        return inner + [Name(f"{name.text}.{m.name}", m.returns, is_fixed=True) for m in calls]

    def some(self, kind: Kind) -> str | None:
        """Something of a type, if there is anything."""
        found = [name.text for name in self.paths() if name.kind == kind]
        return self.draw.choice(found) if found else None

    def some_name(self, *heads: str) -> Name | None:
        """A variable, or something read from one, whose type is of a certain form."""
        found = [name for name in self.paths() if name.kind.head in heads]
        return self.draw.choice(found) if found else None

    def any_kind(self, depth: int = 2, family: int = 1000) -> Kind:
        """A type; objects only of classes that came before `family`."""
        classes = [c for c in self.classes.values() if c.family < family]
        if depth <= 0 or self.chance(0.3):
            return self.draw.choice([*PLAIN, *(c.kind for c in classes)])
        match self.draw.choice(["list", "list", "dict", "tuple", "optional", "union", "object", "object"]):
            case "list":
                return Kind("list", (self.any_kind(depth - 1, family),))
            case "dict":
                keys = [STR, STR, INT, *(c.kind for c in classes if c.form == "enum")]
                return Kind("dict", (self.draw.choice(keys), self.any_kind(depth - 1, family)))
            case "tuple":
                size = self.draw.choice([2, 2, 3])
                return Kind("tuple", tuple(self.plain_kind(depth, family) for _ in range(size)))
            case "optional":
                return Kind("optional", (self.plain_kind(depth, family),))
            case "union":
                others = [STR, INTS, *(c.kind for c in classes if c.base is None and c.form == "class")]
                return Kind("union", (INT, *self.draw.sample(others, self.draw.choice([1, 1, 2]))))
        return self.draw.choice([c.kind for c in classes]) if classes else INTS

    def plain_kind(self, depth: int, family: int = 1000) -> Kind:
        """A type that is no optional and no union."""
        while (kind := self.any_kind(depth - 1, family)).head in ("optional", "union"):
            pass
        return kind

    def is_loose(self, kind: Kind) -> bool:
        """Whether a container of it needs an annotation to be of it."""
        if kind.head in ("optional", "union"):
            return True
        if kind.head == "object":
            return len(self.class_of(kind).under()) > 1
        return any(self.is_loose(part) for part in kind.parts)

    def is_comparable(self, kind: Kind) -> bool:
        """Whether values of a type are equal by what is in them: classes have to say so themselves."""
        if kind.head != "object":
            return all(map(self.is_comparable, kind.parts))
        made = self.class_of(kind)
        fields = made.all_fields() if made.form in ("record", "dataclass") else []
        return (bool(fields) or made.has("__eq__")) and all(self.is_comparable(f.kind) for f in fields)

    # -- expressions --------------------------------------------------------------------------------------------------

    def value(self, kind: Kind, depth: int = 2) -> str:
        """An expression of a type."""
        known = self.some(kind)
        if known is not None and self.chance(0.35 if depth > 0 else 0.7):
            return known
        if depth > 0:
            calls = self.calls(kind, depth)
            if calls and self.chance(0.3):
                return self.draw.choice(calls)
            if self.chance(0.1) and not (kind.parts and self.is_loose(kind)) and kind.head not in ("optional", "union"):
                return f"({self.value(kind, depth - 1)} if {self.value(BOOL, depth - 1)} else {self.value(kind, depth - 1)})"
        makers: dict[str, Callable[[Kind, int], str]] = {
            "int": self.int_, "bool": self.bool_, "str": self.str_, "float": self.float_, "list": self.list_,
            "dict": self.dict_, "tuple": self.tuple_, "optional": self.optional, "union": self.union,
            "object": self.object_, "enum": self.enum,
        }  # fmt: skip
        return makers[kind.head](kind, depth)

    def given(self, parameters: tuple[Name, ...] | list[Name], depth: int) -> str:
        """Arguments, positional and by name, some left to their defaults."""
        parts, by_name = [], False
        for name in parameters:
            if name.default and self.chance(0.4):
                by_name = True
                continue
            by_name = by_name or self.chance(0.15)
            parts.append((f"{name.text}=" if by_name else "") + self.value(name.kind, depth))
        return ", ".join(parts)

    def calls(self, kind: Kind, depth: int) -> list[str]:
        """Calls of functions and methods that give a type."""
        found = []
        for callee in self.functions:
            if callee.returns == kind and callee.rank < self.rank:
                found.append(f"{callee.name}({self.given(callee.parameters, depth - 1)})")
        for name in [n for n in self.paths(1) if n.kind.head in ("object", "module")][-6:]:
            for method in self.class_of(name.kind).all_methods():
                if method.returns == kind and method.rank < self.rank and method.form != "property":
                    is_own = method.form == "static" and name.kind.head == "object" and self.chance(0.5)
                    place = name.kind.name if is_own else name.text
                    called = place if method.name == "forward" else f"{place}.{method.name}"
                    found.append(f"{called}({self.given(method.parameters, depth - 1)})")
        return found

    def item(self, kind: Kind) -> str | None:
        """An element of a list or dict, or something else where it is empty."""
        holders = [n for n in self.paths(1) if n.kind.head in ("list", "dict") and n.kind.parts[-1] == kind]
        if not holders or (kind.parts and self.is_loose(kind)):
            return None
        holder = self.draw.choice(holders)
        if holder.kind.head == "dict":
            return f"{holder.text}.get({self.value(holder.kind.parts[0], 0)}, {self.value(kind, 0)})"
        at = self.draw.choice(["0", "-1", f"{self.value(INT, 0)} % len({holder.text})"])
        return f"({holder.text}[{at}] if len({holder.text}) > 0 else {self.value(kind, 0)})"

    def int_(self, kind: Kind, depth: int) -> str:
        """A small number."""
        if depth <= 0:
            return str(self.draw.randint(-9, 40))
        a, b = self.value(INT, depth - 1), self.value(INT, 0)
        v = self.fresh("v")
        forms = [
            f"({a} + {b})", f"({a} - {b})", f"({a} * {b} % 101)", f"({a} // {self.draw.randint(2, 9)})", f"min({a}, {b})",
            f"abs({a}) % 50", f"len({self.value(STR, depth - 1)})", f"len({self.value(INTS, depth - 1)})",
            f"sum({self.value(INTS, depth - 1)}) % 1009", f"sum([len({v}) for {v} in {self.value(STRS, depth - 1)}])",
            f"max({a}, {b}, 0)", f"int({self.value(BOOL, depth - 1)})", f"-({a})",
        ]  # fmt: skip
        special = []
        if (item := self.item(INT)) is not None:
            special.append(item)
        if (name := self.some_name("optional")) is not None and name.kind.parts[0] == INT and "." not in name.text:
            special.append(f"({name.text} if {name.text} is not None else {b})")
        if (name := self.some_name("union")) is not None and "." not in name.text and "[" not in name.text:
            special.append(f"({name.text} if isinstance({name.text}, int) else {b})")
        if (name := self.some_name("enum")) is not None:
            special.append(f"{name.text}.value")
        if (name := self.some_name("list", "dict")) is not None:
            special.append(f"len({name.text})")
        if (name := self.some_name("object")) is not None:
            special += self.int_operators(name, b)
        return f"({self.draw.choice(special)})" if special and self.chance(0.5) else f"({self.draw.choice(forms)})"

    def int_operators(self, name: Name, b: str) -> list[str]:
        """Numbers that operators of an object give."""
        made, o = self.class_of(name.kind), name.text
        forms = {
            "__len__": f"len({o})", "__getitem__": f"{o}[{b}]", "__call__": f"{o}({b})", "__int__": f"int({o})",
            "__iter__": f"sum([v for v in {o}]) % 1009", "__invert__": f"~{o}", "__rsub__": f"({b} - {o})",
        }  # fmt: skip
        return [text for operator, text in forms.items() if made.has(operator)]

    def float_(self, kind: Kind, depth: int) -> str:
        """A number of halves."""
        if depth <= 0:
            return self.draw.choice(["0.5", "-1.25", "2.75", "8.0"])
        a = self.value(INT, depth - 1)
        forms = [f"({a} * 0.5)", f"float({a})", f"({self.value(FLOAT, 0)} + {a})", f"max({self.value(FLOAT, 0)}, 0.25)"]
        return self.draw.choice(forms)

    def bool_(self, kind: Kind, depth: int) -> str:
        """A condition."""
        if depth <= 0:
            return self.draw.choice(
                [f"{self.value(INT, 0)} > {self.value(INT, 0)}", "True", f"{self.value(INT, 0)} % 2 == 0"]
            )
        a, b, v = self.value(INT, depth - 1), self.value(INT, 0), self.fresh("v")
        forms = [
            f"{a} < {b}", f"{a} == {b}", f"not {self.value(BOOL, depth - 1)}", f"{b} in {self.value(INTS, depth - 1)}",
            f"({self.value(BOOL, depth - 1)} and {self.value(BOOL, 0)})", f"{self.value(STR, 0)} in {self.value(STR, depth - 1)}",
            f"({self.value(BOOL, 0)} or {self.value(BOOL, depth - 1)})", f"0 <= {a} < 20", f"{b} not in (1, 2, {a})",
            f"any([{v} > 3 for {v} in {self.value(INTS, depth - 1)}])", f"all({v} != 4 for {v} in {self.value(INTS, 0)})",
            f"{self.value(STR, 0)}.startswith('a')", f"{self.value(STR, 0)} < {self.value(STR, 0)}",
        ]  # fmt: skip
        if (name := self.some_name("optional")) is not None:
            forms += [f"{name.text} is None", f"{name.text} is not None"] * 2
        if (name := self.some_name("dict")) is not None:
            forms += [f"{self.value(name.kind.parts[0], 0)} in {name.text}"] * 2
        if (name := self.some_name("list")) is not None and name.kind.parts[0] in (INT, STR, FLOAT):
            forms += [f"{self.value(name.kind.parts[0], 0)} in {name.text}", f"{name.text} == {name.text}[::-1]"]
        if (name := self.some_name("enum")) is not None:
            forms += [f"{name.text} {self.draw.choice(['==', '!=', 'is', 'is not'])} {self.value(name.kind, 0)}"] * 2
        if (name := self.some_name("object")) is not None:
            forms += self.object_questions(name) * 2
        return f"({self.draw.choice(forms)})"

    def object_questions(self, name: Name) -> list[str]:
        """What may be asked of an object."""
        made, o = self.class_of(name.kind), name.text
        other = self.some(name.kind) or o
        forms = {
            "__lt__": f"{o} < {other}",
            "__eq__": f"{o} == {other}",
            "__contains__": f"{self.value(INT, 0)} in {o}",
        }
        found = [text for operator, text in forms.items() if made.has(operator)]
        if not self.is_comparable(name.kind):
            found = [text for text in found if " == " not in text]
        if made.has("__bool__") or made.has("__len__"):
            found += [f"not {o}", f"bool({o})"]
        if made.is_ordered:
            found += [f"{o} <= {other}", f"{o} > {other}"]
        if made.form in ("record", "dataclass") and self.is_comparable(name.kind):
            found.append(f"{o} != {other}")
        if made.form != "record":
            found.append(f"{o} is {other}")
        return found + [f"isinstance({o}, {subclass.name})" for subclass in made.under()[1:]]

    def str_(self, kind: Kind, depth: int) -> str:
        """A text."""
        if depth <= 0:
            return f"'{self.draw.choice(WORDS)}'"
        a, b = self.value(STR, depth - 1), self.value(STR, 0)
        forms = [
            f"({a} + {b})[:30]", f"{a}.upper()", f"{a}[:3]", f"{a}.replace('a', 'ou')[:20]", f"'.'.join([{a}, {b}])[:30]",
            f"{a}.strip().title()", f"str({self.value(INT, depth - 1)})", f"({b} * 2)[:20]", f"{b}[::-1]",
        ]  # fmt: skip
        if (name := self.some_name("enum")) is not None:
            forms.append(f"{name.text}.name")
        if (name := self.some_name("object")) is not None:
            forms += [f"{name.text}.show()"] * 2
            if self.class_of(name.kind).has("__str__"):
                forms += [f"str({name.text})", f"f'<{{{name.text}}}>'"]
        if (item := self.item(STR)) is not None:
            forms += [item] * 2
        return self.draw.choice(forms)

    def list_(self, kind: Kind, depth: int) -> str:
        """A list: its elements, a part of another, or made from something that can be gone over."""
        (part,) = kind.parts
        size = self.draw.choice([0, 1, 2, 3]) if depth > 0 else self.draw.choice([1, 2])
        literal = f"[{', '.join(self.value(part, depth - 1) for _ in range(max(size, 1)))}]"
        if depth <= 0 or self.is_loose(part) or self.chance(0.3):
            return literal
        forms = [self.comprehension(part, depth), self.comprehension(part, depth), f"{self.value(kind, depth - 1)}[1:]"]
        forms += [
            f"({self.value(kind, depth - 1)} + {self.value(kind, 0)})[:6]",
            f"{self.value(kind, depth - 1)}[::-1]",
        ]
        if part in (INT, STR, FLOAT) or (part.head == "object" and self.class_of(part).has("__lt__")):
            forms.append(f"sorted({self.value(kind, depth - 1)})")
        if part.head == "object" and part.name:
            numbers = [f.text for f in self.class_of(part).all_fields() if f.kind == INT]
            forms += [f"sorted({self.value(kind, depth - 1)}, key=lambda o: o.{f} % 7)" for f in numbers]
        dicts = [n for n in self.paths(1) if n.kind.head == "dict"]
        forms += [f"list({n.text}.values())" for n in dicts if n.kind.parts[1] == part]
        forms += [f"list({n.text})" for n in dicts if n.kind.parts[0] == part]
        for made in self.generators:
            if made.returns == part and made.rank < self.rank:
                forms.append(f"list({made.name}({self.given(made.parameters, depth - 1)}))")
        return self.draw.choice(forms)

    def source(self, depth: int) -> tuple[str, tuple[Name, ...]]:
        """What a loop goes over, with its targets: `v in …`."""
        v, w = self.fresh("v"), self.fresh("w")
        options: list[tuple[str, tuple[Name, ...]]] = [
            (f"{v} in range({self.value(INT, 0)} % 5)", (Name(v, INT, is_fixed=True),)),
        ]
        for name in self.paths(1):
            kind = name.kind
            if kind.head == "list":
                options.append((f"{v} in {name.text}[:4]", (Name(v, kind.parts[0]),)))
                both = Name(w, kind.parts[0])
                options.append((f"{v}, {w} in enumerate({name.text}[:4])", (Name(v, INT), both)))
            elif kind.head == "dict":
                options.append((f"{v}, {w} in {name.text}.items()", (Name(v, kind.parts[0]), Name(w, kind.parts[1]))))
                options.append((f"{v} in {name.text}", (Name(v, kind.parts[0]),)))
            elif kind.head == "object" and self.class_of(kind).has("__iter__"):
                options.append((f"{v} in {name.text}", (Name(v, INT),)))
        options += [(f"{v} in {c.name}", (Name(v, c.kind),)) for c in self.classes.values() if c.form == "enum"]
        for made in self.generators:
            if made.rank < self.rank:
                options.append((f"{v} in {made.name}({self.given(made.parameters, 0)})", (Name(v, made.returns),)))
        return self.draw.choice(options)

    def comprehension(self, part: Kind, depth: int) -> str:
        """A list comprehension."""
        text, names = self.source(depth)
        known = list(self.scope)
        self.scope += names * 2
        value = self.value(part, depth - 1)
        test = f" if {self.value(BOOL, 1)}" if self.chance(0.4) else ""
        self.scope = known
        return f"[{value} for {text}{test}]"

    def dict_(self, kind: Kind, depth: int) -> str:
        """A dict."""
        keys, values = kind.parts
        if depth > 0 and self.chance(0.3) and not self.is_loose(values):
            text, names = self.source(depth)
            known = list(self.scope)
            self.scope += names * 2
            made = f"{{{self.value(keys, depth - 1)}: {self.value(values, depth - 1)} for {text}}}"
            self.scope = known
            return made
        pairs = [f"{self.value(keys, 0)}: {self.value(values, depth - 1)}" for _ in range(self.draw.choice([1, 2, 3]))]
        return f"{{{', '.join(pairs)}}}"

    def tuple_(self, kind: Kind, depth: int) -> str:
        """A tuple."""
        return f"({', '.join(self.value(part, depth - 1) for part in kind.parts)})"

    def optional(self, kind: Kind, depth: int) -> str:
        """Something or nothing."""
        if self.chance(0.3):
            return "None"
        if depth > 0 and self.chance(0.3):
            return f"({self.value(kind.parts[0], depth - 1)} if {self.value(BOOL, depth - 1)} else None)"
        found = [n for n in self.paths(1) if n.kind.head == "dict" and n.kind.parts[1] == kind.parts[0]]
        if found and self.chance(0.4):
            holder = self.draw.choice(found)
            return f"{holder.text}.get({self.value(holder.kind.parts[0], 0)})"
        return self.value(kind.parts[0], depth - 1)

    def union(self, kind: Kind, depth: int) -> str:
        """One of several."""
        return self.value(self.draw.choice(kind.parts), depth - 1)

    def object_(self, kind: Kind, depth: int) -> str:
        """A new object, of the class or of one that inherits from it, or one that another makes."""
        made = self.class_of(kind)
        operators = {"__add__": "+", "__mul__": "*", "__sub__": "-"}
        if depth > 0 and self.chance(0.3):
            for operator, sign in operators.items():
                if operator in made.operators:
                    other = self.value(INT, 0) if operator == "__mul__" else self.value(kind, 0)
                    return f"({self.value(kind, depth - 1)} {sign} {other})"
            if (item := self.item(kind)) is not None:
                return item
            if made.form == "record" and made.fields:
                part = self.draw.choice(made.fields)
                return f"{self.value(kind, depth - 1)}._replace({part.text}={self.value(part.kind, 0)})"
        subclass = self.draw.choice(made.under())
        return f"{subclass.name}({self.given(subclass.given, depth - 1)})"

    def enum(self, kind: Kind, depth: int) -> str:
        """A member."""
        return f"{kind.name}.{self.draw.choice(self.class_of(kind).members)}"

    # -- texts of values ----------------------------------------------------------------------------------------------

    def shown(self, kind: Kind, text: str) -> str:
        """The text of a variable's value, the same in Python and here."""
        match kind.head:
            case "float":
                return f"f'{{{text}:.2f}}'"
            case "str":
                return text
            case "enum":
                return f"{text}.name"
            case "object" | "module":
                return f"{text}.show()"
            case "optional":
                return f"({self.shown(kind.parts[0], text)} if {text} is not None else 'None')"
            case "union":
                *first, last = kind.parts
                ends = "".join(f"{self.shown(p, text)} if {self.asked(p, text)} else " for p in first)
                return f"({ends}{self.shown(last, text)})"
            case "list":
                v = self.fresh("v")
                return f"'[' + ','.join([{self.shown(kind.parts[0], v)} for {v} in {text}]) + ']'"
            case "dict":
                v, w = self.fresh("v"), self.fresh("w")
                both = f"{self.shown(kind.parts[0], v)} + ':' + {self.shown(kind.parts[1], w)}"
                return f"'{{' + ','.join([{both} for {v}, {w} in {text}.items()]) + '}}'"
            case "tuple":
                return (
                    "'(' + "
                    + " + ',' + ".join(self.shown(p, f"{text}[{i}]") for i, p in enumerate(kind.parts))
                    + " + ')'"
                )
        return f"str({text})"

    def asked(self, kind: Kind, text: str) -> str:
        """Whether a value of a union is of one of its types."""
        if kind.head == "list":
            return f"flambeau.jit.isinstance({text}, {kind.text})"
        return f"isinstance({text}, {kind.text})"
